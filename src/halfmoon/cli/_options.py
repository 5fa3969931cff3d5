"""Arguments and options that several commands share, alone and in groups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Categorical",
    "Checkpoint",
    "Data",
    "DayFirst",
    "Fitting",
    "Force",
    "Id",
    "Ignore",
    "Json",
    "Keep",
    "Landmarks",
    "MaxMemory",
    "Model",
    "Neighbors",
    "Out",
    "Quiet",
    "Reading",
    "Seed",
    "Separator",
    "Standardize",
    "Target",
    "Task",
    "TaskOfLabels",
    "Text",
    "Unlabeled",
    "examples",
]


class Task(StrEnum):
    """What to predict."""

    classify = "classify"
    regress = "regress"
    cluster = "cluster"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, Feather, NPY, NPZ or libsvm file, Zarr array, folder of Parquet files, or folder of "
        "images: subfolders are classes, 'unlabeled' holds images without a label.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.", show_default=False)]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column of the target; empty cells are the unlabelled rows. For NPY and Zarr data an NPY file.",
    ),
]
Unlabeled = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Value that marks unlabelled rows, besides the empty cell.")
]
Ignore = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column of numbers that are names, to be one-hot encoded; may be repeated."),
]
Text = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column whose words become TF-IDF features; may be repeated."),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="How to read dates such as 01/02/2024, where no cell of the column tells.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR", help="Character between the cells of a text file, such as ';' or tab; found unless given."
    ),
]
Id = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", help="Column of the data to carry over to the results; may be repeated."),
]
Keep = Annotated[bool, typer.Option("--keep", help="Carry all columns of the data over to the results.")]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Bring every number to mean 0 and deviation 1. The default is yes, but for images.",
        show_default=False,
    ),
]
Landmarks = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Rows that stand for all others in the costly steps. 500 unless given."),
]
Neighbors = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Neighbours in the graph; by default 5, for clusters 10.")
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FILE", help="CSV, TSV, Parquet, Feather or NPZ file to write.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
TaskOfLabels = Annotated[
    Task | None, typer.Option(metavar="TASK", help="classify or regress; by default as the target suggests.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of everything that is drawn.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and what --json asks for.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def byte_count(text: str) -> int:
    """Return the bytes that a size means: 2GB, 500MB, 1.5TB or a plain number."""
    written = re.fullmatch(r"\s*([0-9.]+)\s*(B|kB|MB|GB|TB)?\s*", text, re.IGNORECASE)
    try:
        number = float(written[1]) if written else 0.0
    except ValueError:
        number = 0.0
    if written is None or number <= 0.0:
        raise typer.BadParameter(f"{text!r} is not a size. Write it as 2GB or 500MB.")
    return int(number * UNITS[(written[2] or "B").upper()])


UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
MaxMemory = Annotated[
    int | None,
    typer.Option(
        parser=byte_count,
        metavar="SIZE",
        help="Memory that the fit may take beyond the rows, as 2GB; rows of Parquet files then stay on disk.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keep what is finished there; a run that was killed goes on from it."),
]


@dataclass(frozen=True)
class Reading:
    """How a data file is read."""

    ignore: Ignore = None
    categorical: Categorical = None
    text: Text = None
    day_first: DayFirst = None
    separator: Separator = None


@dataclass(frozen=True)
class Fitting:
    """How a model is fitted."""

    landmarks: Landmarks = None
    neighbors: Neighbors = None
    standardize: Standardize = None
    seed: Seed = 0


def examples(*lines: str) -> str:
    """Return the examples of a command as the end of its help."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(line.replace("[", "\\[") for line in lines)
