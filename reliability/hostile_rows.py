"""Hostile data sets: rows, labels, targets, weights and sizes, each made from a seed.

A maker changes one thing of a harmless data set. Where the same data exist as plain float64 arrays, the maker gives
these too, and results must agree.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

__all__ = ["ROWS", "Rows", "harmless"]

Rng = np.random.Generator


@dataclass(frozen=True)
class Rows:
    """Data, what of it is hostile, its plain form if there is one, and harmless data with as many features."""

    X: Any
    y: Any  # classes, -1 is unlabelled
    t: Any  # targets, NaN is unlabelled
    weights: Any = None
    n_neighbors: Any = 5
    n_landmarks: Any = 8
    plain: Rows | None = None
    clean: Rows | None = None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a call must not change."""
        return self.X, self.y, self.t, self.weights

    @property
    def n(self) -> int:
        """Rows, as far as they can be counted."""
        shape = getattr(self.X, "shape", None)
        return int(shape[0]) if shape else len(self.X) if hasattr(self.X, "__len__") else 0


def harmless(rng: Rng, n: int | None = None, d: int | None = None) -> Rows:
    """Return clusters of two to four classes with a few labels each."""
    n = int(rng.integers(16, 60)) if n is None else n
    d = int(rng.integers(1, 6)) if d is None else d
    c = int(rng.integers(2, 5))
    truth = np.arange(n) % c
    X = rng.normal(size=(n, d)) + 3.0 * rng.normal(size=(c, d))[truth]
    labeled = np.arange(n) < 3 * c
    y = np.where(labeled, truth, -1)
    t = np.where(labeled, X[:, 0] if d else 0.0, np.nan)
    order = rng.permutation(n)
    return Rows(X[order], y[order], t[order])


# Rows: (rng, X) -> hostile X, or (hostile X, plain X).


def _with_cell(value: float) -> Callable[[Rng, Any], Any]:
    def make(rng: Rng, X: Any) -> Any:
        X = X.copy()
        X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = value
        return X

    return make


def _scaled(scale: float) -> Callable[[Rng, Any], Any]:
    return lambda rng, X: X * scale


def _as_type(dtype: str) -> Callable[[Rng, Any], Any]:
    def make(rng: Rng, X: Any) -> Any:
        if np.dtype(dtype).kind in "iu":
            X = np.round(1000 * np.abs(X))
        cast = X.astype(dtype)
        return cast, cast.astype(np.float64)

    return make


def _with_ties(dtype: str) -> Callable[[Rng, Any], Any]:
    """Return a maker of rows with many equal distances: which of them count as neighbours is nobody's promise."""

    def make(rng: Rng, X: Any) -> Any:
        return (np.round(10 * np.abs(X)) % (2 if dtype == "bool" else 100)).astype(dtype)

    return make


def _same(convert: Callable[[Any], Any]) -> Callable[[Rng, Any], Any]:
    """Return a maker of another form of the same rows."""
    return lambda rng, X: (convert(X), X)


def _sparse(convert: Callable[[Any], Any]) -> Callable[[Rng, Any], Any]:
    def make(rng: Rng, X: Any) -> Any:
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
        return convert(X), X

    return make


def _spoiled(change: Callable[[Any], Any]) -> Callable[[Rng, Any], Any]:
    return lambda rng, X: change(X)


def _strided(X: Any) -> Any:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: Any) -> Any:
    X = X.copy()
    X.setflags(write=False)
    return X


def _memory_mapped(X: Any) -> Any:
    with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
        np.save(file, X)
    mapped = np.load(file.name, mmap_mode="r")
    os.unlink(file.name)  # the map keeps the data
    return mapped


def _explicit_zeros(X: Any) -> Any:
    X = sparse.csr_array(np.where(X == 0.0, 7.0, X))
    X.data[X.data == 7.0] = 0.0
    return X


def _unsorted(X: Any) -> Any:
    X = sparse.csr_array(X)
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = False
    return X


