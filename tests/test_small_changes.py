"""Claims that no other test made: without them, small changes of the code (`make mutants`) went unnoticed."""

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from halfmoon import DataDependentKernel, Geometry, LapRLSClassifier, restrict
from halfmoon.exceptions import AccuracyWarning
from halfmoon.geometry import restrict_powers
from halfmoon.graph import laplacian
from halfmoon.kernels import warp
from halfmoon.regularizers import PowerRegularizer
from halfmoon.semi_supervised.losses import AugmentedRidge, RidgePath

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 2))


@pytest.fixture
def kernel(X):
    return DataDependentKernel(n_neighbors=5, n_landmarks=8, random_state=0).fit(X)


@pytest.fixture
def geometry(X):
    return Geometry.build(X, n_neighbors=5, n_landmarks=8, random_state=0)


def test_a_gaussian_process_gets_a_gradient_without_parameters(kernel, X):
    K, gradient = kernel.as_gp_kernel()(X[:4], eval_gradient=True)
    assert_allclose(K, kernel(X[:4]))
    assert gradient.shape == (4, 4, 0)


def test_there_is_an_eigenvalue_per_landmark(X):
    Q = PowerRegularizer(Geometry.build(X, n_neighbors=5, n_landmarks=8, random_state=0).graph, ridge=0.1)
    found = restrict(Q, np.arange(8))
    assert_allclose(found.Q_hat_eigenvalues, np.linalg.eigvalsh(found.Q_hat), rtol=1e-6)


