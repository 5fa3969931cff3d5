"""``halfmoon explain``: why a saved model predicts rows of a data file as it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._models import load_model
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon.semi_supervised import Explanation
    from halfmoon.tables import Table

NAME = "explain"
HELP = "Show which labelled rows drove the predictions of a saved model."
EXAMPLES = o.examples(
    "halfmoon explain flowers.hm new.csv --row 3 --row 60",
    "halfmoon explain flowers.hm new.csv --row 3 --of virginica --json",
    "halfmoon explain flowers.hm new.csv --out shares.csv",
)


def command(
    model: o.Model,
    data: o.Data,
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N", help="Row to explain, from 1, or the name of an image; may be repeated. All by default."
        ),
    ] = None,
    of: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class to explain the decision value of; else the predicted.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="CSV, TSV, Parquet, Feather or NPZ file to write all shares to.",
            show_default=False,
        ),
    ] = None,
    separator: o.Separator = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the largest shares of labelled rows in decision values; rows are counted from 1."""
    with reporting(quiet, as_json) as report:
        if out is not None:
            report.writes(out)
        with report.working("reading"):
            from halfmoon.tables import OUT_SUFFIXES, check_writable, write_columns

            if out is not None:
                check_writable(out, OUT_SUFFIXES, inputs=(model, data), force=force)
            fitted = load_model(model)
            whole = fitted.read(data, separator=separator)
            chosen = None if row is None else [_number(whole, name) for name in row]
            table = _chosen(whole, chosen)
        with report.working("explaining"):
            why = fitted.explain(table, of)
        why = _numbered(why, chosen)
        if table.unit == "image":
            why = why.called(fitted.facts.get("images", ()), table.rows)
        report.show(str(why))
        if out is not None:
            write_columns(_columns(why), out)
        explained, labeled = counted(len(why), "row"), counted(len(why.rows), "labelled row")
        report.finish(
            f"Explained {explained} by {labeled} of {fitted.facts['data']}",
            None if out is None else str(out),
            **why.to_dict(),
        )


def _number(table: Table, name: str) -> int:
    """Return the number, from 1, of a row or of the image of this name."""
    if table.unit == "image" and name in table.rows:
        return list(table.rows).index(name) + 1
    if name.isdecimal() and int(name) > 0:
        return int(name)
    what = "an image of the folder or a number" if table.unit == "image" else "a number"
    raise table.error(f"--row {name} is not {what} from 1 on.")


def _chosen(table: Table, rows: list[int] | None) -> Table:
    """Return the rows to explain, in the order in which they were named."""
    from dataclasses import replace

    from halfmoon._validation import take_rows

    if rows is None:
        return table
    n = int(table.X.shape[0])
    if max(rows) > n:
        raise table.error(f"there is no row {max(rows)}, it has {counted(n, 'row')}.")
    chosen = [number - 1 for number in rows]
    names = [table.rows[i] for i in chosen] if len(table.rows) else ()
    return replace(table, X=take_rows(table.X, chosen), target=None, rows=names)


def _numbered(why: Explanation, rows: list[int] | None) -> Explanation:
    """Return the explanation with rows counted from 1, as people count them."""
    from dataclasses import replace

    import numpy as np

    why = why.counted_from(1)
    return why if rows is None else replace(why, numbers=np.array(rows))


def _columns(why: Explanation) -> dict[str, Any]:
    """Return all shares that are not 0: one line for each, largest first."""
    import numpy as np

    points = list(why)
    kept = [point.shares != 0.0 for point in points]
    times = [int(which.sum()) for which in kept]
    columns: dict[str, Any] = {
        "row": np.repeat(why.numbers, times),
        "prediction": np.repeat(why.predictions, times),
        "decision_value": np.repeat(why.total, times),
        "intercept": np.repeat(why.intercept, times),
    }
    if why.of is not None:
        columns["of"] = np.repeat(why.of, times)
    for name, attribute in (("labeled_row", "rows"), ("label", "labels"), ("share", "shares")):
        parts = [getattr(point, attribute)[which] for point, which in zip(points, kept, strict=True)]
        columns[name] = np.concatenate(parts)
    return columns
