"""What properties are tried on: drawn rows, graphs, estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
from scipy import sparse

from benchmarks._graph_families import SMALL_FAMILIES
from halfmoon import (
    DataDependentKernel,
    LapRLSClassifier,
    LapSVC,
)
from halfmoon.solvers import SOLVERS

__all__ = ["ESTIMATOR", "EXTENSION", "FAMILIES", "SEEDS", "SIZES", "SOLVER", "close", "graph", "sample"]

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(8, 40)


@dataclass(frozen=True)
class Sample:
    """Rows in general position with a few labels, and a kernel with given landmarks."""

    X: Any
    y: Any
    t: Any
    Z: Any
    landmarks: Any

    def kernel(self, **options: Any) -> DataDependentKernel:
        """Return a kernel that is not fitted."""
        return DataDependentKernel(**{"n_neighbors": 4, "landmarks": self.landmarks, "n_jobs": 1} | options)


def sample(seed: int, n: int, *, classes: int = 2, d: int = 3) -> Sample:
    """Draw a sample."""
    rng = np.random.default_rng(seed)
    n = max(n, 4 * classes)
    truth = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(classes, d))[truth]
    y = np.where(np.arange(n) < 3 * classes, truth, -1)
    t = np.where(np.arange(n) < n // 2, X @ rng.normal(size=d), np.nan)
    return Sample(X, y, t, rng.normal(size=(7, d)), rng.permutation(n)[: max(3, n // 3)])


def graph(seed: int, n: int, family: str) -> sparse.csr_array:
    """Draw a graph of a family of the certificates."""
    return sparse.csr_array(SMALL_FAMILIES[family](np.random.default_rng(seed), n))


FAMILIES = st.sampled_from(sorted(SMALL_FAMILIES))
SOLVER = st.sampled_from(["auto", *SOLVERS])
ESTIMATOR = st.sampled_from(
    [
        lambda kernel: LapSVC(kernel=kernel, random_state=0),
        lambda kernel: LapSVC(10.0, kernel=kernel),
        lambda kernel: LapRLSClassifier(kernel=kernel),
        lambda kernel: LapRLSClassifier(0.1, kernel=kernel),
    ]
)
EXTENSION = st.sampled_from(["kernel", "graph"])


def close(found: Any, expected: Any, rtol: float = 1e-7) -> None:
    """Compare relative to the largest entry."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale + np.finfo(float).tiny)
