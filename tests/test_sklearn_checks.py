"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmoon import KernelKMeans, LandmarkFeatures, LapRLSClassifier, LapRLSRegressor, LapSVC

ESTIMATORS = [LapSVC(), LapRLSClassifier(), LapRLSRegressor(), KernelKMeans(2, n_init=2), LandmarkFeatures()]


def expected_failures(estimator):
    """-1 means unlabelled: the one check that labels two classes with -1 and 1 has only one class left."""
    if isinstance(estimator, (LapSVC, LapRLSClassifier)):
        return {"check_classifiers_classes": "labels {-1, 1}, where -1 means unlabelled"}
    return {}


@pytest.mark.filterwarnings("ignore")  # some checks fit on a handful of rows, or on disconnected ones
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
