"""``halfmoon check-labels``: which labels of a data file, or of a model's rows, look wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import recipe_of
from halfmoon.cli._models import load_model, table_or_model
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon.semi_supervised import LabelIssues
    from halfmoon.tables import Table, TableModel
NAME = "check-labels"
HELP = "Show which labels look wrong, of a data file or of the rows that a saved model was fitted to."
EXAMPLES = o.examples(
    "halfmoon check-labels flowers.csv --target species",
    "halfmoon check-labels flowers.hm --out doubts.csv",
)


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA|MODEL", help="A data file or folder, to which a model is fitted, or a file written by fit."
        ),
    ],
    *,
    target: o.Target = None,
    task: o.TaskOfLabels = None,
    unlabeled: o.Unlabeled = None,
    reading: o.Reading,
    fitting: o.Fitting,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="CSV, TSV, Parquet, Feather or NPZ file to write all labelled rows to.",
            show_default=False,
        ),
    ] = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the labels that the others contradict; rows of a model are counted from 1."""
    with reporting(quiet, as_json) as report:
        if out is not None:
            report.writes(out)
        with report.working("reading"):
            from halfmoon.tables import OUT_SUFFIXES, check_writable, fit_table, write_columns

            if out is not None:
                check_writable(out, OUT_SUFFIXES, inputs=(source,), force=force)
            table = table_or_model(source, target, task, unlabeled, reading, fitting)
        recipe = recipe_of(fitting, None if task is None else task.value, unlabeled=unlabeled)
        with report.working("checking"):
            model = load_model(source) if table is None else fit_table(table, recipe, report.note)
            issues = _with_names(model, table)
        report.show(str(issues))
        if issues.n_suspicious:
            report.show("Look at each before you change it.")
        if out is not None:
            write_columns(issues.columns(), out)
        where = None if out is None else str(out)
        report.finish(
            f"Checked {counted(issues.n_checked, 'label')} with {model.facts['estimator']}", where, **issues.to_dict()
        )


def _with_names(model: TableModel, table: Table | None) -> LabelIssues:
    """Return the issues with the rows as their file calls them; a model only knows their numbers, here from 1."""
    import numpy as np

    issues = model.label_issues()
    if table is None or not len(table.rows):
        if "images" in model.facts:
            return issues.called(np.asarray(model.facts["images"]), "image")
        return issues.called(np.arange(1, model.facts["rows"] + 1), "row")
    return issues.called(np.asarray(table.rows), table.unit)
