"""What a fitted data-dependent kernel says: its values, its metric, and what it rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_features, check_n_features, validate_data
from halfmoon.geometry import Geometry, Restriction
from halfmoon.kernels._base import BaseKernel
from halfmoon.kernels._gaussian_process import DataDependentGPKernel
from halfmoon.kernels._warped import WarpedKernel
from halfmoon.regularizers import Regularizer

__all__ = ["FittedKernel"]


class FittedKernel(BaseEstimator):
    """A geometry and a kernel warped by it; `DataDependentKernel` adds parameters and how they are fitted."""

    geometry_: Geometry
    warped_: WarpedKernel

    @property
    def landmarks_(self) -> Any:
        """The rows of X that are landmarks."""
        return self._fitted_geometry.landmark_points

    @property
    def restriction_(self) -> Restriction:
        """Q^+ on the landmarks and its certificate."""
        return self._fitted_geometry.restriction(self.warped_.power)

    @property
    def regularizer_(self) -> Regularizer:
        """Q."""
        return self._fitted_geometry.regularizer_of(self.warped_.power)

    @property
    def graph_(self) -> sparse.csr_array | None:
        """W."""
        return self._fitted_geometry.graph

    @property
    def points_(self) -> Any:
        """What the graph sees."""
        return self._fitted_geometry.X

    @property
    def eta_(self) -> float:
        """The eta of eq. 5."""
        return self._fitted_kernel.eta

    @property
    def base_kernel_(self) -> BaseKernel:
        """K."""
        return self._fitted_kernel.base

    @property
    def K_hat_(self) -> NDArray[np.float64]:
        """K on the landmarks."""
        return self._fitted_kernel.K_hat

    @property
    def _fitted_geometry(self) -> Geometry:
        check_is_fitted(self)
        return self.geometry_

    @property
    def _fitted_kernel(self) -> WarpedKernel:
        check_is_fitted(self)
        return self.warped_

    def __call__(self, A: Any, B: Any = None) -> Any:
        """Return the kernel matrix of the rows of A and B (eq. 6, or eq. 4 with ``method="full"``).

        Parameters
        ----------
        A : array-like of shape (n_a, d)
            Points, training points or new ones. Two 1-D arrays give one value.
        B : array-like of shape (n_b, d), default=None
            More points; None means A.

        Returns
        -------
        ndarray of shape (n_a, n_b), or float
        """
        check_is_fitted(self)
        if _is_point(A) and _is_point(B):
            return float(self(np.reshape(A, (1, -1)), np.reshape(B, (1, -1)))[0, 0])
        return self.warped_(self._validate(A), None if B is None else self._validate(B))

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return K(a, a) for each row of A, without the matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> bool(np.allclose(kernel.diag(X), np.diag(kernel(X))))
        True
        """
        check_is_fitted(self)
        return self.warped_.diag(self._validate(A))

    def distance(self, A: Any, B: Any = None) -> NDArray[np.float64]:
        """Return d(a, b) = sqrt(K(a, a) + K(b, b) - 2 K(a, b)), the kernel's metric (section 5.2).

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> kernel.distance(X).shape
        (50, 50)
        """
        check_is_fitted(self)
        if _is_point(A) and _is_point(B):
            return self.distance(np.reshape(A, (1, -1)), np.reshape(B, (1, -1)))[0, 0]
        return self.warped_.distance(self._validate(A), None if B is None else self._validate(B))

    def interpolate(self, h_hat: ArrayLike) -> NDArray[np.float64]:
        """Extend values at the landmarks to all points that the graph sees, as smoothly as Q allows.

        h* minimises h' Q h among the functions with these values on the landmarks, and
        h_hat' Q_hat h_hat = h*' Q h* (Theorem 3.2).

        Parameters
        ----------
        h_hat : array-like of shape (n_hat,) or (n_hat, m)
            Values in the order of `landmark_indices_`.

        Returns
        -------
        ndarray of shape (n,) or (n, m)

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> h_hat = np.arange(10.0)
        >>> h_star = kernel.interpolate(h_hat)
        >>> bool(np.allclose(h_star[kernel.landmark_indices_], h_hat))
        True
        """
        return self._fitted_geometry.extend(h_hat, self.warped_.power)

    def kernel_error_bound(self) -> float:
        """Return the bound of Theorem 4.3 on ``|K - K_exact|`` for points with K(x, x) <= that of the landmarks.

        ``eta kappa^2 n_hat |dA| / (lambda (lambda - |dA|))``, with ``|dA|`` the verified spectral error of A, kappa the
        largest base-kernel value K(x, x) on the landmarks and lambda the smallest eigenvalue of A + eta K_hat.
        It holds for eq. 6; infinite where ``|dA| >= lambda``. The paper has kappa in place of its square, which is
        right for kappa = 1: the n_hat entries of k_x are at most kappa each.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> kernel.kernel_error_bound() < 1e-3
        True
        """
        return self._fitted_kernel.error_bound()

    def as_gp_kernel(self) -> DataDependentGPKernel:
        """Return this fitted kernel for scikit-learn's Gaussian processes, KernelRidge and KernelPCA.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.gaussian_process.kernels import WhiteKernel
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> gp = GaussianProcessRegressor(kernel.as_gp_kernel() + WhiteKernel(0.1)).fit(X, X[:, 0])
        >>> gp.predict(X, return_std=True)[1].shape
        (50,)
        """
        check_is_fitted(self)
        return DataDependentGPKernel(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "warped_")

    def _validate(self, A: Any) -> Any:
        # Estimators that call the kernel have turned data frames into arrays: names are checked where there are any.
        if hasattr(A, "columns"):
            A = validate_data(self, A, accept_sparse="csr", dtype=np.float64, reset=False)
        A = check_features(A)
        check_n_features(self, A, reset=False)
        return A


def _is_point(A: Any) -> bool:
    """Return whether A is one point, a vector, and not a matrix of them."""
    if hasattr(A, "ndim"):
        return bool(A.ndim == 1)
    return isinstance(A, list | tuple) and len(A) > 0 and all(np.isscalar(value) for value in A)
