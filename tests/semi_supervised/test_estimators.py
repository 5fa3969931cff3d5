"""LapSVC and LapRLS against their definitions, and the ways labels come in."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.model_selection import KernelSearchCV
from halfmoon.semi_supervised.losses import RidgePath

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

CLASSIFIERS = [LapSVC, LapRLSClassifier]
EXTENSIONS = ["graph", "kernel"]


@pytest.fixture
def moons(rng):
    X, y = make_moons(250, noise=0.15, random_state=int(rng.integers(1 << 31)))
    few = np.full(250, -1)
    for c in (0, 1):
        few[rng.choice(np.flatnonzero(y == c), 6, replace=False)] = c
    return X, y, few


def make_kernel(rng, extension="auto", **parameters):
    landmarks = rng.choice(250, 60, replace=False)
    return DataDependentKernel(n_neighbors=10, landmarks=landmarks, extension=extension, **parameters)


@pytest.mark.parametrize("columns", [1, 3])
def test_closed_form_leave_one_out(rng, columns):
    """(P y)_i / P_ii is the residual of a model fitted without i."""
    A = rng.normal(size=(14, 5))
    K, Y, w, alpha = A @ A.T, rng.normal(size=(14, columns)), rng.uniform(0.5, 2.0, 14), 0.3
    solution = RidgePath(K, Y, w).at(alpha)
    for i in range(14):
        rest = np.delete(np.arange(14), i)
        left = RidgePath(K[np.ix_(rest, rest)], Y[rest], w[rest]).at(alpha)
        assert_allclose(Y[i] - (K[i, rest] @ left.dual + left.intercept), solution.residuals[i], rtol=1e-6, atol=1e-9)


def test_ridge_is_the_minimiser(rng):
    """Weighted squares plus alpha |f|^2: no step in any direction gets lower."""
    A = rng.normal(size=(12, 4))
    K, y, w, alpha = A @ A.T, rng.normal(size=(12, 1)), rng.uniform(0.5, 2.0, 12), 0.7

    def cost(dual, b):
        return float(w @ np.square(y - K @ dual - b)[:, 0] + alpha * (dual.T @ K @ dual)[0, 0])

    best = RidgePath(K, y, w).at(alpha)
    reached = cost(best.dual, best.intercept)
    for _ in range(50):
        step = 1e-3 * rng.normal(size=(13, 1))
        assert cost(best.dual + step[:12], best.intercept + step[12]) >= reached - 1e-12


def scaled_kernel(model, new, X):
    """The kernel between new points and the examples at the estimators' scale, and its diagonal on the new points."""
    kernel, rows = model.kernel_, model.learned_.problem.training.rows
    K, own = kernel(new, X[rows]), kernel.diag(new)
    at_examples = np.diagonal(kernel(X[rows]))
    if kernel.extension == "kernel":
        return K / at_examples.mean(), own / at_examples.mean()
    sizes = np.sqrt(np.diagonal(kernel(kernel.landmarks_)))
    s_new = kernel.geometry_.average(new, kernel.interpolate(sizes)[:, None])
    s_new = np.maximum(s_new, sizes.min())  # where the interpolant undershoots
    return K / s_new / np.sqrt(at_examples), own / s_new[:, 0] ** 2


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_decision_function_is_the_kernel_expansion(rng, moons, estimator, extension):
    """The collapsed form equals sum_i dual_i K(x_i, x) + b with the kernel itself."""
    X, _, few = moons
    model = estimator(kernel=make_kernel(rng, extension)).fit(X, few)
    new = X[:80] + 0.05 * rng.normal(size=(80, 2))
    expected = scaled_kernel(model, new, X)[0] @ model.dual_coef_ + model.intercept_
    assert_allclose(model.decision_function(new), expected[:, 0], rtol=1e-5, atol=1e-6)
    assert_allclose(model.decision_function_, model.decision_function(X), rtol=1e-5, atol=1e-6)
    assert_array_equal(model.transduction_, model.predict(X))


