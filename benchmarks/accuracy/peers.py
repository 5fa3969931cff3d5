"""The methods that run in an environment of their own: GraphLearning on halfmoon's graph, and classical LAMDA-SSL.

The table is read in both environments, so the packages are imported where they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.accuracy.problem import Answer, Method, Problem

Answers = dict[str, Answer]


def graph_method(name: str, problem: Problem, *, priors: bool = False, **params: Any) -> Answers:
    """Fit one of GraphLearning's methods on the distinct rows; they predict no new points."""
    method = getattr(importlib.import_module("graphlearning").ssl, name)
    vertices, first = np.unique(problem.point[problem.labeled], return_index=True)
    labels = problem.few[problem.labeled][first]
    model = method(problem.W, class_priors=problem.priors if priors else None, **params)
    return {"": Answer(model.fit_predict(vertices, labels)[problem.point])}


def graph_methods(*, priors: bool) -> Iterator[Method]:
    """Yield GraphLearning's methods, told the class priors or not; Poisson MBO must be told."""
    note = ", priors" if priors else ""
    laplace = {"order": [1, 2], "tau": [0.0, 0.01]}
    yield Method(f"Laplace{note}", partial(graph_method, "laplace", priors=priors), grid=laplace)
    yield Method(f"Poisson{note}", partial(graph_method, "poisson", priors=priors))  # nothing to tune
    if priors:
        mbo = {"mu": [1.0, 0.1, 10.0], "Ns": [40, 10]}
        yield Method(f"Poisson MBO{note}", partial(graph_method, "poisson_mbo", priors=True), grid=mbo)


def lamda(name: str, problem: Problem, **params: Any) -> Answers:
    """Fit one of LAMDA-SSL's methods; those of its classes that are transductive keep the unlabelled rows' classes."""
    np.random.seed(problem.seed % 2**32)  # noqa: NPY002  LAMDA-SSL draws from the global generator
    method = getattr(importlib.import_module(f"LAMDA_SSL.Algorithm.Classification.{name}"), name)
    X, X_new = (dense(part) for part in (problem.X, problem.X_new))
    labeled = problem.labeled
    model = method(**params).fit(X[labeled], problem.few[labeled], X[~labeled])
    is_transductive = model.__semi_type__ == "Transductive"
    train = problem.few.copy()
    train[~labeled] = model.predict(Transductive=True) if is_transductive else model.predict(X[~labeled])
    options = {"Transductive": False} if is_transductive else {}
    return {"": Answer(train, lambda: np.asarray(model.predict(X_new, **options)))}


def dense(rows: Any) -> np.ndarray:
    """Return rows as a dense float64 array."""
    return np.asarray(rows.todense() if sparse.issparse(rows) else rows, dtype=np.float64)


SQUARE = 6_000  # rows: a dense matrix of their square
GRAPHLEARNING = (*graph_methods(priors=False), *graph_methods(priors=True))
LAMDA_SSL = (
    Method(
        "LAMDA LapSVM",
        partial(lamda, "LapSVM"),
        grid={"gamma_A": [0.03, 0.003], "gamma_I": [0.0, 1.0, 100.0]},
        two_classes=True,
        largest=SQUARE,
    ),
    Method("LAMDA TSVM", partial(lamda, "TSVM"), grid={"Cl": [15, 1, 100]}, two_classes=True),
    Method(
        "LAMDA SemiBoost",
        partial(lamda, "SemiBoost"),
        grid={"gamma": [None, 0.1, 1.0]},
        two_classes=True,
        largest=SQUARE,
    ),
    Method("LAMDA Co-training", partial(lamda, "Co_Training"), grid={"k": [50, 10]}, two_classes=True),
    Method("LAMDA Tri-training", partial(lamda, "Tri_Training")),
    Method("LAMDA Assemble", partial(lamda, "Assemble"), grid={"T": [100, 10]}),
    Method("LAMDA SSGMM", partial(lamda, "SSGMM"), grid={"max_iterations": [300, 3, 30]}),
    Method(
        "LAMDA LabelPropagation",
        partial(lamda, "LabelPropagation"),
        grid={"gamma": [1.0, 0.01, 0.1, 10.0]},
        largest=SQUARE,
    ),
    Method(
        "LAMDA LabelSpreading",
        partial(lamda, "LabelSpreading"),
        grid={"gamma": [1.0, 0.01, 0.1, 10.0], "alpha": [0.2, 0.9]},
        largest=SQUARE,
    ),
)
GROUPS = {"GraphLearning": GRAPHLEARNING, "LAMDA-SSL": LAMDA_SSL}
