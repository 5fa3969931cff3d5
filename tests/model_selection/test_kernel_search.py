"""KernelSearchCV gives what a search from scratch gives, and is a scikit-learn search in use."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.model_selection import KernelSearchCV, LabeledKFold

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def moons(rng):
    X, y = make_moons(200, noise=0.15, random_state=int(rng.integers(1 << 31)))
    return X, y, np.where(np.arange(200) < 40, y, -1)


def make_kernel(rng, extension):
    return DataDependentKernel(n_neighbors=10, landmarks=rng.choice(200, 50, replace=False), extension=extension)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.LandmarkWarning")
@pytest.mark.parametrize("extension", ["graph", "kernel"])
@pytest.mark.parametrize("estimator", [LapSVC(C=1.0), LapRLSClassifier(alpha=0.1)])
def test_same_scores_as_a_search_from_scratch(rng, moons, estimator, extension):
    """Shared solves and variants of the kernel change nothing: hiding the labels of a fold and fitting anew agrees.

    The labelled rows are landmarks: elsewhere the graph's kernel of a row whose label is hidden is brought to unit
    diagonal by an interpolated size, that of a labelled row by the true one. The unit of the other kernel is a mean
    over the labelled rows, which are fewer in a fold: C and alpha are given in it.
    """
    X, y, few = moons
    landmarks = np.concatenate([np.arange(40), 40 + rng.choice(160, 10, replace=False)])
    estimator = clone(estimator).set_params(kernel=make_kernel(rng, extension).set_params(landmarks=landmarks))
    last = "C" if isinstance(estimator, LapSVC) else "alpha"
    grid = {"kernel__power": [1, 3], "kernel__eta": [0.1, 10.0], "kernel__gamma": [0.5, 2.0], last: [0.1, 10.0]}
    fast = KernelSearchCV(estimator, grid, cv=4, random_state=7).fit(X, few)
    differences = []
    for number in rng.permutation(16)[:6]:
        params = fast.cv_results_["params"][number]
        diagonal = clone(estimator).set_params(**params).kernel.fit(X).diag(X[:40])
        for split, (_, test) in enumerate(LabeledKFold(4, random_state=7).split(X, few)):
            hidden = few.copy()
            hidden[test] = -1
            unit = diagonal[hidden[:40] != -1].mean() / diagonal.mean() if extension == "kernel" else 1.0
            in_unit = params[last] * unit if last == "C" else params[last] / unit
            slow = clone(estimator).set_params(**params | {last: in_unit}).fit(X, hidden)
            score = np.mean(slow.transduction_[test] == y[test])
            differences.append(abs(score - fast.cv_results_[f"split{split}_test_score"][number]))
    assert max(differences) == 0.0
    twin = clone(estimator).set_params(**fast.best_params_).fit(X, few)
    assert_allclose(fast.best_estimator_.decision_function(X), twin.decision_function(X), rtol=1e-4, atol=1e-5)


def test_attributes_of_a_search(rng, moons):
    X, y, few = moons
    grid = {"kernel__eta": [0.1, 1.0], "kernel__ridge": [1e-1, 1e-2], "alpha": [0.1, 1.0]}
    search = KernelSearchCV(LapRLSClassifier(kernel=make_kernel(rng, "auto")), grid, cv=3).fit(X, few)
    results = search.cv_results_
    assert len(results["params"]) == 8
    assert search.best_score_ == results["mean_test_score"].max() == results["mean_test_score"][search.best_index_]
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_params_ == results["params"][search.best_index_]
    assert set(results["param_kernel__ridge"]) == {1e-1, 1e-2}
    assert search.n_splits_ == 3
    assert search.score(X, y) == search.best_estimator_.score(X, y) > 0.7
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert_array_equal(search.classes_, [0, 1])
    assert_array_equal(search.decision_function(X) > 0.0, search.predict(X) == 1)
    assert search.n_features_in_ == 2
    with pytest.raises(ValueError, match="X has 1 features, but LapRLSClassifier is expecting 2 features"):
        search.predict(X[:, :1])
    assert not hasattr(search, "predict_proba")


def test_threads_change_no_score(rng, moons):
    X, _, few = moons
    grid = {
        "kernel__eta": [0.1, 10.0],
        "kernel__gamma": [0.5, 2.0],
        "C": [None, 0.1, 10.0],
        "class_weight": [None, "balanced"],
    }
    searches = [
        KernelSearchCV(LapSVC(kernel=DataDependentKernel(n_landmarks=50, random_state=0), n_jobs=n_jobs), grid, cv=3)
        for n_jobs in (1, 3)
    ]
    one, several = (search.fit(X, few) for search in searches)
    for split in range(3):
        assert_array_equal(one.cv_results_[f"split{split}_test_score"], several.cv_results_[f"split{split}_test_score"])
    assert_array_equal(one.decision_function(X), several.decision_function(X))


def test_few_labels_are_left_out_one_at_a_time(rng, moons):
    X, y, _ = moons
    few = np.full(200, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:3]] = c
    for estimator in (LapSVC(), LapRLSClassifier()):
        estimator.set_params(kernel=make_kernel(rng, "graph"))
        search = KernelSearchCV(estimator, {"kernel__eta": [0.1, 1.0]}).fit(X, few)
        assert search.n_splits_ == 1
        assert np.all(np.isin(np.round(search.cv_results_["mean_test_score"] * 6), np.arange(7)))


def test_leave_one_out_of_the_svm_is_what_it_says(rng, moons):
    X, _, few = moons
    model = LapSVC(C=1.0, kernel=make_kernel(rng, "graph")).fit(X, few)
    learned, loss = model.learned_, model.loss(model.choice_.alpha)
    K, problem = learned.mixture.mixed(model.choice_.weights), learned.problem
    held_out = loss.leave_one_out(K, problem.Y, problem.weights)
    for i in rng.permutation(len(K))[:8]:
        rest = np.delete(np.arange(len(K)), i)
        seen = problem.subset(rest)
        solution = loss.fit(K[np.ix_(rest, rest)], seen.Y, seen.weights)
        assert_allclose(held_out[i], K[i, rest] @ solution.dual + solution.intercept, atol=1e-4)


def test_regression_search(rng):
    X = np.sort(rng.uniform(0, 6, size=(200, 1)), axis=0)
    y = np.where(np.arange(200) % 5 == 0, np.sin(X[:, 0]), np.nan)
    kernel = DataDependentKernel(n_neighbors=12, n_landmarks=60, random_state=0)
    search = KernelSearchCV(LapRLSRegressor(kernel=kernel), {"kernel__power": [1, 2], "alpha": [1e-4, 1e-2]}).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.n_splits_ == 5
    scored = KernelSearchCV(LapRLSRegressor(kernel=kernel), {"alpha": [1e-3]}, scoring="neg_mean_squared_error")
    assert scored.fit(X, y).best_score_ <= 0.0


def test_whole_numbers_are_targets_not_classes(rng):
    """40 different whole numbers, -1 among them: five folds of eight."""
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 40, rng.permutation(60) - 1.0, np.nan)
    y[0] = -1.0
    search = KernelSearchCV(LapRLSRegressor(), {"alpha": [0.1, 1.0]}, scoring="neg_mean_squared_error").fit(X, y)
    assert search.n_splits_ == 5
    assert np.isfinite(search.best_score_)


def test_default_kernel_and_scoring(moons):
    X, _, few = moons
    search = KernelSearchCV(LapSVC(), {"kernel__eta": [1.0, 10.0]}, scoring="balanced_accuracy").fit(X, few)
    assert 0.5 < search.best_score_ <= 1.0
    without = KernelSearchCV(LapSVC(), {"C": [1.0]}, refit=False).fit(X, few)
    with pytest.raises(AttributeError, match="refit=False"):
        without.predict(X)


@pytest.mark.parametrize("regularizer", ["heat", "resistance"])
def test_every_regularizer_can_be_searched(moons, regularizer):
    X, _, few = moons
    estimator = LapRLSClassifier(kernel=DataDependentKernel(n_neighbors=8, regularizer=regularizer, extension="graph"))
    search = KernelSearchCV(estimator, {"kernel__eta": [0.1, 10.0]}).fit(X, few)
    by_hand = estimator.set_params(kernel__eta=search.best_params_["kernel__eta"]).fit(X, few)
    np.testing.assert_allclose(search.decision_function(X), by_hand.decision_function(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_one_target_compares_nothing(moons):
    y = np.full(len(moons[0]), np.nan)
    y[3] = 1.0
    with pytest.raises(ValueError, match="1 labelled rows are too few"):
        KernelSearchCV(LapRLSRegressor(), {"alpha": [0.1, 1.0]}).fit(moons[0], y)


def test_wrong_names_are_refused(moons):
    X, _, few = moons
    with pytest.raises(ValueError, match=r"The grid names \['kernel__etta'\]"):
        KernelSearchCV(LapSVC(), {"kernel__etta": [1.0]}).fit(X, few)
    heat = LapSVC(kernel=DataDependentKernel(regularizer="heat"))
    with pytest.raises(ValueError, match="needs regularizer='power'"):
        KernelSearchCV(heat, {"kernel__power": [1, 2]}).fit(X, few)


def test_in_a_pipeline(rng, moons):
    X, y, few = moons
    pipeline = make_pipeline(StandardScaler(), KernelSearchCV(LapSVC(), {"kernel__eta": [1.0]}, cv=3)).fit(X, few)
    assert pipeline.score(X, y) > 0.7