def test_lapsvc_is_an_svm_in_the_kernel(rng, moons):
    X, _, few = moons
    model = LapSVC(C=3.0, kernel=make_kernel(rng, "kernel")).fit(X, few)
    labeled = few >= 0
    K = model.kernel_(X[labeled])
    unit = 1.0 / np.diagonal(K).mean()
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-9).fit(unit * K, few[labeled])
    expected = svc.decision_function(unit * model.kernel_(X, X[labeled]))
    assert_allclose(model.decision_function(X), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extension", ["auto", *EXTENSIONS])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_unlabelled_rows_help_on_moons(rng, estimator, extension):
    """Six labels per moon: on average better by more than a point than an SVM that sees only these."""
    gains = []
    for _ in range(16):
        X, y = make_moons(250, noise=0.1, random_state=int(rng.integers(1 << 31)))
        labeled = np.concatenate([np.flatnonzero(y == c)[:6] for c in (0, 1)])
        few = np.full(250, -1)
        few[labeled] = y[labeled]
        model = estimator(kernel=make_kernel(rng, extension)).fit(X, few)
        gains.append(model.score(X, y) - SVC().fit(X[labeled], y[labeled]).score(X, y))
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, -1])
def test_labels_of_strings(rng, moons, estimator, missing):
    X, _, few = moons
    kernel = make_kernel(rng)
    names = np.array(["left", "right"], dtype=object)
    labels = np.array([names[c] if c >= 0 else missing for c in few], dtype=object)
    model = estimator(kernel=kernel).fit(X, labels)
    assert_array_equal(model.classes_, ["left", "right"])
    numbers = estimator(kernel=kernel).fit(X, few)
    assert_array_equal(model.predict(X), names[numbers.predict(X)])
    assert_array_equal(estimator(kernel=kernel).fit(X, labels.tolist()).predict(X), model.predict(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.full_like(y, -1), "None of the 250 rows is labelled"),
        (lambda y: np.where(y == 1, 1, -1), "Got 1 class, 1, on 6 labelled rows. -1 means unlabelled here"),
        (lambda y: y[:-1], r"expected shape \(250,\), got \(249,\)"),
        (lambda y: None, "requires y to be passed, but the target y is None"),
        (lambda y: y + 0.37, "Unknown label type"),
    ],
)
def test_bad_labels(moons, estimator, change, message):
    X, _, few = moons
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, change(few))


