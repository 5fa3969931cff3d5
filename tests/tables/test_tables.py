"""Columns become features, and images become rows."""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse

from halfmoon.exceptions import DataFileError
from halfmoon.tables import Recipe, Table, fit_table, read_table
from halfmoon.tables._prepare import plan_preparation, typed_features


def as_table(frame, target=None, **how):
    return Table(Path("frame"), frame, None if target is None else np.array(target, dtype=object), "y", **how)


def prepared(frame, standardize=True, **how):
    plan = plan_preparation(as_table(frame, **how), standardize=standardize)
    return plan, plan.transformer.fit_transform(typed_features(as_table(frame), plan.columns))


def test_kinds_of_columns():
    n = 30
    frame = pd.DataFrame(
        {
            "number": np.arange(n) * 1.5,
            "flag": np.arange(n) % 2 == 0,
            "day": pd.date_range("2020-01-01", periods=n),
            "digits": [str(i) for i in range(n)],
            "colour": ["red", "blue"] * (n // 2),
            "name": [f"person {i}" for i in range(n)],
            "nothing": [None] * n,
        }
    )
    plan, Z = prepared(frame, categorical=("flag",))
    assert plan.columns == {
        "number": "number",
        "flag": "text",
        "day": "date ISO8601",
        "digits": "number",
        "colour": "text",
    }
    assert "column 'name' is left out: 30 different texts in 30 rows (--text uses its words)" in plan.notes
    assert "column 'nothing' is left out: it is empty" in plan.notes
    assert Z.shape == (n, 3 + 2 + 2)
    np.testing.assert_allclose(Z[:, :3].std(axis=0), 1.0)


def test_missing_values_and_new_categories():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": ["x", None, "y", "x"]})
    plan, Z = prepared(frame, standardize=False)
    assert Z[1, 0] == 3.0  # the median
    assert Z.shape[1] == 4  # x, y and missing
    new = pd.DataFrame({"b": ["z"], "a": ["5"], "more": [1]})
    assert plan.transformer.transform(typed_features(as_table(new), plan.columns)).tolist() == [[5.0, 0.0, 0.0, 0.0]]


def test_images_of_several_sizes_and_depths(tmp_path, rng):
    (tmp_path / "b").mkdir()
    Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.full((10, 10), 65535, dtype=np.uint16)).save(tmp_path / "b" / "deep.png")
    (tmp_path / "notes.txt").write_text("hello")
    table = read_table(tmp_path)
    assert table.image_shape == (32, 32, 3)
    assert table.target.tolist() == [None, "b"]
    assert "1 file is left out: no image" in table.notes
    np.testing.assert_allclose(table.X[1], 1.0)
    assert read_table(tmp_path, image_shape=(4, 5, 1)).X.shape == (2, 20)


def test_features_of_new_tables_must_fit(rng):
    X = rng.normal(size=(30, 3))
    table = Table(Path("m"), X, np.array(["a", "b"] * 15, dtype=object), "y")
    model = fit_table(table, Recipe())
    assert set(model.predict(X)) <= {"a", "b"}
    with pytest.raises(DataFileError, match="there are 2 features and the model was fitted with 3"):
        model.predict(X[:, :2])
    with pytest.raises(DataFileError, match="this file names its columns"):
        model.predict(pd.DataFrame(X))
    for value, what in ((np.inf, "inf is not a finite number"), (-1e151, r"-1e\+151 is too large")):
        X[4, 1] = value
        with pytest.raises(DataFileError, match=f"row 5, feature 2: {what}"):
            model.predict(X)


def test_a_model_of_a_table_fits_on_a_line():
    frame = pd.DataFrame({"length": np.arange(20.0), "width": np.arange(20.0) ** 2})
    model = fit_table(as_table(frame, ["short"] * 3 + [None] * 14 + ["long"] * 3), Recipe())
    assert repr(model) == "TableModel(classify, target='y', 2 columns, LapSVC)"


def test_numbers_whose_squares_overflow_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, "-1e200", 2.0]})
    with pytest.raises(
        DataFileError, match=r"row 2, column 'b': '-1e200' is too large: squares of numbers above 1e\+150"
    ):
        prepared(frame)
    thin = Table(Path("thin"), sparse.csr_array([[0.0, 1.0], [0.0, 1e151]]))
    with pytest.raises(DataFileError, match=r"row 2, index 1: 1e\+151 is too large"):
        typed_features(thin, None)


def test_truth_values_stay_numbers_when_one_is_missing():
    """The kind of a column must not depend on whether it is complete: the model keeps the kind for other files."""
    kinds = [prepared(pd.DataFrame({"a": cells}))[0].columns["a"] for cells in ([True, False], [True, None])]
    assert kinds == ["number", "number"]


@pytest.mark.parametrize(
    ("make", "dtype"),
    [(np.asarray, np.float16), (np.asarray, np.float32), (np.asarray, np.float64), (sparse.csr_array, np.float32)],
)
def test_numbers_of_any_precision_are_checked_without_a_warning(rng, make, dtype):
    X = rng.normal(size=(5, 3)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert typed_features(as_table(make(X)), None).dtype == dtype
        X[2, 1] = np.inf
        with pytest.raises(DataFileError, match=r"row 3.*inf is not a finite number"):
            typed_features(as_table(make(X)), None)


def test_ten_thousand_columns_take_no_longer_than_their_numbers(tmp_path, rng):
    rows, columns = 60, 10_000
    frame = pd.DataFrame(rng.normal(size=(rows, columns)).round(4), columns=[f"c{i}" for i in range(columns)])
    frame["y"] = [("a", "b", None)[i % 3] for i in range(rows)]
    frame.to_csv(tmp_path / "wide.csv", index=False)
    start = time.process_time()  # of this process alone, on a machine that others use
    table = read_table(tmp_path / "wide.csv", target="y")
    plan = plan_preparation(table, standardize=True)
    plan.transformer.fit_transform(typed_features(table, plan.columns))
    assert time.process_time() - start < 4.0  # less than 1 s; with calls of pandas for each column 8 s and more


def test_the_first_faulty_column_is_named_among_numbers_of_several_types():
    frame = pd.DataFrame({"whole": [1, 2], "written": ["3", "4"], "large": [1.0, 1e200], "infinite": [np.inf, 0.0]})
    plan = plan_preparation(as_table(frame[["whole", "written"]]), standardize=False)
    np.testing.assert_array_equal(typed_features(as_table(frame), plan.columns), [[1.0, 3.0], [2.0, 4.0]])
    with pytest.raises(DataFileError, match=r"row 2, column 'large': 1e.200 is too large"):
        typed_features(as_table(frame), dict.fromkeys(frame.columns, "number"))


def test_a_column_whose_variance_vanishes_is_refused(rng):
    frame = pd.DataFrame(rng.normal(size=(30, 2)) * [1.0, 1e-160], columns=["a", "b"])
    target = ["x", "y", None] * 10
    with pytest.raises(DataFileError, match=r"column b: the largest number is .* Choose a smaller unit"):
        fit_table(as_table(frame, target), Recipe())
    with pytest.raises(DataFileError, match="column 2: the largest number"):
        fit_table(as_table(frame.to_numpy(), target), Recipe())
