"""DataDependentKernel: eq. 6, its parameters, what it accepts and what it refuses."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel

from halfmoon import DataDependentKernel, Geometry
from halfmoon.exceptions import DisconnectedGraphWarning, LandmarkWarning, NotPositiveSemidefiniteError
from halfmoon.graph import knn_graph
from halfmoon.kernels import BaseKernel
from halfmoon.kernels._base import median_gamma
from halfmoon.regularizers import AmplifiedResistance, HeatRegularizer, PowerRegularizer
from reference import power_pinv, rbf, sindhwani_kernel

METHODS = ["efficient", "full", "budget"]
EXTENSIONS = ["kernel", "graph"]


@pytest.fixture
def data(rng):
    return rng.normal(size=(90, 3)), rng.normal(size=(15, 3))


def make(**parameters):
    defaults = {
        "scale": None,
        "n_neighbors": 9,
        "n_landmarks": 30,
        "gamma": 0.5,
        "eta_unit": 1.0,
        "power": 2,
        "ridge": 1e-3,
        "random_state": 11,
    }
    return DataDependentKernel(**(defaults | parameters))


def test_equation_6(data):
    X, A = data
    kernel = make(extension="kernel", power=3, ridge=0.05, eta=0.8).fit(X)
    S = kernel.landmark_indices_
    Q_hat = np.linalg.inv(power_pinv(kernel.graph_, 3, True, 0.05)[np.ix_(S, S)])
    expected = sindhwani_kernel(rbf(A, X, 0.5), rbf(A, X[S], 0.5), rbf(X[S], X[S], 0.5), rbf(X[S], X, 0.5), Q_hat, 0.8)
    assert_allclose(kernel(A, X), expected, atol=1e-8)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_budget_is_the_full_kernel_of_the_landmarks(data, extension):
    """The graph sees the landmarks only (section 3)."""
    X, A = data
    budget = make(method="budget", extension=extension).fit(X)
    S = budget.landmark_indices_
    full = make(method="full", extension=extension).fit(X[S])
    assert_allclose(budget(A, X), full(A, X), atol=1e-10)
    assert budget.graph_.shape == (30, 30)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("method", METHODS)
def test_call_diag_and_distance_agree(data, method, extension):
    X, A = data
    kernel = make(method=method, extension=extension).fit(X)
    K = kernel(A)
    assert_array_equal(K, K.T)
    assert_allclose(kernel(A, X), kernel(X, A).T, atol=1e-12)
    assert_allclose(kernel.diag(A), np.diag(K), atol=1e-10)
    squared = np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K
    assert_allclose(kernel.distance(A) ** 2, squared, atol=1e-10)
    assert_allclose(kernel.distance(A, A) ** 2, squared, atol=1e-10)
    assert_array_equal(np.diag(kernel.distance(A)), 0.0)
    assert kernel(A[0], X[1]) == pytest.approx(kernel(A, X)[0, 1])
    assert kernel.distance(A[0], A[1]) == pytest.approx(kernel.distance(A)[0, 1])


def test_eta_zero_is_the_base_kernel(data):
    X, A = data
    assert_allclose(make(eta=0.0, extension="kernel").fit(X)(A, X), rbf(A, X, 0.5), atol=1e-12)
    by_graph = make(eta=0.0, extension="graph").fit(X)
    S = by_graph.landmark_indices_
    assert_allclose(by_graph(X[S]), rbf(X[S], X[S], 0.5), atol=1e-8)


def test_eta_makes_functions_smoother(data, rng):
    """More intrinsic regularisation: the kernel shrinks, in the order of p.s.d. matrices (eq. 5)."""
    X, A = data
    small, large = make(eta=0.1, extension="kernel").fit(X)(A), make(eta=10.0, extension="kernel").fit(X)(A)
    assert np.linalg.eigvalsh(small - large)[0] > -1e-10


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_training_points_get_their_own_row(data, extension):
    """For training and for new points one formula; a training point is not blurred by its neighbours."""
    X, _ = data
    kernel = make(extension=extension).fit(X)
    h_hat = np.linspace(-1.0, 1.0, 30)
    h_star = kernel.interpolate(h_hat)
    assert_allclose(h_star[kernel.landmark_indices_], h_hat, atol=1e-8)
    if extension == "graph":
        assert_allclose(kernel.warped_.extension.transform(X), kernel.warped_.extension.features)


def test_new_points_are_means_of_their_neighbours():
    """Weights 1 / d^2: 0.8 and 0.2 at distances 1 and 2; a known point has its own value."""
    X, values = np.array([[0.0], [3.0], [10.0], [15.0]]), np.array([[1.0], [10.0], [100.0], [1000.0]])
    geometry = Geometry.build(X, n_neighbors=2, n_landmarks=4, random_state=0)
    assert_allclose(geometry.average(np.array([[1.0], [3.0]]), values), [[2.8], [10.0]])


def test_base_kernels(data):
    X, A = data
    options = {"gamma": None, "extension": "kernel", "eta": 0.0}
    assert_allclose(
        make(base_kernel="laplacian", **(options | {"gamma": 0.3})).fit(X)(A, X), laplacian_kernel(A, X, 0.3)
    )
    poly = make(base_kernel="poly", base_kernel_params={"degree": 2, "coef0": 0.5}, **options).fit(X)
    assert_allclose(poly(A, X), polynomial_kernel(A, X, degree=2, coef0=0.5))
    assert_allclose(poly.diag(A), np.diag(polynomial_kernel(A, A, degree=2, coef0=0.5)))
    gp = make(base_kernel=ConstantKernel(2.0) * RBF(1.5), **options).fit(X)
    assert_allclose(gp(A, X), 2.0 * rbf(A, X, 1 / (2 * 1.5**2)))
    assert_allclose(gp.diag(A), 2.0)
    function = make(base_kernel=rbf, base_kernel_params={"gamma": 0.7}, **options).fit(X)
    assert_allclose(function(A, X), rbf(A, X, 0.7))


def test_median_heuristic(data):
    X, _ = data
    kernel = make(gamma=None).fit(X)
    distances = np.linalg.norm(kernel.landmarks_[:, None] - kernel.landmarks_[None], axis=2)
    sigma = np.median(distances[np.triu_indices(30, 1)])
    assert kernel.base_kernel_.params["gamma"] == pytest.approx(1 / (2 * sigma**2))
    equal = np.ones((20, 2))
    assert make(gamma=None, n_landmarks=5).fit(equal).base_kernel_.params["gamma"] == 1.0


def test_regularizers_by_name_function_object_and_matrix(data):
    X, A = data
    W = knn_graph(X, n_neighbors=9)
    by_name = make(regularizer="heat").fit(X)
    assert isinstance(by_name.regularizer_, HeatRegularizer)
    assert_allclose(make(regularizer=HeatRegularizer).fit(X)(A), by_name(A))
    assert_allclose(make(regularizer=HeatRegularizer(W)).fit(X)(A), by_name(A))
    assert make(regularizer=HeatRegularizer(W)).fit(X).graph_ is None
    assert_allclose(make(regularizer="resistance").fit(X)(A), make(regularizer=AmplifiedResistance).fit(X)(A))
    Q = PowerRegularizer(W, power=1, ridge=0.5, normalized=False).inverse.system.M
    expected = make(power=1, ridge=0.5, normalized=False).fit(X)(A)
    assert_allclose(make(regularizer=Q).fit(X)(A), expected, atol=1e-9)
    assert_allclose(make(regularizer=Q.toarray()).fit(X)(A), expected, atol=1e-9)


def test_ready_made_graph(data):
    X, A = data
    W = knn_graph(X, n_neighbors=9)
    expected = make().fit(X)(A)
    assert_allclose(make(graph=W).fit(X)(A), expected)
    assert_allclose(make(graph=nx.from_scipy_sparse_array(W)).fit(X)(A), expected)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_kinds_of_input(data, extension):
    X, A = data
    columns = ["a", "b", "c"]
    expected = make(extension=extension).fit(X)(A)
    assert_allclose(make(extension=extension).fit(X.tolist())(A.tolist()), expected)
    assert_allclose(make(extension=extension).fit(sparse.csr_array(X))(sparse.csc_matrix(A)), expected, atol=1e-10)
    pandas = make(extension=extension).fit(pd.DataFrame(X, columns=columns))
    assert_allclose(pandas(pd.DataFrame(A, columns=columns)), expected)
    assert list(pandas.feature_names_in_) == columns
    polars = make(extension=extension).fit(pl.DataFrame(X, schema=columns))
    assert_allclose(polars(pl.DataFrame(A, schema=columns)), expected)
    assert_allclose(make(extension=extension).fit(np.asfortranarray(X))(np.asfortranarray(A)), expected)


def test_input_is_not_changed(data):
    X, A = data
    kept = X.copy()
    X.flags.writeable = A.flags.writeable = False
    kernel = make().fit(X)
    kernel(A, X)
    assert_array_equal(X, kept)
    S = sparse.csr_array(kept)
    S.indices[:] = S.indices.reshape(-1, 3)[:, ::-1].ravel()  # unsorted
    S.data[:] = S.data.reshape(-1, 3)[:, ::-1].ravel()
    S.has_sorted_indices = False
    indices = S.indices.copy()
    assert_allclose(make().fit(S)(A), kernel(A), atol=1e-10)
    assert_array_equal(S.indices, indices)


def test_labels_bias_the_landmarks(data):
    X, _ = data
    y = np.full(90, -1)
    y[:10] = [0, 1] * 5
    kernel = make().fit(X, y)
    assert (kernel.landmark_indices_ < 10).sum() == 8
    with pytest.warns(LandmarkWarning):
        make(n_landmarks=None, landmarks=np.arange(20)).fit(X, y)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_landmarks_with_duplicates(rng):
    """Both extensions agree on a landmark that has more duplicates than there are neighbours."""
    X = np.concatenate([np.repeat(rng.normal(size=(1, 2)), 12, axis=0), rng.normal(size=(80, 2))])
    S = np.array([0, 50, 60, 70, 80])
    by_graph, by_kernel = (
        make(n_landmarks=None, landmarks=S, n_neighbors=8, extension=e).fit(X) for e in ("graph", "kernel")
    )
    assert_allclose(by_graph(X[S]), by_kernel(X[S]), atol=1e-8)
    assert_allclose(by_graph(X[3:4], X), by_graph(X[:1], X), atol=1e-12)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_tiny_ridges(data, power, extension):
    """Nothing depends on how small the ridge is; the limit is reached, not missed.

    Eq. 6 takes a positive semidefinite matrix away from the base kernel, so that it stays below 1. The graph extension
    interpolates, and interpolants of high powers overshoot: there is no such bound.
    """
    X, A = data
    limit = make(power=power, ridge=1e-5, extension=extension).fit(X)(A)
    for ridge in (1e-8, 1e-10, 1e-12, 1e-17):
        K = make(power=power, ridge=ridge, extension=extension).fit(X)(A)
        assert_allclose(K, limit, atol=0.02)
        if extension == "kernel":
            assert np.abs(K).max() <= 1.0 + 1e-6


def test_data_far_from_the_origin(rng):
    X = rng.normal(size=(90, 20))
    near, far = (make(gamma=None).fit(X + shift) for shift in (0.0, 1e7))
    assert near.base_kernel_.params["gamma"] == pytest.approx(far.base_kernel_.params["gamma"], rel=1e-6)
    assert_allclose(far(X[:9] + 1e7), near(X[:9]), atol=1e-5)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_default_width_does_not_depend_on_the_order_of_the_rows(rng):
    X = np.concatenate([rng.normal(size=(467, 2)) + shift for shift in (0.0, 20.0, 40.0)])
    sorted_rows = make(gamma=None, n_landmarks=None, landmarks=np.arange(1401), method="budget").fit(X)
    shuffled = make(gamma=None, n_landmarks=None, landmarks=rng.permutation(1401), method="budget").fit(X)
    gammas = [k.base_kernel_.params["gamma"] for k in (sorted_rows, shuffled)]
    assert gammas[0] == pytest.approx(gammas[1], rel=0.2)


def test_landmarks_of_the_users(data):
    X, _ = data
    kernel = make(landmarks=[7, 3, 50], n_landmarks=None).fit(X)
    assert_array_equal(kernel.landmark_indices_, [7, 3, 50])
    assert_array_equal(kernel.landmarks_, X[[7, 3, 50]])
    assert len(make(landmarks="kmeans++").fit(X).landmark_indices_) == 30
    assert len(make(n_landmarks=None).fit(X).landmark_indices_) == 90


def test_same_seed_same_kernel(data):
    X, A = data
    assert_array_equal(make(random_state=5).fit(X)(A), make(random_state=5).fit(X)(A))
    assert not np.array_equal(make(random_state=5).fit(X)(A), make(random_state=6).fit(X)(A))


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_clone_pickle_and_set_params(data, extension):
    X, A = data
    kernel = make(extension=extension).fit(X)
    expected = kernel(A)
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(A), expected)
    twin = clone(kernel)
    assert_array_equal(twin(A), expected)  # a kernel inside another estimator is data: its fit survives
    twin.set_params(eta=5.0)
    assert twin.eta == 5.0
    with pytest.raises(NotFittedError):
        twin(A)
    assert_array_equal(kernel(A), expected)
    assert_array_equal(kernel.set_params()(A), expected)
    assert clone(make()).get_params() == make().get_params()


def test_memory_shares_graph_and_restriction(data, tmp_path):
    X, A = data
    plain = make(eta=3.0).fit(X)(A)
    make(eta=1.0, memory=str(tmp_path)).fit(X)
    entries = len(list(tmp_path.rglob("output.pkl")))
    assert entries == 2  # one graph, one restriction
    assert_allclose(make(eta=3.0, memory=str(tmp_path)).fit(X)(A), plain)
    assert len(list(tmp_path.rglob("output.pkl"))) == entries
    islands = np.concatenate([X, X + 100.0])
    for _ in range(2):  # a cache hit does not swallow the warning
        with pytest.warns(DisconnectedGraphWarning):
            make(memory=str(tmp_path)).fit(islands)


def test_repr(data):
    kernel = make(eta=2.5)
    assert repr(kernel).startswith("DataDependentKernel(eta=2.5")
    assert "fitted" not in repr(kernel)
    text = repr(kernel.fit(data[0]))
    assert "n=90, landmarks=30, components=1, solver='direct', error bound=" in text


def test_disconnected_graph(rng):
    """No influence across components; where no landmark is, the graph extension vanishes and eq. 6 is the base."""
    X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(10, 2)) + 100.0])
    A = rng.normal(size=(4, 2)) + 100.0
    with pytest.warns(DisconnectedGraphWarning, match="1 of them, with 10 of 40 vertices, hold no landmark"):
        by_kernel = make(n_landmarks=None, landmarks=np.arange(12), extension="kernel").fit(X)
    with pytest.warns(DisconnectedGraphWarning):
        by_graph = make(n_landmarks=None, landmarks=np.arange(12), extension="graph").fit(X)
    assert_allclose(by_kernel(A), rbf(A, A, 0.5), atol=1e-12)
    assert_allclose(by_graph(A), 0.0, atol=1e-12)
    assert_allclose(by_kernel(A, X[:5]), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta": -1.0}, r"'eta' parameter must be a finite number >= 0. Got -1.0"),
        ({"ridge": -1e-3}, r"'ridge' parameter must be a finite number >= 0. Got -0.001"),
        ({"gamma": 0.0}, r"'gamma' parameter must be a finite number > 0. Got 0.0"),
        ({"base_kernel": "linear"}, r"'linear' has no gamma"),
        ({"base_kernel": "gauss"}, r"'base_kernel' parameter must be one of .*'rbf'.* Got 'gauss'"),
        ({"base_kernel": rbf}, r"gamma=0.5 goes with a named base kernel"),
        ({"base_kernel": lambda A, B: 1.0, "gamma": None}, r"expected shape \(30, 30\), got \(\)"),
        ({"n_landmarks": 91}, r"'n_landmarks' parameter must be an integer in \[1, 90\]. Got 91"),
        ({"n_neighbors": 90}, r"'n_neighbors' parameter must be an integer in \[1, 89\]. Got 90"),
        ({"n_neighbors": 0}, r"Got 0 instead"),
        ({"n_neighbors": 2.5, "regularizer": np.eye(90)}, r"Got 2.5 instead"),
        ({"metric": "precomputed"}, r"Precomputed distances go through graph=knn_graph"),
        ({"base_kernel": RBF(), "gamma": None, "base_kernel_params": {"a": 1}}, r"does not go with a Gaussian-process"),
        ({"base_kernel": lambda A, B: -rbf(A, B, 1.0), "gamma": None}, r"is not positive semi-definite"),
        ({"ridge": 1e-200, "power": 3}, r"overflows"),
        ({"method": "fast"}, r"'method' parameter must be one of 'efficient', 'full', 'budget'"),
        ({"extension": "none"}, r"'extension' parameter must be one of 'auto', 'graph', 'kernel'"),
        ({"eps": 0.0}, r"'eps' parameter must be a finite number > 0"),
        ({"regularizer": "ridge"}, r"'regularizer' parameter must be one of 'power', 'heat', 'resistance'"),
        ({"regularizer": np.eye(4)}, r"'regularizer' parameter has 4 vertices but there are 90 points"),
        ({"graph": np.ones((3, 3)) - np.eye(3)}, r"'graph' parameter has 3 vertices but there are 90 points"),
        ({"graph": np.ones((90, 90)) - np.eye(90), "method": "budget"}, r"looks at the landmarks only"),
    ],
)
def test_bad_parameters_leave_nothing_half_done(data, parameters, message):
    X, A = data
    kernel = make(**parameters)
    with pytest.raises(ValueError, match=message):
        kernel.fit(X)
    assert not [name for name in vars(kernel) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        kernel(A)


def test_failed_refit_keeps_the_old_fit(data):
    X, A = data
    kernel = make().fit(X)
    expected = kernel(A)
    with pytest.raises(ValueError, match="contains NaN"):
        kernel.fit(np.where(X > 1, np.nan, X))
    assert_array_equal(kernel(A), expected)


def test_refit_leaves_nothing_of_the_old_fit(data):
    X, A = data
    kernel = make().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert_array_equal(kernel(A), make().fit(X)(A))  # estimators hand on arrays; no warning about names
    assert not hasattr(kernel.fit(X), "feature_names_in_")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda X: np.where(X > 1, np.nan, X), "contains NaN"),
        (lambda X: np.where(X > 1, np.inf, X), "contains infinity"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[:1], "1 sample"),
        (lambda X: X.ravel(), "Expected 2D array"),
    ],
)
def test_bad_data(data, bad, message):
    with pytest.raises(ValueError, match=message):
        make().fit(bad(data[0]))


def test_bad_calls(data):
    X, A = data
    with pytest.raises(NotFittedError):
        make().as_gp_kernel()
    kernel = make().fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but DataDependentKernel is expecting 3"):
        kernel(A[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        kernel(np.where(A > 0, np.nan, A))
    with pytest.raises(TypeError, match=r"must return a Regularizer. It returned"):
        make(regularizer=lambda W: W).fit(X)
    with pytest.raises(NotPositiveSemidefiniteError):
        make(regularizer=-np.eye(90)).fit(X)
    with pytest.raises(ValueError, match=r"expected shape \(90,\)"):
        make().fit(X, [1, 2])


def test_kernel_error_bound_is_infinite_when_nothing_is_known(data):
    kernel = make().fit(data[0])
    object.__setattr__(kernel.restriction_, "error_bound", 1.0)
    assert kernel.kernel_error_bound() == np.inf


def test_features_whose_squares_vanish_are_refused(rng):
    X = rng.uniform(-1.0, 1.0, size=(40, 2))
    with pytest.raises(ValueError, match="below 1e-140 squares of distances vanish"):
        DataDependentKernel().fit(1e-160 * X)
    with pytest.raises(ValueError, match="below 1e-140 squares of distances vanish"):
        DataDependentKernel(graph=knn_graph(X, n_neighbors=5)).fit(1e-160 * X)


def test_small_features_give_the_kernel_of_large_ones(rng):
    X, unit = rng.uniform(-1.0, 1.0, size=(40, 2)), 2.0**-460
    plain, scaled = (DataDependentKernel(n_landmarks=10, random_state=0).fit(points) for points in (X, X * unit))
    assert_allclose(scaled(X * unit), plain(X), rtol=1e-9)
    assert np.all(np.isfinite(plain(X[:1] * 1e-200)))  # a single new point may be where it likes


def test_the_width_of_points_whose_distances_vanish_is_finite(rng):
    assert np.isfinite(median_gamma(rng.uniform(-1.0, 1.0, size=(20, 1)) * 1e-158))


def test_budget_with_a_rule_of_ones_own(data):
    X, _ = data
    kernel = make(method="budget", n_landmarks=20, landmarks=lambda X, size, labeled, rng: np.arange(size)).fit(X)
    assert_array_equal(kernel.landmark_indices_, np.arange(20))


def test_kernel_functions_are_given_numbers_that_do_not_wrap(rng):
    X = rng.integers(150, 255, size=(30, 4), dtype=np.uint8)
    base, other = BaseKernel(lambda A, B: A @ B.T, {}), X.astype(np.float64)
    np.testing.assert_allclose(base(X, X), other @ other.T)
    np.testing.assert_allclose(base.columns(X, other), other @ other.T, rtol=1e-6)