def test_no_targets(rng):
    with pytest.raises(ValueError, match="None of the 20 rows is labelled"):
        LapRLSRegressor().fit(rng.normal(size=(20, 2)), np.full(20, np.nan))
    with pytest.raises(ValueError, match="y contains infinity"):
        LapRLSRegressor().fit(rng.normal(size=(20, 2)), np.full(20, np.inf))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_all_rows_labelled(rng, moons, estimator):
    X, y, _ = moons
    assert estimator(kernel=make_kernel(rng)).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_refit_keeps_the_solves(rng, moons, estimator):
    """New labels on the old kernel: the same model as a fit from scratch with the same landmarks."""
    X, y, few = moons
    kernel = make_kernel(rng)
    more = few.copy()
    added = rng.choice(250, 20, replace=False)
    more[added] = y[added]
    model = estimator(kernel=kernel).fit(X, few)
    restriction = model.kernel_.restriction_
    model.refit(more)
    assert model.kernel_.restriction_ is restriction
    fresh = estimator(kernel=kernel).fit(X, more)
    assert_allclose(model.decision_function(X), fresh.decision_function(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_balanced_class_weights(rng, moons, estimator):
    X, y, _ = moons
    few = np.full(250, -1)
    few[rng.choice(np.flatnonzero(y == 0), 12, replace=False)] = 0
    few[rng.choice(np.flatnonzero(y == 1), 3, replace=False)] = 1
    kernel = make_kernel(rng, "graph")
    balanced = estimator(kernel=kernel, class_weight="balanced").fit(X, few)
    weights = np.where(few == 0, 15 / 24, 15 / 6)
    by_hand = estimator(kernel=kernel).fit(X, few, sample_weight=weights)
    by_dict = estimator(kernel=kernel, class_weight={0: 15 / 24, 1: 15 / 6}).fit(X, few)
    assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), atol=1e-6)
    assert_allclose(balanced.decision_function(X), by_dict.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_priors_set_the_shares_of_the_classes(rng, estimator, n_classes):
    X = rng.normal(size=(250, 2))
    labels = np.full(250, -1)
    labels[:30] = np.arange(30) % n_classes
    priors = rng.dirichlet(np.full(n_classes, 20.0))
    model = estimator(kernel=make_kernel(rng), priors=priors).fit(X, labels)
    shares = np.bincount(model.transduction_, minlength=n_classes) / 250
    assert_allclose(shares, priors, atol=0.15)
    with pytest.raises(ValueError, match="positive shares"):
        estimator(priors=[0.5, 0.6, 0.7]).fit(X, labels)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_probabilities_on_request(rng, moons, estimator):
    X, y, _ = moons
    model = estimator(kernel=make_kernel(rng), probability=True).fit(X, np.where(np.arange(250) < 80, y, -1))
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= 0.0
    assert log_loss(y, P) < np.log(2)  # better than not knowing
    assert not hasattr(estimator(), "predict_proba")
    with pytest.raises(AttributeError, match=rf"needs {estimator.__name__}\(probability=True\).*fit again"):
        estimator().predict_proba(X)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("labels_a_class", [1, 2])
def test_one_or_two_labels_a_class(rng, moons, estimator, labels_a_class):
    X, y, _ = moons
    few = np.full(250, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:labels_a_class]] = c
    kernel = DataDependentKernel(n_neighbors=10, n_landmarks=60, random_state=int(rng.integers(1 << 31)))
    model = estimator(kernel=kernel).fit(X, few)
    assert_array_equal(model.predict(X[few >= 0]), few[few >= 0])
    assert model.report_.verdict != "help"  # four labels cannot show it


@pytest.mark.parametrize("make", [sparse.csr_array, np.asfortranarray, pd.DataFrame])
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LapRLSRegressor])
def test_kinds_of_data(rng, moons, estimator, make):
    X, _, few = moons
    y = np.where(few < 0, np.nan, few) if estimator is LapRLSRegressor else few
    kernel = make_kernel(rng)
    expected = estimator(kernel=kernel).fit(X, y).predict(X)
    X.flags.writeable = False
    model = estimator(kernel=kernel).fit(make(X), y)
    assert_allclose(model.predict(make(X)), expected, atol=1e-6)
    restored = pickle.loads(pickle.dumps(model))
    assert_allclose(restored.predict(make(X)), expected, atol=1e-6)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LapRLSRegressor])
