"""Read CSV and TSV files, and know the line of every row."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.tables._separators import Dialect, find_dialect, with_points
from halfmoon.tables._wanted import Wanted

__all__ = ["read_delimited"]

# Cells without a value; pandas' longer list has words that name classes, as "None".
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")


def read_delimited(path: Path, own: str, wanted: Wanted) -> tuple[Any, NDArray[np.int64], list[str]]:
    """Return a text file as a data frame, the line of each of its rows, and notes; every line must be complete.

    pandas finds the types of columns, but for those that are wanted as text: found file by file, a type makes "10" of
    one file "10.0" of the next. `own` is the separator that the suffix stands for.
    """
    import pandas as pd

    try:
        dialect = find_dialect(path, own, wanted.separator)
        layout = _check_lines(path, dialect, wanted)
        frame = pd.read_csv(
            path,
            sep=dialect.separator,
            decimal="," if dialect.decimal_comma else ".",
            encoding="utf-8-sig",
            header=None,
            names=layout.header,
            skiprows=layout.records_above,
            skip_blank_lines=not layout.blank_is_row,
            keep_default_na=False,
            na_values=[] if wanted.as_written else list(MISSING),
            dtype={name: str for name in layout.header if wanted.is_text(name)},
            low_memory=False,
        )
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{path}: the file is not UTF-8 text ({error.reason}, line {_line_of_no_text(path)}). Save it as UTF-8; "
            "Excel calls that 'CSV UTF-8'."
        ) from error
    except (csv.Error, pd.errors.ParserError) as error:
        raise DataFileError(f"{path}: the file cannot be read ({error}).") from error
    if len(frame) != len(layout.lines):
        raise DataFileError(
            f"{path}: there are {len(frame)} rows on {len(layout.lines)} lines. Remove quoted blanks that stand alone."
        )
    if wanted.as_written:
        return frame, layout.lines, []
    texts = [name for name in layout.header if wanted.is_text(name) and name != wanted.target]
    return with_points(frame, dialect.decimal_comma, texts), layout.lines, dialect.notes(own)


def _line_of_no_text(path: Path) -> int:
    """Return the first line that is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    raise AssertionError("All lines are UTF-8.")


@dataclass(frozen=True)
class _Layout:
    """The names of the columns, how many records end with them, and the line of every row."""

    header: list[str]
    records_above: int
    lines: NDArray[np.int64]

    @property
    def blank_is_row(self) -> bool:
        """Whether a blank line is a row: where there is one column, it is an empty cell."""
        return len(self.header) == 1


def _check_lines(path: Path, dialect: Dialect, wanted: Wanted) -> _Layout:
    """Return the header and the numbers of the lines that hold a row.

    pandas fills lines that are too short with missing values and does not say which line a row came from.
    """
    with path.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=dialect.separator)
        if dialect.declared:
            next(reader)
        header, records_above = _find_header(reader)
        records_above += dialect.declared
        _check_header(path, header, wanted)
        lines = []
        for fields in reader:
            if len(header) > 1 and _is_blank(fields):
                continue
            if len(fields or [""]) != len(header):
                raise DataFileError(
                    f"{path}: line {reader.line_num} has {len(fields)} cells and the header has {len(header)}. "
                    f"The separator is {dialect.separator!r}; --separator names another one."
                )
            lines.append(reader.line_num)
    return _Layout(header, records_above, np.array(lines, dtype=np.int64))


def _find_header(records: Iterable[list[str]]) -> tuple[list[str], int]:
    """Return the first record that is not blank, and its number; nothing if there is none."""
    for number, fields in enumerate(records, start=1):
        if "".join(fields).strip():
            return [name.strip() for name in fields], number
    return [], 0


def _is_blank(fields: list[str]) -> bool:
    """Return whether a line is blank; a lone pair of quotes is a cell."""
    return not fields or (len(fields) == 1 and fields[0].isspace())


def _check_header(path: Path, header: list[str], wanted: Wanted) -> None:
    if not header:
        raise DataFileError(f"{path}: the file is empty. The first line must name the columns.")
    # A model may know its columns by such names; in any other file they are the first row of data.
    if _are_numbers(header) and not (wanted.known and wanted.known.keys() <= set(header)):
        raise DataFileError(f"{path}: the first line holds numbers. Add a line above it that names the columns.")
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise DataFileError(f"{path}: several columns are called {min(twice)!r}. Give each its own name.")


def _are_numbers(names: list[str]) -> bool:
    """Return whether all names are numbers, but for empty ones."""
    try:
        return len([float(name) for name in names if name]) > 0
    except ValueError:
        return False
