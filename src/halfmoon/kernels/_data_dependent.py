"""The scikit-learn face of data-dependent kernels: parameters -> geometry -> kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import (
    check_choice,
    check_integer,
    check_n_features,
    check_real,
    labeled_mask,
    validate_points,
)
from halfmoon.exceptions import NeighborWarning
from halfmoon.geometry import Geometry, GeometrySettings, choose_landmarks
from halfmoon.kernels._fitted import FittedKernel
from halfmoon.kernels._warped import LandmarkKernel, WarpedKernel, warp
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.runtime.storable import storable
from halfmoon.runtime.transaction import fitted_names, transaction

__all__ = ["DataDependentKernel", "fit_small"]

METHODS = ("efficient", "full", "budget")
EXTENSIONS = ("auto", "graph", "kernel")
WARP_PARAMETERS = {  # what needs no new geometry
    "base_kernel",
    "base_kernel_params",
    "eta",
    "eta_unit",
    "extension",
    "gamma",
    "power",
    "scale",
}


@storable
class DataDependentKernel(FittedKernel):
    """A kernel that knows the geometry of all the data, labelled or not.

    Functions that vary along the graph of the data cost more: <h, h> = <h, h>_K + eta h_hat' Q_hat h_hat
    (eq. 5), with Q_hat = (Q^+ restricted to the landmarks)^+ (eq. 7) and Q a power of the Laplacian of the
    k-NN graph on all points. The fitted object is called like a function, ``kernel(A, B)``, and works in any
    kernel method.

    Parameters
    ----------
    base_kernel : str, callable or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        The kernel K to warp: a name known to ``sklearn.metrics.pairwise.pairwise_kernels``, a function of two
        data matrices that returns the matrix of kernel values, or a Gaussian-process kernel.
    gamma : float, default=None
        Parameter of a named base kernel; 1 / (2 sigma^2) for "rbf". None: for "rbf", sigma is the median
        distance between landmarks; for others scikit-learn's default.
    base_kernel_params : dict, default=None
        Further parameters of the base kernel (degree, coef0, ...).
    eta : float, default=1.0
        Strength of the intrinsic regularisation (eq. 3 and 5), in units of `eta_unit`; 0 gives the base kernel
        (with ``extension="graph"`` on the landmarks, interpolated elsewhere).
    eta_unit : float, default=None
        What eta = 1 means in eq. 5. None: 100 times the mean diagonal of Q^+ on the landmarks (without the
        modes) over that of the base kernel, so that eta = 1 means the same on every data set; 1 for the
        paper's eta.
    regularizer : str, callable, Regularizer or matrix, default="power"
        "power": (L + ridge I)^power. "heat": exp(L). "resistance": amplified resistances. A callable makes a
        Regularizer from W. A Regularizer or a p.s.d. matrix on the rows of X is used as it is, without graph.
    power : int, default=3
        The p of L^p, for "power".
    ridge : float, default=1e-2
        The mu of L + mu I, for "power".
    normalized : bool, default=True
        Use L_norm = D^-1/2 L D^-1/2, for "power" and "heat".
    graph : None, scipy sparse, ndarray or networkx.Graph, default=None
        A ready-made graph on the rows of X; None builds a k-NN graph.
    neighbors : tuple of array-like, default=None
        Nearest neighbours that are known already, as ``(indices, distances)`` of shape (n, m), one list for every row
        of X: those of UMAP (`precomputed_knn`), pynndescent, faiss or a vector database. The k-NN graph is made of the
        first `n_neighbors` of each list, the row itself not counted. New points are still searched for among the rows
        of X, so that an index for these queries is built.
    n_neighbors : int, default=5
        Neighbours in the k-NN graph, and neighbours that a new point is placed by (``extension="graph"``).
    weights : {"binary", "heat", "self-tuning"} or callable, default="binary"
        Edge weights of the k-NN graph.
    metric : {"euclidean", "manhattan", "cosine"} or callable, default="euclidean"
        Metric of the k-NN graph.
    graph_params : dict, default=None
        Further parameters of :func:`halfmoon.graph.knn_graph`: method, recall, symmetrize, bandwidth, connect,
        random_state (0 unless given: kernels that differ in their landmarks share the graph). And query_recall, 0.99
        unless given: the share of their neighbours that new rows find among many points; 1 is exact search.
    n_landmarks : int, default=None
        Points at which functions are measured; None: 500, or all if there are fewer.
    landmarks : {"random", "kmeans++", "farthest"} or array of int, default="random"
        How they are chosen, see :func:`halfmoon.select_landmarks`. "random" prefers labelled points if `fit`
        is given y.
    method : {"efficient", "full", "budget"}, default="efficient"
        "efficient": eq. 6. "full": eq. 4, every point is a landmark; cubic in n. "budget": the graph sees the
        landmarks only, the benchmark of section 5.1. On new points these are the paper's formulas with
        ``extension="kernel"``.
    extension : {"auto", "graph", "kernel"}, default="auto"
        Off the landmarks: through the interpolant of Theorem 3.2 on the graph, or through the base kernel as
        in eq. 6. Equal on the landmarks. "auto": halfmoon's estimators decide by the labels, and the kernel by
        itself uses "graph".
    scale : {"unit", None}, default="unit"
        "unit": the kernel is divided by its mean diagonal on the landmarks, so that C and alpha of other kernel
        methods mean what they mean for an RBF kernel. None: the formulas of the paper.
    eps : float, default=1e-6
        Accuracy of Q^+ on the landmarks, relative to its largest entry, verified.
    solver : str, default="auto"
        See :func:`halfmoon.restrict`.
    memory : None, str or joblib.Memory, default=None
        Cache of graphs and restrictions: kernels that differ only in eta or the base kernel share them.
    n_jobs : int, default=None
        Threads of searches and solves; None means all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    geometry_ : Geometry
        Neighbours, graph, regulariser, landmarks: what the data say. ``warp(kernel.geometry_, eta=...)`` gives other
        kernels on it without a solve.
    warped_ : WarpedKernel
        The kernel itself, frozen.
    landmark_indices_ : ndarray of shape (n_hat,)
        Rows of X that are landmarks.
    landmarks_ : ndarray or csr_array of shape (n_hat, d)
        These rows.
    restriction_ : Restriction
        Q^+ on the landmarks and its certificate.
    regularizer_ : Regularizer
        Q.
    graph_ : scipy.sparse.csr_array or None
        W; None if a regulariser was given. With ``method="budget"`` on the landmarks only.
    points_ : ndarray or csr_array
        What the graph extension searches among: X, or the landmarks for the budget kernel.
    eta_ : float
        The eta of eq. 5.
    base_kernel_ : BaseKernel
        K with the parameters that were used.
    K_hat_ : ndarray of shape (n_hat, n_hat)
        K on the landmarks.
    n_features_in_ : int
        Number of features seen in `fit`.

    Notes
    -----
    Used as a parameter of another estimator the kernel is data, not something to be trained: unlike other
    estimators, ``sklearn.base.clone`` keeps its fit, so that ``cross_val_score(SVC(kernel=kernel), ...)``
    works. `set_params` drops the fit.

    On a disconnected graph every component has its own regulariser. With ``extension="graph"`` the kernel
    vanishes on components without landmark; with "kernel" their graph has no effect, and eq. 6 holds as everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from halfmoon import DataDependentKernel
    >>> X, y = make_moons(300, noise=0.11, random_state=0)
    >>> kernel = DataDependentKernel(n_neighbors=8, power=2, ridge=1e-3, n_landmarks=40, random_state=1).fit(X)
    >>> labeled = [*np.flatnonzero(y == 0)[:4], *np.flatnonzero(y == 1)[:4]]
    >>> SVC(kernel=kernel, C=1e3).fit(X[labeled], y[labeled]).score(X, y) > 0.95
    True
    >>> SVC(kernel="rbf", C=1e3).fit(X[labeled], y[labeled]).score(X, y) > 0.95
    False
    """

    def __init__(
        self,
        base_kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        base_kernel_params: dict[str, Any] | None = None,
        eta: float = 1.0,
        eta_unit: float | None = None,
        regularizer: Any = "power",
        power: int = 3,
        ridge: float = 1e-2,
        normalized: bool = True,
        graph: Any = None,
        neighbors: Any = None,
        n_neighbors: int = 5,
        weights: str | Callable[[Any], Any] = "binary",
        metric: str | Callable[..., float] = "euclidean",
        graph_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "random",
        method: str = "efficient",
        extension: str = "auto",
        scale: str | None = "unit",
        eps: float = 1e-6,
        solver: str = "auto",
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.base_kernel = base_kernel
        self.gamma = gamma
        self.base_kernel_params = base_kernel_params
        self.eta = eta
        self.eta_unit = eta_unit
        self.regularizer = regularizer
        self.power = power
        self.ridge = ridge
        self.normalized = normalized
        self.graph = graph
        self.neighbors = neighbors
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.graph_params = graph_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.method = method
        self.extension = extension
        self.scale = scale
        self.eps = eps
        self.solver = solver
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the graph, choose the landmarks and restrict the regulariser to them.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data, labelled or not.
        y : array-like of shape (n,), default=None
            Labels; -1, NaN, None or pandas.NA mark unlabelled rows. Only which rows are labelled counts: it
            biases the choice of landmarks.

        Returns
        -------
        self
        """
        with transaction(self) as staged:
            staged._check_parameters()
            staged._fit(validate_points(staged, X, minimum=2, to_learn=True), y)
        return self

    def _check_parameters(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("extension", self.extension, EXTENSIONS)
        check_real("eta", self.eta, advice="eta = 0 is the base kernel.")

    def _fit(self, X: Any, y: Any) -> None:
        """Fit to rows that have been checked."""
        labeled = None if y is None else labeled_mask(y, X.shape[0])
        self.landmark_indices_, self.geometry_ = self._build(X, labeled)
        with small_algebra(len(self.landmark_indices_)):
            self.warped_ = self._warp()
            _ = self.warped_.factor  # computed here, not in the first call
        self.n_samples_fit_ = X.shape[0]

    def _build(self, X: Any, labeled: NDArray[np.bool_] | None) -> tuple[NDArray[np.intp], Geometry]:
        """Return the landmarks and the geometry of the points that the graph sees."""
        if self.method == "efficient":
            geometry = Geometry.build(X, labeled=labeled, check_input=False, **self._settings())
            return geometry.landmarks, geometry
        # With every point a landmark A is n x n anyway, and a dense decomposition is the fastest way to it.
        dense = {"solver": "eigen"} if self.solver == "auto" else {}
        if self.method == "full":
            S = np.arange(X.shape[0])
            all_rows = self._settings(n_landmarks=None, landmarks=S, **dense)
            return S, Geometry.build(X, labeled=labeled, check_input=False, **all_rows)
        S = choose_landmarks(X, labeled, GeometrySettings(**self._settings()))
        everything = np.arange(len(S))
        return S, Geometry.build(X[S], **self._settings(n_landmarks=None, landmarks=everything, **dense))

    def _settings(self, **changes: Any) -> dict[str, Any]:
        names = [field.name for field in fields(GeometrySettings) if field.name != "powers"]
        return {name: getattr(self, name) for name in names} | {"powers": (self.power,)} | changes

    def rewarp(
        self, *, geometry: Geometry | None = None, landmark_kernel: LandmarkKernel | None = None, **params: Any
    ) -> Self:
        """Return this kernel with other parameters on a geometry that is there: no graph is built, nothing is solved.

        Parameters
        ----------
        geometry : Geometry, default=None
            A geometry of the same data; None: that of this kernel.
        landmark_kernel : LandmarkKernel, default=None
            The base kernel on its landmarks, where it is known.
        **params
            eta, eta_unit, base_kernel, gamma, base_kernel_params, extension, scale, or a power that the geometry has.

        Returns
        -------
        DataDependentKernel
            Fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> other = kernel.rewarp(eta=10.0)
        >>> bool(np.allclose(other(X), kernel.set_params(eta=10.0).fit(X)(X)))
        True
        """
        check_is_fitted(self)
        unknown = params.keys() - WARP_PARAMETERS
        if unknown:
            raise ValueError(f"The geometry stays: {sorted(unknown)} cannot change. Fit another kernel.")
        other = type(self)(**self.get_params(deep=False) | params)
        self._share_fit(other)
        other.geometry_ = self.geometry_ if geometry is None else geometry
        other.warped_ = other._warp(landmark_kernel)
        return other

    def append(self, X_new: Any) -> Self:
        """Return this kernel with further rows in its graph, as :meth:`halfmoon.Geometry.append` places them.

        With ``method="budget"`` only landmarks are in the graph, and nothing changes.

        Parameters
        ----------
        X_new : array-like or scipy sparse of shape (m, d)
            Rows, which are numbered after those given to `fit`.

        Returns
        -------
        DataDependentKernel
            Fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X[:40])
        >>> more = kernel.append(X[40:])
        >>> len(more.points_), bool(np.allclose(more(X), kernel(X)))         # where a row was predicted, there it is
        (50, True)
        """
        check_is_fitted(self)
        X_new = self._validate(X_new)
        other = type(self)(**self.get_params(deep=False))
        self._share_fit(other)
        if self.method != "budget":
            other.geometry_ = self.geometry_.append(X_new)
            other.warped_ = self.warped_.appended(other.geometry_)
        other.n_samples_fit_ = self.n_samples_fit_ + X_new.shape[0]
        return other

    def _warp(self, landmark_kernel: LandmarkKernel | None = None) -> WarpedKernel:
        return warp(
            self.geometry_,
            base_kernel=self.base_kernel if landmark_kernel is None else landmark_kernel,
            gamma=self.gamma,
            base_kernel_params=self.base_kernel_params,
            eta=self.eta,
            eta_unit=self.eta_unit,
            power=self.power,
            extension="graph" if self.extension == "auto" else self.extension,
            scale=self.scale,
        )

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted kernel must be fitted again afterwards."""
        super().set_params(**params)
        if params:
            for name in fitted_names(self):
                delattr(self, name)
        return self

    def __sklearn_clone__(self) -> Self:
        """Clone parameters and keep the fit: inside another estimator a fitted kernel is data."""
        other = super().__sklearn_clone__()
        self._share_fit(other)
        return other

    def _share_fit(self, other: Self) -> None:
        """Give another kernel what `fit` has set here."""
        for name in fitted_names(self):
            setattr(other, name, getattr(self, name))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "warped_"):
            return text
        r = self.restriction_
        return (
            f"{text}\n  fitted: n={self.n_samples_fit_}, landmarks={len(r.landmarks)}, "
            f"components={r.n_components}, solver={r.solver!r}, error bound={r.error_bound:.1e} ({r.bound_kind})"
        )


def fit_small(kernel: DataDependentKernel, X: Any, y: Any = None) -> DataDependentKernel:
    """Fit a kernel as estimators do: on fewer rows than it asks for neighbours or landmarks it uses all there are.

    The rows are those that `validate_points` returns: they are not looked at again.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.kernels import DataDependentKernel, fit_small
    >>> kernel = DataDependentKernel(n_neighbors=2, n_landmarks=9)
    >>> len(fit_small(kernel, np.array([[0.0], [1.0], [3.0]])).landmark_indices_)
    3
    """
    n = X.shape[0]
    check_integer("n_neighbors", kernel.n_neighbors, low=1)
    if kernel.n_landmarks is not None:
        check_integer("n_landmarks", kernel.n_landmarks, low=1)
    if kernel.graph is None and kernel.n_neighbors >= n:
        warnings.warn(
            f"n_neighbors={kernel.n_neighbors} is more than the {n - 1} other rows: every row is linked to all others. "
            "A graph of all links says nothing about the data; 5 to 20 neighbours are usual.",
            NeighborWarning,
            stacklevel=4,
        )
        kernel.set_params(n_neighbors=n - 1)
    if kernel.n_landmarks is not None and kernel.n_landmarks > n and isinstance(kernel.landmarks, str):
        kernel.set_params(n_landmarks=n)
    with transaction(kernel) as staged:
        staged._check_parameters()
        check_n_features(staged, X, reset=True)
        staged._fit(X, y)
    return kernel