def _repeated_entries(X: Any) -> Any:
    rows, columns = np.nonzero(X)
    half = X[rows, columns] / 2
    return sparse.coo_array(
        (np.tile(half, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape
    )  # tocsr adds them up


def _long_indices(X: Any) -> Any:
    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def _in_places(rng: Rng, X: Any, value: float) -> Any:
    X = X.copy()
    X[rng.random(X.shape) < 0.3] = value
    return X


X_INPUTS: dict[str, Callable[[Rng, Any], Any]] = {
    "harmless": lambda rng, X: X,
    "NaN in a cell": _with_cell(np.nan),
    "inf in a cell": _with_cell(np.inf),
    "-inf in a cell": _with_cell(-np.inf),
    "all NaN": _spoiled(lambda X: np.full(X.shape, np.nan)),
    **{f"scale 1e{e}": _scaled(10.0**e) for e in (-300, -200, -150, -141, -139, -100, -30, -8)},
    **{f"scale 1e{e}": _scaled(10.0**e) for e in (8, 30, 76, 100, 148, 151, 200, 300)},
    "subnormal": _scaled(5e-324),
    "a cell of 1e140": _with_cell(1e140),
    "a cell of 1e-300": _with_cell(1e-300),
    "a cell of 1e308": _with_cell(1e308),
    "scales of columns": lambda rng, X: X * 10.0 ** rng.uniform(-300.0, 149.0, X.shape[1]),
    "scales of rows": lambda rng, X: X * 10.0 ** rng.uniform(-150.0, 149.0, (X.shape[0], 1)),
    "scales of cells": lambda rng, X: X * 10.0 ** rng.uniform(-300.0, 300.0, X.shape),
    "far from the origin": lambda rng, X: X + 1e12,
    "very far from the origin": lambda rng, X: X + 1e17,
    "constant feature": lambda rng, X: np.column_stack([X, np.full(X.shape[0], rng.normal())]),
    "constant features": lambda rng, X: np.full(X.shape, 3.0),
    "all zeros": lambda rng, X: np.zeros(X.shape),
    "two distinct rows": lambda rng, X: X[rng.integers(2, size=X.shape[0])],
    "three distinct rows": lambda rng, X: X[rng.integers(3, size=X.shape[0])],
    "every row twice": lambda rng, X: X[np.arange(X.shape[0]) // 2],
    "one row for half": lambda rng, X: np.where(np.arange(X.shape[0])[:, None] % 2 == 0, X[:1], X),
    "nearly equal rows": lambda rng, X: X[rng.integers(2, size=X.shape[0])] * (1 + 1e-16 * rng.normal(size=X.shape)),
    "negative zeros": lambda rng, X: _in_places(rng, X, -0.0),
    "on a line": lambda rng, X: np.outer(np.arange(X.shape[0]), np.ones(X.shape[1])),
    "on a grid": lambda rng, X: np.round(X),
    "geometric steps": lambda rng, X: np.outer(3.0 ** np.arange(X.shape[0]), np.ones(X.shape[1])),
    "one outlier": lambda rng, X: np.vstack([X[1:], np.full((1, X.shape[1]), 1e9)]),
    "two far clusters": lambda rng, X: X + 1e8 * (np.arange(X.shape[0])[:, None] % 2),
    **{kind: _with_ties(kind) for kind in ("bool", "int8", "uint8", "float16")},
    **{kind: _as_type(kind) for kind in ("int16", "int32", "int64", "uint16", "uint32", "uint64")},
    **{kind: _as_type(kind) for kind in ("float32", "longdouble", "object")},
    "object with None": lambda rng, X: np.where(rng.random(X.shape) < 0.1, None, X.astype(object)),
    "object with text": lambda rng, X: np.where(rng.random(X.shape) < 0.1, "a", X.astype(object)),
    "object with lists": lambda rng, X: np.array([[[1.0]] * X.shape[1] + [[]]] * X.shape[0], dtype=object),
    "text": _spoiled(lambda X: X.astype(str)),
    "bytes": _spoiled(lambda X: X.astype("S9")),
    "complex": _spoiled(lambda X: X + 1j),
    "complex without imaginary part": _spoiled(lambda X: X.astype(complex)),
    "dates": _spoiled(lambda X: X.astype(np.int64).astype("datetime64[s]")),
    "durations": _spoiled(lambda X: X.astype(np.int64).astype("timedelta64[s]")),
    "records": _spoiled(lambda X: np.zeros(X.shape[0], dtype=[("a", float), ("b", float)])),
    "other byte order": _same(lambda X: X.astype(">f8")),
    "Fortran order": _same(np.asfortranarray),
    "strided": _same(_strided),
    "reversed": _same(lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]),
    "read-only": _same(_read_only),
    "memory-mapped": _same(_memory_mapped),
    "memory-mapped float32": lambda rng, X: (_memory_mapped(X.astype(np.float32)), X.astype(np.float32).astype(float)),
    "broadcast": lambda rng, X: np.broadcast_to(X[0], X.shape),
    "list of lists": _same(lambda X: X.tolist()),
    "tuple of arrays": _same(lambda X: tuple(X)),
    "ragged lists": _spoiled(lambda X: [*X[1:].tolist(), [1.0] * (X.shape[1] + 1)]),
    "no rows": lambda rng, X: X[:0],
    "one row": lambda rng, X: X[:1],
    "two rows": lambda rng, X: X[:2],
    "three rows": lambda rng, X: X[:3],
    "no columns": lambda rng, X: X[:, :0],
    "one column": lambda rng, X: (X[:, :1].copy(order="F"), X[:, :1].copy()),
    "one dimension": lambda rng, X: X[:, 0],
    "three dimensions": lambda rng, X: X[None],
    "a number": lambda rng, X: np.float64(3.0),
    "None": lambda rng, X: None,
    "a string": lambda rng, X: "rows",
    "more columns than rows": lambda rng, X: rng.normal(size=(X.shape[0], 3 * X.shape[0])),
    **{
        f"sparse {kind}": _sparse(getattr(sparse, f"{kind}_array"))
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
    "sparse matrix": _sparse(sparse.csr_matrix),
    "sparse with explicit zeros": _sparse(_explicit_zeros),
    "sparse with unsorted indices": _sparse(_unsorted),
    "sparse with repeated entries": _sparse(_repeated_entries),
    "sparse with long indices": _sparse(_long_indices),
    "sparse float32": lambda rng, X: (sparse.csr_array(X, dtype=np.float32), X.astype(np.float32).astype(float)),
    "sparse integers": lambda rng, X: (sparse.csr_array(np.round(1000 * X).astype(int)), np.round(1000 * X)),
    "sparse bool": lambda rng, X: sparse.csr_array(X > 0),
    "sparse without entries": lambda rng, X: sparse.csr_array(X.shape),
    "sparse with NaN": lambda rng, X: sparse.csr_array(_with_cell(np.nan)(rng, X)),
    "sparse with inf": lambda rng, X: sparse.csr_array(_with_cell(np.inf)(rng, X)),
    "sparse with a cell of 1e200": lambda rng, X: sparse.csr_array(_with_cell(1e200)(rng, X)),
    "sparse complex": lambda rng, X: sparse.csr_array(X + 1j),
    "sparse one dimension": lambda rng, X: sparse.coo_array(X[:, 0]),
    "masked without mask": _same(np.ma.masked_array),
    "masked": lambda rng, X: np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1),
    "data frame": _same(pd.DataFrame),
    "data frame, named": _same(lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])),
    "data frame, columns of one name": _same(lambda X: pd.DataFrame(X, columns=["c"] * X.shape[1])),
    "data frame, index of one value": _same(lambda X: pd.DataFrame(X, index=[0] * X.shape[0])),
    "data frame, names of two types": _spoiled(lambda X: pd.DataFrame(X).rename(columns={0: "a"}).assign(**{"1": 1.0})),
    "data frame, nullable": _same(lambda X: pd.DataFrame(X).astype("Float64")),
    "data frame, with NA": lambda rng, X: pd.DataFrame(_with_cell(np.nan)(rng, X)).astype("Float64"),
    "data frame, with text": _spoiled(lambda X: pd.DataFrame(X).assign(text="a")),
    "data frame, categories": _spoiled(lambda X: pd.DataFrame(X).astype("category")),
    "data frame, without columns": _spoiled(lambda X: pd.DataFrame(index=range(X.shape[0]))),
    "series": _spoiled(lambda X: pd.Series(X[:, 0])),
    "polars frame": _same(lambda X: pl.DataFrame(X)),
}


