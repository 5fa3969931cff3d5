"""The dual of the support vector machine against its optimality conditions and against scikit-learn."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from halfmoon.semi_supervised import _svm
from halfmoon.semi_supervised._svm import support_vector_machine


def problem(rng, size=60):
    X = rng.normal(size=(size, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=size) > 0.0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    squares = np.square(X[:, None] - X).sum(axis=-1)
    return np.exp(-squares / 2.0), signs, rng.uniform(0.1, 2.0, size=size)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
def test_margins_agree_with_the_multipliers(rng, C):
    K, signs, weights = problem(rng)
    dual, intercept = support_vector_machine(K, signs, C * weights)
    alpha, margins = signs * dual, signs * (K @ dual + intercept)
    assert np.all(alpha >= 0.0)
    assert np.all(alpha <= C * weights)
    assert abs(dual.sum()) <= 1e-9 * C
    if np.any((alpha > 0.0) & (alpha < C * weights)):
        np.testing.assert_array_less(margins[alpha > 0.0], 1.0 + 1e-7)
        np.testing.assert_array_less(1.0 - 1e-7, margins[alpha < C * weights])


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_agrees_with_scikit_learn(rng, C):
    K, signs, weights = problem(rng)
    dual, intercept = support_vector_machine(K, signs, C * weights)
    peer = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, signs, sample_weight=weights)
    # libsvm keeps kernel values in float32
    np.testing.assert_allclose(K @ dual + intercept, peer.decision_function(K), atol=1e-5 * max(1.0, C))


def test_a_bound_of_zero_leaves_an_example_out(rng):
    K, signs, weights = problem(rng)
    weights[::3] = 0.0
    weights[:2] = 1.0
    kept = np.flatnonzero(weights)
    dual, intercept = support_vector_machine(K, signs, weights)
    alone, same = support_vector_machine(K[np.ix_(kept, kept)], signs[kept], weights[kept])
    np.testing.assert_allclose(K[:, kept] @ alone + same, K @ dual + intercept, atol=1e-7)


def test_one_class_is_answered_by_the_intercept():
    dual, intercept = support_vector_machine(np.eye(3), np.array([1.0, 1.0, -1.0]), np.array([1.0, 1.0, 0.0]))
    assert not dual.any()
    assert intercept == 1.0


def test_an_unfinished_machine_is_told(rng, monkeypatch):
    monkeypatch.setattr(_svm, "STEPS_PER_EXAMPLE", 0)
    K, signs, weights = problem(rng)
    with pytest.warns(ConvergenceWarning, match="60 examples"):
        support_vector_machine(K, signs, weights)
