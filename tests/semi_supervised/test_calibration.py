"""Probabilities with few labels: what they rest on, and where they must not go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC
from halfmoon.semi_supervised import _calibration
from halfmoon.semi_supervised._calibration import Calibration


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_label_per_class_leaves_the_prior(rng, n_classes):
    values = rng.normal(size=(n_classes, 1 if n_classes == 2 else n_classes))
    found = Calibration.fit(values, np.arange(n_classes), np.ones(n_classes))
    mean = _calibration.LOG_SLOPE_OF_TWO if n_classes == 2 else _calibration.LOG_SLOPE_OF_MORE
    assert_allclose(np.log(found.slope), mean, atol=1e-4)
    assert_allclose(found.bias, 0.0, atol=1e-4)
    assert_allclose(found.prior, 1.0 / n_classes)


def test_many_labels_recover_the_log_odds(rng):
    values = rng.normal(size=(4000, 1))
    targets = (rng.random(4000) < expit(3.0 * values[:, 0] + 1.0)).astype(int)
    found = Calibration.fit(values, targets, np.ones(4000))
    P = found.probabilities(np.array([[-1.0], [0.0], [1.0]]))[:, 1]
    assert_allclose(P, expit([-2.0, 1.0, 4.0]), atol=0.05)


def test_gradient(rng):
    V, targets, weights = rng.normal(size=(12, 3)), rng.integers(3, size=12), rng.random(12)
    given = Calibration(1.0, np.zeros(3), np.full(3, 1 / 3), 0.1)
    parts = [lambda p, part=part: _calibration._loss(p, V, targets, weights, given)[part] for part in (0, 1)]
    assert check_grad(*parts, rng.normal(size=4)) < 1e-4


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
@pytest.mark.parametrize("per_class", [1, 5])
def test_nothing_is_certain_after_few_labels(rng, estimator, per_class):
    X, y = make_moons(200, noise=0.05, random_state=int(rng.integers(2**31)))
    few = np.full(200, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:per_class]] = c
    kernel = DataDependentKernel(n_neighbors=8, graph_params={"connect": True}, random_state=0)
    P = estimator(probability=True, kernel=kernel).fit(X, few).predict_proba(X)
    share = _calibration.DOUBT / (2 * per_class + 2)
    assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= share / 2 - 1e-12
    assert np.isfinite(log_loss(y, P))
