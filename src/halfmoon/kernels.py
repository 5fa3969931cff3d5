"""The data-dependent kernel: efficient (eq. 5-7), full (eq. 4) and on a budget (section 3)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_memory

from halfmoon._base_kernels import BaseKernel
from halfmoon._extensions import Extension, GraphExtension, KernelExtension
from halfmoon._gp import DataDependentGPKernel
from halfmoon._validation import (
    check_choice,
    check_features,
    check_integer,
    check_n_features,
    check_points,
    check_real,
    check_scale,
    validate_data,
)
from halfmoon.exceptions import AccuracyWarning
from halfmoon.graph import check_graph, knn_graph
from halfmoon.graph._neighbors import METRICS
from halfmoon.interpolation import interpolate
from halfmoon.landmarks import select_landmarks
from halfmoon.regularizers import (
    AmplifiedResistance,
    HeatRegularizer,
    MatrixRegularizer,
    PowerRegularizer,
    Regularizer,
)
from halfmoon.regularizers._base import GraphRegularizer
from halfmoon.restriction import Restriction, compute_restriction, tell
from halfmoon.solvers import SolveOptions

__all__ = ["DataDependentKernel", "fit_small"]

METHODS = ("efficient", "full", "budget")
EXTENSIONS = ("auto", "graph", "kernel")
VARIABLE = {
    "eta",
    "eta_unit",
    "base_kernel",
    "gamma",
    "base_kernel_params",
    "extension",
    "power",
}  # what needs no new graph
DEFAULT_LANDMARKS = 500
LOUD = 100.0  # A / eta against K_hat at eta = 1, found by measurement (docs/estimators.md)
LARGEST_ROUNDING = 1e-4  # of eq. 6 between the landmarks, without a warning
MEDIAN_SAMPLE = 1000  # landmarks that the median heuristic of the RBF width looks at


class DataDependentKernel(BaseEstimator):
    """A kernel that knows the geometry of all the data, labelled or not.

    Functions that vary along the graph of the data cost more: <h, h> = <h, h>_K + eta h_hat' Q_hat h_hat
    (eq. 5), with Q_hat = (Q^+ restricted to the landmarks)^+ (eq. 7) and Q a power of the Laplacian of the
    k-NN graph on all points. The fitted object is called like a function, ``kernel(A, B)``, and works in any
    kernel method.

    Parameters
    ----------
    base_kernel : str, callable or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        The kernel K to bend: a name known to ``sklearn.metrics.pairwise.pairwise_kernels``, a function of two
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
    n_neighbors : int, default=5
        Neighbours in the k-NN graph, and neighbours that a new point is placed by (``extension="graph"``).
    weights : {"binary", "heat", "self-tuning"} or callable, default="binary"
        Edge weights of the k-NN graph.
    metric : {"euclidean", "manhattan", "cosine"} or callable, default="euclidean"
        Metric of the k-NN graph.
    graph_params : dict, default=None
        Further parameters of :func:`halfmoon.graph.knn_graph`: method, recall, symmetrize, bandwidth, connect,
        random_state (0 unless given: kernels that differ in their landmarks share the graph).
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
        itself takes "graph".
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
    points_ : ndarray, csr_array or None
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
    vanishes on components without landmark; with "kernel" their graph has no say, and eq. 6 holds as everywhere.

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
        n_neighbors: int = 5,
        weights: str | Callable[[Any], Any] = "binary",
        metric: str | Callable[..., float] = "euclidean",
        graph_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "random",
        method: str = "efficient",
        extension: str = "auto",
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
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.graph_params = graph_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.method = method
        self.extension = extension
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
        staged = copy.copy(self)  # if anything fails, self is as it was
        for name in _fitted_names(staged):
            delattr(staged, name)
        staged._fit(X, y)
        self.__dict__ = staged.__dict__  # all at once: a refit leaves nothing of the old fit
        return self

    def _fit(self, X: Any, y: Any) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("extension", self.extension, EXTENSIONS)
        check_real("eta", self.eta, advice="eta = 0 is the base kernel.")
        check_real("eps", self.eps, strict=True)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        if isinstance(self.metric, str):
            check_choice(
                "metric", self.metric, METRICS, advice="Precomputed distances go through graph=knn_graph(...)."
            )
        X = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2))
        check_scale(X)
        self.landmark_indices_ = self._choose_landmarks(X, y)
        seen = X[self.landmark_indices_] if self.method == "budget" else X  # the points that the graph sees
        S = np.arange(seen.shape[0]) if self.method == "budget" else self.landmark_indices_
        self.points_ = None if self.extension == "kernel" else seen  # eq. 6 needs the landmarks only
        self.graph_, self.regularizer_ = self._regularize(seen)
        self.landmarks_ = seen[S].astype(np.float64)
        options = SolveOptions(eps=self.eps, solver=self._solver, n_jobs=self.n_jobs)
        cached = check_memory(self.memory).cache(compute_restriction)
        self.restriction_ = cached(self.regularizer_, S, options)
        tell(self.regularizer_, self.restriction_, self.eps)
        self._bend()
        self.extension_ = self.extend("graph" if self.extension == "auto" else self.extension)
        if isinstance(self.extension_, KernelExtension):
            self._warn_if_digits_are_lost(self.extension_.rounding)
        self.n_samples_fit_ = X.shape[0]

    def _warn_if_digits_are_lost(self, rounding: float) -> None:
        if rounding > LARGEST_ROUNDING:
            warnings.warn(
                f"eta = {self.eta:.3g} ({self.eta_:.3g} in eq. 5) leaves so little of the base kernel between the "
                f"{len(self.landmark_indices_)} landmarks that rounding is about {rounding:.1g} of it. Lower eta, use "
                "a narrower base kernel or fewer landmarks, or extension='graph'.",
                AccuracyWarning,
                stacklevel=4,
            )

    def _bend(self) -> None:
        """Resolve what needs no solve: the base kernel and eta."""
        sample = self.landmarks_[:: -(-self.landmarks_.shape[0] // MEDIAN_SAMPLE)]  # rows may be sorted by class
        base = BaseKernel.resolve(self.base_kernel, self.gamma, self.base_kernel_params, sample)
        known = getattr(self, "base_kernel_", None)
        if known is None or (known.kernel, known.params) != (base.kernel, base.params):
            base.check_semidefinite(base(sample, sample))
            self.base_kernel_, self.K_hat_ = base, base(self.landmarks_, self.landmarks_)
        self.eta_ = check_real("eta", self.eta, advice="eta = 0 is the base kernel.") * self._eta_unit()

    def _eta_unit(self) -> float:
        """Return the eta of eq. 5 that counts as 1: a regulariser that speaks louder than the base kernel.

        eta Q_hat competes with K_hat^-1, that is A / eta with K_hat: their mean diagonals give the scale.
        """
        if self.eta_unit is not None:
            return check_real("eta_unit", self.eta_unit, strict=True)
        A = float(np.trace(self.restriction_.smooth)) / len(self.restriction_.landmarks)
        K = float(np.mean(np.diagonal(self.K_hat_)))
        return LOUD * A / K if A > 0.0 and K > 0.0 else 1.0

    def variant(self, restriction: Restriction | None = None, **params: Any) -> Self:
        """Return a kernel fitted to the same data with another eta, base kernel, extension, power or landmarks.

        The graph is shared. Another power and other landmarks come with their `restriction` (`restrict_powers`,
        `restrict_further`).

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel
        >>> X = np.random.default_rng(2).normal(size=(50, 2))
        >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=10, random_state=0).fit(X)
        >>> other = kernel.variant(eta=10.0)
        >>> bool(np.allclose(other(X), kernel.set_params(eta=10.0).fit(X)(X)))
        True
        """
        check_is_fitted(self, "restriction_")
        unknown = params.keys() - VARIABLE
        if unknown:
            raise ValueError(f"A variant shares graph and solves: it cannot change {sorted(unknown)}.")
        twin = copy.copy(self)
        for name, value in params.items():
            setattr(twin, name, value)
        if restriction is not None:
            twin.restriction_ = restriction
            if isinstance(self.regularizer_, PowerRegularizer):
                twin.regularizer_ = self.regularizer_.with_power(twin.power)
            if not np.array_equal(restriction.landmarks, self.restriction_.landmarks):
                twin._move_to(restriction.landmarks)
        twin._bend()
        extension = "graph" if twin.extension == "auto" else twin.extension
        twin.extension_ = twin.extend(extension)
        return twin

    def _move_to(self, S: NDArray[np.intp]) -> None:
        """Take other landmarks among the points that the graph sees."""
        if self.points_ is None or self.method == "budget":
            raise ValueError("Other landmarks need a kernel fitted with extension='auto' or 'graph', and no budget.")
        self.landmark_indices_, self.landmarks_ = S, self.points_[S].astype(np.float64)
        del self.base_kernel_  # its width and its values on the landmarks follow from them

    def _choose_landmarks(self, X: Any, y: Any) -> NDArray[np.intp]:
        n = X.shape[0]
        if self.method == "full":
            return np.arange(n)
        size = min(DEFAULT_LANDMARKS, n) if self.n_landmarks is None else self.n_landmarks
        return select_landmarks(X, size, method=self.landmarks, y=y, random_state=self.random_state)

    def _regularize(self, X: Any) -> tuple[sparse.csr_array | None, Regularizer]:
        """Return W and Q on the rows of X (section 2)."""
        given = self.regularizer
        if isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray):
            Q = given if isinstance(given, Regularizer) else MatrixRegularizer(given)
            return None, self._check_size("regularizer", Q, Q.n, X)
        if not callable(given):
            check_choice("regularizer", given, REGULARIZERS, advice="Or pass a Regularizer, Q or W -> Q.")
        if self.graph is not None:
            W = check_graph(self.graph)
            self._check_size("graph", W, W.shape[0], X)
        else:
            W = self._build_graph(X)
        Q = given(W) if callable(given) else REGULARIZERS[given](W, self)
        if not isinstance(Q, Regularizer):
            raise TypeError(f"The 'regularizer' function must return a Regularizer. It returned {Q!r}.")
        if isinstance(Q, GraphRegularizer) and not callable(given):
            W = Q.W  # the same graph: one copy in memory and in files
        return W, Q

    def _build_graph(self, X: Any) -> sparse.csr_array:
        cached = check_memory(self.memory).cache(knn_graph, ignore=["n_jobs"])
        parameters = {"random_state": 0} | (self.graph_params or {})
        own = {"n_neighbors", "weights", "metric", "n_jobs"} & parameters.keys()
        if own:
            raise ValueError(f"graph_params={self.graph_params!r}: set {sorted(own)} on the kernel itself.")
        return cached(
            X,
            n_neighbors=self.n_neighbors,
            weights=self.weights,
            metric=self.metric,
            n_jobs=self.n_jobs,
            **parameters,
        )

    def _check_size(self, name: str, value: Any, size: int, X: Any) -> Any:
        if size != X.shape[0]:
            hint = " method='budget' looks at the landmarks only." if self.method == "budget" else ""
            raise ValueError(
                f"The '{name}' parameter has {size} vertices but there are {X.shape[0]} points to regularise.{hint} "
                "Give one vertex a row, in the same order."
            )
        return value

    @property
    def _solver(self) -> str:
        # With every point a landmark A is n x n anyway, and a dense decomposition is the fastest way to it.
        return "eigen" if self.solver == "auto" and self.method != "efficient" else self.solver

    @property
    def _options(self) -> SolveOptions:
        # T = Q^+ E A^-1 amplifies solve errors by the condition of A: interpolate more accurately than A itself.
        return SolveOptions(eps=1e-3 * self.eps, solver=self._solver, n_jobs=self.n_jobs)

    def extend(self, name: str) -> Extension:
        """Return the extension of this name; the graph extension shares its search with one that is there."""
        bent = (self.K_hat_, self.restriction_, self.eta_)
        if name == "kernel":
            return KernelExtension(self.base_kernel_, self.landmarks_, *bent)
        if self.points_ is None:
            raise ValueError("A kernel fitted with extension='kernel' has forgotten its points. Fit it with 'auto'.")
        known = getattr(self, "extension_", None)
        if isinstance(known, GraphExtension):
            return known.bent(*bent, self.regularizer_)
        return GraphExtension(
            *bent,
            Q=self.regularizer_,
            X=self.points_,
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            options=self._options,
        )

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
        check_is_fitted(self, "restriction_")
        if np.ndim(A) == 1 and np.ndim(B) == 1:
            return float(self(np.reshape(A, (1, -1)), np.reshape(B, (1, -1)))[0, 0])
        A = self._validate(A)
        if B is None:
            K = self.extension_.gram(A, A)
            return (K + K.T) / 2
        return self.extension_.gram(A, self._validate(B))

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
        check_is_fitted(self, "restriction_")
        return np.maximum(self.extension_.diag(self._validate(A)), 0.0)

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
        if np.ndim(A) == 1 and np.ndim(B) == 1:
            return self.distance(np.reshape(A, (1, -1)), np.reshape(B, (1, -1)))[0, 0]
        K = self(A, B)
        squared = self.diag(A)[:, None] + self.diag(A if B is None else B)[None, :] - 2 * K
        if B is None:
            np.fill_diagonal(squared, 0.0)
        return np.sqrt(np.maximum(squared, 0.0))

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
        check_is_fitted(self, "restriction_")
        return interpolate(self.regularizer_, self.restriction_, h_hat, self._options)

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
        >>> kernel.kernel_error_bound() < 2e-6
        True
        """
        check_is_fitted(self, "restriction_")
        r, K_hat = self.restriction_, self.K_hat_
        lowest = 1.0 / float(linalg.svdvals(r.inverse_root(self.eta_ * K_hat)[0])[0]) ** 2
        dA, kappa = r.spectral_error_bound, float(np.diagonal(K_hat).max())
        if dA >= lowest:
            return np.inf
        return self.eta_ * kappa**2 * len(r.landmarks) * dA / (lowest * (lowest - dA))

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
        check_is_fitted(self, "restriction_")
        return DataDependentGPKernel(self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted kernel must be fitted again afterwards."""
        super().set_params(**params)
        if params:
            for name in _fitted_names(self):
                delattr(self, name)
        return self

    def __sklearn_clone__(self) -> Self:
        """Clone parameters and keep the fit: inside another estimator a fitted kernel is data."""
        twin = super().__sklearn_clone__()
        for name in _fitted_names(self):
            setattr(twin, name, getattr(self, name))
        return twin

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "restriction_")

    def _validate(self, A: Any) -> Any:
        # Estimators that call the kernel have turned data frames into arrays: names are checked where there are any.
        if hasattr(A, "columns"):
            A = validate_data(self, A, accept_sparse="csr", dtype=np.float64, reset=False)
        A = check_features(A)
        check_n_features(self, A, reset=False)
        return A

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "restriction_"):
            return text
        r = self.restriction_
        return (
            f"{text}\n  fitted: n={self.n_samples_fit_}, landmarks={len(r.landmarks)}, "
            f"components={r.n_components}, solver={r.solver!r}, error bound={r.error_bound:.1e} ({r.bound_kind})"
        )


def fit_small(kernel: DataDependentKernel, X: Any, y: Any = None) -> DataDependentKernel:
    """Fit a kernel as estimators do: on fewer rows than it asks for neighbours or landmarks it takes all there are.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.kernels import DataDependentKernel, fit_small
    >>> len(fit_small(DataDependentKernel(n_landmarks=9), np.array([[0.0], [1.0], [3.0]])).landmark_indices_)
    3
    """
    n = X.shape[0]
    if kernel.graph is None and kernel.n_neighbors >= n:
        kernel.set_params(n_neighbors=n - 1)
    if kernel.n_landmarks is not None and kernel.n_landmarks > n:
        kernel.set_params(n_landmarks=n)
    return kernel.fit(X, y)


def _fitted_names(estimator: BaseEstimator) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


REGULARIZERS: dict[str, Callable[[Any, DataDependentKernel], Regularizer]] = {
    "power": lambda W, kernel: PowerRegularizer(
        W, power=kernel.power, normalized=kernel.normalized, ridge=kernel.ridge
    ),
    "heat": lambda W, kernel: HeatRegularizer(W, normalized=kernel.normalized),
    "resistance": lambda W, kernel: AmplifiedResistance(W),
}
