"""What counts as a class: values of one kind, and never something that numpy has made of them."""

import warnings

import numpy as np
import pytest

from halfmoon import LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import LabelWarning
from halfmoon.semi_supervised._training_set import regression_targets


@pytest.fixture
def X(rng):
    return rng.normal(size=(24, 2))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", 1], "y holds texts and numbers, 'a' and 1"),
        ([0, 1, True], "y holds numbers and truth values, 0 and True"),
        ([b"a", "b", b"c"], "y holds bytes and texts, b'a' and 'b'"),
    ],
)
@pytest.mark.parametrize("form", [list, lambda y: np.array(y, dtype=object)], ids=["list", "array"])
def test_kinds_are_not_mixed(X, labels, message, form):
    few = labels * 4 + [None] * 12
    with pytest.raises(ValueError, match=message):
        LapSVC().fit(X, form(few))


@pytest.mark.parametrize("classes", [(True, False), ("a", "b"), (3, 5)])
def test_unlabelled_rows_do_not_change_the_kind_of_the_classes(X, classes):
    model = LapRLSClassifier().fit(X, [*classes] * 4 + [-1] * 16)
    assert model.classes_.tolist() == sorted(classes)
    assert all(type(label) is type(classes[0]) for label in model.predict(X).tolist())


def test_minus_one_as_a_text_warns(X):
    y = np.array(["a", "b"] * 6 + [-1] * 12)
    with pytest.warns(LabelWarning, match="The text '-1' in y is a class of its own.*None"):
        model = LapRLSClassifier().fit(X, y)
    assert model.classes_.tolist() == ["-1", "a", "b"]


@pytest.mark.parametrize("missing", ["nan", "None", "<NA>", ""])
@pytest.mark.parametrize("dtype", [str, object])
def test_missing_labels_as_texts_warn(X, missing, dtype):
    y = np.array(["a", "b"] * 6 + [missing] * 12, dtype=dtype)
    with pytest.warns(UserWarning, match=f"The text '{missing}' in y is a class of its own"):
        LapSVC().fit(X, y)


def test_minus_one_in_most_targets_warns_unless_they_are_signs(X, rng):
    few = np.where(np.arange(24) < 8, rng.normal(size=24), -1.0)
    with pytest.warns(UserWarning, match="y holds -1 in 16 of 24 rows.*NaN"):
        LapRLSRegressor().fit(X, few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regression_targets(np.where(np.arange(24) < 8, 1.0, -1.0), 24)
