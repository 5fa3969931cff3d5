"""The base kernel K: a scikit-learn name with its parameters, a function, or a GP kernel object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.gaussian_process.kernels import Kernel as GPKernel
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from halfmoon._validation import SMALLEST, check_choice, check_mapping, check_real
from halfmoon.exceptions import FloatRangeError, NotPositiveSemidefiniteError
from halfmoon.kernels._distances import rbf_kernel, squared_distances
from halfmoon.kernels._numba.rbf import rbf_columns
from halfmoon.runtime.executor import ThreadExecutor, thread_count
from halfmoon.runtime.half_floats import as_bits
from halfmoon.runtime.storable import storable

__all__ = ["BaseKernel", "median_gamma"]

Matrix = NDArray[np.float64]
SEMIDEFINITE = ("chi2", "cosine", "laplacian", "linear", "rbf")
UNIT_DIAGONAL = ("laplacian", "rbf")
TAKES_GAMMA = ("chi2", "laplacian", "poly", "polynomial", "rbf", "sigmoid")
DIAGONAL_BLOCK = 32  # rows a block while reading a diagonal off square blocks
LARGEST_VALUE = 1e100  # of a base kernel on the landmarks
PANEL = 4096  # rows per task while evaluating columns


@storable
@dataclass(frozen=True)
class BaseKernel:
    """K(x, x') of eq. 4 and 6 as a function of two data matrices."""

    kernel: str | Callable[..., Any] | GPKernel
    params: dict[str, Any] = field(default_factory=dict)
    center: Any = 0.0  # subtracted first: the RBF does not see it, its cancellation far from the origin does

    @classmethod
    def resolve(cls, kernel: Any, gamma: float | None, params: dict[str, Any] | None, sample: Any) -> BaseKernel:
        """Check the user's choice; gamma follows from the `sample` where it is the RBF's and not given."""
        params = check_mapping("base_kernel_params", params)
        if isinstance(kernel, GPKernel) or callable(kernel):
            if isinstance(kernel, GPKernel) and params:
                raise ValueError(
                    f"base_kernel_params={params!r} does not go with a Gaussian-process kernel. Set them on the kernel."
                )
            if gamma is not None:
                raise ValueError(
                    f"gamma={gamma!r} goes with a named base kernel. Pass the parameters of a kernel function or "
                    "object through base_kernel_params or set them on the object."
                )
            return cls(kernel, params)
        check_choice("base_kernel", kernel, PAIRWISE_KERNEL_FUNCTIONS, advice="Or pass a kernel function.")
        if gamma is not None:
            if kernel not in TAKES_GAMMA:
                raise ValueError(f"The base kernel {kernel!r} has no gamma. Leave gamma=None.")
            params["gamma"] = check_real("gamma", gamma, strict=True)
        elif kernel == "rbf" and "gamma" not in params:
            params["gamma"] = median_gamma(sample)
        centered = kernel == "rbf" and not sparse.issparse(sample)
        return cls(kernel, params, sample.mean(axis=0) if centered else 0.0)

    @property
    def name(self) -> str:
        """What to call it in a report."""
        kernel = self.kernel
        if isinstance(kernel, str):
            return kernel
        return str(getattr(kernel, "__name__", type(kernel).__name__))

    def __call__(self, A: Any, B: Any) -> Matrix:
        """Return the matrix K(a, b)."""
        try:
            K = self._evaluate(A, B)
        except TypeError as error:
            if not isinstance(self.kernel, str):
                raise
            raise ValueError(
                f"The base kernel {self.name!r} does not take base_kernel_params={self.params!r}: {error}."
            ) from error
        if not np.isfinite(K).all():
            raise FloatRangeError(
                f"The base kernel {self.name!r} has values that float64 does not hold. Rescale the features, with "
                "StandardScaler say, or use 'rbf'."
            )
        return K

    def _evaluate(self, A: Any, B: Any) -> Matrix:
        if isinstance(self.kernel, GPKernel):
            return np.asarray(self.kernel(A, B), dtype=np.float64)
        if callable(self.kernel):
            A, B = (rows if rows.dtype in (np.float64, np.float32) else rows.astype(np.float64) for rows in (A, B))
            K = np.asarray(self.kernel(A, B, **self.params), dtype=np.float64)
            if K.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    "A base kernel function is given two data matrices and returns the matrix of kernel values: "
                    f"expected shape {(A.shape[0], B.shape[0])}, got {K.shape}."
                )
            return K
        if self.kernel == "rbf":
            if not (sparse.issparse(A) or sparse.issparse(B)):
                A, B = A - self.center, B - self.center
            return rbf_kernel(A, B, **self.params)
        with np.errstate(over="ignore", invalid="ignore"):
            return pairwise_kernels(A, B, metric=self.kernel, **self.params)

    def columns(self, X: Any, Z: Any, n_jobs: int | None = None) -> NDArray[np.float32]:
        """Return K(x, z) in float32 for all rows x of X and a few points z; X is not copied.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon.kernels import BaseKernel
        >>> X = np.array([[0, 2], [1, 2]], dtype=np.uint8)
        >>> BaseKernel("rbf", {"gamma": np.log(2.0)}).columns(X, np.array([[0.0, 2.0]]))
        array([[1. ],
               [0.5]], dtype=float32)
        """
        with ThreadExecutor(thread_count(n_jobs)) as executor:
            return np.concatenate(list(executor.map(_columns, (self, X, Z), range(0, X.shape[0], PANEL))))

    def check_semidefinite(self, K_hat: Matrix) -> None:
        """Refuse a kernel function that is not semi-definite on the landmarks, or too large to compute with."""
        largest = float(np.abs(K_hat).max())
        if largest > LARGEST_VALUE:
            raise FloatRangeError(
                f"The base kernel {self.name!r} reaches {largest:.3g} on the landmarks; beyond {LARGEST_VALUE:g} its "
                "products overflow. Rescale the features, with StandardScaler say, or use 'rbf'."
            )
        if self.kernel in SEMIDEFINITE or isinstance(self.kernel, GPKernel):
            return
        eigenvalues = linalg.eigvalsh((K_hat + K_hat.T) / 2)
        if eigenvalues[0] < -1e-8 * abs(eigenvalues[-1]):
            raise NotPositiveSemidefiniteError(
                f"The base kernel {self.kernel!r} is not positive semi-definite: on the landmarks its spectrum reaches "
                f"from {eigenvalues[0]:.2g} to {eigenvalues[-1]:.2g}. Change its parameters or use 'rbf'."
            )

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return K(a, a) for each row."""
        if self.kernel in UNIT_DIAGONAL:
            return np.ones(A.shape[0])
        blocks = [A[start : start + DIAGONAL_BLOCK] for start in range(0, A.shape[0], DIAGONAL_BLOCK)]
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])


def _columns(prepared: tuple[BaseKernel, Any, Any], first: int) -> NDArray[np.float32]:
    """Evaluate the kernel on some rows: a task."""
    base, X, Z = prepared
    rows = X[first : first + PANEL]
    if base.kernel != "rbf" or sparse.issparse(X):
        return base(rows, Z).astype(np.float32)
    K = np.empty((len(rows), len(Z)), dtype=np.float32)
    rbf_columns(as_bits(rows), Z, base.params["gamma"], K)
    return K


def median_gamma(sample: Any) -> float:
    """Return gamma = 1 / (2 sigma^2), sigma the median distance between the rows of the sample."""
    if not sparse.issparse(sample):
        sample = sample - sample.mean(axis=0)
    distances = np.sqrt(squared_distances(sample)[np.triu_indices(sample.shape[0], k=1)])
    positive = distances[distances > 0.0]
    if not positive.size:
        return 1.0
    sigma = max(float(np.median(positive)), SMALLEST)  # below, its square would vanish
    return 1.0 / (2.0 * sigma**2)
