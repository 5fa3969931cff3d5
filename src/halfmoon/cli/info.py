"""``halfmoon info``: what a model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmoon.cli import _options as o
from halfmoon.cli._models import kernel_in, load_any, quality_facts, quality_lines, shown_facts, unwrapped
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon.tables import TableModel

NAME = "info"
HELP = "Show what a model file holds, of fit or of halfmoon.save in Python."
EXAMPLES = o.examples("halfmoon info flowers.hm")
WORDS = {  # for what has no plain name
    "data": "fitted to",
    "labeled": "labelled rows",
    "components": "graph",
    "kernel": "chosen kernel",
    "parameters": "settings of your own",
}


def command(model: o.Model, quiet: o.Quiet = False, as_json: o.Json = False) -> None:
    """Print what a model was fitted to, and how."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            from halfmoon.tables import TableModel

            held = load_any(model)
            facts = _facts_of_table(held) if isinstance(held, TableModel) else _facts(held)
        lines = _in_words(facts)
        width = max(map(len, lines)) + 2
        for name, text in lines.items():
            report.show(f"{name:<{width}}{text}")
        for line in quality_lines(held):
            report.show(line)
        report.finish(f"Read a {facts['estimator']}", str(model), timed=False, **quality_facts(held), **facts)


def _facts_of_table(model: TableModel) -> dict[str, Any]:
    """Return everything worth knowing of a model of a data file."""
    facts: dict[str, Any] = {"task": model.task, "target": model.target, **shown_facts(model)}
    if model.classes is not None:
        facts["classes"] = model.classes.tolist()
    if model.columns is not None:
        facts["columns"] = model.columns
    if model.image_shape is not None:
        facts["image_shape"] = list(model.image_shape)
    return facts


def _facts(held: Any) -> dict[str, Any]:
    """Return everything worth knowing of an estimator or kernel."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    facts: dict[str, Any] = {"estimator": type(held).__name__}
    if hasattr(held, "steps"):
        facts["steps"] = [type(step).__name__ for _, step in held.steps]
    if hasattr(held, "best_params_"):
        facts |= {"tuned": held.best_params_, "held_out_score": float(held.best_score_)}
    try:
        check_is_fitted(held)
    except NotFittedError:
        return facts | {"fitted": False, "parameters": _given(held)}
    estimator, kernel = unwrapped(held), kernel_in(held)
    if kernel is not None:
        restriction = kernel.restriction_
        facts |= {
            "rows": int(kernel.n_samples_fit_),
            "features": int(kernel.n_features_in_),
            "landmarks": len(kernel.landmark_indices_),
            "components": int(restriction.n_components),
            "error_bound": float(restriction.error_bound),
            "bound_kind": restriction.bound_kind,
        }
    if hasattr(estimator, "choice_"):
        facts["kernel"] = str(estimator.choice_)
    if hasattr(estimator, "classes_"):
        facts["classes"] = estimator.classes_.tolist()
    return facts | {"parameters": _given(held)}


def _given(held: Any) -> dict[str, str]:
    """Return the parameters that differ from their defaults, as texts."""
    import inspect

    defaults = inspect.signature(type(held)).parameters
    given = held.get_params(deep=False).items()
    return {name: repr(value) for name, value in given if repr(value) != repr(defaults[name].default)}


def _in_words(facts: dict[str, Any]) -> dict[str, str]:
    """Return facts as people read them; those of the report, which follows, are left to it."""
    if "candidates" in facts:  # of a model of a table
        facts = {name: value for name, value in facts.items() if name not in ("tuned", "candidates", "held_out_score")}
    lines = {WORDS.get(name, name.replace("_", " ")): _text(value) for name, value in facts.items()}
    if "components" in facts:
        lines["graph"] = counted(facts["components"], "connected part")
    if "landmarks" in facts:
        lines["landmarks"] = f"{facts['landmarks']:,} rows that stand for all others"
    if "error_bound" in facts:
        del lines["bound kind"], lines["error bound"]
        lines["linear systems"] = (
            f"solved to {facts['error_bound']:.1e} ({facts['bound_kind']}); this says nothing about predictions"
        )
    return lines


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item}" for name, item in value.items()) or "all by default"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
