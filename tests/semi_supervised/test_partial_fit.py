"""partial_fit: rows that arrive after a fit become training rows, with or without labels."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

import halfmoon
from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC

ESTIMATORS = [LapSVC, LapRLSClassifier, LapRLSRegressor]
pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def data(rng):
    X, y = make_blobs(240, n_features=4, centers=3, cluster_std=1.5, random_state=int(rng.integers(1 << 30)))
    return X, y


def kernel(**changes):
    return DataDependentKernel(
        n_landmarks=50, n_neighbors=8, graph_params={"method": "exact"}, random_state=0, **changes
    )


def few_of(estimator, y):
    """A label on every eighth row, and on the first of each class."""
    known = np.arange(len(y)) % 8 == 0
    known[np.unique(y, return_index=True)[1]] = True
    return np.where(known, y + 0.5, np.nan) if estimator is LapRLSRegressor else np.where(known, y, -1)


def values(model):
    return model.transduction_ if isinstance(model, LapRLSRegressor) else model.decision_function_


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("options", [{}, {"instant_refits": True}], ids=["solving", "instant"])
def test_new_rows_are_training_rows(data, estimator, options):
    X, y = data
    few = few_of(estimator, y)
    model = estimator(kernel=kernel(), **options).fit(X[:200], few[:200])
    for rows in (slice(200, 220), slice(220, 240)):
        model.partial_fit(X[rows], few[rows])
    labeled = ~np.isnan(few) if estimator is LapRLSRegressor else few != -1
    assert_array_equal(model.learned_.problem.training.origins, np.flatnonzero(labeled))
    assert values(model).shape[0] == 240
    assert_allclose(model.kernel_.geometry_.n, 240)
    found, truth = model.transduction_, y + 0.5 if estimator is LapRLSRegressor else y
    exact = estimator(kernel=kernel()).fit(X, few).transduction_
    assert np.mean(np.abs(found - truth) < 0.5) > np.mean(np.abs(exact - truth) < 0.5) - 0.1
    assert model.report_.n_rows == 240
    assert "240" in str(model.diagnose())
    assert model.explain(X[[230]]).shares.shape[0] == 1
    assert_allclose(values(model.refit(few)), values(copy.deepcopy(model).refit(few)), atol=1e-4)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refresh_is_a_fit_on_the_same_landmarks(data, estimator):
    X, y = data
    few = few_of(estimator, y)
    model = estimator(kernel=kernel()).fit(X[:200], few[:200]).partial_fit(X[200:], few[200:]).refresh()
    landmarks = model.kernel_.landmark_indices_
    again = estimator(kernel=kernel(landmarks=landmarks).set_params(n_landmarks=None)).fit(X, few)
    assert model.choice_ == again.choice_
    assert_allclose(values(model), values(again), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_files_keep_appended_rows(data, tmp_path, estimator):
    X, y = data
    few = few_of(estimator, y)
    model = estimator(kernel=kernel()).fit(X[:200], few[:200]).partial_fit(X[200:], few[200:])
    halfmoon.save(model, tmp_path / "model")
    loaded = halfmoon.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert_allclose(other.predict(X + 0.1), model.predict(X + 0.1))
        assert_allclose(values(other), values(model))
    assert_allclose(values(loaded.partial_fit(X[:5] + 0.1, few[:5])), values(model.partial_fit(X[:5] + 0.1, few[:5])))


def test_the_first_call_is_fit(data):
    X, y = data
    few = few_of(LapSVC, y)
    assert_array_equal(
        LapSVC(kernel=kernel()).partial_fit(X, few).transduction_, LapSVC(kernel=kernel()).fit(X, few).transduction_
    )
    with pytest.raises(NotFittedError):
        LapSVC().refresh()


def test_new_classes_and_floats_for_known_ones(data):
    X, y = data
    first = np.where(y < 2, y, -1)
    model = LapRLSClassifier(kernel=kernel()).fit(X[:200], np.where(np.arange(200) % 4 == 0, first[:200], -1))
    model.partial_fit(X[200:], np.where(np.arange(40) % 2 == 0, y[200:].astype(float), np.nan))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.classes_.dtype.kind == "i"
    with pytest.raises(ValueError, match="not among classes"):
        model.partial_fit(X[:2], [0, 7], classes=[0, 1, 2])


def test_names_as_classes(data):
    X, y = data
    names = np.array(["red", "green", "blue"], dtype=object)[y]
    names[np.arange(240) % 6 > 0] = None
    model = LapSVC(kernel=kernel()).fit(X[:200], names[:200]).partial_fit(X[200:], names[200:])
    assert set(model.classes_) == {"red", "green", "blue"}


def test_a_label_for_a_known_row_and_rows_that_are_there_twice(data):
    X, y = data
    few = few_of(LapSVC, y)
    row = int(np.flatnonzero(few == -1)[0])
    model = LapSVC(kernel=kernel()).fit(X, few).partial_fit(X[[row, row]], [y[row], -1])
    again = LapSVC(kernel=kernel()).fit(X, few).refit(np.where(np.arange(240) == row, y, few))
    assert model.learned_.problem.training.X.shape[0] == 240
    assert_allclose(model.decision_function_[:240], again.decision_function_, atol=1e-6)
    assert_allclose(model.decision_function_[240:], again.decision_function_[[row, row]], atol=1e-6)


def test_priors_probabilities_and_sets_of_a_model_with_appended_rows(data):
    X, y = data
    few = few_of(LapSVC, y)
    model = LapRLSClassifier(kernel=kernel(), priors="balanced", probability=True).fit(X[:200], few[:200])
    model.partial_fit(X[200:], few[200:])
    assert_allclose(model.predict_proba(X[:10]).sum(axis=1), 1.0)
    assert model.predict_set(X[:10]).shape == (10, 3)
    assert len(model.label_issues().rows) == (few != -1).sum()


@pytest.mark.parametrize("method", ["budget", "full"])
def test_other_kernels(data, method):
    X, y = data
    few = few_of(LapSVC, y)
    model = LapSVC(kernel=kernel(method=method)).fit(X[:200], few[:200]).partial_fit(X[200:], few[200:])
    assert model.transduction_.shape == (240,)


def test_a_failing_call_changes_nothing(data):
    X, y = data
    few = few_of(LapSVC, y)
    model = LapSVC(kernel=kernel()).fit(X[:200], few[:200])
    before = model.learned_
    failing = [
        (X[200:, :3], few[200:], "3 features"),
        (X[200:], few[:3], "one label per row of X: expected 40, got 3"),
        (X[200:], None, "y is None"),
    ]
    for rows, labels, message in failing:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, labels)
    assert model.learned_ is before


@pytest.mark.parametrize(
    ("known", "given", "message"),
    [
        ([0, 1, 2], ["cat", -1, "0"], r"'cat' in row 0; the classes of this model are numbers: 0, 1, .*as numbers"),
        ([0, 1, 2], [-1, 1, "0"], "'0' in row 2"),
        ([0, 1, 2], [True, False, True], "True in row 0; the classes of this model are numbers"),
        ([0, 1, 2], np.array([True, False, True]), "True in row 0"),
        ([False, True], [-1, 1, 0], "1 in row 1; the classes of this model are truth values: False, True. Give"),
        (["a", "b", "c"], [None, 1, None], "1 in row 1; the classes of this model are texts: 'a', 'b', ..."),
        ([0, 1, 2], [0.5, 1.0, np.nan], "Unknown label type"),
        ([0, 1, 2], [[0], [1], [2]], r"expected shape \(3,\), got \(3, 1\)"),
        ([0, 1, 2], [0, 1], "expected 3, got 2"),
        ([0, 1, 2], [0, 1, 2, 0], "expected 3, got 4"),
    ],
)
def test_labels_of_another_kind_are_refused(data, known, given, message):
    """numpy would turn 0 into "0" beside texts, and True into 1 beside numbers: classes would be mixed up."""
    X, y = data
    classes = np.array(known, dtype=object)[y % len(known)]
    model = LapRLSClassifier(kernel=kernel()).fit(X[:200], np.where(np.arange(200) % 4 == 0, classes[:200], None))
    before = model.learned_
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[200:203], given)
    with pytest.raises(ValueError, match=r"which is not among classes=|" + message):
        model.partial_fit(X[200:203], given, classes=known)
    assert model.learned_ is before


def test_floats_of_any_size_are_known_numbers(data):
    X, y = data
    model = LapSVC(kernel=kernel()).fit(X[:200], few_of(LapSVC, y)[:200])
    model.partial_fit(X[200:], [*y[200:239].astype(np.float32), None], classes=np.unique(y))
    assert model.classes_.dtype.kind == "i"


def test_prepared_rows_are_not_forgotten(data):
    X, y = data
    model = LapSVC(kernel=kernel()).prepare(X[:200])
    with pytest.raises(ValueError, match=r"prepared with 200 rows .* call refit\(y\)"):
        model.partial_fit(X[200:], y[200:])
    few = few_of(LapSVC, y)
    assert len(model.refit(few[:200]).partial_fit(X[200:], few[200:]).transduction_) == 240
