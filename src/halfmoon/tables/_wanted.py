"""What is asked of a data file, and whether the file can give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from halfmoon.exceptions import DataFileError
from halfmoon.tables._table import PROSE, TEXT, known_columns

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
    known : dict of str to str, or None
        Kind of every column that a model was fitted with; None if the file is to be fitted.
    texts : tuple of str
        Columns of features that are texts of many words.
    """

    target: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    known: dict[str, str] | None = None
    texts: tuple[str, ...] = ()

    def is_text(self, name: str) -> bool:
        """Return whether the cells of a column count as they are written: "007" is not 7, and "10" is not "10.0"."""
        wanted = (self.target, *self.categorical, *self.texts)
        return name in wanted or (self.known or {}).get(name) in (TEXT, PROSE)

    def check_names(self, path: Path, names: Sequence[str]) -> None:
        """Refuse columns that are not there, and columns that are asked for twice."""
        for name in (*self.ignore, *self.categorical, *self.texts, *([] if self.target is None else [self.target])):
            if name not in names:
                raise DataFileError(f"{path}: there is no column {name!r}. {known_columns(name, list(names))}")
        if self.target in self.ignore:
            raise DataFileError(
                f"{path}: the target {self.target!r} cannot be ignored. Leave it out of one of the two."
            )
        if self.target in self.categorical:
            raise DataFileError(
                f"{path}: {self.target!r} is the target, it cannot be a categorical feature too. "
                "Targets of text are classes as they are."
            )
        for name in self.categorical:
            if name in self.ignore:
                raise DataFileError(f"{path}: the column {name!r} is both ignored and categorical. Choose one.")

    def check_no_names(self, path: Path) -> None:
        """Refuse requests that need names of columns."""
        for names, wish in ((self.ignore, "left out"), (self.categorical, "categorical"), (self.texts, "a text")):
            if names:
                raise DataFileError(
                    f"{path}: the column {names[0]!r} cannot be {wish}, the file does not name its columns."
                )

    def check_own_target(self, path: Path, own: str, where: str) -> None:
        """Refuse a target in a file that has its labels in one place."""
        if self.target not in (None, own):
            raise DataFileError(
                f"{path}: the target {self.target!r} cannot be chosen, {where}. Name no target with such data."
            )
