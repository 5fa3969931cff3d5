"""Known shares of the classes: how they are given, and what they do to landmarks and decision values."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC
from halfmoon.semi_supervised._class_priors import AssumedClasses, class_shares, offsets_for_shares

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
NAMES = np.array(["cat", "dog", "fox"])


@pytest.fixture
def blobs(rng):
    """Three overlapping clouds of 50, 100 and 150 rows, four labels in each."""
    y = np.repeat([0, 1, 2], [50, 100, 150])
    X = rng.normal(size=(300, 4))
    X[np.arange(300), y] += 3.0
    few = np.full(300, -1)
    for c in range(3):
        few[rng.choice(np.flatnonzero(y == c), 4, replace=False)] = c
    return X, y, few


@pytest.mark.parametrize(
    ("priors", "expected"),
    [
        ("balanced", [1 / 3, 1 / 3, 1 / 3]),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([20, 30, 50], [0.2, 0.3, 0.5]),
        ({"fox": 0.5, "cat": 0.2, "dog": 0.3}, [0.2, 0.3, 0.5]),
        ({"fox": 5, "cat": 2, "dog": 3}, [0.2, 0.3, 0.5]),
    ],
)
def test_priors_are_shares_counts_or_named(priors, expected):
    assert_allclose(class_shares(priors, NAMES), expected)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ("even", "'balanced', shares or counts. Got 'even'"),
        ([0.2, 0.3, 0.6], "sum to 1, or whole numbers"),
        ([0, 3, 5], "3 positive shares"),
        ([0.5, 0.5], "3 positive shares"),
        ({"cat": 1, "dog": 2}, r"must name every class, \['cat', 'dog', 'fox'\]"),
    ],
)
def test_priors_that_are_refused(priors, message):
    with pytest.raises(ValueError, match=message):
        class_shares(priors, NAMES)


@pytest.mark.parametrize("method", ["efficient", "budget"])
@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_training_rows_agree_with_the_priors(blobs, rng, estimator, method):
    X, y, few = blobs
    kernel = DataDependentKernel(method=method, n_landmarks=80, random_state=int(rng.integers(1 << 31)))
    model = estimator(kernel=kernel, priors=[50, 100, 150]).fit(X, few)
    assert_allclose(np.bincount(model.transduction_) / 300, [1 / 6, 1 / 3, 1 / 2], atol=0.06)
    assert model.score(X, y) > 0.8
    assert_array_equal(model.report_.n_labeled, 12)


def test_landmarks_together_weigh_as_one_label_per_class(blobs, rng):
    X, _, few = blobs
    model = LapRLSClassifier(n_landmarks=60, random_state=int(rng.integers(1 << 31)), priors="balanced").fit(X, few)
    learned = model.learned_
    assumed = learned.examples.training
    assert_allclose(assumed.weights[12:].sum(), 3.0)
    assert_array_equal(assumed.rows[:12], learned.problem.training.rows)
    assert not np.isin(assumed.rows[12:], assumed.rows[:12]).any()
    assert np.isin(assumed.rows[12:], model.kernel_.landmark_indices_).all()


def test_assumed_classes_have_settled(blobs, rng):
    """One more assignment by the values of the ridge regression on all examples changes nothing."""
    X, _, few = blobs
    model = LapRLSClassifier(n_landmarks=60, random_state=int(rng.integers(1 << 31)), priors="balanced").fit(X, few)
    learned = model.learned_
    again = AssumedClasses.of(learned.mixture, learned.problem, model.kernel_.landmark_indices_, np.full(3, 1 / 3))
    assert_array_equal(again.settle(learned.choice).training.targets, learned.examples.training.targets)


def test_held_out_values_with_priors_are_those_of_landmarks_settled_without_each(blobs, rng):
    """Leaving an example out of P by a rank-one update is leaving it out of the problem."""
    X, _, few = blobs
    labeled = np.flatnonzero(few >= 0)
    landmarks = rng.choice(np.setdiff1d(np.arange(300), labeled), 60, replace=False)
    kernel = DataDependentKernel(landmarks=landmarks, extension="graph")
    model = LapRLSClassifier(0.1, kernel=kernel, priors="balanced").fit(X, few)
    learned, found = model.learned_, model.held_out_values()
    shares, whole = np.full(3, 1 / 3), learned.expansion.mixed({"graph": 1.0})
    for i in (0, 5, 11):
        rest = np.delete(np.arange(12), i)
        part = replace(learned.mixture, X_L=learned.mixture.X_L[rest], T=learned.mixture.T[rest])
        others = AssumedClasses.of(part, learned.problem.subset(rest), landmarks, shares)
        problem = others.settle(learned.choice)
        solution = model.loss(0.1).fit(others.mixture.mixed({"graph": 1.0}), problem.Y, problem.weights)
        values = whole[:, np.r_[rest, np.arange(12, 72)]] @ solution.dual + solution.intercept
        assert_allclose(found[i], values[i] + offsets_for_shares(values[12:], shares), atol=0.02)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_explanations_add_up_with_priors(blobs, rng, estimator):
    X, _, few = blobs
    model = estimator(n_landmarks=60, random_state=int(rng.integers(1 << 31)), priors=[50, 100, 150]).fit(X, few)
    why = model.explain(X[:7])
    assert_allclose(why.shares.sum(axis=1) + why.intercept, why.total, atol=1e-8)
    assert_allclose(why.total, model.decision_function(X[:7]).max(axis=1), atol=1e-8)
    assert why.assumed.sum() == len(why.rows) - 12
