"""``halfmoon diagnose``: what a model of a data file rests on, and whether its unlabelled rows help."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._models import fit_line, need_target, quality_facts
from halfmoon.cli._report import reporting

NAME = "diagnose"
HELP = "Report what a model of a data file rests on, and whether the unlabelled rows help."
EXAMPLES = o.examples("halfmoon diagnose flowers.csv --target species")


def command(
    data: o.Data,
    target: o.Target = None,
    task: Annotated[o.Task | None, typer.Option(help="classify or regress; by default as the target suggests.")] = None,
    landmarks: o.Landmarks = None,
    neighbors: o.Neighbors = None,
    unlabeled: o.Unlabeled = None,
    ignore: o.Ignore = None,
    categorical: o.Categorical = None,
    standardize: o.Standardize = None,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Fit a model and print its diagnosis."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            from halfmoon.tables import Recipe, fit_table, read_table

            if task == o.Task.cluster:
                raise ValueError("diagnose looks at labels: --task is classify or regress.")
            table = read_table(data, target=target, ignore=ignore or (), categorical=categorical or ())
            need_target(table)
        recipe = Recipe(
            task=None if task is None else task.value,
            n_landmarks=landmarks,
            n_neighbors=neighbors,
            standardize=standardize,
            unlabeled=unlabeled,
            seed=seed,
        )
        with report.working("fitting"):
            model = fit_table(table, recipe, report.note)
            diagnosis = model.estimator.diagnose()
        report.show(str(diagnosis))
        report.finish(
            fit_line(model.facts),
            task=model.task,
            component_sizes=diagnosis.component_sizes.tolist(),
            component_labels=diagnosis.component_labels.tolist(),
            **quality_facts(model),
            **model.facts,
        )
