"""Known shares of the classes: how they are given, and what they do to landmarks and decision values."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC
from halfmoon.semi_supervised._class_priors import (
    HEAVY,
    SETTLING,
    AssumedClasses,
    class_shares,
    offsets_for_shares,
)

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


def test_offsets_give_rows_of_mass_their_shares(rng):
    """A row of mass 3 counts as three rows, for two classes and for more."""
    copies = rng.integers(1, 4, size=200)
    for values, shares in ((rng.normal(size=(200, 1)), [0.3, 0.7]), (rng.normal(size=(200, 3)), [0.2, 0.3, 0.5])):
        offsets = offsets_for_shares(values, np.array(shares), copies.astype(float))
        repeated = offsets_for_shares(np.repeat(values, copies, axis=0), np.array(shares))
        assert_allclose(offsets, repeated, atol=0.05)


def test_shares_are_those_of_rows_not_of_landmarks(rng):
    """Landmarks that are nearly all in one cluster: classes settle by how many rows they stand for, not by counts.

    Each class gets its share of the mass, but for the mass of one landmark. Masses are sums over columns of T and not
    exact, so that single landmarks of the sparse cluster may be on the wrong side; by counts, twenty would be.
    """
    X = np.concatenate([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 12.0])
    y = np.repeat([0, 1], 150)
    few = np.full(300, -1)
    few[np.r_[0:5, 150:155]] = y[np.r_[0:5, 150:155]]
    landmarks = np.r_[5:55, 155:165]
    kernel = DataDependentKernel(landmarks=landmarks, n_neighbors=15, graph_params={"connect": True})
    model = LapRLSClassifier(kernel=kernel, priors="balanced").fit(X, few)
    learned = model.learned_
    masses = AssumedClasses.of(learned.mixture, learned.problem, landmarks, np.full(2, 0.5)).masses
    ones = learned.examples.training.targets[10:] == 1
    assert abs(masses[ones].sum() - masses.sum() / 2) <= masses.max()
    assert ones.sum() < 20  # of 60
    assert model.score(X, y) > 0.99


def test_the_state_that_contradicts_itself_least_is_kept(blobs, rng):
    X, _, few = blobs
    model = LapRLSClassifier(n_landmarks=60, random_state=int(rng.integers(1 << 31)), priors="balanced").fit(X, few)
    learned = model.learned_
    assumed = AssumedClasses.of(learned.mixture, learned.problem, model.kernel_.landmark_indices_, np.full(3, 1 / 3))
    numbers = learned.examples.training.targets[12:]
    light, heavy = (assumed._ridge(learned.choice, weight).inverse for weight in (1.0, HEAVY))
    start = assumed._from_labels(learned.choice, assumed._label_ridge(learned.choice).inverse)
    tries = [assumed._settled_once(light, start, sharpness) for sharpness in SETTLING]
    contradictions = [np.square(assumed._residuals(heavy, found)).mean() for found in tries]
    assert_array_equal(numbers, tries[int(np.argmin(contradictions))])


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
        assert_allclose(found[i], values[i] + offsets_for_shares(values[12:], shares, others.masses), atol=0.02)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_explanations_add_up_with_priors(blobs, rng, estimator):
    X, _, few = blobs
    model = estimator(n_landmarks=60, random_state=int(rng.integers(1 << 31)), priors=[50, 100, 150]).fit(X, few)
    why = model.explain(X[:7])
    assert_allclose(why.shares.sum(axis=1) + why.intercept, why.total, atol=1e-8)
    assert_allclose(why.total, model.decision_function(X[:7]).max(axis=1), atol=1e-8)
    assert why.assumed.sum() == len(why.rows) - 12
