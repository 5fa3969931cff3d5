"""Targets as they are written in files: which rows are unlabelled, which task they mean, classes and numbers."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.words import counted
from halfmoon.tables._numbers import LARGEST, fault
from halfmoon.tables._table import Table

__all__ = [
    "check_classes",
    "check_marks",
    "check_slips",
    "class_codes",
    "class_names",
    "class_texts",
    "given_labels",
    "guess_task",
    "labeled_rows",
    "regression_values",
]

MARKS = {
    "-1",
    "unknown",
    "unlabeled",
    "unlabelled",
    "none",
    "todo",
    "tbd",
}  # what people write where a label is missing
MANY_CLASSES = 20  # whole numbers with more different values are quantities
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0*)?")  # as numbers are written; 01 and +1 are names
INT64 = np.iinfo(np.int64)


def labeled_rows(table: Table, unlabeled: str | None = None) -> NDArray[np.bool_]:
    """Return which rows have a target; there must be one."""
    mask = given_labels(table, unlabeled)
    if not mask.any():
        raise table.error(_no_label(table))
    return mask


def _no_label(table: Table) -> str:
    """Return that there is no label, and what to do about it."""
    n = int(table.X.shape[0])
    if table.unit == "image":
        return (
            f"no image is labelled: {'the only one is' if n == 1 else f'all {n:,} are'} in the folder itself or in "
            "'unlabeled'. Move some into subfolders named by their class, or label them with "
            f"halfmoon label {table.path}."
        )
    return (
        f"no row is labelled: all {n:,} cells of {table.target_name!r} are empty. Fill in some, or label rows with "
        f"halfmoon label {table.path} --target {table.target_name}; without labels there is halfmoon cluster."
    )


def given_labels(table: Table, unlabeled: str | None = None) -> NDArray[np.bool_]:
    """Return which rows have a target: the cell is not empty and not the mark of unlabelled rows."""
    if table.target is None:
        return np.zeros(table.X.shape[0], dtype=bool)
    _check_single(table)
    return np.array([not _is_empty(value, unlabeled) for value in table.target], dtype=bool)


def _check_single(table: Table) -> None:
    """Refuse targets of several values per row."""
    assert table.target is not None
    several = next(
        (i for i, cell in enumerate(table.target) if isinstance(cell, list | tuple | set | np.ndarray)), None
    )
    if several is not None:
        raise table.error(
            f"{table.row(several)}, column {table.target_name!r}: the target is a list, and a model has one target per "
            "row. For several labels per row, make a column of yes and no for each label and fit a model for each, "
            "ignoring the others; for several numbers, a column for each."
        )


def _is_empty(value: Any, mark: str | None) -> bool:
    """Return whether a cell stands for "unlabelled"; a missing value is the one not equal to itself."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return True
    return mark is not None and (str(value) == mark or _number(value) == _number(mark) is not None)


