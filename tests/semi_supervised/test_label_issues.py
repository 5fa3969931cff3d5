"""Wrong labels are found among right ones, and right ones are left in peace."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

CLASSIFIERS = [LapSVC, LapRLSClassifier]
KERNEL = DataDependentKernel(n_neighbors=8, n_landmarks=60, random_state=0)
CENTERS = [[-6, 0], [6, 0], [0, 9]]


@pytest.fixture
def blobs(rng):
    """Three blobs far apart, 60 labelled rows, and a mask of all labelled rows."""
    X, y = make_blobs(240, centers=CENTERS, random_state=int(rng.integers(1 << 31)))
    labeled = np.concatenate([np.flatnonzero(y == c)[:20] for c in range(3)])
    return X, y, labeled


def labels_of(y, labeled):
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    return few


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_wrong_labels_come_first_with_the_right_class_beside_them(estimator, n_classes, blobs, rng):
    X, y, labeled = blobs
    X, labeled, y = X[y < n_classes], np.flatnonzero(labels_of(y, labeled)[y < n_classes] >= 0), y[y < n_classes]
    few = labels_of(y, labeled)
    wrong = rng.choice(labeled, 4, replace=False)
    few[wrong] = (few[wrong] + rng.integers(1, n_classes, 4)) % n_classes
    issues = estimator(kernel=KERNEL).fit(X, few).label_issues()
    assert set(issues.rows[:4]) == set(wrong)
    doubted = issues.scores > 0.5
    assert issues.n_suspicious == doubted.sum() <= 4  # 4 of 40 may be classes that overlap, for all that labels say
    assert_array_equal(issues.given, few[issues.rows])
    assert_array_equal(issues.suggested, np.where(doubted, y[issues.rows], issues.given))
    assert np.all(np.diff(issues.scores) <= 0.0)
    assert 0.0 <= issues.scores[-1] <= issues.scores[0] <= 1.0
    assert 0.0 < issues.noise_rate < 0.2


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_right_labels_are_not_doubted(estimator, blobs):
    X, y, labeled = blobs
    assert estimator(kernel=KERNEL).fit(X, labels_of(y, labeled)).label_issues().n_suspicious == 0


def test_a_label_that_is_alone_in_its_class_is_not_doubted(blobs):
    """Left out, no other label can speak for it."""
    X, y, labeled = blobs
    few = labels_of(y, labeled)
    few[np.flatnonzero(few == 2)[1:]] = -1
    issues = LapRLSClassifier(kernel=KERNEL).fit(X, few).label_issues()
    assert issues.n_suspicious == 0
    one_each = labels_of(y, [np.flatnonzero(y == c)[0] for c in range(3)])
    issues = LapRLSClassifier(kernel=KERNEL).fit(X, one_each).label_issues()
    assert np.ptp(issues.scores) == 0.0
    assert np.isnan(issues.noise_rate)


@pytest.mark.parametrize("extension", ["graph", "kernel"])
def test_extensions_that_are_named(extension, blobs):
    X, y, labeled = blobs
    few = labels_of(y, labeled)
    few[labeled[7]] = 2
    kernel = DataDependentKernel(n_neighbors=8, extension=extension, random_state=0)
    issue = LapSVC(kernel=kernel).fit(X, few).label_issues()[0]
    assert issue[:3] == (labeled[7], 2, 0)


def test_a_weak_model_accuses_nobody(rng):
    """Of labels that the features say nothing about it contradicts half, and says that it cannot call them wrong."""
    for n_labeled in (30, 60, 120):
        X = rng.normal(size=(300, 5))
        y = rng.integers(2, size=300)
        few = np.where(np.arange(300) < n_labeled, y, -1)
        issues = LapRLSClassifier(kernel=KERNEL).fit(X, few).label_issues()
        assert issues.n_suspicious == 0
        assert f"the model gets {issues.n_right} of {n_labeled} held-out labels right, too few to accuse one" in str(
            issues
        )
        assert np.isnan(issues.noise_rate)
        assert issues.to_dict()["noise_rate"] is None
        assert_array_equal(issues.suggested, issues.given)
        assert np.all(np.diff(issues.scores) <= 0.0)


def test_fewer_than_twenty_labels_accuse_nobody(blobs):
    X, y, labeled = blobs
    labeled = np.concatenate([np.flatnonzero(y == c)[:6] for c in range(3)])
    few = labels_of(y, labeled)
    few[labeled[0]] = (few[labeled[0]] + 1) % 3
    issues = LapSVC(kernel=KERNEL).fit(X, few).label_issues()
    assert issues.rows[0] == labeled[0]  # the order is as good as ever
    assert issues.n_suspicious == 0
    assert "fewer than 20 labels are too few to accuse one" in str(issues)


def test_a_rare_class_that_is_never_predicted_is_not_accused(rng):
    """A model that calls everything by the frequent class is right on 95 % of the labels."""
    X = rng.normal(size=(400, 4))
    few = np.where(np.arange(400) < 100, (np.arange(400) % 20 == 0).astype(int), -1)
    issues = LapRLSClassifier(kernel=KERNEL).fit(X, few).label_issues()
    assert issues.n_suspicious == 0


def test_skewed_targets_that_nothing_predicts_are_not_accused(rng):
    X = rng.normal(size=(300, 4))
    y = np.where(np.arange(300) < 50, np.exp(rng.normal(size=300)), np.nan)
    issues = LapRLSRegressor(kernel=KERNEL).fit(X, y).label_issues()
    assert issues.n_suspicious == 0
    assert "too little is predicted to accuse one" in str(issues)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_wrong_targets_come_first(unit, rng):
    X = rng.uniform(-2.0, 2.0, size=(300, 2))
    truth = np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = np.where(np.arange(300) < 80, truth + 0.05 * rng.normal(size=300), np.nan)
    inner = np.flatnonzero(np.abs(X[:80]).max(axis=1) < 1.5)  # at the border right targets are hard to predict, too
    wrong = rng.choice(inner, 3, replace=False)
    y[wrong] += rng.choice([-5.0, 5.0], 3)
    issues = LapRLSRegressor(kernel=KERNEL).fit(X, unit * y).label_issues()
    assert set(issues.rows[:3]) == set(wrong)
    assert issues.scores[2] > 0.5
    assert_allclose(issues.suggested[:3] / unit, truth[issues.rows[:3]], atol=2.0)


def test_forms_of_the_result(blobs):
    X, y, labeled = blobs
    few = labels_of(y, labeled)
    few[labeled[0]] = 1
    issues = LapSVC(kernel=KERNEL).fit(X, few).label_issues()
    frame = issues.to_frame()
    assert list(frame) == ["row", "given", "suggested", "score"]
    told = json.loads(json.dumps(issues.to_dict()))
    assert told["suspicious"] == 1
    assert told["issues"][0] == issues[0]._asdict()
    named = issues.named(np.array(["<a>", "b", "c"])).called(np.arange(2, 242), "line")
    assert str(named).splitlines()[0].startswith("1 of 60 labels look wrong")
    assert str(named).splitlines()[2].split()[:4] == ["line", str(labeled[0] + 2), "b", "<a>"]
    assert "&lt;a&gt;" in named._repr_html_()
    assert len(list(issues)) == len(issues) == 60


@pytest.mark.parametrize(
    ("per_class", "begins"), [((1, 1, 1), "None of the 3 labels"), ((15, 15, 1), "0 of 30 labels")]
)
def test_labels_alone_in_their_class_are_not_counted_as_checked(blobs, per_class, begins):
    X, y, _ = blobs
    labeled = np.concatenate([np.flatnonzero(y == c)[:count] for c, count in enumerate(per_class)])
    issues = LapSVC(kernel=KERNEL).fit(X, labels_of(y, labeled)).label_issues()
    assert str(issues).startswith(begins)
    assert issues.to_dict()["checked"] == sum(count for count in per_class if count > 1)