def test_weighted_ridge_regression_is_the_bordered_system(rng, X):
    K, weights, Y = rbf_kernel(X), rng.uniform(0.2, 3.0, 40), rng.normal(size=(40, 1))
    for alpha in (0.01, 1.0):
        bordered = np.block([[K + np.diag(alpha / weights), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
        expected = np.linalg.solve(bordered, np.vstack([Y, [[0.0]]]))
        path = RidgePath(K, Y, weights)
        assert_allclose(path.at(alpha).dual, expected[:-1], atol=1e-6 * np.abs(expected).max())
        assert_allclose(path.at(alpha).intercept, expected[-1], atol=1e-6 * np.abs(expected).max())
        assert_allclose(path.residuals([alpha])[0], path.at(alpha).residuals, rtol=1e-6, atol=1e-9)


def test_what_is_assumed_where_nothing_is_said(geometry):
    """The figures of the documentation."""
    given = DataDependentKernel().get_params()
    assert (given["n_neighbors"], given["eta"], given["eps"]) == (5, 1.0, 1e-6)
    assert signature(restrict_powers).parameters["eps"].default == 1e-6
    assert warp(geometry).eta == warp(geometry, eta=1.0).eta


def test_the_unit_of_eta(geometry):
    """A regulariser of eta = 1 outweighs the base kernel a hundredfold (docs/estimators.md)."""
    warped, r = warp(geometry), geometry.restriction()
    unit = 100.0 * np.trace(r.smooth) / np.trace(warped.K_hat)
    assert warped.eta == pytest.approx(unit)
    assert warp(geometry, eta=3.0).eta == pytest.approx(3.0 * unit)


@pytest.mark.parametrize(("parameter", "value"), [("method", "x"), ("extension", "x"), ("power", 0), ("ridge", -1.0)])
def test_estimators_check_the_parameters_of_their_kernels(X, parameter, value):
    y = np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
    with pytest.raises((ValueError, TypeError), match=parameter):
        LapRLSClassifier(kernel=DataDependentKernel(**{parameter: value})).fit(X, y)


def test_extensions_are_checked(kernel, geometry):
    with pytest.raises(ValueError, match="extension"):
        warp(geometry, extension="x")
    with pytest.raises(ValueError, match="extension"):
        kernel.rewarp(extension="x")


@pytest.mark.parametrize("eta", [-1.0, np.nan, "1"])
def test_eta_is_checked_where_it_is_used(geometry, eta):
    with pytest.raises((ValueError, TypeError), match="eta"):
        warp(geometry, eta=eta)


def test_the_bound_of_theorem_4_3(X):
    geometry = Geometry.build(
        X, n_neighbors=5, n_landmarks=8, random_state=0, solver="cg", eps=0.1, ridge=1.0, powers=(1,)
    )
    warped = warp(geometry, eta=3.0, extension="kernel", power=1)
    r, kappa = geometry.restriction(1), warped.K_hat.diagonal().max()
    lowest = np.linalg.eigvalsh(r.smooth + warped.eta * warped.K_hat).min()
    dA = r.spectral_error_bound
    expected = warped.factor * warped.eta * kappa**2 * 8 * dA / (lowest * (lowest - dA)) if dA < lowest else np.inf
    assert warped.error_bound() == pytest.approx(expected, rel=0.02)


def test_rows_come_in_lists(X, geometry):
    again = Geometry.build(X.tolist(), n_neighbors=5, n_landmarks=8, random_state=0)
    assert_array_equal(again.landmarks, geometry.landmarks)


def test_landmarks_that_are_all_rows_in_another_order(rng, X):
    S = rng.permutation(40)
    geometry = Geometry.build(X, n_neighbors=5, landmarks=S, random_state=0)
    values = rng.normal(size=40)
    assert_allclose(geometry.rows(S), np.eye(40), atol=1e-5)
    assert_allclose(geometry.extend(values)[S], values, atol=1e-5)
    assert_allclose(geometry.gather(values), values[S], atol=1e-5)


def test_the_distance_of_two_points(kernel, X):
    assert kernel.distance(X[0], X[1]) == pytest.approx(kernel.distance(X[:1], X[1:2])[0, 0])


def test_estimators_count_features_and_appended_rows(kernel, X):
    y = np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
    assert LapRLSClassifier(random_state=0).fit(X, y).kernel_.n_features_in_ == 2
    assert kernel.append(X[:3] + 0.1).n_samples_fit_ == 43


def test_neighbours_of_points_that_are_new_anyway(geometry, X):
    Z = X[:5] + 0.01
    for found, expected in zip(geometry.nearest(Z, as_new=True), geometry.nearest(Z), strict=True):
        assert_allclose(found, expected)


def test_the_inverse_on_one_landmark(geometry):
    Q = PowerRegularizer(geometry.graph, power=1, normalized=False, ridge=1.0)
    A = np.linalg.inv(laplacian(geometry.graph).toarray() + np.eye(40))[3, 3]
    F, _ = restrict(Q, [3]).inverse_root(np.eye(1))
    assert_allclose(F @ F.T, 1.0 / (A + 1.0), rtol=1e-5)


def test_where_a_row_is_as_odd_as_an_example(rng, X):
    K, Y, noise = rbf_kernel(X[:10]), rng.normal(size=(9, 1)), 0.3
    few = RidgePath(K[:9, :9], Y, np.ones(9)).at(noise)
    more = AugmentedRidge.of(few, Y, K[9:, :9], K[9:, 9])
    for crossings in more.crossings(noise):
        for i in np.flatnonzero(np.abs(crossings[0]) < 100.0):
            target = more.values[0, 0] + np.sqrt(more.spread[0] + noise) * crossings[0, i]
            whole = RidgePath(K, np.append(Y, [[target]], axis=0), np.ones(10)).at(noise)
            odd = np.abs(whole.residuals[:, 0]) * np.sqrt(np.diagonal(whole.inverse))
            assert odd[9] == pytest.approx(odd[i], rel=1e-6)


def test_a_kernel_with_one_landmark(X):
    """At the landmark the regulariser takes away a part of the base kernel."""
    options = {"n_neighbors": 5, "n_landmarks": 1, "extension": "kernel", "scale": None, "random_state": 0}
    with_graph, base = (DataDependentKernel(eta=eta, **options).fit(X) for eta in (1.0, 0.0))
    s = with_graph.landmark_indices_
    assert 0.0 < with_graph(X[s])[0, 0] < 0.99 * base(X[s])[0, 0]


def test_an_accuracy_that_is_out_of_reach_is_told(geometry):
    Q = PowerRegularizer(geometry.graph, ridge=1e-3)
    with pytest.warns(AccuracyWarning):
        restrict_powers(Q, np.arange(8), (1, 2, 3), eps=1e-15)


def test_residuals_after_leaving_out_another_row(rng, X):
    K, Y, weights = rbf_kernel(X[:9]), rng.normal(size=(9, 2)), rng.uniform(0.5, 2.0, 9)
    whole = RidgePath(K, Y, weights).at(0.3)
    found = whole.residuals_without_each()
    for i in range(9):
        rest = np.arange(9) != i
        alone = RidgePath(K[np.ix_(rest, rest)], Y[rest], weights[rest]).at(0.3)
        assert_allclose(found[i, rest], alone.residuals, atol=1e-8)
        assert_allclose(found[i, i], whole.residuals[i])