def test_rows_of_weight_zero_are_new_points(rng, moons, estimator):
    X, _, few = moons
    y = np.where(few < 0, np.nan, few) if estimator is LapRLSRegressor else few
    weights = np.where((few < 0) & (rng.random(250) < 0.3), 0.0, 1.0)
    kernel = DataDependentKernel(n_neighbors=10, n_landmarks=60, random_state=0)
    model = estimator(kernel=kernel).fit(X, y, sample_weight=weights)
    without = estimator(kernel=kernel).fit(X[weights > 0], y[weights > 0])
    left_out = X[weights == 0]
    assert_allclose(model.transduction_[weights == 0], without.predict(left_out), atol=1e-8)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_predictive_deviation_follows_from_the_kernel(rng, moons, extension):
    X, _, few = moons
    y = np.where(few < 0, np.nan, few + 0.1 * rng.normal(size=250))
    model = LapRLSRegressor(alpha=0.1, kernel=make_kernel(rng, extension)).fit(X, y)
    mean, std = model.predict(X[:40], return_std=True)
    assert_allclose(mean, model.predict(X[:40]))
    learned = model.learned_
    flat = 1e5  # the prior variance of the intercept
    G = learned.mixture.gram(extension) + flat + 0.1 * np.eye(len(learned.problem.Y))
    cross, own = learned.mixture.cross({extension: 1.0}, X[:40], alike=True)
    variance = own + 0.1 + flat - np.einsum("ij,ji->i", cross + flat, np.linalg.solve(G, (cross + flat).T))
    assert_allclose(std / std[0], np.sqrt(variance / variance[0]), rtol=1e-3)
    P = np.linalg.inv(G)
    studentised = (P @ learned.problem.Y)[:, 0] / np.sqrt(np.diagonal(P))  # leave-one-out residuals over deviations
    l = len(studentised)  # noqa: E741
    assert_allclose(std, np.sqrt(variance * np.mean(studentised**2) * (l - 1) / (l - 3)), rtol=1e-2)


def test_deviation_is_small_where_targets_are_known_and_large_far_away(rng):
    X = np.sort(rng.uniform(-3.0, 3.0, size=(60, 1)), axis=0)
    y = np.where(np.arange(60) % 4 == 0, np.sin(X[:, 0]), np.nan)
    kernel = DataDependentKernel(n_neighbors=8, extension="kernel", eta=0.0)  # the base kernel
    model = LapRLSRegressor(alpha=1e-4, kernel=kernel).fit(X, y)
    known = model.predict(X[::4], return_std=True)[1]
    far = model.predict([[40.0]], return_std=True)[1]
    assert known.max() < 0.1 * far[0]


def test_given_graph_numbers_the_rows(rng, moons):
    """With a graph of the user's own, rows are vertices: duplicates stay apart."""
    from halfmoon.graph import knn_graph

    X, y, few = moons
    X = np.concatenate([X, X[:20]])
    few = np.concatenate([few, np.full(20, -1)])
    W = knn_graph(X, n_neighbors=10)
    model = LapSVC(kernel=DataDependentKernel(graph=W, n_landmarks=80, random_state=0)).fit(X, few)
    assert_array_equal(model.kernel_.points_, X)
    assert model.score(X[:250], y) > 0.65


def test_budget_kernel_in_an_estimator(rng, moons):
    X, y, few = moons
    for extension in EXTENSIONS:
        model = LapSVC(kernel=make_kernel(rng, extension, method="budget")).fit(X, few)
        K, raw = model.learned_.mixture.gram(extension), model.kernel_(X[model.learned_.problem.training.rows])
        size = np.sqrt(np.diagonal(raw))
        scale = np.outer(size, size) if extension == "graph" else np.diagonal(raw).mean()
        assert_allclose(K, raw / scale, atol=1e-8)
        assert model.score(X, y) > 0.7


def test_regression_diagnosis(rng):
    X = np.sort(rng.uniform(0, 6, size=(200, 1)), axis=0)
    y = np.where(np.arange(200) % 10 == 0, np.sin(X[:, 0]), np.nan)
    model = LapRLSRegressor(kernel=DataDependentKernel(n_neighbors=12)).fit(X, y)
    assert model.score(X, np.sin(X[:, 0])) > 0.9
    assert "R^2" in str(model.diagnose())
    assert np.mean(model.loo_residuals_**2) < np.nanvar(y)  # better than the mean of the others


def test_no_wild_values_far_from_landmarks(rng):
    """On a long spiral the interpolant of the sizes s_x undershoots between landmarks; the ratio must not blow up."""
    largest = []
    for _ in range(9):
        t = np.sort(rng.random(500))
        X = ((0.3 + t) * np.array([np.cos(6 * np.pi * t), np.sin(6 * np.pi * t)])).T
        few = np.where(rng.permutation(500) < 14, np.sin(4 * np.pi * t), np.nan)
        kernel = DataDependentKernel(n_landmarks=60, graph_params={"connect": True}, extension="graph", random_state=0)
        largest.append(np.abs(LapRLSRegressor(kernel=kernel).fit(X, few).predict(X)).max())
    assert np.median(largest) < 2.0  # targets lie between -1 and 1, and 14 of them leave gaps
    assert np.max(largest) < 10.0