# Labels: (rng, y) -> hostile y, or (hostile y, plain y).


def _classes_as(convert: Callable[[Any], Any]) -> Callable[[Rng, Any], Any]:
    """Return a maker of the same labels under other names that sort alike; -1 stays where it can."""
    return lambda rng, y: (convert(y), y)


def _named(y: Any, missing: Any) -> Any:
    return np.array([missing if label == -1 else f"class {label}" for label in y.tolist()], dtype=object)


LABEL_INPUTS: dict[str, Callable[[Rng, Any], Any]] = {
    **{f"labels {kind}": _classes_as(lambda y, kind=kind: y.astype(kind)) for kind in ("int8", "int16", "int32")},
    **{f"labels {kind}": _classes_as(lambda y, kind=kind: y.astype(kind)) for kind in ("float16", "float32")},
    "labels float with NaN": _classes_as(lambda y: np.where(y == -1, np.nan, y)),
    "labels uint8": lambda rng, y: (y % 3).astype(np.uint8),
    "labels uint64": lambda rng, y: (y % 3).astype(np.uint64),
    "labels bool": lambda rng, y: y > 0,
    "labels longdouble": _classes_as(lambda y: y.astype(np.longdouble)),
    "labels huge": _classes_as(lambda y: np.where(y == -1, -1, y + 2**62)),
    "labels below -1": _classes_as(lambda y: np.where(y == -1, -1, y - 10)),
    "labels with fractions": _classes_as(lambda y: np.where(y == -1, -1.0, y + 0.5)),
    "labels object, None": _classes_as(lambda y: _named(y, None)),
    "labels object, NaN": _classes_as(lambda y: _named(y, np.nan)),
    "labels object, -1": _classes_as(lambda y: _named(y, -1)),
    "labels object, pandas.NA": _classes_as(lambda y: _named(y, pd.NA)),
    "labels object, NaT": _classes_as(lambda y: _named(y, pd.NaT)),
    "labels object numbers": _classes_as(lambda y: y.astype(object)),
    "labels object bool": lambda rng, y: np.array([None if v == -1 else bool(v % 2) for v in y.tolist()], dtype=object),
    "labels of two types": lambda rng, y: np.array(
        [None if v == -1 else (v if v % 2 else f"c{v}") for v in y.tolist()], dtype=object
    ),
    "labels tuples": lambda rng, y: pd.Series([None if v == -1 else (v, v) for v in y.tolist()], dtype=object).array,
    "labels text": lambda rng, y: y.astype(str),
    "labels bytes": lambda rng, y: y.astype("S3"),
    "labels complex": lambda rng, y: y.astype(complex),
    "labels dates": lambda rng, y: y.astype("datetime64[D]"),
    "labels inf": lambda rng, y: np.where(y == 0, np.inf, y),
    "labels series": _classes_as(pd.Series),
    "labels series with other index": _classes_as(lambda y: pd.Series(y, index=np.arange(len(y))[::-1])),
    "labels categorical": lambda rng, y: pd.Series(_named(y, None)).astype("category"),
    "labels pandas strings": _classes_as(lambda y: pd.Series(_named(y, None)).astype("string")),
    "labels pandas Int64": _classes_as(lambda y: pd.Series(np.where(y == -1, np.nan, y)).astype("Int64")),
    "labels polars series": _classes_as(lambda y: pl.Series(y)),
    "labels list": _classes_as(lambda y: y.tolist()),
    "labels list of text": _classes_as(lambda y: _named(y, None).tolist()),
    "labels tuple": _classes_as(lambda y: tuple(y.tolist())),
    "labels read-only": _classes_as(_read_only),
    "labels strided": _classes_as(lambda y: np.repeat(y, 2)[::2]),
    "labels other byte order": _classes_as(lambda y: y.astype(">i4")),
    "labels masked": lambda rng, y: np.ma.masked_array(np.where(y == -1, 0, y), mask=y == -1),
    "labels in a column": lambda rng, y: y[:, None],
    "labels in two columns": lambda rng, y: np.column_stack([y, y]),
    "labels sparse": lambda rng, y: sparse.csr_array(y[None]),
    "labels too short": lambda rng, y: y[:-1],
    "labels too long": lambda rng, y: np.append(y, 0),
    "labels empty": lambda rng, y: y[:0],
    "labels None": lambda rng, y: None,
    "a label for all": lambda rng, y: 1,
    "no label": lambda rng, y: np.full(len(y), -1),
    "one label": lambda rng, y: np.where(np.arange(len(y)) == 0, 0, -1),
    "one class": lambda rng, y: np.where(y == -1, -1, 0),
    "one label per class": lambda rng, y: np.where(np.arange(len(y)) < 2, np.arange(len(y)), -1),
    "every row a class": lambda rng, y: np.arange(len(y)),
    "all labelled": lambda rng, y: np.arange(len(y)) % 2,
    "contradictory labels": lambda rng, y: np.where(y == -1, -1, rng.integers(2, size=len(y))),
    "one class nearly absent": lambda rng, y: np.where(np.arange(len(y)) == 0, 9, np.where(y == 0, 0, -1)),
}


