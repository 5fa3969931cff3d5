"""Which character separates the cells of a text file, and whether its numbers have a decimal comma."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from halfmoon.exceptions import DataFileError

__all__ = ["DECIMAL_COMMA", "Dialect", "check_separator", "find_dialect", "with_points"]

SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
MOST = 0.5  # share of numbers in a column of them: the other cells are slips
SAMPLE = 1000  # records that are looked at
DECLARATION = re.compile(r"sep=(.)")  # first line of some files of Excel
DECIMAL_COMMA = re.compile(r"\s*[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)?,\d+(?:[eE][+-]?\d+)?\s*")
EUROPEAN = r"\s*[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?|,\d+)(?:[eE][+-]?\d+)?\s*"
ENGLISH = r"\s*[+-]?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?\s*"


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    separator : str
        Between cells.
    decimal_comma : bool
        Whether 1,5 is a number and 1.234 a whole one.
    declared : bool
        Whether the first line is Excel's ``sep=;`` and no row.
    """

    separator: str
    decimal_comma: bool = False
    declared: bool = False

    def notes(self, own: str) -> list[str]:
        """Return what the reader should know of a file with a suffix that stands for the separator `own`."""
        notes = []
        if self.separator != own:
            notes.append(f"cells are separated by {SEPARATORS.get(self.separator, repr(self.separator))}")
        if self.decimal_comma:
            notes.append("numbers are read with a decimal comma")
        return notes


def check_separator(given: str) -> str:
    r"""Return the separator that a user means: one character, or its name.

    Examples
    --------
    >>> from halfmoon.tables._separators import check_separator
    >>> check_separator("tab"), check_separator(";")
    ('\t', ';')
    """
    separator = NAMED.get(given.lower(), given)
    if len(separator) != 1 or separator.isalnum() or separator in "\"'\r\n":
        raise DataFileError(f"The separator must be one character such as ';', or 'tab'. Got {given!r}.")
    return separator


def find_dialect(path: Path, own: str, given: str | None = None) -> Dialect:
    """Look at the beginning of a file.

    The separator is the one that cuts all lines into the same number of cells, the largest such number; where none
    does, that of the suffix, or the one that the first line knows.

    Parameters
    ----------
    path : Path
        A text file in UTF-8.
    own : str
        The separator that the suffix stands for.
    given : str, default=None
        The separator that the user names.
    """
    with path.open(encoding="utf-8-sig", newline="") as text:
        lines = list(islice(text, SAMPLE))
    declaration = DECLARATION.fullmatch(lines[0].strip()) if lines else None
    if declaration:
        lines = lines[1:]
    separator = given or (declaration[1] if declaration else None) or _guess(lines, own)
    cells = (cell for record in _records(lines, separator) for cell in record)
    decimal_comma = separator != "," and any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return Dialect(separator, decimal_comma, declaration is not None)


def _guess(lines: list[str], own: str) -> str:
    """Return the separator that suits the lines best."""
    widths = {separator: _widths(lines, separator) for separator in (own, *SEPARATORS)}
    even = {separator: found[0] for separator, found in widths.items() if found and len(set(found)) == 1}
    best = max(even, key=lambda separator: even[separator], default=own)
    if even.get(best, 1) > 1:
        return best
    # No separator suits all lines: the one of the header, so that the error names the line that does not.
    first = {separator: found[0] for separator, found in widths.items() if found}
    return own if first.get(own, 1) > 1 else max(first, key=lambda separator: first[separator], default=own)


def _widths(lines: list[str], separator: str) -> list[int]:
    """Return the number of cells of every line that is not blank; none if the lines cannot be cut so."""
    return [len(record) for record in _records(lines, separator) if "".join(record).strip()]


def _records(lines: list[str], separator: str) -> list[list[str]]:
    try:
        records = list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return []
    return records[:-1] if len(lines) == SAMPLE else records  # a quoted cell may go on behind the sample


def with_points(frame: Any, decimal_comma: bool, as_written: Collection[str] = ()) -> Any:
    """Return a frame of cells as they are written with numbers as Python writes them: 1.234,5 becomes 1234.5.

    Only columns of which most cells are such numbers change; what is none stays, and is refused as a slip later on.
    Without decimal commas 1,234.5 becomes 1234.5.

    Parameters
    ----------
    frame : DataFrame
        What pandas has read.
    decimal_comma : bool
        How numbers are written.
    as_written : collection of str, default=()
        Columns that stay as they are.
    """
    pattern, group, point = (EUROPEAN, ".", ",") if decimal_comma else (ENGLISH, ",", ".")
    texts = [name for name, dtype in frame.dtypes.items() if getattr(dtype, "kind", "O") not in "fiub"]
    changed = {}
    for name in texts:
        cells = frame[name].dropna().astype(str)
        numbers = cells.str.fullmatch(pattern)
        marked = cells[numbers].str.contains("[.,]" if decimal_comma else ",").any()
        if name not in as_written and marked and numbers.mean() > MOST:
            plain = cells[numbers].str.replace(group, "", regex=False).str.replace(point, ".", regex=False)
            changed[name] = frame[name].astype(object).where(~frame.index.isin(plain.index), plain)
    return frame.assign(**changed) if changed else frame
