"""K-means in the data-dependent kernel (section 5.2), linear in n through the feature map."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_integer, check_random_state, validate_points
from halfmoon.cluster._cut_features import CutFeatures, normalized_cut
from halfmoon.features import LandmarkFeatures
from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.chunks import by_chunk
from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.runtime.storable import storable
from halfmoon.runtime.transaction import transaction

__all__ = ["KernelKMeans"]

Result = TypeVar("Result")
SAMPLE = 2_000  # rows that each of several runs looks at
# Clusters are longer than the ten steps that classifiers look along the graph; and a distance between components of the
# graph says nothing about the data. Without labels nothing weighs graph and base kernel: the graph decides.
FAR_SEEING: dict[str, Any] = {
    "n_neighbors": 10,
    "power": 1,
    "ridge": 1e-4,
    "eta": 1e6,
    "graph_params": {"connect": True},
}


@storable
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster points by k-means in the metric of the data-dependent kernel.

    ``|Phi(x) - Phi(x')|^2 = K(x, x) + K(x', x') - 2 K(x, x')``, with seeds by k-means++ in this metric. Points that the
    graph joins are near each other however the cluster is curved.

    Where the kernel goes on through its graph (``extension="auto"`` or ``"graph"``) this is a search for small
    normalised cuts: a row is weighted by its degree and stands at the mean of its neighbours in the graph, and the run
    with the smallest normalised cut is kept. Hubs and single rows then do not become clusters of their own.
    ``extension="kernel"`` and a ready-made regulariser use the metric of the kernel as it is.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : DataDependentKernel, str or callable, default=None
        The kernel. None means one that sees far along the graph, ``DataDependentKernel(n_neighbors=10, power=1,
        ridge=1e-4, eta=1e6, graph_params={"connect": True})``, and a name or function is its base kernel.
    n_init : int, default=30
        Runs from different seeds, on a sample where there are more than 2,000 rows; the best is kept: by normalised
        cut, or by `inertia_` where there is no graph.
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
        Sum of squared distances to the centres, each times the degree of the row over the mean degree.
    n_iter_ : int
        Iterations of the best run.
    kernel_ : DataDependentKernel
        The fitted kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import KernelKMeans
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, random_state=0).fit_predict(X)
    >>> bool(abs((labels == y).mean() - 0.5) > 0.45)     # up to the names of the clusters
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = None,
        n_init: int = 30,
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
            check_integer("n_init", self.n_init, low=1)
            features = self._map().fit_checked(X)
            staged.kernel_ = features.kernel_
            if CutFeatures.serve(features.kernel_, X):
                cut = staged._features = CutFeatures(
                    features.kernel_, np.float32 if X.dtype == np.float32 else np.float64
                )
                runs = partial(self._best_run, weights=cut.degrees / cut.degrees.mean(), graph=cut.geometry.graph)
                kmeans = _on_one_thread(runs, cut.of_rows)
            else:
                staged._features = features
                kmeans = _on_one_thread(
                    partial(self._best_run, weights=np.ones(X.shape[0])), features.transform_checked(X)
                )
            staged._kmeans = kmeans
            staged.labels_, staged.inertia_, staged.n_iter_ = kmeans.labels_, kmeans.inertia_, kmeans.n_iter_
        return self

    def _map(self) -> LandmarkFeatures:
        own = getattr(self.kernel, "random_state", None)
        given = {"n_neighbors": self.n_neighbors, "n_landmarks": self.n_landmarks, "n_jobs": self.n_jobs}
        kernel = self.kernel
        if not isinstance(kernel, DataDependentKernel):
            base = {} if kernel is None else {"base_kernel": kernel}
            kernel = DataDependentKernel(**base, **FAR_SEEING)
            if self.n_neighbors is not None:
                kernel.set_params(n_neighbors=given.pop("n_neighbors"))
        return LandmarkFeatures(
            kernel, random_state=self.random_state if own is None else None, verbose=self.verbose, **given
        )

    def _best_run(self, rows: NDArray[Any], weights: NDArray[np.float64], graph: Any = None) -> KMeans:
        """Return the run with the smallest normalised cut, or sum of squares where there is no graph.

        The sum of squares has many local minima where clusters are long, so that runs have to be many: of many rows
        each looks at a sample, and the best goes on with all of them.
        """
        random, least, start = check_random_state(self.random_state), np.inf, None
        size = max(SAMPLE, 20 * self.n_clusters)
        for _ in range(self.n_init):
            some = random.choice(len(rows), size, replace=False) if len(rows) > size else slice(None)
            run = self._kmeans_from("k-means++", random).fit(rows[some], sample_weight=weights[some])
            cut = None if graph is None else normalized_cut(graph, run.predict(rows))
            cost = -run.score(rows, sample_weight=weights) if cut is None else cut
            if start is None or cost < least:
                start, least = run, cost
        assert start is not None
        if len(rows) <= size:
            return start
        return self._kmeans_from(start.cluster_centers_, random).fit(rows, sample_weight=weights)

    def _kmeans_from(self, init: Any, random: np.random.RandomState) -> KMeans:
        seed = random.randint(np.iinfo(np.int32).max)
        return KMeans(self.n_clusters, init=init, n_init=1, max_iter=self.max_iter, tol=self.tol, random_state=seed)

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
