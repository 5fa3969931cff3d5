"""Cells become targets: unlabelled rows, the task that they suggest, names of classes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from halfmoon.exceptions import DataFileError
from halfmoon.tables import Recipe, Table, class_texts, fit_table, labeled_rows, read_table, regression_values
from halfmoon.tables._targets import check_slips, class_names, guess_task


def as_table(target):
    return Table(Path("t"), np.arange(len(target) * 1.0)[:, None], np.array(target, dtype=object), "y")


def test_targets():
    table = as_table(["x", "", None, np.nan, pd.NA, "?"])
    assert labeled_rows(table).tolist() == [True, False, False, False, False, True]
    assert labeled_rows(table, "?").tolist() == [True] + [False] * 5
    assert labeled_rows(as_table([0, 1.0, -1, "-1", 2, 3]), "-1").sum() == 4


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1, 1], "classify"),
        (["a", 1], "classify"),
        ([True, False], "classify"),
        ([0.5, 1.0], "regress"),
        (list(range(30)), "regress"),
        (list(range(10)), "classify"),
        ([-1, 1], "classify"),
        ([1, 3, 7] * 2, "classify"),
        ([250, 310, 275, 400], "regress"),  # prices: whole, few, but none comes twice
        ([18 + 7 * i % 72 for i in range(200)], "regress"),  # ages
        (["18", "18.0", "35", "35"], "classify"),
        (["0.5", "1"], "regress"),
        ([f"{i:03d}" for i in range(40)], "classify"),
    ],
)
def test_task_by_the_values(values, task):
    assert guess_task(np.array(values, dtype=object)) == task


def test_names_of_classes():
    assert class_names(np.array([1.0, -1.0], dtype=object)).tolist() == [1, -1]
    assert class_names(np.array([True, False], dtype=object)).tolist() == ["True", "False"]
    assert class_names(np.array([0.5, 1], dtype=object)).tolist() == ["0.5", "1"]
    assert class_names(np.array([" a", "b"], dtype=object)).tolist() == ["a", "b"]
    assert class_names(np.array(["01", "02"], dtype=object)).tolist() == ["01", "02"]
    assert class_names(np.array(["1.0", "2"], dtype=object)).tolist() == [1, 2]
    assert class_names(np.array([1e30, 1.0], dtype=object)).tolist() == ["1e+30", "1.0"]


@pytest.mark.parametrize("kind", [int, str])
def test_large_classes_do_not_merge(kind):
    large = [9007199254740992, 9007199254740993, 9007199254740995]
    assert class_names(np.array([kind(number) for number in large], dtype=object)).tolist() == large
    beyond = [10**30, 10**30 + 1]
    assert class_names(np.array([kind(number) for number in beyond], dtype=object)).tolist() == [str(n) for n in beyond]


def test_labels_are_compared_as_the_model_writes_its_classes():
    assert class_texts(np.array(["1.0", 2, "x"], dtype=object), np.array([1, 2])).tolist() == ["1", "2", "x"]
    assert class_texts(np.array(["2.0"], dtype=object), np.array(["1.5", "2.0"])).tolist() == ["2.0"]


def test_a_text_among_numbers_is_a_slip():
    prices = as_table([100.5 + i for i in range(7)] + ["cheap"])
    message = "row 8, column 'y': 'cheap' is not a number and 7 of 8 targets are.*--task classify"
    with pytest.raises(DataFileError, match=message):
        fit_table(prices, Recipe())
    assert fit_table(prices, Recipe(task="classify")).classes.tolist()[-1] == "cheap"
    check_slips(as_table(["a", "b", 1]), np.ones(3, dtype=bool))  # mostly texts: classes


def test_folders_of_images_are_classes_whatever_their_names(rng):
    names = np.array(2 * [*(str(i * i) for i in range(25)), "cat"], dtype=object)
    table = Table(Path("photos"), rng.random((52, 4)), names, "folder", "image", names, (2, 2, 1))
    notes = []
    model = fit_table(table, Recipe(n_neighbors=26), notes.append)
    assert (model.task, notes) == ("classify", [])


def test_a_target_whose_square_overflows_is_refused():
    with pytest.raises(DataFileError, match="row 2, column 'y': '1e200' is too large"):
        regression_values(as_table([1.0, "1e200"]), np.ones(2, dtype=bool))


def test_the_note_on_the_task_names_the_option():
    notes = []
    assert fit_table(as_table([0, 1] * 6), Recipe(), notes.append).task == "classify"
    assert notes[0] == "this is classification, by the values of 'y'; --task names another task"


def test_bytes_are_the_text_that_they_spell(tmp_path):
    np.savez(tmp_path / "b.npz", X=np.eye(3), y=np.array([b"p", "\u00e9".encode(), b""]))
    table = read_table(tmp_path / "b.npz", target="y")
    assert table.target.tolist() == ["p", "\u00e9", ""]
    assert labeled_rows(table).tolist() == [True, True, False]


def test_whole_labels_with_gaps_stay_whole(tmp_path):
    frame = pd.DataFrame({"a": range(4), "y": [1.0, 2.0, None, 1.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        table = read_table(tmp_path / name, target="y")
        assert class_names(table.target[labeled_rows(table)]).tolist() == [1, 2, 1]
