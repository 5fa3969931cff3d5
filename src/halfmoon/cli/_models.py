"""Read model files, and say what a fit was, for several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmoon.exceptions import DataFileError

if TYPE_CHECKING:
    from halfmoon.tables import Table, TableModel

__all__ = ["fit_line", "load_model", "need_target"]


def load_model(path: Path) -> TableModel:
    """Load a model that `fit` has written."""
    from halfmoon import load
    from halfmoon.tables import TableModel

    if not path.is_file():
        raise DataFileError(f"{path}: no such model file.")
    model = load(path)
    if not isinstance(model, TableModel):
        raise DataFileError(f"{path}: holds a {type(model).__name__}, not a model of 'halfmoon fit'.")
    return model


def need_target(table: Table) -> None:
    """Say which columns there are if none was named as the target."""
    from halfmoon.tables import known_columns

    if table.target is None:
        names = known_columns("", list(getattr(table.X, "columns", ["y"])))
        raise table.error(f"which column is the target? Name it with --target. {names}")


def fit_line(facts: dict[str, Any]) -> str:
    """Return what was fitted, in one phrase."""
    labeled = f", {facts['labeled']:,} labelled" if facts["labeled"] else ""
    return f"Fitted {facts['estimator']} to {facts['rows']:,} rows{labeled} ({facts['landmarks']} landmarks)"


def quality_lines(model: TableModel) -> list[str]:
    """Return how good a model is, and what tuning chose; nothing for clusters, which have no labels."""
    if model.task == "cluster":
        return []
    lines = [str(model.estimator.report_)]
    if "tuned" in model.facts:
        chosen = ", ".join(f"{name} {value:g}" for name, value in model.facts["tuned"].items())
        lines.append(
            f"  tuned: {chosen}, the best of {model.facts['candidates']} by cross-validation (score "
            f"{model.facts['held_out_score']:.3f}); what is held out above has seen this choice"
        )
    return lines


def quality_facts(model: TableModel) -> dict[str, Any]:
    """Return the report of a model for JSON."""
    return {} if model.task == "cluster" else {"report": model.estimator.report_.to_dict()}
