"""The feature map of rank n_hat: the data-dependent kernel for linear models on millions of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_n_features, validate_points
from halfmoon.kernels import SHARED, GraphExtension, fit_small, resolve_kernel
from halfmoon.runtime.chunks import by_chunk
from halfmoon.runtime.progress import showing
from halfmoon.runtime.storable import storable
from halfmoon.runtime.transaction import transaction

__all__ = ["LandmarkFeatures"]

BLOCK = 1 << 23  # kernel values held at once


@storable
class LandmarkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map points to features whose inner products are the data-dependent kernel.

    Phi(x)' Phi(x') = K(x, x'): exactly for ``extension="graph"``, and for ``extension="kernel"`` on the landmarks, with
    the Nystroem approximation elsewhere. There are at most n_hat features, so LinearSVC, SGDClassifier,
    LogisticRegression or MiniBatchKMeans run on millions of rows.

    Parameters
    ----------
    kernel : DataDependentKernel, str or callable, default=None
        The kernel; None means ``DataDependentKernel()``, and a name or function is its base kernel. Its
        ``extension="auto"`` means "graph" here.
    n_neighbors, n_landmarks, random_state, n_jobs : default=None
        Parameters of the kernel that can be set here; None means the kernel's value.
    verbose : bool, default=False
        Print what takes time while it is done.

    Attributes
    ----------
    kernel_ : DataDependentKernel
        The kernel, fitted on X.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel, LandmarkFeatures
    >>> X, _ = make_moons(200, noise=0.1, random_state=0)
    >>> features = LandmarkFeatures(DataDependentKernel(n_landmarks=30, random_state=0)).fit(X)
    >>> Phi = features.transform(X)
    >>> bool(np.allclose(Phi @ Phi.T, features.kernel_(X)))
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_neighbors: int | None = None,
        n_landmarks: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel on X.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,), default=None
            Labels; which rows are labelled biases the choice of landmarks.

        Returns
        -------
        self
        """
        with showing(self.verbose), transaction(self) as staged:
            staged._fit(validate_points(staged, X, minimum=2, to_learn=True), y)
        return self

    def fit_checked(self, X: Any) -> Self:
        """Fit the kernel on rows that `validate_points` returned: they are not looked at again."""
        with showing(self.verbose), transaction(self) as staged:
            check_n_features(staged, X, reset=True)
            staged._fit(X, None)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        kernel = resolve_kernel(self.kernel, **{name: getattr(self, name) for name in SHARED})
        self.kernel_ = fit_small(kernel, X, y)
        if not isinstance(self.kernel_.warped_.extension, GraphExtension):
            self._whitening = _inverse_root(self.kernel_(self.kernel_.landmarks_))

    @property
    def _n_features_out(self) -> int:
        extension = self.kernel_.warped_.extension
        return int(extension.features.shape[1] if isinstance(extension, GraphExtension) else self._whitening.shape[1])

    @by_chunk
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of any points, in float32 for float32 input.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m, rank)
        """
        check_is_fitted(self, "kernel_")
        return self.transform_checked(validate_points(self, X, reset=False))

    def transform_checked(self, X: Any) -> NDArray[Any]:
        """Return the features of points that `validate_points` returned: they are not looked at again."""
        out = np.empty((X.shape[0], self._n_features_out), dtype=np.float32 if X.dtype == np.float32 else np.float64)
        step = max(1, BLOCK // max(out.shape[1], 1))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            out[rows] = self._features(X[rows])
        return out

    def _features(self, A: Any) -> NDArray[np.float64]:
        warped = self.kernel_.warped_
        if isinstance(warped.extension, GraphExtension):
            return np.sqrt(warped.factor) * warped.extension.transform(A)
        return warped(A, self.kernel_.landmarks_) @ self._whitening

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _inverse_root(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R with R R' = K^+; directions at rounding level are left out."""
    eigenvalues, V = linalg.eigh(K)
    kept = eigenvalues > len(K) * np.finfo(float).eps * max(float(eigenvalues[-1]), 0.0)
    return V[:, kept] / np.sqrt(eigenvalues[kept])
