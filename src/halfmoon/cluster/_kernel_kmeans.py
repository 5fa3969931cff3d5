"""K-means in the data-dependent kernel (section 5.2), linear in n through the feature map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_integer, validate_points
from halfmoon.features import LandmarkFeatures
from halfmoon.runtime.chunks import by_chunk
from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.runtime.storable import storable
from halfmoon.runtime.transaction import transaction

__all__ = ["KernelKMeans"]

Result = TypeVar("Result")


@storable
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster points by k-means in the metric of the data-dependent kernel.

    ``|Phi(x) - Phi(x')|^2 = K(x, x) + K(x', x') - 2 K(x, x')``, with seeds by k-means++ in this metric. Points that the
    graph joins are near each other however the cluster is curved.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : DataDependentKernel, str or callable, default=None
        The kernel; None means ``DataDependentKernel()``, and a name or function is its base kernel.
    n_init : int, default=10
        Runs from different seeds; the best is kept.
    max_iter : int, default=300
        Iterations of a run at most.
    tol : float, default=1e-4
        Relative change of the centres at which a run ends.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres, and of the landmarks where the kernel has none.
    n_neighbors, n_landmarks, n_jobs : default=None
        Parameters of the kernel that can be set here; None means the kernel's value.
    verbose : bool, default=False
        Print what takes time while it is done.

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
        kernel: Any = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_neighbors: int | None = None,
        n_landmarks: int | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        with transaction(self) as staged:
            X = validate_points(staged, X, minimum=2, to_learn=True)
            check_integer("n_clusters", self.n_clusters, low=1, high=X.shape[0], advice=f"X has {X.shape[0]} rows.")
            staged._features = self._map().fit_checked(X)
            staged.kernel_ = staged._features.kernel_
            kmeans = staged._kmeans = KMeans(
                self.n_clusters,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=self.random_state,
            )
            _on_one_thread(kmeans.fit, staged._features.transform_checked(X))
            staged.labels_, staged.inertia_, staged.n_iter_ = kmeans.labels_, kmeans.inertia_, kmeans.n_iter_
        return self

    def _map(self) -> LandmarkFeatures:
        own = getattr(self.kernel, "random_state", None)
        return LandmarkFeatures(
            self.kernel,
            n_neighbors=self.n_neighbors,
            n_landmarks=self.n_landmarks,
            random_state=self.random_state if own is None else None,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters)

    @by_chunk
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
        return _on_one_thread(self._kmeans.predict, features)

    @by_chunk
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
        X = validate_points(self, X, reset=False)
        return self._features.transform_checked(X).astype(self._kmeans.cluster_centers_.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _on_one_thread(task: Callable[[NDArray[Any]], Result], features: NDArray[Any]) -> Result:
    """Run k-means on a worker, with one thread of OpenMP.

    On several, sums depend on who comes first, and a fork of this process would wait for threads that it has not got.
    """
    with ThreadExecutor(1) as executor:
        return executor.run(task, features)
