"""The estimators among scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from halfmoon import DataDependentKernel, KernelKMeans, LandmarkFeatures, LapRLSClassifier, LapSVC
from halfmoon.model_selection import LabeledKFold

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def digits(rng):
    X, y = load_digits(n_class=3, return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    return X, y, np.where(np.arange(len(y)) < 45, y, -1)


def small():
    return DataDependentKernel(n_landmarks=60, random_state=3)


def test_pipeline_and_cross_validation(digits):
    X, _, few = digits
    pipeline = make_pipeline(StandardScaler(), LapSVC(kernel=small()))
    scores = cross_val_score(pipeline, X, few, cv=LabeledKFold(3, random_state=0))
    assert scores.mean() > 0.9
    search = GridSearchCV(LapSVC(kernel=small()), {"kernel__eta": [1.0, 10.0]}, cv=LabeledKFold(3, random_state=0))
    assert search.fit(X, few).best_score_ > 0.9


def test_voting_and_calibration(digits):
    X, y, _ = digits
    voting = VotingClassifier([("svm", LapSVC(kernel=small())), ("ridge", LapRLSClassifier(kernel=small()))])
    assert voting.fit(X[:120], y[:120]).score(X[120:], y[120:]) > 0.9
    calibrated = CalibratedClassifierCV(LapRLSClassifier(kernel=small()), cv=3).fit(X[:120], y[:120])
    assert_allclose(calibrated.predict_proba(X[120:]).sum(axis=1), 1.0)


def test_sample_weight_is_routed(digits):
    X, _, few = digits
    weights = np.ones(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LapSVC(kernel=small()).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        result = cross_validate(
            estimator,
            X,
            few,
            cv=LabeledKFold(3, random_state=0),
            params={"sample_weight": weights},
            error_score="raise",
        )
    assert result["test_score"].mean() > 0.9


def test_features_for_linear_models(digits):
    """The feature map carries the kernel to linear models, names its columns and gives data frames on request."""
    X, y, few = digits
    labeled = few >= 0
    features = LandmarkFeatures(small()).set_output(transform="pandas").fit(X)
    frame = features.transform(X)
    assert list(frame.columns) == list(features.get_feature_names_out())
    assert frame.columns[0] == "landmarkfeatures0"
    scaled = np.asarray(frame) / np.linalg.norm(frame, axis=1, keepdims=True)
    for model in (LinearSVC(), LogisticRegression(C=10.0)):
        assert model.fit(scaled[labeled], few[labeled]).score(scaled, y) > 0.85


@pytest.mark.parametrize("extension", ["graph", "kernel"])
def test_features_are_the_kernel(digits, extension):
    X, _, _ = digits
    features = LandmarkFeatures(DataDependentKernel(n_landmarks=60, extension=extension, random_state=0)).fit(X)
    S = features.kernel_.landmarks_
    Phi = features.transform(S)
    assert_allclose(Phi @ Phi.T, features.kernel_(S), atol=1e-8)
    if extension == "graph":
        Phi = features.transform(X[:50])
        assert_allclose(Phi @ Phi.T, features.kernel_(X[:50]), atol=1e-8)
    assert features.transform(X[:5].astype(np.float32)).dtype == np.float32


def test_cache(digits, tmp_path):
    X, _, few = digits
    kernel = DataDependentKernel(n_landmarks=60, random_state=3, memory=str(tmp_path))
    first = LapSVC(kernel=kernel).fit(X, few)
    second = LapSVC(C=5.0, kernel=kernel).fit(X, few)
    assert_array_equal(first.kernel_.restriction_.smooth, second.kernel_.restriction_.smooth)
    assert any(tmp_path.rglob("*.pkl"))


def test_k_means_of_new_points(rng, digits):
    X, _, _ = digits
    model = KernelKMeans(3, kernel=small(), random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    with pytest.raises(ValueError, match="'n_clusters' parameter must be an integer in"):
        KernelKMeans(0).fit(X)
