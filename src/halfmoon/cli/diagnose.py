"""``halfmoon diagnose``: what a model rests on, saved or fitted to a data file, and whether unlabelled rows help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._data import recipe_of
from halfmoon.cli._models import fit_line, kernel_in, load_any, quality_facts, shown_facts, table_or_model, unwrapped
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

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
    *,
    target: o.Target = None,
    task: o.TaskOfLabels = None,
    unlabeled: o.Unlabeled = None,
    reading: o.Reading,
    fitting: o.Fitting,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the diagnosis of a model, of one fitted here or of a saved one."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            from halfmoon.tables import fit_table

            table = table_or_model(source, target, task, unlabeled, reading, fitting)
        recipe = recipe_of(fitting, None if task is None else task.value, unlabeled=unlabeled)
        with report.working("diagnosing" if table is None else "fitting"):
            model = load_any(source) if table is None else fit_table(table, recipe, report.note)
            lines, facts = _diagnosed(model)
        for line in lines:
            report.show(line)
        done = f"Read a {type(unwrapped(model)).__name__}" if table is None else fit_line(model.facts)
        report.finish(done, str(source) if table is None else None, timed=table is not None, **facts)


def _diagnosed(held: Any) -> tuple[list[str], dict[str, Any]]:
    """Return what there is to say about a model, in lines and as facts; nothing is fitted."""
    estimator, kernel = unwrapped(held), kernel_in(held)
    if kernel is None:
        raise ValueError(
            f"There is no fitted kernel of halfmoon in this {type(held).__name__}: there is nothing to diagnose."
        )
    of_table = {"task": held.task, **shown_facts(held)} if hasattr(held, "facts") else {}
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
        f"  graph: {counted(len(sizes), 'component')}, the largest with {counted(sizes[0], 'point')}",
        f"  landmarks: {len(kernel.landmark_indices_)}; the linear systems behind them are solved to "
        f"{restriction.error_bound:.1e} ({restriction.bound_kind})",
    ], {"component_sizes": sizes, "error_bound": float(restriction.error_bound), **of_table}
