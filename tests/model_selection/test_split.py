"""LabeledKFold: folds of the labelled rows, unlabelled rows always in training."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from halfmoon.model_selection import LabeledKFold


@pytest.mark.parametrize("missing", [-1, None, np.nan])
def test_unlabelled_rows_are_always_in_training(rng, missing):
    y = np.array(rng.choice(["a", "b", "c"], size=60), dtype=object)
    hidden = rng.permutation(60)[:30]
    y[hidden] = missing
    labeled = np.setdiff1d(np.arange(60), hidden)
    tests = []
    for train, test in LabeledKFold(4, random_state=int(rng.integers(99))).split(y, y):
        assert np.isin(hidden, train).all()
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
        tests.append(test)
    assert_array_equal(np.sort(np.concatenate(tests)), labeled)


def test_folds_are_stratified(rng):
    y = np.concatenate([np.zeros(20, int), np.ones(10, int), np.full(30, -1)])
    for _, test in LabeledKFold(5, random_state=int(rng.integers(99))).split(y, y):
        assert_array_equal(np.bincount(y[test]), [4, 2])


def test_a_class_with_one_label_stays_in_training():
    y = np.array([0, 0, 0, 1, 1, 1, 2, -1])
    for train, test in LabeledKFold(3, random_state=0).split(y, y):
        assert 6 in train
        assert 6 not in test


def test_targets_are_not_stratified(rng):
    y = np.where(np.arange(40) < 20, rng.normal(size=40), np.nan)
    tests = [test for _, test in LabeledKFold(4, random_state=0).split(y, y)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(20))
    assert [len(test) for test in tests] == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, -1, -1], "most of them alone in their class"),
        ([0, -1, -1, -1], "at least 2 labelled rows. Got 1"),
    ],
)
def test_too_few_labels(y, message):
    with pytest.raises(ValueError, match=message):
        list(LabeledKFold(2).split(y, np.array(y)))


def test_more_folds_than_labels():
    y = np.array([0, 0, 1, 1, -1])
    with pytest.raises(ValueError, match=r"'n_splits' parameter must be an integer in \[2, 4\]"):
        list(LabeledKFold(6).split(y, y))
    assert LabeledKFold(6).get_n_splits() == 6
