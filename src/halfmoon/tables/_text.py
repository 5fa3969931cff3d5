"""Read CSV and TSV files, and know the line of every row."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError

__all__ = ["read_delimited"]


def read_delimited(path: Path, separator: str) -> tuple[Any, NDArray[np.int64]]:
    """Return a text file as a data frame, and the line of each of its rows; every line must be complete."""
    import pandas as pd

    try:
        header, lines = _check_lines(path, separator)
        frame = pd.read_csv(path, sep=separator, encoding="utf-8-sig", na_values=["?"], low_memory=False)
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: the file is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    except (csv.Error, pd.errors.ParserError) as error:
        raise DataFileError(f"{path}: the file cannot be read ({error}).") from error
    frame.columns = header
    return frame, lines


def _check_lines(path: Path, separator: str) -> tuple[list[str], NDArray[np.int64]]:
    """Return the header and the numbers of the lines that hold a row.

    pandas fills lines that are too short with missing values and does not tell which line a row came from.
    """
    with path.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        header = [name.strip() for name in next((fields for fields in reader if fields), [])]
        _check_header(path, header)
        lines = []
        for fields in reader:
            if not "".join(fields[:2]).strip() and len(fields) < 2:  # blank
                continue
            if len(fields) != len(header):
                raise DataFileError(
                    f"{path}: line {reader.line_num} has {len(fields)} cells and the header has {len(header)}."
                )
            lines.append(reader.line_num)
    return header, np.array(lines, dtype=np.int64)


def _check_header(path: Path, header: list[str]) -> None:
    twice = {name for name in header if header.count(name) > 1}
    if twice and all(_is_number(name) for name in header):
        raise DataFileError(f"{path}: the first line holds numbers. It must hold the names of the columns.")
    if twice:
        raise DataFileError(f"{path}: several columns are called {min(twice)!r}. Give each its own name.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True
