"""``halfmoon fit``: a model from a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import need_target, read_data, recipe_of
from halfmoon.cli._models import fit_line, quality_facts, quality_lines, shown_facts
from halfmoon.cli._report import reporting

NAME = "fit"
HELP = "Fit a model to a data file with a few labels and save it."
EXAMPLES = o.examples(
    "halfmoon fit flowers.csv --target species --out flowers.hm",
    "halfmoon fit houses.parquet --target price --task regress --tune --out houses.hm",
    "halfmoon fit reviews.csv --target stars --text review --ignore id --out reviews.hm",
    "halfmoon fit photos/ --landmarks 1000 --out photos.hm",
    "halfmoon fit houses.parquet --target price --checkpoint run/ --max-memory 2GB --out houses.hm",
    "halfmoon fit customers.csv --ignore id --task cluster -k 4 --out segments.hm",
)


def command(
    data: o.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="Where to save.", show_default=False)],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no model.")] = False,
    target: o.Target = None,
    task: Annotated[
        o.Task | None,
        typer.Option(
            metavar="TASK",
            help="classify, regress or cluster; by default one of the first two, as the target suggests.",
        ),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", metavar="K", min=1, help="Clusters, for cluster.")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose parameters by cross-validation on the labels.")] = False,
    unlabeled: o.Unlabeled = None,
    reading: o.Reading,
    fitting: o.Fitting,
    checkpoint: o.Checkpoint = None,
    max_memory: o.MaxMemory = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Fit a model and save it."""
    with reporting(quiet, as_json) as report:
        report.writes(out)
        with report.working("reading"):
            from halfmoon import save
            from halfmoon.persistence import is_model_file
            from halfmoon.runtime.spool import is_on_disk
            from halfmoon.tables import check_writable, fit_table

            _check_task(task, clusters, tune, on_disk=checkpoint is not None or max_memory is not None)
            check_writable(out, inputs=(data,))
            if out.exists() and not force and not is_model_file(out):
                raise ValueError(
                    f"{out}: there is a file that is no model. Name another one, or replace it with --force."
                )
            on_disk = max_memory is not None and data.suffix.lower() == ".parquet"
            table = read_data(data, target, reading, on_disk=on_disk)
            if is_on_disk(table.X):
                report.note(
                    f"the rows stay on disk, {table.X.nbytes / 1e6:,.1f} MB; what is made of them is in temporary files"
                )
        if task != o.Task.cluster:
            need_target(table)
        recipe = recipe_of(
            fitting,
            None if task is None else task.value,
            n_clusters=clusters,
            tune=tune,
            unlabeled=unlabeled,
            checkpoint=checkpoint,
            max_memory=max_memory,
        )
        with report.working("tuning" if tune else "fitting"):
            model = fit_table(table, recipe, report.note)
        with report.working("holding out labels"):
            quality = quality_lines(model)
        with report.working("saving"):
            save(model, out)
        for line in quality:
            report.show(line)
        report.finish(fit_line(model.facts), str(out), task=model.task, **quality_facts(model), **shown_facts(model))


def _check_task(task: o.Task | None, clusters: int | None, tune: bool, on_disk: bool) -> None:
    """Refuse options that do not go together."""
    if on_disk and (tune or task == o.Task.cluster):
        raise ValueError(
            "--checkpoint and --max-memory are for one fit: they go with neither --tune nor --task cluster."
        )
    if task == o.Task.cluster and clusters is None:
        raise ValueError("--task cluster needs the number of clusters, -k K.")
    if task != o.Task.cluster and clusters is not None:
        raise ValueError("-k is the number of clusters: it needs --task cluster.")
    if task == o.Task.cluster and tune:
        raise ValueError("--tune needs labels: it does not go with --task cluster.")
