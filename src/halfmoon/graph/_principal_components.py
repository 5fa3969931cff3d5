"""Principal components of a sample of rows: short descriptions of rows whose distances never exceed those of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from halfmoon.runtime.executor import Executor

__all__ = ["GRAM_FEATURES", "MOST", "Sample", "centered", "principal_components", "sample_rows"]

MOST = 128  # components
SAMPLE_ROWS = 4096  # that the components are found on, at most
SAMPLE_NUMBERS, LEAST_ROWS = 1 << 22, 1024  # fewer where rows are long
GRAM_FEATURES = 2048  # features up to which a d x d Gram matrix is used
GRAM_ROWS = 1024  # that add to the Gram matrix in one piece of work


def sample_rows(features: int) -> int:
    """Return how many rows components are found on: fewer where rows are long."""
    return max(LEAST_ROWS, min(SAMPLE_ROWS, SAMPLE_NUMBERS // max(features, 1)))


@dataclass(frozen=True)
class Sample:
    """Some rows of X, centred in float32; sparse rows stay where they are."""

    rows: Any
    center: NDArray[np.float32] | None
    seed: int | None  # of a randomised decomposition; None: from the Gram matrix

    @classmethod
    def of(cls, X: Any, rng: np.random.Generator) -> Sample:
        """Draw the rows."""
        n, d = X.shape
        rows = X[np.sort(rng.choice(n, min(n, sample_rows(d)), replace=False))]
        dense = not sparse.issparse(X)
        center = rows.mean(axis=0, dtype=np.float64).astype(np.float32) if dense else None
        return cls(centered(rows, center), center, None if dense and d <= GRAM_FEATURES else int(rng.integers(1 << 31)))


def principal_components(sample: Sample, executor: Executor) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return orthonormal columns, at most `MOST`, and the share of the variance that the first of them hold together.

    They come from the d x d Gram matrix or, given a seed, from a randomised singular value decomposition.
    """
    gram = None
    if sample.seed is None:
        blocks = [slice(start, start + GRAM_ROWS) for start in range(0, sample.rows.shape[0], GRAM_ROWS)]
        gram = np.sum(list(executor.map(_gram, sample.rows, blocks)), axis=0)
    return executor.run(_components, (sample, gram))


def _gram(rows: NDArray[np.float32], block: slice) -> NDArray[np.float32]:
    return rows[block].T @ rows[block]


def _components(
    prepared: tuple[Sample, NDArray[np.float32] | None],
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    sample, gram = prepared
    rows, d = sample.rows, sample.rows.shape[1]
    size = min(MOST, d, rows.shape[0])
    if gram is not None:
        values, vectors = linalg.eigh(gram, subset_by_index=[d - size, d - 1])
        values, vectors = values[::-1].astype(np.float64), vectors[:, ::-1]
    else:
        _, singular, vectors = randomized_svd(rows, size, n_iter=2, random_state=sample.seed)
        values, vectors = singular**2, vectors.T
    total = float(rows.multiply(rows).sum()) if sparse.issparse(rows) else float(np.vdot(rows, rows))
    held = np.cumsum(values) / max(total, np.finfo(float).tiny)
    return np.ascontiguousarray(vectors, dtype=np.float32), held


def centered(rows: Any, center: NDArray[np.float32] | None) -> Any:
    """Subtract in the precision of the rows, which may lie far from the origin; the type of equal rows is no matter."""
    return rows.astype(np.float32) if center is None else (rows - center).astype(np.float32, copy=False)