# Targets of a regression: (rng, t) -> hostile t, or (hostile t, plain t).


TARGET_INPUTS: dict[str, Callable[[Rng, Any], Any]] = {
    **{f"targets of size 1e{e}": (lambda rng, t, e=e: t * 10.0**e) for e in (-300, -160, -100, -20, 20, 100, 160, 300)},
    "targets of all sizes": lambda rng, t: t * 10.0 ** rng.uniform(-300.0, 300.0, len(t)),
    "targets far from zero": lambda rng, t: t + 1e15,
    "targets of 1e308": lambda rng, t: np.where(np.isnan(t), np.nan, np.where(t > 0, 1.7e308, -1.7e308)),
    "targets subnormal": lambda rng, t: np.where(np.isnan(t), np.nan, 5e-324),
    "targets zero": lambda rng, t: np.where(np.isnan(t), np.nan, 0.0),
    "targets equal": lambda rng, t: np.where(np.isnan(t), np.nan, 2.5),
    "targets one outlier": lambda rng, t: np.where(t == np.nanmax(t), 1e200, t),
    "targets inf": lambda rng, t: np.where(t == np.nanmax(t), np.inf, t),
    "no target": lambda rng, t: np.full(len(t), np.nan),
    "one target": lambda rng, t: np.where(np.arange(len(t)) == 0, 1.0, np.nan),
    "two targets": lambda rng, t: np.where(np.arange(len(t)) < 2, 1.0 + np.arange(len(t)), np.nan),
    "all targets": lambda rng, t: rng.normal(size=len(t)),
    "targets integers": lambda rng, t: np.arange(len(t)),
    "targets bool": lambda rng, t: np.arange(len(t)) % 2 == 0,
    "targets float16": lambda rng, t: (t.astype(np.float16), t.astype(np.float16).astype(float)),
    "targets float32": lambda rng, t: (t.astype(np.float32), t.astype(np.float32).astype(float)),
    "targets object": lambda rng, t: (t.astype(object), t),
    "targets object with None": lambda rng, t: (np.where(np.isnan(t), None, t.astype(object)), t),
    "targets text": lambda rng, t: t.astype(str),
    "targets words": lambda rng, t: np.where(np.isnan(t), "", "word"),
    "targets complex": lambda rng, t: t + 1j,
    "targets dates": lambda rng, t: np.arange(len(t)).astype("datetime64[D]"),
    "targets masked": lambda rng, t: np.ma.masked_array(np.nan_to_num(t), mask=np.isnan(t)),
    "targets series": lambda rng, t: (pd.Series(t), t),
    "targets nullable": lambda rng, t: (pd.Series(t).astype("Float64"), t),
    "targets list": lambda rng, t: (t.tolist(), t),
    "targets read-only": lambda rng, t: (_read_only(t), t),
    "targets in a column": lambda rng, t: t[:, None],
    "targets in two columns": lambda rng, t: np.column_stack([t, t]),
    "targets too short": lambda rng, t: t[:-1],
    "targets None": lambda rng, t: None,
}


