"""``halfmoon diagnose``: what a model rests on, saved or fitted to a data file, and whether unlabelled rows help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import need_target, read_data
from halfmoon.cli._models import check_no_options, fit_line, is_data, kernel_in, load_any, quality_facts, unwrapped
from halfmoon.cli._report import reporting

NAME = "diagnose"
HELP = "Report what a model rests on, and whether the unlabelled rows help."
EXAMPLES = o.examples("halfmoon diagnose flowers.csv --target species", "halfmoon diagnose flowers.hm")


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA|MODEL",
            help="A data file or folder, to which a model is fitted, or a file written by fit or by halfmoon.save.",
            show_default=False,
        ),
    ],
    target: o.Target = None,
    task: Annotated[o.Task | None, typer.Option(help="classify or regress; by default as the target suggests.")] = None,
    landmarks: o.Landmarks = None,
    neighbors: o.Neighbors = None,
    unlabeled: o.Unlabeled = None,
    ignore: o.Ignore = None,
    categorical: o.Categorical = None,
    text: o.Text = None,
    day_first: o.DayFirst = None,
    separator: o.Separator = None,
    standardize: o.Standardize = None,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the diagnosis of a model, of one fitted here or of a saved one."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            from halfmoon.tables import Recipe, fit_table

            table = None
            if task == o.Task.cluster:
                raise ValueError("diagnose looks at labels: --task is classify or regress.")
            if not is_data(source):
                check_no_options(source, target=target, task=task, landmarks=landmarks, neighbors=neighbors)
                model = load_any(source)
            else:
                table = read_data(
                    source,
                    target,
                    ignore=ignore,
                    categorical=categorical,
                    text=text,
                    day_first=day_first,
                    separator=separator,
                )
                need_target(table)
        recipe = Recipe(
            task=None if task is None else task.value,
            n_landmarks=landmarks,
            n_neighbors=neighbors,
            standardize=standardize,
            unlabeled=unlabeled,
            seed=seed,
        )
        with report.working("diagnosing" if table is None else "fitting"):
            model = model if table is None else fit_table(table, recipe, report.note)
            lines, facts = _diagnosed(model)
        for line in lines:
            report.show(line)
        done = f"Read a {type(unwrapped(model)).__name__}" if table is None else fit_line(model.facts)
        report.finish(done, str(source) if table is None else None, **facts)


def _diagnosed(held: Any) -> tuple[list[str], dict[str, Any]]:
    """Return what there is to say about a model, in lines and as facts; nothing is fitted."""
    estimator, kernel = unwrapped(held), kernel_in(held)
    if kernel is None:
        raise ValueError(
            f"There is no fitted kernel of halfmoon in this {type(held).__name__}: there is nothing to diagnose."
        )
    of_table = {"task": held.task, **held.facts} if hasattr(held, "facts") else {}
    if hasattr(estimator, "learned_"):
        diagnosis = estimator.diagnose()
        return [str(diagnosis)], {
            "component_sizes": diagnosis.component_sizes.tolist(),
            "component_labels": diagnosis.component_labels.tolist(),
            **quality_facts(held),
            **of_table,
        }
    restriction, sizes = kernel.restriction_, sorted(kernel.geometry_.components.sizes.tolist(), reverse=True)
    return [
        f"{type(estimator).__name__}: {kernel.n_samples_fit_:,} rows, no labels",
        f"  graph: {len(sizes)} components, the largest with {sizes[0]:,} points",
        f"  landmarks: {len(kernel.landmark_indices_)}; the linear systems behind them are solved to "
        f"{restriction.error_bound:.1e} ({restriction.bound_kind})",
    ], {"component_sizes": sizes, "error_bound": float(restriction.error_bound), **of_table}
