"""The data-dependent kernel in the form that scikit-learn's Gaussian processes expect."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel as GPKernel

from halfmoon.runtime.storable import storable

__all__ = ["DataDependentGPKernel"]


@storable
class DataDependentGPKernel(GPKernel):
    """A fitted `DataDependentKernel` as a Gaussian-process kernel without hyper-parameters.

    Parameters
    ----------
    kernel : DataDependentKernel
        A fitted kernel. To tune it, fit another one.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import DataDependentKernel
    >>> X = np.random.default_rng(2).normal(size=(50, 2))
    >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
    >>> kernel.as_gp_kernel()(X[:3]).shape
    (3, 3)
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel matrix, and an empty gradient on request."""
        K = self.kernel(X, Y)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> NDArray[np.float64]:
        """Return K(x, x)."""
        return self.kernel.diag(X)

    def is_stationary(self) -> bool:
        """Return False: the kernel depends on where the data are."""
        return False

    def __sklearn_clone__(self) -> Self:
        """Return itself: there is nothing to train."""
        return self

    def __repr__(self) -> str:
        return f"DataDependentGPKernel({self.kernel!r})"
