"""``halfmoon suggest``: which rows of the data to label next."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._models import load_model
from halfmoon.cli._report import reporting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmoon.tables import Table

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
    strategy: Annotated[Strategy, typer.Option(help="What makes a row worth a label.")] = Strategy.auto,
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
        write_columns(_columns(table, rows), out)
        report.finish(
            f"Suggested {len(rows):,} of {table.X.shape[0]:,} rows to label next",
            str(out),
            rows=(rows + 1).tolist(),
            strategy=strategy.value,
        )


def _columns(table: Table, rows: NDArray[Any]) -> dict[str, Any]:
    """Return the numbers of the rows from 1, names of images, and the columns of the data where they have names."""
    import numpy as np

    features = table.X.iloc[rows] if hasattr(table.X, "iloc") else None
    named = {} if features is None else {str(name): features[name].to_numpy() for name in features.columns}
    number = "row"
    while number in named:
        number += "_"
    columns = {number: rows + 1}
    if table.unit == "image":
        columns["image"] = np.array(table.rows)[rows]
    return columns | named
