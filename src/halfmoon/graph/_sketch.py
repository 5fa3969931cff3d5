"""The sketch: principal components that propose neighbours; exact distances decide.

Trees divide the points by the first components (the head). Lists are made by codes: one byte per component, or per
feature where the components hold too little of the distance between near points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._principal_components import GRAM_FEATURES, MOST, Sample, centered, principal_components
from halfmoon.runtime.executor import Executor

__all__ = ["Sketch"]

HEAD = 32  # components that trees divide by; up to as many features are kept as they are
HELD = 0.7  # share of the squared distance of near rows that components must hold to make the codes
NEAR_ROWS = 128  # of the sample, whose nearest others show what the components hold
BLOCK = 2048  # rows converted at once
LARGEST_CODE = 127
FAR = 0.999  # share of the sample whose entries the codes hold; what is larger is cut off


class Sketch:
    """A map from rows of X to float32 points whose distances never exceed those of X, and to int8 codes.

    Attributes
    ----------
    components : ndarray of shape (d, s) or None
        None: the points are the rows, centred.
    complete : bool
        Whether distances of points equal those of X.
    """

    def __init__(self, X: Any, rng: np.random.Generator, executor: Executor) -> None:
        sample, d, dense = Sample.of(X, rng), X.shape[1], not sparse.issparse(X)
        rows, self.center = sample.rows, sample.center
        self.components: NDArray[np.float32] | None = None
        if not dense or d > HEAD:
            self.components, _ = principal_components(sample, executor)
        self.complete = dense and d <= MOST
        self.codes_features = (
            dense and HEAD < d <= GRAM_FEATURES and not executor.run(_hold_distances, (rows, self.components))
        )
        coded = rows if self.codes_features or self.components is None else rows @ self.components
        largest = float(np.quantile(np.abs(coded).max(axis=1), FAR))
        self.code_scale = np.float32(LARGEST_CODE / largest if largest > 0.0 else 1.0)

    @property
    def unit(self) -> float:
        """Squared distance per squared distance of codes."""
        return float(self.code_scale) ** -2

    def points(self, X: Any, executor: Executor) -> NDArray[np.float32]:
        """Return the sketches of the rows of X, converted block by block."""
        n, d = X.shape
        points = np.empty((n, d if self.components is None else self.components.shape[1]), dtype=np.float32)
        prepared = (X, np.arange(n), self.center, self.components, None)
        return _by_blocks(prepared, points, executor)

    def codes(
        self, X: Any, row: NDArray[np.int32], points: NDArray[np.float32], executor: Executor
    ) -> NDArray[np.int8]:
        """Return the codes of rows of X in some order; `points` are their sketches, in the same order."""
        source = (X, row, self.center) if self.codes_features else (points, np.arange(len(points)), None)
        codes = np.empty((len(row), source[0].shape[1]), np.int8)
        return _by_blocks((*source, None, self.code_scale), codes, executor)


def _by_blocks(prepared: tuple[Any, ...], made: NDArray[Any], executor: Executor) -> NDArray[Any]:
    """Fill an array with what `_sketch_rows` makes of blocks of rows."""
    blocks = [slice(start, min(start + BLOCK, len(made))) for start in range(0, len(made), BLOCK)]
    for rows, block in zip(blocks, executor.map(_sketch_rows, prepared, blocks), strict=True):
        made[rows] = block
    return made


def _sketch_rows(
    prepared: tuple[Any, NDArray[Any], NDArray[np.float32] | None, NDArray[np.float32] | None, np.float32 | None],
    rows: slice,
) -> Any:
    """Return some rows of X in an order: centred, then projected or coded."""
    X, order, center, components, code_scale = prepared
    block = centered(X[order[rows]], center)
    if components is not None:
        return block @ components
    if code_scale is None:
        return block
    block *= code_scale
    return np.clip(np.rint(block, out=block), -LARGEST_CODE, LARGEST_CODE, out=block).astype(np.int8)


def _hold_distances(prepared: tuple[NDArray[np.float32], Any]) -> bool:
    """Return whether the components hold most of the squared distance between near rows, in the median."""
    rows, components = prepared
    if components.shape[0] == components.shape[1]:
        return True
    some = rows[:NEAR_ROWS]
    squares = np.square(rows).sum(axis=1) - 2.0 * some @ rows.T
    squares[np.arange(len(some)), np.arange(len(some))] = np.inf
    gaps = some - rows[squares.argmin(axis=1)]
    held, whole = np.square(gaps @ components).sum(axis=1), np.square(gaps).sum(axis=1)
    return bool(np.median(held / np.maximum(whole, np.finfo(np.float32).tiny)) >= HELD)