@pytest.mark.parametrize("C", [1e15, 1e100])
def test_a_large_cost_keeps_the_model(rng, moons, C):
    X, _, few = moons
    kernel = make_kernel(rng, "graph")
    large, moderate = (LapSVC(C=cost, kernel=kernel).fit(X, few) for cost in (C, 1e7))
    assert np.abs(large.dual_coef_).max() > 0.0
    assert_allclose(large.decision_function(X), moderate.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_huge_sample_weight_keeps_the_model(rng, moons, estimator):
    X, _, few = moons
    weights = np.ones(len(X))
    weights[np.flatnonzero(few == 1)[0]] = 1e16
    model = estimator(kernel=make_kernel(rng)).fit(X, few, weights)
    assert np.all(np.isfinite(model.dual_coef_))
    assert len(np.unique(model.predict(X))) == 2


def test_weights_of_any_ratio_enter_the_ridge_exactly(rng):
    """A weight of 1e300 is a constraint, and one of 1e-300 an example that is not there."""
    A = rng.normal(size=(12, 5))
    K, Y = A @ A.T + np.eye(12), rng.normal(size=(12, 2))
    weights = np.repeat([1e300, 1.0, 1e-300], 4)
    solution = RidgePath(K, Y, weights).at(0.3)
    G = K[:8, :8] + 0.3 * np.diag(np.repeat([0.0, 1.0], 4))
    bordered = np.block([[G, np.ones((8, 1))], [np.ones((1, 8)), np.zeros((1, 1))]])
    expected = linalg.solve(bordered, np.vstack([Y[:8], np.zeros((1, 2))]))
    assert_allclose(solution.dual[:8], expected[:8], atol=1e-10)
    assert_allclose(solution.dual[8:], 0.0, atol=1e-250)
    assert_allclose(solution.intercept, expected[8], atol=1e-10)
    unseen = K[8:, :8] @ expected[:8] + expected[8]
    assert_allclose(solution.residuals[8:], Y[8:] - unseen, atol=1e-8)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", [{0: 1e300, 1: 1e-300}, {0: 1e300, 1: 1e300}, {0: 1e-300, 1: 1e-300}])
def test_class_weights_at_the_ends_of_float64(rng, moons, estimator, class_weight):
    X, _, few = moons
    model = estimator(kernel=make_kernel(rng), class_weight=class_weight, probability=True).fit(X, few)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.all(np.isfinite(model.predict_proba(X)))
    if class_weight[1] < class_weight[0]:
        assert np.all(model.predict(X) == 0)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("factor", [1e305, 1e-305, 0.0])
def test_weights_that_overflow_are_refused(rng, moons, estimator, factor):
    X, _, few = moons
    with pytest.raises(ValueError, match=r"largest weight of a labelled row.*must be between 1e-300 and 1e\+300"):
        estimator(kernel=make_kernel(rng), class_weight={0: factor, 1: factor}).fit(X, few)


@pytest.mark.parametrize("unit", [1e-200, 1e-160, 1e160, 1e199])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_targets_in_any_unit(rng, unit, solver):
    X = rng.uniform(-1.0, 1.0, size=(250, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=250)
    few = np.where(np.arange(250) < 30, y, np.nan)
    kernel = make_kernel(rng, solver=solver)
    plain, scaled = (LapRLSRegressor(kernel=kernel).fit(X, few * factor) for factor in (1.0, unit))
    assert str(scaled.choice_) == str(plain.choice_)
    mean, std = plain.predict(X, return_std=True)
    scaled_mean, scaled_std = scaled.predict(X, return_std=True)
    assert_allclose(scaled_mean / unit, mean, atol=1e-6)
    assert_allclose(scaled_std / unit, std, atol=1e-6)
    assert_allclose(scaled.score(X, y * unit), plain.score(X, y), atol=1e-6)
    assert str(scaled.diagnose()).splitlines()[-1] == str(plain.diagnose()).splitlines()[-1]


def test_a_search_scores_targets_in_any_unit(rng):
    X = rng.uniform(-1.0, 1.0, size=(250, 2))
    few = np.where(np.arange(250) < 30, X[:, 0], np.nan)
    grid = {"kernel__eta": [0.1, 10.0]}
    searches = [KernelSearchCV(LapRLSRegressor(), grid, random_state=0).fit(X, few * unit) for unit in (1.0, 1e160)]
    assert_allclose(searches[0].best_score_, searches[1].best_score_)


def test_targets_that_overflow_are_refused(rng):
    y = np.array([1.0, 2e250, np.nan, 3.0])
    with pytest.raises(ValueError, match=r"Targets reach 2e\+250 in size; beyond 1e\+200"):
        LapRLSRegressor().fit(rng.normal(size=(4, 2)), y)


def fit_beyond_landmarks(rng, estimator, **parameters):
    """Fit two copies of a cloud, far from each other: the labels are in one, and the landmarks in the other."""
    cloud = rng.normal(size=(150, 2))
    X, y = np.vstack([cloud, cloud + 1e3]), (cloud[:, 0] > 0.0).astype(int)
    few = np.full(300, np.nan if estimator is LapRLSRegressor else -1.0)
    few[:20] = y[:20]
    kernel = DataDependentKernel(n_neighbors=10, **parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator(kernel=kernel).fit(X, few)
        values = model.predict(X)
    return model, values[:150], y, few[:20], [w for w in caught if "labelled rows shares" in str(w.message)], caught


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LapRLSRegressor])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_labels_beyond_the_landmarks_are_left_to_the_base_kernel(rng, estimator, solver):
    landmarks = np.arange(150, 180)
    model, values, y, _, warned, caught = fit_beyond_landmarks(rng, estimator, landmarks=landmarks, solver=solver)
    assert model.choice_.weights == {"base": 1.0}
    assert np.mean((values > 0.5) == y) > 0.7
    assert len(warned) == 1
    assert "None of the 20 labelled rows" in str(warned[0].message)
    assert "landmarks (30) lie in 1 of 2 components" in str(warned[0].message)
    assert {w.category for w in caught} == {DisconnectedGraphWarning}


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LapRLSRegressor])
def test_a_graph_kernel_that_cannot_see_the_labels_learns_their_mean(rng, estimator):
    landmarks = np.arange(150, 180)
    _, values, _, labels, warned, caught = fit_beyond_landmarks(
        rng, estimator, landmarks=landmarks, extension="graph", eta=1.0
    )
    assert len(warned) == 1
    assert "only the intercept is learnt" in str(warned[0].message)
    assert {w.category for w in caught} == {DisconnectedGraphWarning}
    if estimator is LapRLSRegressor:
        assert_allclose(values, labels.mean())
    else:
        assert len(np.unique(values)) == 1


@pytest.mark.parametrize("landmarks", ["kmeans++", "farthest"])
def test_one_landmark_in_the_other_component(rng, landmarks):
    for seed in range(20):
        model, values, *_, warned, caught = fit_beyond_landmarks(
            rng, LapSVC, landmarks=landmarks, n_landmarks=1, random_state=seed
        )
        assert np.all(np.isfinite(values))
        assert {w.category for w in caught} == {DisconnectedGraphWarning}
        if model.kernel_.landmark_indices_[0] >= 150:
            assert len(warned) == 1
            return
    pytest.fail("the landmark was never in the component without labels")
