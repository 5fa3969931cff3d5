"""The dual of the support vector machine against its optimality conditions and against scikit-learn."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from halfmoon.semi_supervised.losses import _hinge, support_vector_machine


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


def test_an_unfinished_machine_warns(rng, monkeypatch):
    monkeypatch.setattr(_hinge, "STEPS_PER_EXAMPLE", 0)
    K, signs, weights = problem(rng)
    with pytest.warns(ConvergenceWarning, match="60 examples"):
        support_vector_machine(K, signs, weights)


@pytest.mark.parametrize("C", [1e8, 1e12, 1e15, 1e300])
def test_a_large_cost_is_the_hard_margin(rng, C):
    K, signs, weights = problem(rng)
    K += 0.1 * np.eye(len(K))  # separable, with multipliers of about 10
    dual, intercept = support_vector_machine(K, signs, C * weights)
    assert 0.0 < np.abs(dual).max() < 1e3
    peer = SVC(C=1e4, kernel="precomputed", tol=1e-9).fit(K, signs)
    np.testing.assert_allclose(K @ dual + intercept, peer.decision_function(K), atol=1e-4)


def test_one_heavy_example_does_not_hide_the_others(rng):
    K, signs, weights = problem(rng)
    K += 0.1 * np.eye(len(K))
    weights[7] = 1e16
    dual, intercept = support_vector_machine(K, signs, weights)
    peer = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(K, signs, sample_weight=weights)
    np.testing.assert_allclose(K @ dual + intercept, peer.decision_function(K), atol=1e-4)


def test_contradictory_labels_at_a_huge_cost_warn(rng):
    K, signs, _ = problem(rng, size=20)
    K[1], K[:, 1] = K[0], K[:, 0]  # example 1 is example 0, with the other label
    K[1, 1] = K[0, 0]
    with pytest.warns(ConvergenceWarning, match=r"does not separate its classes.*1e\+16.*Lower C"):
        dual, _ = support_vector_machine(K, signs, np.full(20, 1e16))
    assert np.all(np.isfinite(dual))
    assert dual.any()