# Weights: (rng, n) -> weights.


WEIGHT_INPUTS: dict[str, Callable[[Rng, int], Any]] = {
    "weights zero": lambda rng, n: np.zeros(n),
    "weights partly zero": lambda rng, n: (rng.random(n) < 0.7).astype(float),
    "weights mostly zero": lambda rng, n: (rng.random(n) < 0.1).astype(float),
    "weights 1": lambda rng, n: np.ones(n),
    **{f"weights 1e{e}": (lambda rng, n, e=e: np.full(n, 10.0**e)) for e in (-300, -100, -20, 20, 100, 300)},
    "weights of all sizes": lambda rng, n: 10.0 ** rng.uniform(-300.0, 300.0, n),
    "weights of many sizes": lambda rng, n: 10.0 ** rng.uniform(-12.0, 12.0, n),
    "weights subnormal": lambda rng, n: np.full(n, 5e-324),
    "a weight of 1e300": lambda rng, n: np.where(np.arange(n) == 0, 1e300, 1.0),
    "a weight of 1.7e308": lambda rng, n: np.where(np.arange(n) == 0, 1.7e308, 1.0),
    "weights negative": lambda rng, n: rng.normal(size=n),
    "weights NaN": lambda rng, n: np.where(np.arange(n) == 0, np.nan, 1.0),
    "weights inf": lambda rng, n: np.where(np.arange(n) == 0, np.inf, 1.0),
    "weights integers": lambda rng, n: rng.integers(1, 4, n),
    "weights bool": lambda rng, n: rng.random(n) < 0.8,
    "weights float32": lambda rng, n: rng.random(n).astype(np.float32),
    "weights text": lambda rng, n: np.full(n, "a"),
    "weights object": lambda rng, n: np.ones(n, dtype=object),
    "weights None among numbers": lambda rng, n: np.array([None, *[1.0] * (n - 1)], dtype=object),
    "weights complex": lambda rng, n: np.ones(n) + 1j,
    "weights too short": lambda rng, n: np.ones(n - 1),
    "weights in a column": lambda rng, n: np.ones((n, 1)),
    "weights a number": lambda rng, n: 2.0,
    "weights a string": lambda rng, n: "balanced",
    "weights series": lambda rng, n: pd.Series(np.ones(n)),
    "weights list": lambda rng, n: [1.0] * n,
    "weights read-only": lambda rng, n: _read_only(np.ones(n)),
}


