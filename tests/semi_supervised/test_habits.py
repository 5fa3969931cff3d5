"""What users of scikit-learn do without thinking."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, KernelKMeans, LandmarkFeatures, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.graph import knn_graph
from halfmoon.model_selection import KernelSearchCV, LabeledKFold, labeled_scorer

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def moons(rng):
    X, y = make_moons(160, noise=0.1, random_state=int(rng.integers(1 << 31)))
    return X, y, np.where(np.arange(160) < 40, y, -1)


def test_an_svc_at_its_own_C(rng):
    """Kernel values of size 1: C = 1 of a plain SVC is a sensible cost."""
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))[:200]
    kernel = DataDependentKernel(random_state=0).fit(X)
    accuracy = SVC(kernel=kernel).fit(X[rows], y[rows]).score(X, y)
    assert accuracy >= 0.9


def test_a_base_kernel_as_kernel(moons):
    X, y, few = moons
    named = LapSVC(kernel="laplacian", random_state=0).fit(X, few)
    assert named.kernel_.base_kernel_.kernel == "laplacian"
    same = LapSVC(kernel=DataDependentKernel("laplacian"), random_state=0).fit(X, few)
    assert_array_equal(named.predict(X), same.predict(X))
    function = LapRLSClassifier(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, few)
    assert function.score(X, y) > 0.7


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier, LandmarkFeatures, KernelKMeans])
def test_parameters_of_the_kernel_without_nesting(moons, estimator):
    X, _, few = moons
    model = estimator(n_neighbors=9, n_landmarks=17, random_state=1).fit(X, few)
    assert model.kernel_.n_neighbors == 9
    assert len(model.kernel_.landmark_indices_) == 17
    again = estimator(n_neighbors=9, n_landmarks=17, random_state=1).fit(X, few)
    assert_array_equal(model.kernel_.landmark_indices_, again.kernel_.landmark_indices_)
    with pytest.raises(ValueError, match="n_neighbors=9 contradicts n_neighbors=7 of the kernel"):
        estimator(n_neighbors=9, kernel=DataDependentKernel(n_neighbors=7)).fit(X, few)


def test_nested_parameters_without_a_kernel(moons):
    X, _, few = moons
    assert LapSVC().set_params(kernel__eta=3.0).fit(X, few).kernel_.eta == 3.0
    assert LapSVC(kernel="rbf").set_params(kernel__eta=3.0).kernel.base_kernel == "rbf"


def test_two_default_fits_with_one_seed_agree(moons):
    X, _, few = moons
    one, two = (LapSVC(random_state=4).fit(X, few).decision_function(X) for _ in range(2))
    assert_array_equal(one, two)


def test_unlabelled_rows_are_not_errors(moons):
    X, y, few = moons
    model = LapSVC(random_state=0).fit(X, few)
    assert model.score(X, few) == model.score(X[:40], y[:40])
    scores = cross_val_score(LapSVC(random_state=0), X, few, cv=3, error_score="raise")
    assert scores.mean() > 0.7
    search = GridSearchCV(LapSVC(random_state=0), {"C": [0.1, 10.0]}, cv=LabeledKFold(3)).fit(X, few)
    assert search.best_score_ > 0.7
    named = cross_val_score(
        LapSVC(random_state=0), X, few, cv=LabeledKFold(3), scoring=labeled_scorer("f1"), error_score="raise"
    )
    assert named.mean() > 0.7
    with pytest.raises(ValueError, match="None of the 10 rows to be scored is labelled"):
        model.score(X[:10], np.full(10, -1))
    targets = np.where(few >= 0, X[:, 0], np.nan)
    regressor = LapRLSRegressor(random_state=0).fit(X, targets)
    assert regressor.score(X, targets) == regressor.score(X[:40], X[:40, 0])


def test_a_search_over_a_pipeline(moons):
    X, y, few = moons
    pipeline = make_pipeline(StandardScaler(), LapSVC(random_state=0))
    grid = {"lapsvc__kernel__eta": [0.1, 1.0], "lapsvc__C": [1.0, 10.0]}
    search = KernelSearchCV(pipeline, grid, cv=StratifiedKFold(3)).fit(X, few)
    assert search.n_features_in_ == 2
    assert search.n_splits_ == 3
    assert search.score(X, y) > 0.8
    by_hand = pipeline.set_params(**search.best_params_).fit(X, few)
    assert_allclose(search.decision_function(X), by_hand.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="Only parameters of the last step"):
        KernelSearchCV(pipeline, {"standardscaler__with_mean": [True]}).fit(X, few)


def test_candidates_are_distinguished_by_content(rng):
    """Two graphs of equal size are two candidates: each has the score that it has alone."""
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    few = np.where(np.arange(120) < 40, y, -1)
    right, wrong = knn_graph(X, n_neighbors=8), knn_graph(rng.permutation(X), n_neighbors=8)
    estimator = LapRLSClassifier(alpha=0.1, kernel=DataDependentKernel(extension="graph", random_state=0))
    scores = (
        KernelSearchCV(estimator, {"kernel__graph": [right, wrong]}, cv=4).fit(X, few).cv_results_["mean_test_score"]
    )
    alone = [KernelSearchCV(estimator, {"kernel__graph": [W]}, cv=4).fit(X, few).best_score_ for W in (right, wrong)]
    assert_allclose(scores, alone)
    assert scores[0] > scores[1]


def test_a_search_checks_its_data(moons):
    X, _, few = moons
    X = X.copy()
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelSearchCV(LapSVC(), {"C": [1.0]}).fit(X, few)


def test_a_failed_fit_changes_nothing(moons):
    X, _, few = moons
    model = LapSVC(random_state=0, priors=[0.5, 0.5]).fit(X, few)
    before = model.decision_function(X)
    model.set_params(priors=[0.9, 0.9])
    with pytest.raises(ValueError, match="priors"):
        model.fit(X, np.where(few >= 0, few + 5, -1))
    assert_array_equal(model.classes_, [0, 1])
    assert_array_equal(model.decision_function(X), before)
    with pytest.raises(ValueError, match="Negative values in data"):
        model.set_params(priors=None).refit(few, sample_weight=np.where(np.arange(160) < 3, -1.0, 1.0))


def test_probabilities_rest_on_the_weighted_model(moons):
    """Calibration and model see the same class weights: their leave-one-out values agree."""
    X, _, few = moons
    weights = {0: 1.0, 1: 20.0}
    model = LapRLSClassifier(alpha=0.1, class_weight=weights, probability=True, random_state=0).fit(X, few)
    by_rows = LapRLSClassifier(alpha=0.1, probability=True, random_state=0)
    by_rows.fit(X, few, sample_weight=np.where(few == 1, 20.0, 1.0))
    assert_allclose(model.predict_proba(X), by_rows.predict_proba(X), atol=1e-4)


def test_integers_come_back_as_integers(moons):
    pandas = pytest.importorskip("pandas")
    X, _, few = moons
    y = pandas.Series(few, dtype="Int64").mask(few < 0)
    predicted = LapSVC(random_state=0).fit(X, y).predict(X)
    assert predicted.dtype.kind == "i"


def test_verbose_prints_stages(moons, capsys):
    X, _, few = moons
    LapSVC(random_state=0, verbose=True).fit(X, few)
    assert "halfmoon: " in capsys.readouterr().out
    LapSVC(random_state=0).fit(X, few)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_of_vectors_is_an_error_with_the_line_to_write(moons, library):
    points, _, few = moons
    X = library.DataFrame({"embedding": points.tolist()})
    with pytest.raises(ValueError, match=r"X\['embedding'\] holds a vector.*np.stack\(list\(X\['embedding'\]\)\)"):
        LapSVC().fit(X, few)
    with pytest.raises(ValueError, match=r"X holds a vector in each row.*np.stack\(list\(X\)\)"):
        LapSVC().fit(X["embedding"], few)
    rows = np.stack(list(X["embedding"]))
    assert_array_equal(rows, points)
