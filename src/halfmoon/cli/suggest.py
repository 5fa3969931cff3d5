"""``halfmoon suggest``: which rows of the data to label next."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._models import load_model
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmoon.tables import Table, TableModel

NAME = "suggest"
HELP = "Write the rows of the data that are most worth a label."
EXAMPLES = o.examples(
    "halfmoon suggest flowers.hm flowers.csv --n 10 --out next.csv",
    "halfmoon suggest flowers.hm flowers.csv --strategy uncertainty --json --out next.csv",
)


class Strategy(StrEnum):
    """What makes a row worth a label; the names of halfmoon.active_learning.STRATEGIES, which takes long to import."""

    auto = "auto"
    error = "error"
    uncertainty = "uncertainty"
    density = "density"
    variance = "variance"
    coverage = "coverage"
    random = "random"


def command(
    model: o.Model,
    data: o.Data,
    out: o.Out,
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", min=1, help="How many rows.")] = 10,
    strategy: Annotated[
        Strategy, typer.Option(metavar="RULE", help="What makes a row worth a label: " + ", ".join(Strategy) + ".")
    ] = Strategy.auto,
    separator: o.Separator = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Write row numbers, counted from 1, and columns; DATA are the rows that the model was fitted to."""
    with reporting(quiet, as_json) as report:
        report.writes(out)
        with report.working("reading"):
            from halfmoon.tables import OUT_SUFFIXES, check_writable, write_columns

            check_writable(out, OUT_SUFFIXES, inputs=(model, data), force=force)
            fitted = load_model(model)
            table = fitted.read(data, separator=separator)
        with report.working("choosing"):
            rows = fitted.suggest(table, n, strategy.value, seed)
        write_columns(_columns(data, table, rows, separator), out, like=data)
        report.show(_next_step(fitted, data, model))
        report.finish(
            f"Suggested {len(rows):,} of {counted(int(table.X.shape[0]), 'row')} to label next",
            str(out),
            rows=(rows + 1).tolist(),
            strategy=strategy.value,
        )


def _next_step(fitted: TableModel, data: Path, model: Path) -> str:
    """Return what to do with the rows that were suggested."""
    if fitted.image_shape is not None and data.is_dir():
        return (
            f"Next: move these images into subfolders of {data} named by class, then fit again, with the options that "
            f"you gave before: halfmoon fit {data} --out {model}"
        )
    target = "the target" if fitted.target is None else repr(fitted.target)
    option = "" if fitted.target is None else f" --target {shlex.quote(fitted.target)}"
    return (
        f"Next: fill in {target} of these rows in {data}, then fit again, with the options that you gave before: "
        f"halfmoon fit {data}{option} --out {model}"
    )


def _columns(data: Path, table: Table, rows: NDArray[Any], separator: str | None) -> dict[str, Any]:
    """Return the numbers of the rows from 1, names of images, and the columns of the data, as they are written."""
    import numpy as np

    from halfmoon.tables import read_columns

    columns = read_columns(data, separator=separator) if hasattr(table.X, "iloc") else {}
    named = {name: cells[rows] for name, cells in columns.items()}
    number = "row"
    while number in named:
        number += "_"
    images = {"image": np.array(table.rows)[rows]} if table.unit == "image" else {}
    return {number: rows + 1, **images, **named}
