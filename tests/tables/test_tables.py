"""Columns become features, cells become targets, and images become rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from halfmoon.exceptions import DataFileError
from halfmoon.tables import Recipe, Table, fit_table, labeled_rows, read_table
from halfmoon.tables._prepare import plan_preparation, typed_features
from halfmoon.tables._targets import class_names, guess_task


def as_table(frame, target=None):
    return Table(Path("frame"), frame, None if target is None else np.array(target, dtype=object), "y")


def prepared(frame, **how):
    plan = plan_preparation(as_table(frame), **({"standardize": True} | how))
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
    plan, Z = prepared(frame, categorical=["flag"])
    assert plan.columns == {"number": "number", "flag": "text", "day": "number", "digits": "number", "colour": "text"}
    assert "column 'name' is left out: 30 different texts in 30 rows" in plan.notes
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


def test_targets():
    table = as_table(pd.DataFrame({"a": range(6)}), ["x", "", None, np.nan, pd.NA, "?"])
    assert labeled_rows(table).tolist() == [True, False, False, False, False, True]
    assert labeled_rows(table, "?").tolist() == [True] + [False] * 5
    assert labeled_rows(as_table(table.X, [0, 1.0, -1, "-1", 2, 3]), "-1").sum() == 4


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1, 1], "classify"),
        (["a", 1], "classify"),
        ([True, False], "classify"),
        ([0.5, 1.0], "regress"),
        (list(range(30)), "regress"),
        (list(range(10)), "classify"),
    ],
)
def test_task_by_the_values(values, task):
    assert guess_task(np.array(values, dtype=object)) == task


def test_names_of_classes():
    assert class_names(np.array([1.0, -1.0], dtype=object)).tolist() == [1, -1]
    assert class_names(np.array([True, False], dtype=object)).tolist() == ["True", "False"]
    assert class_names(np.array([0.5, 1], dtype=object)).tolist() == ["0.5", "1"]
    assert class_names(np.array([" a", "b"], dtype=object)).tolist() == ["a", "b"]


def test_text_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff,a,"b\nc"\r\n0,1,"x, ""y"""\r\n\r\n1,?,\r\n'.encode())
    table = read_table(path, target="b\nc")
    assert list(table.X) == ["a"]
    assert table.notes == ["the column without a name is left out"]
    assert table.target[0] == 'x, "y"'
    assert [table.row(i) for i in (0, 1)] == ["line 3", "line 5"]
    assert np.isnan(table.X["a"][1])


def test_images_of_several_sizes_and_depths(tmp_path, rng):
    (tmp_path / "b").mkdir()
    Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.full((10, 10), 65535, dtype=np.uint16)).save(tmp_path / "b" / "deep.png")
    (tmp_path / "notes.txt").write_text("hello")
    table = read_table(tmp_path)
    assert table.image_shape == (32, 32, 3)
    assert table.target.tolist() == [None, "b"]
    assert "1 files that are not images are left out" in table.notes
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
    X[4, 1] = np.inf
    with pytest.raises(DataFileError, match="row 5 holds a value that is not a finite number"):
        model.predict(X)
