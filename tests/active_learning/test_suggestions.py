"""suggest: rows worth a label, never the same twice, by strategies that do what they say."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from halfmoon import DataDependentKernel, Geometry, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.active_learning import STRATEGIES, suggest
from halfmoon.active_learning._error_reduction import ErrorReduction
from halfmoon.active_learning._pool import SOLVED
from halfmoon.active_learning._scene import Scene
from halfmoon.active_learning._scenes import scene_of_model
from halfmoon.active_learning._variance_reduction import VarianceReduction

ESTIMATORS = [LapSVC, LapRLSClassifier, LapRLSRegressor]
pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def blobs(rng):
    """Three classes; some rows are there twice."""
    X, y = make_blobs(220, n_features=4, centers=3, cluster_std=2.5, random_state=int(rng.integers(1 << 30)))
    return np.concatenate([X, X[:30]]), np.concatenate([y, y[:30]])


def labeled(estimator, y, rows):
    known = np.isin(np.arange(len(y)), rows)
    return np.where(known, y + 0.5, np.nan) if estimator is LapRLSRegressor else np.where(known, y, -1)


def some_rows(rng, y, count=12):
    """Rows of all classes."""
    return np.concatenate([rng.choice(np.flatnonzero(y == c), count // 3, replace=False) for c in range(3)])


def random_scene(rng, m=40, settled=6, noise=0.2, **changes):
    """A scene with a random kernel."""
    F = rng.normal(size=(m + settled, 8))
    K = F @ F.T / 8 + 0.05 * np.eye(m + settled)
    parts = {
        "K": K[settled:, settled:],
        "K_settled": K[settled:, :settled],
        "among_settled": K[:settled, :settled],
        "base": np.eye(m),
        "noise": np.full(settled, noise),
        "own_noise": noise,
        "masses": rng.integers(1, 4, size=m).astype(float),
        "component": np.zeros(m, dtype=np.intp),
        "visited": np.array([settled > 0]),
        "component_sizes": np.array([float(m)]),
        "doubt": rng.random(m),
    }
    return Scene(**parts | changes), K


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_are_unlabelled_distinct_and_follow_the_seed(rng, blobs, estimator, strategy):
    X, y = blobs
    rows = some_rows(rng, y)
    model = estimator(n_landmarks=60, random_state=0).fit(X, labeled(estimator, y, rows))
    found = suggest(model, 15, strategy, random_state=7)
    assert found.shape == (15,)
    assert found.dtype.kind == "i"
    together = np.concatenate([X[rows], X[found]])
    assert len(np.unique(together, axis=0)) == len(np.unique(X[rows], axis=0)) + 15  # no copy of a labelled row either
    assert_array_equal(found, suggest(model, 15, strategy, random_state=7))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("options", [{"instant_refits": True}, {}])
def test_batches_have_no_near_duplicates(rng, blobs, strategy, options):
    X, y = blobs
    X = np.repeat(X[:70], 3, axis=0)
    X = X + 1e-7 * rng.normal(size=X.shape)  # three rows for each point
    y = np.repeat(y[:70], 3)
    few = labeled(LapSVC, y, some_rows(rng, y))
    model = LapSVC(n_neighbors=6, n_landmarks=80, random_state=0, **options).fit(X, few)
    found = suggest(model, 10, strategy, random_state=int(rng.integers(99)))
    assert len(np.unique(found // 3)) == 10


def test_a_graph_of_ones_own_may_have_equal_rows(rng, blobs):
    X, y = blobs
    path = sparse.csr_array(nx.to_scipy_sparse_array(nx.path_graph(len(y)), dtype=float))
    few = np.full(len(y), -1)
    few[:30] = y[:30]  # and 220 to 249 are their copies
    model = LapSVC(kernel=DataDependentKernel(graph=path, n_landmarks=60, random_state=0)).fit(X, few)
    for strategy in STRATEGIES:
        assert suggest(model, 10, strategy, random_state=0).min() >= 30
        assert suggest(model, 10, strategy, random_state=0).max() < 220


def test_variance_reduction_is_that_of_dense_algebra(rng):
    scene, K = random_scene(rng)
    settled, m = len(scene.noise), scene.m
    masses = np.concatenate([np.zeros(settled), scene.masses])

    def total_variance(labels):
        """Sum of m_i C_ii after labels at some rows, with a nearly flat prior on the intercept."""
        wide = K + 1e7
        G = wide[np.ix_(labels, labels)] + scene.own_noise * np.eye(len(labels))
        C = wide - wide[:, labels] @ np.linalg.solve(G, wide[labels])
        return masses @ np.diagonal(C)

    reduction, labels = VarianceReduction(scene), list(range(settled))
    for j in rng.choice(m, 4, replace=False).tolist():
        expected = [total_variance(labels) - total_variance([*labels, settled + k]) for k in range(m)]
        assert_allclose(reduction.gains, expected, rtol=1e-3, atol=1e-3 * max(expected))
        reduction.add(j)
        labels.append(settled + j)


def test_error_reduction_is_the_mean_growth_of_gaps_over_labels_to_come(rng):
    gaps = rng.exponential(size=40)
    scene, _ = random_scene(rng, gaps=gaps, gap_variance=float(rng.uniform(0.5, 4.0)))
    reduction, z = ErrorReduction(scene, gaps, rng), rng.normal(size=40_000)
    C = scene.covariance
    for j in rng.choice(scene.m, 3, replace=False).tolist():
        moves = np.sqrt(scene.gap_variance / (np.diagonal(C) + scene.own_noise))[:, None] * C  # s_ji, with its sign
        weights = scene.masses / np.sqrt(scene.gap_variance * np.diagonal(C))
        k = int(rng.integers(scene.m))
        growth = np.abs(gaps[:, None] + moves[k][:, None] * z).mean(axis=1) - gaps
        assert_allclose(reduction.gains[k], weights @ growth, rtol=0.05, atol=0.02 * weights.sum())
        reduction.add(j)
        C = C - np.outer(C[:, j], C[j]) / (C[j, j] + scene.own_noise)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_variance_of_gaps_makes_the_labels_most_likely(rng, blobs, estimator, classes):
    X, y = blobs
    model = estimator(random_state=0).fit(X, labeled(estimator, y % classes, some_rows(rng, y)))
    nothing = np.empty(0, dtype=np.intp)
    _, scene = scene_of_model(model, STRATEGIES["error"], nothing, 5, rng)
    learned = model.learned_
    G = scene.among_settled + np.diag(scene.noise)
    Y, ones = learned.problem.Y, np.ones(len(G))
    intercept = (ones @ np.linalg.solve(G, Y)) / (ones @ np.linalg.solve(G, ones))
    residuals = Y - intercept
    likely = np.mean(np.sum(residuals * np.linalg.solve(G, residuals), axis=0)) / (len(G) - 1)
    assert_allclose(scene.gap_variance, (4.0 if classes == 2 else 2.0) * likely, rtol=1e-6)


def test_of_numbers_the_error_is_the_variance(rng, blobs):
    X, y = blobs
    model = LapRLSRegressor(n_landmarks=60, random_state=0).fit(X, labeled(LapRLSRegressor, y, some_rows(rng, y)))
    assert_array_equal(suggest(model, 5, "error", random_state=0), suggest(model, 5, "variance", random_state=0))


def test_variance_takes_the_largest_reduction_first(rng):
    scene, _ = random_scene(rng)
    assert STRATEGIES["variance"].choose(scene, 1, rng) == [int(VarianceReduction(scene).gains.argmax())]


def test_covariance_is_that_of_predictive_deviations(rng, blobs):
    X, y = blobs
    model = LapRLSRegressor(n_landmarks=60, random_state=0).fit(X, labeled(LapRLSRegressor, y, some_rows(rng, y)))
    nothing = np.empty(0, dtype=np.intp)
    _, scene = scene_of_model(model, STRATEGIES["variance"], nothing, 5, rng)
    expected = model.learned_.solution.variance(scene.K_settled, np.diagonal(scene.K))
    assert_allclose(np.diagonal(scene.covariance), expected, atol=1e-8)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_uncertainty_begins_where_two_classes_are_closest(rng, blobs, estimator):
    X, y = blobs
    rows = some_rows(rng, y)
    model = estimator(random_state=0).fit(X, labeled(estimator, y, rows))
    best = np.sort(model.decision_function_, axis=1)
    gaps = best[:, -1] - best[:, -2]
    gaps[(X[:, None] == X[rows]).all(axis=2).any(axis=1)] = np.inf  # labelled, or copies
    first = suggest(model, 1, "uncertainty", random_state=0)[0]
    assert_allclose(gaps[first], gaps.min())


def test_uncertainty_of_a_regressor_is_its_deviation(rng):
    X = np.sort(rng.uniform(0.0, 10.0, size=(120, 1)), axis=0)
    y = np.where(X[:, 0] < 5.0, np.sin(X[:, 0]), np.nan)  # nothing is known beyond 5
    model = LapRLSRegressor(kernel=DataDependentKernel(n_neighbors=6, extension="graph")).fit(X, y)
    assert (X[suggest(model, 3, "uncertainty", random_state=0), 0] > 5.0).all()


def test_density_prefers_rows_that_stand_for_many(rng):
    K = np.eye(12)
    K[:8, :8] += 2.0  # eight rows that are alike, and four that stand for themselves
    scene, _ = random_scene(
        rng,
        m=12,
        settled=0,
        K=K,
        K_settled=np.empty((12, 0)),
        among_settled=np.empty((0, 0)),
        masses=np.ones(12),
        component=np.zeros(12, dtype=np.intp),
        component_sizes=np.array([12.0]),
        doubt=np.full(12, 0.5),
    )
    assert STRATEGIES["density"].choose(scene, 1, rng)[0] < 8


@pytest.mark.parametrize("given", ["model", "kernel", "geometry"])
def test_coverage_visits_every_component_before_it_repeats_one(rng, given):
    sizes = rng.integers(12, 40, size=6)
    centers = 100.0 * np.arange(6)
    X = np.concatenate([c + rng.normal(size=(size, 2)) for c, size in zip(centers, sizes, strict=True)])
    component = np.repeat(np.arange(6), sizes)
    few = np.full(len(X), -1)
    few[component == 2] = np.arange(sizes[2]) % 2
    if given == "model":
        model, exclude, new = LapSVC(n_neighbors=5, n_landmarks=40, random_state=0).fit(X, few), None, 5
    else:
        model, exclude, new = Geometry.build(X, n_neighbors=5, n_landmarks=40, random_state=0), None, 6
        if given == "kernel":
            model, exclude, new = (
                DataDependentKernel(n_neighbors=5, n_landmarks=40).fit(X),
                np.flatnonzero(few != -1),
                5,
            )
    parts = (model if given == "geometry" else getattr(model, "kernel_", model).geometry_).components.labels
    wanted = len(np.unique(parts)) - (len(np.unique(parts[few != -1])) if new == 5 else 0)
    found = suggest(model, wanted + 2, "coverage", random_state=0, exclude=exclude)
    assert wanted >= new
    assert len(np.unique(parts[found[:wanted]])) == wanted
    if new == 5:
        assert not np.isin(parts[found[:wanted]], parts[few != -1]).any()


def test_coverage_is_farthest_in_the_metric_of_the_kernel(rng):
    scene, K = random_scene(rng, doubt=None)
    settled = len(scene.noise)
    own = np.diagonal(K)
    D = own[:, None] + own - 2.0 * K  # squared
    chosen = list(range(settled))
    for j in STRATEGIES["coverage"].choose(scene, 5, rng):
        nearest = D[:, chosen].min(axis=1)
        assert_allclose(nearest[settled + j], nearest.max())
        chosen.append(settled + j)


def test_kernels_and_geometries_know_coverage_and_chance_only(rng, blobs):
    X, _ = blobs
    kernel = DataDependentKernel(n_landmarks=50, random_state=0).fit(X)
    for known in (kernel, kernel.geometry_):
        start = suggest(known, 4, random_state=1)
        assert_array_equal(start, suggest(known, 4, "coverage", random_state=1))
        assert len(np.unique(X[start], axis=0)) == 4
        assert suggest(known, 4, "random", random_state=1).shape == (4,)
        for strategy in ("uncertainty", "density", "variance"):
            with pytest.raises(ValueError, match=r"needs a model .* 'coverage' and 'random' only"):
                suggest(known, 4, strategy)


@pytest.mark.parametrize("settings", [{"method": "budget"}, {"method": "full"}, {"extension": "kernel"}])
def test_kernels_of_every_method(rng, blobs, settings):
    X, y = blobs
    kernel = DataDependentKernel(n_landmarks=50, random_state=0, **settings)
    start = suggest(DataDependentKernel(**kernel.get_params()).fit(X), 5, random_state=0)
    assert len(np.unique(X[start], axis=0)) == 5
    rows = some_rows(rng, y)
    model = LapRLSClassifier(kernel=kernel).fit(X, labeled(LapRLSClassifier, y, rows))
    for strategy in STRATEGIES:
        assert not np.isin(suggest(model, 5, strategy, random_state=0), rows).any()


def test_excluded_rows_and_their_copies_are_passed_over(rng, blobs):
    X, y = blobs
    model = LapSVC(n_landmarks=60, random_state=0).fit(X, labeled(LapSVC, y, some_rows(rng, y)))
    for strategy in STRATEGIES:
        first = suggest(model, 8, strategy, random_state=3)
        second = suggest(model, 8, strategy, random_state=3, exclude=first)
        assert len(np.unique(X[np.concatenate([first, second])], axis=0)) == 16
    everything = np.setdiff1d(np.arange(len(y)), [5, 225])  # 225 is a copy of 5
    assert set(suggest(model, 3, exclude=np.setdiff1d(everything, first)).tolist()) <= {5, *first.tolist()}
    with pytest.raises(ValueError, match=r"exclude holds row 250, .* 250 rows"):
        suggest(model, 1, exclude=[250])


def test_there_may_be_fewer_rows_than_asked_for(rng, blobs):
    X, y = blobs
    few = labeled(LapSVC, y, np.arange(len(y) - 30 - 4))  # 220 distinct rows, four without a label
    model = LapSVC(n_landmarks=60, random_state=0).fit(X, few)
    for strategy in STRATEGIES:
        assert sorted(suggest(model, 10, strategy)) == [216, 217, 218, 219]
    assert suggest(LapSVC().fit(X, y), 10).shape == (0,)


def test_without_a_stored_interpolation_few_rows_are_solved_for(rng, monkeypatch):
    X = rng.normal(size=(600, 2))
    few = np.where(np.arange(600) < 20, (X[:, 0] > 0).astype(int), -1)
    model = LapSVC(n_neighbors=8, n_landmarks=40, random_state=0).fit(X, few)
    solved = []
    rows_of = Geometry.rows_of_powers
    monkeypatch.setattr(Geometry, "rows_of_powers", lambda self, rows: solved.append(rows) or rows_of(self, rows))
    suggest(model, 5, random_state=0)
    asked = np.concatenate(solved)
    assert len(np.setdiff1d(asked, model.kernel_.landmark_indices_)) <= 2 * SOLVED
    assert np.isin(model.kernel_.landmark_indices_, np.concatenate([asked, model.learned_.problem.training.rows])).all()


def test_rows_that_arrive_later_are_suggested_too(rng, blobs):
    X, y = blobs
    model = LapSVC(n_landmarks=60, random_state=0).fit(X[:220], labeled(LapSVC, y[:220], some_rows(rng, y[:220])))
    model.partial_fit(X[:30] + 50.0, np.full(30, -1))  # far from all others
    for strategy in ("auto", "random"):
        assert suggest(model, 190, strategy, random_state=0).max() >= 220  # of 238 without a label


def test_what_cannot_be_asked():
    with pytest.raises(TypeError, match="Got int"):
        suggest(3)
    with pytest.raises(AttributeError, match="not fitted"):
        suggest(LapSVC())
    with pytest.raises(ValueError, match="'strategy' parameter must be one of 'auto', 'error'"):
        suggest(LapSVC(), strategy="margin")
    with pytest.raises(ValueError, match="'n' parameter"):
        suggest(LapSVC(), 0)


def test_many_excluded_rows_are_passed_over_without_a_large_matrix(rng, blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr("halfmoon.active_learning._scenes.MOST_EXCLUDED", 4)
    rows = some_rows(rng, y[:220])
    model = LapSVC(n_landmarks=60, random_state=0).fit(X, labeled(LapSVC, y, rows))
    excluded = np.setdiff1d(np.arange(200), rows)
    _, scene = scene_of_model(model, STRATEGIES["auto"], excluded, 5, rng)
    assert len(scene.noise) == len(rows) + 4
    for known in (model, DataDependentKernel(n_landmarks=60, random_state=0).fit(X)):
        found = suggest(known, 5, exclude=np.union1d(excluded, rows))
        assert (found >= 200).all()
        assert not (X[found][:, None] == X[excluded]).all(axis=2).any()
