"""Methods that live on the graph alone, on the same graph: label spreading, Laplace and Poisson learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.semi_supervised import LabelSpreading

from halfmoon.graph import laplacian
from halfmoon.solvers import solve_sdd

__all__ = ["BASELINES"]

Vector = NDArray[np.float64]
EPS = 1e-6


def label_spreading(W: sparse.csr_array, known: NDArray[np.intp], signs: Vector) -> Vector:
    """Return scikit-learn's label spreading on the graph W, as a difference of the two class scores."""
    labels = np.full(W.shape[0], -1)
    labels[known] = signs > 0.0
    model = LabelSpreading(kernel=lambda X, Y: W, max_iter=100).fit(np.zeros((W.shape[0], 1)), labels)
    return model.label_distributions_ @ np.array([-1.0, 1.0])


def laplace_learning(W: sparse.csr_array, known: NDArray[np.intp], signs: Vector) -> Vector:
    """Return the harmonic function with the given values (Zhu, Ghahramani and Lafferty, 2003)."""
    L = laplacian(W)
    unknown = np.setdiff1d(np.arange(W.shape[0]), known)
    rows = L[unknown]
    f = np.zeros(W.shape[0])
    f[known] = signs
    f[unknown] = solve_sdd(rows[:, unknown], -(rows[:, known] @ signs), eps=EPS, n_jobs=1).X
    return f


def poisson_learning(W: sparse.csr_array, known: NDArray[np.intp], signs: Vector) -> Vector:
    """Return f with L f = sum of (y_j - mean y) e_j, balanced (Calder, Cook, Thorpe and Slepcev, 2020)."""
    source = np.zeros(W.shape[0])
    source[known] = signs - signs.mean()
    f = solve_sdd(laplacian(W), source, eps=EPS, n_jobs=1).X
    return f - np.average(f, weights=np.asarray(W.sum(axis=1)).ravel())


BASELINES: dict[str, Callable[[Any, NDArray[np.intp], Vector], Vector]] = {
    "spreading": label_spreading,
    "laplace": laplace_learning,
    "poisson": poisson_learning,
}
