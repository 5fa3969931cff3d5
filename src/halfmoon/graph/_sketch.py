"""The sketch: a few principal components in float32 that propose neighbours; exact distances decide.

A projection shortens distances, so what is too far in the sketch is too far in X.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from halfmoon.runtime.executor import Executor

__all__ = ["Sketch"]

FULL_SKETCH = 64  # features up to which the sketch is X itself
MAX_SKETCH = 128  # components at most; up to twice as many features are kept as they are if these are too few
CAPTURED = 0.8  # share of the variance that the sketch should hold
SKETCH_ROWS = 8192  # rows that the principal components are found on
GRAM_FEATURES = 2048  # features up to which a d x d Gram matrix is used
BLOCK = 2048  # rows converted at once


class Sketch:
    """A map from rows of X to float32 points whose distances never exceed those of X."""

    def __init__(self, X: Any, rng: np.random.Generator, executor: Executor) -> None:
        n, d = X.shape
        rows = X[np.sort(rng.choice(n, min(n, SKETCH_ROWS), replace=False))]
        dense = not sparse.issparse(X)
        self.center = rows.mean(axis=0, dtype=np.float64) if dense else None
        self.components: NDArray[np.float32] | None = None  # None: the sketch is X, centred
        if dense and d <= FULL_SKETCH:
            return
        seed = None if dense and d <= GRAM_FEATURES else int(rng.integers(1 << 31))
        components, captured = executor.run(_principal_components, (_centered(rows, self.center), seed))
        keeps_all = dense and d <= 2 * MAX_SKETCH and (captured < CAPTURED or 2 * components.shape[1] > d)
        self.components = None if keeps_all else components

    @property
    def complete(self) -> bool:
        """Whether distances of sketches equal those of X."""
        return self.components is None

    def points(self, X: Any, executor: Executor) -> NDArray[np.float32]:
        """Return the sketches of the rows of X, converted block by block."""
        n, d = X.shape
        points = np.empty((n, d if self.components is None else self.components.shape[1]), dtype=np.float32)
        blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
        prepared = (X, self.center, self.components)
        for rows, block in zip(blocks, executor.map(_sketch_rows, prepared, blocks), strict=True):
            points[rows] = block
        return points


def _principal_components(prepared: tuple[Any, int | None]) -> tuple[NDArray[np.float32], float]:
    """Return orthonormal columns and the share of the variance of the rows that they capture.

    They come from the d x d Gram matrix, or, given a seed, from a randomised singular value decomposition.
    """
    rows, seed = prepared
    d = rows.shape[1]
    total = float(rows.multiply(rows).sum()) if sparse.issparse(rows) else float(np.vdot(rows, rows))
    size = min(MAX_SKETCH, d, rows.shape[0])
    if seed is None:
        values, vectors = linalg.eigh((rows.T @ rows).astype(np.float64), subset_by_index=[d - size, d - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        _, singular, vectors = randomized_svd(rows, size, n_iter=2, random_state=seed)
        values, vectors = singular**2, vectors.T
    captured = np.cumsum(values) / max(total, np.finfo(float).tiny)
    width = int(np.searchsorted(captured, CAPTURED)) + 1
    width = min(-(-width // 16) * 16, vectors.shape[1])  # whole registers
    return np.ascontiguousarray(vectors[:, :width], dtype=np.float32), float(captured[width - 1])


def _sketch_rows(prepared: tuple[Any, NDArray[np.float64] | None, NDArray[np.float32] | None], rows: slice) -> Any:
    X, center, components = prepared
    block = _centered(X[rows], center)
    return block if components is None else block @ components


def _centered(rows: Any, center: NDArray[np.float64] | None) -> Any:
    return rows.astype(np.float32) if center is None else (rows - center).astype(np.float32)
