"""Prediction sets and intervals: closed forms against refits, and coverage over draws of the labelled rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.semi_supervised import learn
from halfmoon.semi_supervised._conformal import oddness
from halfmoon.semi_supervised._learned import choices_without_each
from halfmoon.semi_supervised.losses import HingeLoss, RidgeLoss

ALPHA = 0.05


def kernel_of(**settings):
    """Return an unfitted kernel on a connected graph."""
    defaults = {"n_neighbors": 6, "n_landmarks": 30, "graph_params": {"connect": True}, "random_state": 0}
    return DataDependentKernel(**defaults | settings)


def label_free_kernel(X, rng):
    """Return a fitted kernel that has not seen which rows are labelled."""
    return kernel_of(extension="graph", landmarks="kmeans++", random_state=int(rng.integers(2**31))).fit(X)


def on_kernel(model, X, y, kernel):
    return model.adopt(learn(model.problem(X, y), kernel, model.loss, model.given_alpha))


def few_labels(y, rows, unknown):
    few = np.full(len(y), unknown, dtype=float if np.isnan(unknown) else int)
    few[rows] = y[rows]
    return few


@pytest.fixture
def three_classes(rng):
    X = rng.normal(size=(90, 2))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])


def gram_of(kernel, X):
    """Return the graph kernel between all rows, scaled to a diagonal of ones."""
    K = kernel.warped_.graph_extension.gram(X, X)
    sizes = np.sqrt(np.diagonal(K))
    return K / sizes[:, None] / sizes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_sets_are_those_of_refits_with_every_class(rng, three_classes, n_classes):
    X, y = three_classes
    y = np.minimum(y, n_classes - 1)
    kernel = label_free_kernel(X, rng)
    rows = np.concatenate([[np.flatnonzero(y == c)[0] for c in range(n_classes)], rng.permutation(90)[:9]])
    rows = np.unique(rows)
    model = on_kernel(LapRLSClassifier(ALPHA, kernel=kernel), X, few_labels(y, rows, -1), kernel)
    K, asked = gram_of(kernel, X), np.setdiff1d(np.arange(90), rows)[:6]
    found = model._p_values(X[asked])
    for place, row in enumerate(asked):
        for c in range(n_classes):
            bag, labels = np.append(rows, row), np.append(y[rows], c)
            Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
            held_out = RidgeLoss(ALPHA).leave_one_out(K[np.ix_(bag, bag)], Y, np.ones(len(bag)))
            odd = oddness(held_out)[np.arange(len(bag)), labels]
            votes = np.bincount(labels, minlength=n_classes)[labels] > 1
            assert np.isclose(found[place, c], np.mean(odd[votes] >= odd[-1] - 1e-9))


def test_ridge_intervals_end_where_refits_say(rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=80)
    kernel = label_free_kernel(X, rng)
    rows = rng.permutation(80)[:14]
    model = on_kernel(LapRLSRegressor(ALPHA, kernel=kernel), X, few_labels(y, rows, np.nan), kernel)
    K, level = gram_of(kernel, X), 0.8
    for row in np.setdiff1d(np.arange(80), rows)[:6]:
        bag = np.append(rows, row)
        P = RidgeLoss(ALPHA).fit(K[np.ix_(bag, bag)], y[bag][:, None], np.ones(15)).inverse

        def plausible(target, P=P):
            odd = np.abs(P @ np.append(y[rows], target)) / np.sqrt(np.diagonal(P))
            return np.mean(odd >= odd[-1] - 1e-12) > 1.0 - level + 1e-9

        low, high = model.predict_interval(X[[row]], level)[0]
        nudge = 1e-5 * (high - low)
        assert [plausible(t) for t in (low - nudge, low + nudge, high - nudge, high + nudge)] == [
            False,
            True,
            True,
            False,
        ]
        assert plausible((low + high) / 2)


def test_machines_left_out_are_compared_with_the_row(rng, three_classes):
    X, y = three_classes
    kernel = label_free_kernel(X, rng)
    rows = np.unique(np.concatenate([[np.flatnonzero(y == c)[0] for c in range(3)], rng.permutation(90)[:12]]))
    model = on_kernel(LapSVC(2.0, kernel=kernel), X, few_labels(y, rows, -1), kernel)
    K, asked = gram_of(kernel, X), np.setdiff1d(np.arange(90), rows)[:10]
    of_examples, of_rows = [], []
    for i in range(len(rows)):
        others = np.delete(rows, i)
        Y = np.where(y[others, None] == np.arange(3), 1.0, -1.0)
        machine = HingeLoss(2.0).fit(K[np.ix_(others, others)], Y, np.ones(len(others)))
        of_examples.append(oddness(K[rows[i], others] @ machine.dual + machine.intercept)[y[rows[i]]])
        of_rows.append(oddness(K[np.ix_(asked, others)] @ machine.dual + machine.intercept))
    beaten, counts = np.array(of_examples)[:, None, None] >= np.array(of_rows), np.bincount(y[rows], minlength=3)
    for c in range(3):
        votes = (counts + np.eye(3, dtype=int)[c])[y[rows]] > 1
        expected = (beaten[votes, :, c].sum(axis=0) + 1) / (votes.sum() + 1)
        off = np.abs(model._p_values(X[asked])[:, c] - expected) * (votes.sum() + 1)
        assert off.max() < 1.01  # machines are solved to 1e-5: a tie may fall either way
        assert np.mean(off > 1e-9) <= 0.2


def test_choices_without_an_example_are_those_of_the_others(rng):
    X, y = make_moons(120, noise=0.2, random_state=int(rng.integers(2**31)))
    few = few_labels(y, rng.permutation(120)[:16], -1)
    model = LapRLSClassifier(kernel=kernel_of()).fit(X, few)
    learned = model.learned_
    choices = choices_without_each(learned, None)
    for i in range(0, 16, 5):
        others = learned.problem.subset(np.delete(np.arange(16), i))
        if len(np.unique(others.training.targets)) == 2:
            again = learn(others, learned.kernel, model.loss, None).choice
            made = choices.choices[choices.of_example[i]]
            assert (made.weights, made.alpha) == (again.weights, again.alpha)


@pytest.mark.parametrize("kind", ["classes", "targets"])
def test_coverage_is_exact_where_it_is_proven(rng, kind):
    """Over draws of the labels the level lies in [level, level + 1 / (l + 1)], for full conformal prediction."""
    n, l, level, draws = 80, 12, 0.75, 300  # noqa: E741
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + rng.normal(size=n)
    y = (score > 0).astype(int) if kind == "classes" else score
    kernel = label_free_kernel(X, rng)
    covered, asked = 0.0, 0
    while asked < draws:
        rows = rng.permutation(n)[: l + 1]
        rows, row = rows[:l], rows[l]
        if kind == "targets":
            model = on_kernel(LapRLSRegressor(ALPHA, kernel=kernel), X, few_labels(y, rows, np.nan), kernel)
            low, high = model.predict_interval(X[[row]], level)[0]
            covered += low <= y[row] <= high
        elif y[row] in y[rows] and len(np.unique(y[rows])) == 2:
            model = on_kernel(LapRLSClassifier(ALPHA, kernel=kernel), X, few_labels(y, rows, -1), kernel)
            covered += model.predict_set(X[[row]], level)[0, y[row]]
        else:
            continue
        asked += 1
    assert model.conformal_guarantee(level).proven == level
    error = 4.0 * np.sqrt(level * (1.0 - level) / draws)
    assert level - error <= covered / draws <= level + 1.0 / (l + 1) + error


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_sets_grow_with_the_level(rng, estimator):
    X, y = make_moons(150, noise=0.3, random_state=int(rng.integers(2**31)))
    model = estimator(kernel=kernel_of()).fit(X, few_labels(y, rng.permutation(150)[:30], -1))
    narrow, wide = model.predict_set(X, 0.6), model.predict_set(X, 0.95)
    assert narrow.dtype == bool
    assert narrow.shape == (150, 2)
    assert np.all(wide[narrow])
    with pytest.raises(ValueError, match="level"):
        model.predict_set(X, 95)


def test_intervals_of_few_targets_are_infinite_and_those_of_more_hold_the_prediction(rng):
    X = rng.normal(size=(60, 2))
    few = np.where(np.arange(60) < 8, X[:, 0], np.nan)
    model = LapRLSRegressor(0.1, kernel=kernel_of(extension="graph")).fit(X, few)
    assert_array_equal(model.predict_interval(X, 0.9), np.tile([-np.inf, np.inf], (60, 1)))
    low, high = model.predict_interval(X, 0.8).T
    assert np.all((low < high) & np.isfinite(high - low))
    wide = model.predict_interval(X, 0.85).T
    assert np.all((wide[0] <= low) & (high <= wide[1]))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"alpha": None}, "chosen by the labels"),
        ({"kernel": {"extension": "auto"}}, "chosen by the labels"),
        ({"kernel": {"extension": "kernel"}}, "scaled"),
        ({"kernel": {"landmarks": "random"}}, "landmarks"),
        ({"priors": [0.5, 0.5]}, "priors"),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "weights"),
    ],
)
def test_what_stands_in_the_way_of_a_proof_is_named(rng, change, word):
    X, y = make_moons(100, noise=0.2, random_state=int(rng.integers(2**31)))
    few = few_labels(y, np.concatenate([np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1)[:5]]), -1)
    settings = {"extension": "graph", "landmarks": "kmeans++"} | change.get("kernel", {})
    guarantee = (
        LapRLSClassifier(**{"alpha": 0.1} | change | {"kernel": kernel_of(**settings)})
        .fit(X, few)
        .conformal_guarantee(0.8)
    )
    assert guarantee.proven is None
    assert any(word in obstacle for obstacle in guarantee.obstacles)
    assert "not proven" in str(guarantee)


def test_guarantee_of_machines_is_weaker(rng):
    X, y = make_moons(100, noise=0.2, random_state=int(rng.integers(2**31)))
    kernel = kernel_of(extension="graph", landmarks="kmeans++")
    guarantee = LapSVC(1.0, kernel=kernel).fit(X, few_labels(y, np.arange(30), -1)).conformal_guarantee(0.9)
    assert guarantee.method == "jackknife+"
    assert guarantee.proven == 0.8
    assert "proven to cover 0.8" in str(guarantee)


def test_sets_where_features_do_not_fit_into_memory(rng, monkeypatch):
    X, y = make_moons(120, noise=0.3, random_state=int(rng.integers(2**31)))
    model = LapRLSClassifier(kernel=kernel_of()).fit(X, few_labels(y, rng.permutation(120)[:25], -1))
    expected = model._p_values(X + 0.01)
    monkeypatch.setattr("halfmoon.kernels._graph_extension.MOST_NUMBERS", 1000)
    assert np.abs(model._p_values(X + 0.01) - expected).max() < 1.5 / 26  # ties may fall either way