def _number(value: Any) -> float | None:
    """Return a cell as a finite number, or None."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def check_slips(table: Table, labeled: NDArray[np.bool_]) -> None:
    """Refuse a text among numbers: it is a slip, and would make a class of every number in silence."""
    assert table.target is not None
    rows = np.flatnonzero(labeled)
    texts = [i for i in rows if _number(table.target[i]) is None]
    if texts and 2 * len(texts) < len(rows):
        raise table.error(
            f"{table.row(int(texts[0]))}, column {table.target_name!r}: {table.target[texts[0]]!r} is not a number and "
            f"{len(rows) - len(texts)} of {len(rows)} targets are. Correct it or empty the cell; if these are classes, "
            "name --task classify."
        )


def check_marks(table: Table) -> None:
    """Refuse -1 or a word for it in most rows beside two other values at least: it rather marks unlabelled rows."""
    assert table.target is not None
    values = ["-1" if _number(value) == -1.0 else str(value).strip() for value in table.target]
    mark, count = Counter(values).most_common(1)[0]
    if mark.lower() in MARKS and 2 * count > len(values) and len(set(values)) > 2:
        number = mark == "-1"
        other = "(or regress) if -1 is a class (or a number)" if number else "if it is a class"
        raise table.error(
            f"{table.target_name!r} is {mark if number else repr(mark)} in {count:,} of {len(values):,} rows. "
            f"Add --unlabeled {shlex.quote(mark)} if these have no label, or --task classify {other}."
        )


def guess_task(values: NDArray[Any]) -> str:
    """Return "classify" for texts and for whole numbers that look like names of classes, else "regress".

    Whole numbers do if at most 20 are different and they recur, twice on average, or leave no gaps. Two different ones
    always do, and so do numbers with leading zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.tables._targets import guess_task
    >>> guess_task(np.array([0, 1, 1], dtype=object)), guess_task(np.array([0.5, 1.0], dtype=object))
    ('classify', 'regress')
    """
    numbers = [_number(value) for value in values]
    if not numbers or any(number is None for number in numbers):
        return "classify"
    if not all(number is not None and number.is_integer() for number in numbers):
        return "regress"
    if any(isinstance(value, str) and re.match(r"\s*0[0-9]", value) for value in values):
        return "classify"
    names = np.unique(class_names(values))
    recur = 2 * len(names) <= len(values)
    no_gaps = names.dtype.kind == "i" and int(names[-1]) - int(names[0]) < len(names)
    few = len(names) <= 2 or (len(names) <= MANY_CLASSES and (recur or no_gaps))
    return "classify" if few else "regress"


def check_classes(table: Table, classes: NDArray[Any], labeled: NDArray[np.bool_]) -> None:
    """Refuse quantities as classes: a class that has one row teaches nothing."""
    assert table.target is not None
    values = table.target[labeled]
    if 2 * len(classes) > len(values) and len(classes) > 2 and guess_task(values) == "regress":
        raise table.error(
            f"{table.target_name!r} has {len(classes):,} different numbers, such as {classes[0].item()!r}, in "
            f"{counted(len(values), 'labelled row')}: too few rows for each as a class. Name --task regress."
        )


def class_codes(table: Table, labeled: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, and the class number of every row, -1 where unlabelled."""
    assert table.target is not None
    classes, codes = np.unique(class_names(table.target[labeled]), return_inverse=True)
    if len(classes) < 2:
        raise table.error(
            f"{table.target_name!r} has one class, {classes[0].item()!r}, on "
            f"{counted(int(labeled.sum()), f'labelled {table.unit_of_data}')}. A classifier needs two: label a "
            f"{table.unit_of_data} of another class."
        )
    numbers = np.full(len(labeled), -1, dtype=np.int64)
    numbers[labeled] = codes
    return classes, numbers


def class_names(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels as whole numbers where all are, else as texts.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.tables import class_names
    >>> class_names(np.array(["1.0", "2"])).tolist(), class_names(np.array(["01", "2"])).tolist()
    ([1, 2], ['01', '2'])
    """
    numbers = [_whole(value) for value in values]
    if any(number is None for number in numbers):
        return np.array([str(value).strip() for value in values])
    return np.array(numbers, dtype=np.int64)


def class_texts(values: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.str_]:
    """Return labels as texts, written as the classes of a model are: 1.0 is "1" beside whole numbers.

    Unlike `class_names` it does not depend on the other labels, so that an unknown one changes no other.
    """
    whole = [_whole(value) if classes.dtype.kind == "i" else None for value in values]
    return np.array(
        [str(value).strip() if number is None else str(number) for value, number in zip(values, whole, strict=True)]
    )


def _whole(value: Any) -> int | None:
    """Return the whole number that a label is, without a detour through floats, which merge large ones."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, str):
        written = WHOLE.fullmatch(value.strip())
        number = None if written is None else int(written[1])
    else:
        try:
            number = int(value) if int(value) == value else None
        except (TypeError, ValueError, OverflowError):
            return None
    return number if number is not None and INT64.min <= number <= INT64.max else None


def regression_values(table: Table, labeled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the targets as numbers, NaN where there is none; an error names the row that is none."""
    assert table.target is not None
    values = np.full(len(labeled), np.nan)
    for i in np.flatnonzero(labeled):
        number = _number(table.target[i])
        if number is None or abs(number) > LARGEST:
            what = fault(number, "Correct it, or classify instead.")
            raise table.error(f"{table.row(int(i))}, column {table.target_name!r}: {table.target[i]!r} {what}")
        values[i] = number
    return values
