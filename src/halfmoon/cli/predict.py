"""``halfmoon predict``: predictions of a saved model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import carried_columns, joined
from halfmoon.cli._models import load_model
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon.tables import Table, TableModel

BLOCK = 1 << 22  # numbers of rows on disk that are predicted at once

NAME = "predict"
HELP = "Predict every row of a data file with a saved model."
EXAMPLES = o.examples(
    "halfmoon predict flowers.hm new.csv --out predicted.csv",
    "halfmoon predict flowers.hm new.csv --proba --keep --out predicted.parquet",
    "halfmoon predict segments.hm customers.csv --id id --out segments.csv",
)


def command(
    model: o.Model,
    data: o.Data,
    out: o.Out,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class; for numbers, their deviation.")
    ] = False,
    ids: o.Id = None,
    keep: o.Keep = False,
    separator: o.Separator = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Write the predictions for every row."""
    with reporting(quiet, as_json) as report:
        report.writes(out)
        with report.working("reading"):
            from halfmoon.tables import OUT_SUFFIXES, check_writable, write_columns

            check_writable(out, OUT_SUFFIXES, inputs=(model, data), force=force)
            fitted = load_model(model)
            if proba and fitted.task == "cluster":
                raise ValueError(f"{model}: clusters have no probabilities. Leave --proba out.")
            table = fitted.read(data, separator=separator)
            carried = carried_columns(data, table, ids, keep, separator)
        with report.working("predicting"):
            columns = joined(carried, _predictions(fitted, table, proba))
        write_columns(columns, out, like=data if keep else None)
        rows = int(table.X.shape[0])
        bound = fitted.facts["error_bound"]
        report.finish(
            f"Predicted {counted(rows, 'row')} with {fitted.facts['estimator']}",
            str(out),
            rows=rows,
            columns=list(columns),
            error_bound=bound,
        )


def _predictions(model: TableModel, table: Table, proba: bool) -> dict[str, Any]:
    """Return the columns to write; rows on disk are read block by block."""
    import numpy as np

    from halfmoon.runtime.spool import is_on_disk

    if not is_on_disk(table.X):
        return _of_block(model, table, proba)
    starts = range(0, len(table.X), max(1, BLOCK // table.X.shape[1]))
    numbers = [range(start, min(start + starts.step, len(table.X))) for start in starts]
    blocks = (
        replace(table, X=np.array(table.X[rows.start : rows.stop]), rows=range(rows.start + 1, rows.stop + 1))
        for rows in numbers
    )
    parts = [_of_block(model, block, proba) for block in blocks]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_block(model: TableModel, table: Table, proba: bool) -> dict[str, Any]:
    """Return the columns to write, of some rows."""
    columns: dict[str, Any] = {"cluster" if model.task == "cluster" else "prediction": model.predict(table)}
    if proba and model.task == "regress":
        columns["deviation"] = model.predict_deviation(table)
    elif proba:
        assert model.classes is not None
        probabilities = model.predict_proba(table)
        columns |= {f"p({name})": probabilities[:, i] for i, name in enumerate(model.classes)}
    return columns
