"""``halfmoon info``: what a model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmoon.cli import _options as o
from halfmoon.cli._models import load_model, quality_facts, quality_lines
from halfmoon.cli._report import reporting

if TYPE_CHECKING:
    from halfmoon.tables import TableModel

NAME = "info"
HELP = "Show what a model file holds."
EXAMPLES = o.examples("halfmoon info flowers.hm")


def command(model: o.Model, quiet: o.Quiet = False, as_json: o.Json = False) -> None:
    """Print what a model was fitted to, and how."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            fitted = load_model(model)
        facts = _facts(fitted)
        for name, value in facts.items():
            report.show(f"{name.replace('_', ' '):<14} {_text(value)}")
        for line in quality_lines(fitted):
            report.show(line)
        report.finish(f"Read a {facts['estimator']}", str(model), **quality_facts(fitted), **facts)


def _facts(model: TableModel) -> dict[str, Any]:
    """Return everything worth knowing of a model."""
    facts: dict[str, Any] = {"task": model.task, "target": model.target, **model.facts}
    if model.classes is not None:
        facts["classes"] = model.classes.tolist()
    if model.columns is not None:
        facts["columns"] = model.columns
    if model.image_shape is not None:
        facts["image_shape"] = list(model.image_shape)
    return facts


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
