"""Read model files, and say what a fit was, for several commands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmoon.cli._data import need_target, read_data
from halfmoon.cli._options import Fitting, Reading, Task
from halfmoon.exceptions import DataFileError
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon import DataDependentKernel
    from halfmoon.tables import Table, TableModel

__all__ = [
    "fit_line",
    "is_data",
    "kernel_in",
    "load_any",
    "load_model",
    "quality_facts",
    "quality_lines",
    "shown_facts",
    "table_or_model",
    "unwrapped",
]


def is_data(path: Path) -> bool:
    """Return whether a path is a data file or folder, by its suffix, and not a model file."""
    from halfmoon.tables import IN_SUFFIXES

    return path.is_dir() or not path.is_file() or path.suffix.lower() in IN_SUFFIXES


def load_any(path: Path) -> Any:
    """Load whatever `halfmoon.save` has written."""
    from halfmoon import load
    from halfmoon.persistence import is_model_file
    from halfmoon.tables import IN_SUFFIXES

    if not path.is_file():
        raise DataFileError(f"{path}: no such model file.")
    if path.suffix.lower() in IN_SUFFIXES and not is_model_file(path):
        raise DataFileError(
            f"{path}: this is no model file but data. The model comes first, a file that 'halfmoon fit' has written, "
            "and the data after it."
        )
    return load(path)


def load_model(path: Path) -> TableModel:
    """Load a model that `fit` has written."""
    from halfmoon.tables import TableModel

    model = load_any(path)
    if not isinstance(model, TableModel):
        raise DataFileError(
            f"{path}: holds a {type(model).__name__}, not a model of 'halfmoon fit': it does not know the columns of "
            "data files. Use it in Python, halfmoon.load(...); 'halfmoon info' and 'halfmoon diagnose' read it."
        )
    return model


def shown_facts(model: TableModel) -> dict[str, Any]:
    """Return the facts of a fit but for the names of all its images."""
    return {name: value for name, value in model.facts.items() if name != "images"}


def fit_line(facts: dict[str, Any]) -> str:
    """Return what was fitted, in one phrase."""
    labeled = f", {facts['labeled']:,} labelled" if facts["labeled"] else ""
    rows, landmarks = counted(facts["rows"], "row"), counted(facts["landmarks"], "landmark")
    return f"Fitted {facts['estimator']} to {rows}{labeled} ({landmarks})"


def unwrapped(model: Any) -> Any:
    """Return the estimator within a model of a table, a search or a pipeline, or the model itself."""
    from sklearn.pipeline import Pipeline

    from halfmoon.tables import TableModel

    while True:
        if isinstance(model, TableModel):
            model = model.pipeline
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            model = model.steps[-1][1]
        else:
            return model


def kernel_in(model: Any) -> DataDependentKernel | None:
    """Return the fitted kernel that a model is or holds."""
    from halfmoon import DataDependentKernel

    estimator = unwrapped(model)
    candidates = (estimator, getattr(estimator, "kernel_", None), getattr(estimator, "kernel", None))
    kernels = (one for one in candidates if isinstance(one, DataDependentKernel))
    return next((kernel for kernel in kernels if hasattr(kernel, "warped_")), None)


def table_or_model(
    source: Path, target: list[str] | None, task: Task | None, unlabeled: str | None, reading: Reading, fitting: Fitting
) -> Table | None:
    """Return the labelled table to fit a model to; None for the file of a model, beside which such options are refused.

    The seed is no such option: it has a value where none is given.
    """
    if task == Task.cluster:
        raise ValueError("Clusters have no labels to look at: --task is classify or regress.")
    if is_data(source):
        table = read_data(source, target, reading)
        need_target(table)
        return table
    given = (
        {"target": target, "task": task, "unlabeled": unlabeled} | asdict(reading) | asdict(fitting) | {"seed": None}
    )
    named = next((name for name, value in given.items() if value is not None), None)
    if named is not None:
        raise ValueError(
            f"{source}: this is a model, which is not fitted again. Leave --{named.replace('_', '-')} out, or name "
            "data."
        )
    return None


def quality_lines(model: Any) -> list[str]:
    """Return how good a model is, and what tuning chose; nothing for what has no labels."""
    report = _report_of(model)
    if report is None:
        return []
    lines, facts = [str(report)], getattr(model, "facts", {})
    if "tuned" in facts:
        chosen = ", ".join(f"{name} {value:g}" for name, value in facts["tuned"].items())
        lines.append(
            f"  tuned: {chosen}, the best of {facts['candidates']} by cross-validation (score "
            f"{facts['held_out_score']:.3f}); what is held out above has seen this choice"
        )
    return lines


def quality_facts(model: Any) -> dict[str, Any]:
    """Return the report of a model for JSON."""
    report = _report_of(model)
    return {} if report is None else {"report": report.to_dict()}


def _report_of(model: Any) -> Any:
    """Return the report of a fitted semi-supervised estimator; None of anything else."""
    estimator = unwrapped(model)
    return estimator.report_ if hasattr(estimator, "learned_") else None
