"""select_landmarks: each method, and footnote 5."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from halfmoon import select_landmarks
from halfmoon._validation import labeled_mask
from halfmoon.exceptions import LandmarkWarning


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["random", "kmeans++", "farthest"])
def test_distinct_seeded_and_of_the_right_number(rng, seed, method, convert):
    X = rng.normal(size=(60, 3))
    for size in (1, 17, 60):
        S = select_landmarks(convert(X), size, method=method, random_state=seed)
        assert len(np.unique(S)) == len(S) == size
        assert S.min() >= 0
        assert S.max() < 60
        assert_array_equal(S, select_landmarks(convert(X), size, method=method, random_state=seed))


@pytest.mark.parametrize("method", ["kmeans++", "farthest"])
def test_copies_of_points_are_no_obstacle(rng, seed, method):
    X = np.repeat(rng.normal(size=(4, 2)), 10, axis=0)
    S = select_landmarks(X, 12, method=method, random_state=seed)
    assert len(np.unique(S)) == 12
    assert len(np.unique(X[S], axis=0)) == 4


def test_farthest_point_covers(rng, seed):
    """Gonzalez: each new landmark is the point farthest from those before it."""
    X = rng.normal(size=(80, 2))
    S = select_landmarks(X, 10, method="farthest", random_state=seed)
    D = pairwise_distances(X)
    for i in range(1, 10):
        nearest = D[:, S[:i]].min(axis=1)
        assert nearest[S[i]] == pytest.approx(nearest.max())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.99])
def test_bias_to_labelled_points_but_never_all(rng, seed, share):
    """Footnote 5: the labelled data must not consist of landmarks only."""
    for n_labeled in (1, 2, 5, 40):
        y = np.full(100, -1)
        y[rng.permutation(100)[:n_labeled]] = 1
        for size in (10, 60, 99):
            S = select_landmarks(np.arange(100.0)[:, None], size, y=y, label_share=share, random_state=seed)
            inside = (y[S] == 1).sum()
            assert len(S) == size
            assert inside < n_labeled
            assert inside >= min(int(share * n_labeled), n_labeled - 1, size - 1)
            assert inside < size  # nor are the landmarks labelled points only


def test_random_is_uniform_without_labels(rng):
    """Each point is drawn with the same probability: 2000 draws of 5 from 20, within five standard errors."""
    state = np.random.RandomState(int(rng.integers(1 << 31)))
    X = np.arange(20.0)[:, None]
    counts = np.bincount(np.concatenate([select_landmarks(X, 5, random_state=state) for _ in range(2000)]))
    assert np.abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


def test_all_labelled_points_as_landmarks_warns(rng):
    y = np.full(30, -1)
    y[:4] = 0
    X = rng.normal(size=(30, 2))
    with pytest.warns(LandmarkWarning, match="All 4 labelled points are landmarks"):
        select_landmarks(X, 10, y=y, label_share=1.0)
    with pytest.warns(LandmarkWarning, match="All 4 labelled points"):
        assert_array_equal(select_landmarks(X, method=[3, 2, 1, 0, 7], y=y), [3, 2, 1, 0, 7])


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, -1, 1, -1]),
        np.array([0.5, np.nan, 2.0, np.nan]),
        np.array(["a", None, "b", None], dtype=object),
        np.array(["a", np.nan, "b", np.nan], dtype=object),
        pd.Series(["a", pd.NA, "b", pd.NA], dtype="string"),
        [1, -1, 2, -1],
        np.array([1, -1, 2, -1], dtype=object),
        np.array([np.int64(1), None, np.int64(0), np.float64("nan")], dtype=object),
        ["a", -1, "b", None],
    ],
)
def test_unlabelled_marks(y):
    assert_array_equal(labeled_mask(y, 4), [True, False, True, False])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"n_landmarks": 11},
            r"'n_landmarks' parameter must be an integer in \[1, 10\]. Got 11 instead. X has 10 rows",
        ),
        ({"n_landmarks": 0}, "Got 0"),
        ({"n_landmarks": None}, "Got None"),
        ({"n_landmarks": 3, "method": "best"}, r"one of 'random', 'kmeans\+\+', 'farthest'"),
        ({"n_landmarks": 3, "label_share": 1.5}, r"'label_share' parameter must be in \[0, 1\]. Got 1.5"),
        ({"n_landmarks": 3, "label_share": -0.1}, "'label_share' parameter must be a finite number >= 0"),
        ({"n_landmarks": 3, "y": [1, 2]}, r"expected shape \(10,\), got \(2,\)"),
        ({"method": [1, 1]}, "Landmarks must be distinct: 1 occurs 2 times"),
        ({"method": [1, 10]}, r"must lie in \[0, 9\]: got 10"),
        ({"method": [0.5]}, "1-D array of row indices"),
        ({"method": []}, "non-empty"),
    ],
)
def test_bad_arguments(rng, arguments, message):
    with pytest.raises(ValueError, match=message):
        select_landmarks(rng.normal(size=(10, 2)), **arguments)


@pytest.mark.parametrize("method", ["random", "kmeans++", "farthest"])
def test_integers_are_points_like_others(rng, method):
    X = rng.integers(0, 255, size=(40, 5)).astype(np.uint8)
    whole = select_landmarks(X.astype(np.float32), 10, method=method, random_state=3)
    np.testing.assert_array_equal(select_landmarks(X, 10, method=method, random_state=3), whole)


def test_a_rule_of_ones_own(rng):
    X = rng.normal(size=(50, 2))
    leftmost = select_landmarks(X, 5, method=lambda X, size, labeled, rng: np.argsort(X[:, 0])[:size])
    np.testing.assert_array_equal(leftmost, np.argsort(X[:, 0])[:5])
    with pytest.raises(ValueError, match="must lie in"):
        select_landmarks(X, 1, method=lambda X, size, labeled, rng: [50])