# Sizes: n -> neighbours and landmarks.


SIZE_INPUTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "as many neighbours as other rows": lambda n: {"n_neighbors": n - 1},
    "as many neighbours as rows": lambda n: {"n_neighbors": n},
    "more neighbours than rows": lambda n: {"n_neighbors": 10 * n},
    "one neighbour": lambda n: {"n_neighbors": 1},
    "every row a landmark": lambda n: {"n_landmarks": n},
    "all but one a landmark": lambda n: {"n_landmarks": n - 1},
    "more landmarks than rows": lambda n: {"n_landmarks": n + 1},
    "one landmark": lambda n: {"n_landmarks": 1},
    "two landmarks": lambda n: {"n_landmarks": 2},
    "no landmark": lambda n: {"n_landmarks": 0},
    "one neighbour, one landmark": lambda n: {"n_neighbors": 1, "n_landmarks": 1},
    "everything": lambda n: {"n_neighbors": n - 1, "n_landmarks": n},
}


def _pair(made: Any) -> tuple[Any, Any]:
    """Return hostile and plain form; makers of data without a plain form return the hostile one alone."""
    return made if isinstance(made, tuple) and len(made) == 2 else (made, None)


def _from_X(maker: Callable[[Rng, Any], Any]) -> Callable[[Rng], Rows]:
    def make(rng: Rng) -> Rows:
        base = harmless(rng)
        hostile, plain = _pair(maker(rng, base.X))
        n = _count(hostile)
        rows = replace(base, X=hostile, y=base.y[:n], t=base.t[:n])
        width = hostile.shape[1] if len(getattr(hostile, "shape", ())) == 2 else base.X.shape[1]
        clean = harmless(rng, d=max(width, 1))
        same = None if plain is None else replace(rows, X=plain, clean=clean)
        return replace(rows, plain=same, clean=clean)

    return make


def _count(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    return shape[0] if shape else None


def _from_field(field: str, maker: Callable[[Rng, Any], Any]) -> Callable[[Rng], Rows]:
    def make(rng: Rng) -> Rows:
        base = harmless(rng)
        hostile, plain = _pair(maker(rng, getattr(base, field)))
        same = None if plain is None else replace(base, **{field: plain}, clean=base)
        return replace(base, **{field: hostile}, plain=same, clean=base)

    return make


def _from_weights(maker: Callable[[Rng, int], Any]) -> Callable[[Rng], Rows]:
    def make(rng: Rng) -> Rows:
        base = harmless(rng)
        return replace(base, weights=maker(rng, base.n), clean=base)

    return make


def _from_sizes(maker: Callable[[int], dict[str, Any]]) -> Callable[[Rng], Rows]:
    def make(rng: Rng) -> Rows:
        base = harmless(rng)
        return replace(base, **maker(base.n), clean=base)

    return make


ROWS: dict[str, dict[str, Callable[[Rng], Rows]]] = {
    "X": {name: _from_X(maker) for name, maker in X_INPUTS.items()},
    "y": {name: _from_field("y", maker) for name, maker in LABEL_INPUTS.items()},
    "t": {name: _from_field("t", maker) for name, maker in TARGET_INPUTS.items()},
    "weights": {name: _from_weights(maker) for name, maker in WEIGHT_INPUTS.items()},
    "sizes": {name: _from_sizes(maker) for name, maker in SIZE_INPUTS.items()},
}
