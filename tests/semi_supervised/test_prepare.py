"""Everything before the first label: `prepare`, then `refit` from the first labels on."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from halfmoon import LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import MemoryLimitError
from halfmoon.runtime.progress import progress_callback

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")  # of some draws


@pytest.fixture
def moons(seed):
    X, y = make_moons(200, noise=0.1, random_state=seed % 2**31)
    few = np.where(np.arange(200) % 20 == 0, y, -1)
    few[np.flatnonzero(y == 0)[0]], few[np.flatnonzero(y == 1)[0]] = 0, 1
    return X, few


@pytest.mark.parametrize("estimator", [LapRLSClassifier, LapSVC])
@pytest.mark.parametrize("instant", [False, True])
def test_labels_after_prepare_give_the_model_of_fit_on_the_same_landmarks(estimator, instant, moons):
    X, few = moons
    options = {"n_neighbors": 8, "n_landmarks": 40, "random_state": 0, "instant_refits": instant}
    model = estimator(**options).prepare(X).refit(few)
    assert_array_equal(model.kernel_.landmark_indices_, estimator(**options).prepare(X).kernel_.landmark_indices_)
    fitted = estimator(**options).set_params(
        n_landmarks=None, kernel__landmarks=model.kernel_.landmark_indices_, kernel__random_state=0, random_state=None
    )
    fitted.fit(X, few)
    assert_allclose(model.decision_function_, fitted.decision_function_, atol=1e-4)
    assert_allclose(model.predict(X[:20]), fitted.predict(X[:20]))


def test_instant_refits_solve_nothing_from_the_first_label_on(moons):
    X, few = moons
    model = LapRLSClassifier(n_neighbors=8, n_landmarks=40, random_state=0, instant_refits=True).prepare(X)
    stages = set()
    with progress_callback(lambda stage, done, total: stages.add(stage)):
        model.refit(few)
    assert not stages & {"graph", "solves", "interpolation"}


def test_a_prepared_model_predicts_nothing_and_learns_after_pickling(moons):
    X, few = moons
    model = LapRLSRegressor(n_neighbors=8, random_state=0).prepare(X)
    with pytest.raises(NotFittedError):
        model.predict(X)
    targets = np.where(few >= 0, few, np.nan)
    again = pickle.loads(pickle.dumps(model)).refit(targets)
    assert_allclose(again.predict(X), model.refit(targets).predict(X))


def test_copies_of_rows_count_once(moons):
    X, few = moons
    twice, labels = np.concatenate([X, X[:50]]), np.concatenate([few, few[:50]])
    model = LapSVC(n_neighbors=8, random_state=0).prepare(twice)
    assert len(model.kernel_.points_) == 200
    assert len(model.refit(labels).transduction_) == 250


def test_prepare_forgets_the_labels_of_a_fit(moons):
    X, few = moons
    model = LapSVC(n_neighbors=8, random_state=0).fit(X, few).prepare(X)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_equal_rows_are_refused():
    with pytest.raises(ValueError, match="All rows of X are equal"):
        LapSVC().prepare(np.ones((5, 2)))


def test_prepare_refuses_what_memory_does_not_hold(rng):
    X = rng.normal(size=(2100, 3))
    with pytest.raises(MemoryLimitError, match="max_memory allows 1,000"):
        LapRLSClassifier(n_landmarks=40, max_memory=1000).prepare(X)
    with pytest.raises(ValueError, match="'max_memory' parameter"):
        LapRLSClassifier(n_landmarks=40, max_memory="much").prepare(X)
    model = LapRLSClassifier(n_landmarks=40, random_state=0, max_memory=10**9).prepare(X)
    assert len(model.refit(np.where(np.arange(2100) % 50 == 0, X[:, 0] > 0, -1)).transduction_) == 2100
