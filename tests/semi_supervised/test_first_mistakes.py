"""What a newcomer gets wrong is answered with the names of columns and classes, and the next step."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC, save
from halfmoon.exceptions import LabelWarning, NeighborWarning

ESTIMATORS = [LapSVC, LapRLSClassifier, LapRLSRegressor]
N = 40


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.fixture
def few():
    return np.where(np.arange(N) < 8, np.arange(N) % 2, -1)


DAYS = pd.Series(pd.date_range("2026-01-01", periods=N))


@pytest.mark.parametrize(
    "dates",
    [DAYS, DAYS.dt.tz_localize("UTC"), DAYS - DAYS[0], DAYS.dt.to_period("D")],
    ids=lambda dates: str(dates.dtype),
)
def test_columns_of_dates_are_named(frame, few, dates):
    for fit in (LapSVC().fit, DataDependentKernel().fit, LapRLSClassifier().prepare):
        with pytest.raises(ValueError, match=r"Column 'day' of X holds dates or times .* days since a date"):
            fit(frame.assign(day=dates), *([few] if fit.__name__ == "fit" else []))


def test_dates_of_polars_and_numpy(X, few):
    with pytest.raises(ValueError, match="Column 'day' of X holds dates or times"):
        LapSVC().fit(pl.DataFrame({"a": X[:, 0], "day": DAYS.to_numpy()}), few)
    with pytest.raises(ValueError, match="X holds dates or times"):
        LapSVC().fit(DAYS.to_numpy()[:, None], few)


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_columns_of_text_are_named(frame, few, kind):
    text = pd.Series(["1.5"] * (N - 1) + ["red"]).astype(kind)
    with pytest.raises(ValueError, match=r"column 'colour' holds 'red'.*OneHotEncoder"):
        LapSVC().fit(frame.assign(colour=text), few)


def test_columns_of_missing_numbers_are_named(frame, few):
    model = LapSVC(random_state=0).fit(frame, few)
    frame.loc[3, "b"] = np.nan
    for call in (model.predict, lambda rows: LapSVC().fit(rows, few)):
        with pytest.raises(ValueError, match=r"NaN, first in row 3, column 1 \('b'\)"):
            call(frame)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_labels_that_were_left_out(X, estimator):
    with pytest.raises(ValueError, match=r"the target y is None\. Give one label per row.*prepare\(X\)"):
        estimator().fit(X)


def test_targets_that_are_all_missing(X):
    with pytest.raises(
        ValueError, match=r"None of the 40 rows is labelled.*Mark unlabelled rows with NaN and"
    ) as caught:
        LapRLSRegressor().fit(X, np.full(N, np.nan))
    assert "-1" not in str(caught.value)


def test_none_marks_rows_without_a_target(X):
    known = np.arange(N) < 20
    as_none = LapRLSRegressor(random_state=0).fit(X, np.where(known, X[:, 0].astype(object), None))
    as_nan = LapRLSRegressor(random_state=0).fit(X, np.where(known, X[:, 0], np.nan))
    np.testing.assert_array_equal(as_none.predict(X), as_nan.predict(X))


@pytest.mark.parametrize("odd", [0.5, np.inf])
def test_numbers_given_to_a_classifier(X, odd):
    with pytest.raises(ValueError, match=f"such as {odd:g}.*LapRLSRegressor"):
        LapSVC().fit(X, np.where(np.arange(N) < 8, np.arange(N) + odd, -1))


def test_many_whole_numbers_given_to_a_classifier(X):
    with pytest.warns(LabelWarning, match="30 classes in 30 labelled rows.*LapRLSRegressor"):
        LapRLSClassifier(random_state=0).fit(X, np.where(np.arange(N) < 30, 7 * np.arange(N), -1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelWarning)
        LapRLSClassifier(random_state=0).fit(X, np.where(np.arange(N) < 20, np.arange(N), -1))  # one label per class


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
def test_more_neighbours_than_rows(X, few, estimator):
    with pytest.warns(NeighborWarning, match="n_neighbors=5000 is more than the 39 other rows"):
        model = estimator(n_neighbors=5000, random_state=0).fit(X, few)
    assert model.kernel_.n_neighbors == N - 1


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="this folder does not exist, create it first") as caught:
        save(LapSVC(), tmp_path / "no" / "model.hm")
    assert caught.value.filename == str(tmp_path / "no")
