"""What is asked of a data file, and whether the file can give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from halfmoon.exceptions import DataFileError
from halfmoon.tables._dates import is_date
from halfmoon.tables._table import TEXT, WORDS, known_columns, listed

__all__ = ["Wanted"]


@dataclass(frozen=True)
class Wanted:
    """The columns that a reader is asked for.

    Attributes
    ----------
    target : str or None
        Column of the target.
    ignore : tuple of str
        Columns that are left out.
    categorical : tuple of str
        Columns of features that are names of categories, whatever they look like.
    text : tuple of str
        Columns of features whose words count, whatever they look like.
    day_first : bool or None
        Whether 01/02/2024 is in February; None: the cells must tell.
    separator : str or None
        Between the cells of a text file; None: it is found.
    known : dict of str to str, or None
        Kind of every column that a model was fitted with; None if the file is to be fitted.
    as_written : bool
        Whether all cells of a text file are wanted as they are written.
    """

    target: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    day_first: bool | None = None
    separator: str | None = None
    known: dict[str, str] | None = None
    as_written: bool = False

    def is_text(self, name: str) -> bool:
        """Return whether the cells of a column count as they are written: "007" is not 7, and "10" is not "10.0"."""
        kind = (self.known or {}).get(name, "")
        named = name == self.target or name in self.categorical or name in self.text
        return self.as_written or named or kind in (TEXT, WORDS) or is_date(kind)

    def check_names(self, path: Path, names: Sequence[str]) -> None:
        """Refuse columns that are not there, and columns that are asked for twice."""
        roles = self._roles()
        missing = [
            name for name in dict.fromkeys(name for role in roles.values() for name in role) if name not in names
        ]
        if missing:
            raise DataFileError(
                f"{path}: there is no column {listed(missing)}. {known_columns(missing[0], list(names))}"
                if len(missing) == 1
                else f"{path}: there are no columns {listed(missing)}. {known_columns('', list(names))}"
            )
        if self.target in self.ignore:
            raise DataFileError(
                f"{path}: the target {self.target!r} cannot be ignored. Leave it out of one of the two."
            )
        for role in ("categorical", "text"):
            if self.target in roles[role]:
                raise DataFileError(
                    f"{path}: {self.target!r} is the target, it cannot be a {role} feature too. "
                    "Targets of text are classes as they are."
                )
        self._check_roles(path, roles)

    def _roles(self) -> dict[str, tuple[str, ...]]:
        target = () if self.target is None else (self.target,)
        return {"ignored": self.ignore, "categorical": self.categorical, "text": self.text, "target": target}

    def _check_roles(self, path: Path, roles: dict[str, tuple[str, ...]]) -> None:
        for one, other in (("ignored", "categorical"), ("ignored", "text"), ("categorical", "text")):
            for name in roles[one]:
                if name in roles[other]:
                    raise DataFileError(f"{path}: the column {name!r} is both {one} and {other}. Choose one.")

    def check_no_names(self, path: Path) -> None:
        """Refuse requests that need names of columns."""
        for names, wish in ((self.ignore, "left out"), (self.categorical, "categorical"), (self.text, "text")):
            if names:
                raise DataFileError(
                    f"{path}: the column {names[0]!r} cannot be {wish}, the file does not name its columns."
                )

    def check_numbers_only(self, path: Path) -> None:
        """Refuse requests for what is no number, of rows that stay on disk."""
        for names, wish in ((self.categorical, "categorical"), (self.text, "text")):
            if names:
                raise DataFileError(
                    f"{path}: the column {names[0]!r} cannot be {wish}: rows that stay on disk are numbers. Leave it "
                    "out (ignore), or read the file into memory."
                )
        if self.day_first is not None:
            raise DataFileError(f"{path}: rows that stay on disk are numbers, so that there are no dates to read.")

    def check_no_separator(self, path: Path) -> None:
        """Refuse a separator for files that are no text files."""
        if self.separator is not None:
            raise DataFileError(f"{path}: only CSV and TSV files have a separator. Leave --separator out.")

    def check_own_target(self, path: Path, own: str, where: str) -> None:
        """Refuse a target in a file that has its labels in one place."""
        if self.target not in (None, own):
            raise DataFileError(
                f"{path}: the target {self.target!r} cannot be chosen, {where}. Name no target with such data."
            )
