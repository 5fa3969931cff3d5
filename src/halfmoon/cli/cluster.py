"""``halfmoon cluster``: the cluster of every row of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import carried_columns, joined, read_data, recipe_of
from halfmoon.cli._models import fit_line, shown_facts
from halfmoon.cli._report import reporting

NAME = "cluster"
HELP = "Cluster the rows of a data file and write the cluster of each."
EXAMPLES = o.examples(
    "halfmoon cluster customers.csv -k 4 --ignore id --id id",
    "halfmoon cluster flowers.csv -k 3 --ignore species --out clusters.parquet",
)


def command(
    data: o.Data,
    clusters: Annotated[int, typer.Option("-k", "--clusters", metavar="K", min=1, help="Number of clusters.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write; DATA.clusters.csv unless given."),
    ] = None,
    ids: o.Id = None,
    keep: o.Keep = False,
    reading: o.Reading,
    fitting: o.Fitting,
    force: o.Force = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Write the cluster of every row."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            import numpy as np

            from halfmoon.tables import OUT_SUFFIXES, check_writable, fit_table, write_columns

            place = Path(f"{data.resolve().stem}.clusters.csv") if out is None else out
            report.writes(place)
            check_writable(place, OUT_SUFFIXES, inputs=(data,), force=force)
            table = read_data(data, None, reading)
            carried = carried_columns(data, table, ids, keep, reading.separator)
        recipe = recipe_of(fitting, "cluster", n_clusters=clusters)
        with report.working("clustering"):
            model = fit_table(table, recipe, report.note)
        labels = model.estimator.labels_
        write_columns(joined(carried, {"cluster": labels}), place)
        sizes = np.bincount(labels, minlength=clusters).tolist()
        report.show("rows in each cluster: " + ", ".join(f"{size:,}" for size in sizes))
        report.finish(fit_line(model.facts), str(place), sizes=sizes, **shown_facts(model))
