"""Properties of data-dependent kernels."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from scipy import sparse

from reliability.properties._claims import claim
from reliability.properties._data import EXTENSION, SEEDS, SIZES, close, sample


@claim(
    "kernel matrices are symmetric and semi-definite",
    seed=SEEDS,
    n=SIZES,
    extension=EXTENSION,
    power=st.integers(1, 4),
    eta=st.sampled_from([0.0, 0.1, 1.0, 1e3]),
    base=st.sampled_from(["rbf", "laplacian", "linear"]),
)
def _semidefinite(seed: int, n: int, extension: str, power: int, eta: float, base: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(base_kernel=base, extension=extension, power=power, eta=eta).fit(data.X)
    K = kernel(np.vstack([data.X, data.Z]))
    assert np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-6 * np.abs(K).max() * len(K)


@claim("blocks of a kernel matrix are those of the whole", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_blocks(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(extension=extension).fit(data.X)
    whole = kernel(data.Z, data.X)
    close(np.vstack([kernel(data.Z[i : i + 2], data.X) for i in range(0, 7, 2)]), whole, 1e-12)
    close(kernel(data.X, data.Z).T, whole, 1e-9)


@claim("the diagonal and the metric agree with the matrix", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _diagonal(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(extension=extension).fit(data.X)
    K = kernel(data.Z)
    close(kernel.diag(data.Z), np.diag(K), 1e-9)
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    close(np.square(kernel.distance(data.Z)), np.maximum(squares, 0.0), 1e-7)


@claim("eta = 0 is the base kernel", seed=SEEDS, n=SIZES)
def _eta_zero(seed: int, n: int) -> None:
    data = sample(seed, n)
    kernel = data.kernel(eta=0.0, gamma=0.3, extension="kernel", scale=None).fit(data.X)
    D = ((data.Z[:, None] - data.X[None]) ** 2).sum(axis=2)
    close(kernel(data.Z, data.X), np.exp(-0.3 * D), 1e-9)


@claim("kernels of float32 rows are those of the same values in float64", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_float32(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    X = data.X.astype(np.float32)
    first, second = (data.kernel(extension=extension).fit(rows)(rows) for rows in (X, X.astype(np.float64)))
    close(first, second, 1e-4)


@claim("kernels of sparse rows are those of dense rows", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_sparse(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    X, Z = sparse.csr_array(data.X), sparse.csr_array(data.Z)
    dense, alike = (data.kernel(extension=extension).fit(rows) for rows in (data.X, X))
    expected = dense(data.Z)
    close(alike(Z), expected, 1e-6)
    close(dense(Z), expected, 1e-9)


@claim("rows far from the others do not change the kernel between these", seed=SEEDS, n=SIZES, far=st.floats(6.0, 12.0))
def _outlier(seed: int, n: int, far: float) -> None:
    data = sample(seed, n)
    X = np.vstack([data.X, np.full((1, 3), 10.0**far)])
    K = data.kernel(extension="kernel", gamma=0.5, eta=0.0, scale=None).fit(X)(data.X)
    D = ((data.X[:, None] - data.X[None]) ** 2).sum(axis=2)
    close(K, np.exp(-0.5 * D), 1e-3)
