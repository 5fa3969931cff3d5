"""K-means in the data-dependent kernel (section 5.2), linear in n through the feature map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_integer, check_points, validate_data
from halfmoon.features import LandmarkFeatures
from halfmoon.kernels import DataDependentKernel

__all__ = ["KernelKMeans"]


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster points by k-means in the metric of the data-dependent kernel.

    ``|Phi(x) - Phi(x')|^2 = K(x, x) + K(x', x') - 2 K(x, x')``, with seeds by k-means++ in this metric. Points that the
    graph joins are near each other however the cluster is bent.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : DataDependentKernel, default=None
        The kernel; None means ``DataDependentKernel()``.
    n_init : int, default=10
        Runs from different seeds; the best is kept.
    max_iter : int, default=300
        Iterations of a run at most.
    tol : float, default=1e-4
        Relative change of the centres at which a run ends.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each training row.
    inertia_ : float
        Sum of squared distances to the centres.
    n_iter_ : int
        Iterations of the best run.
    kernel_ : DataDependentKernel
        The fitted kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel, KernelKMeans
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> kernel = DataDependentKernel(n_neighbors=10, power=1, eta=1e6, n_landmarks=40, random_state=0,
    ...                              graph_params={"connect": True})
    >>> labels = KernelKMeans(2, kernel=kernel, random_state=0).fit_predict(X)
    >>> bool(abs((labels == y).mean() - 0.5) > 0.45)     # up to the names of the clusters
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: DataDependentKernel | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel on X and cluster its rows.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            The data.
        y : ignored
            Present for the API.

        Returns
        -------
        self
        """
        X = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2))
        check_integer("n_clusters", self.n_clusters, low=1, high=X.shape[0], advice=f"X has {X.shape[0]} rows.")
        self._features = LandmarkFeatures(self.kernel).fit(X)
        self.kernel_ = self._features.kernel_
        self._kmeans = KMeans(
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        ).fit(self._features.transform(X))
        self.labels_, self.inertia_, self.n_iter_ = self._kmeans.labels_, self._kmeans.inertia_, self._kmeans.n_iter_
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest centre of each row.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,)
        """
        features = self._transformed(X)
        return self._kmeans.predict(features)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distances to the centres, in the metric of the kernel.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m, n_clusters)
        """
        features = self._transformed(X)
        return self._kmeans.transform(features)

    def _transformed(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "labels_")
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return self._features.transform(X).astype(self._kmeans.cluster_centers_.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
