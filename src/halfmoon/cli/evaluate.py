"""``halfmoon evaluate``: how good a saved model is on labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from halfmoon.cli import _options as o
from halfmoon.cli._data import need_target, one_target
from halfmoon.cli._models import load_model, quality_facts, quality_lines
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmoon.tables import Table, TableModel

NAME = "evaluate"
HELP = "Compare the predictions of a saved model with the labels of a data file."
EXAMPLES = o.examples(
    "halfmoon evaluate flowers.hm test.csv --target species",
    "halfmoon evaluate flowers.hm test.csv --json",
)


def command(
    model: o.Model,
    data: o.Data,
    target: o.Target = None,
    unlabeled: o.Unlabeled = None,
    separator: o.Separator = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the scores of a model; without --target the column that it was fitted with is used."""
    with reporting(quiet, as_json) as report:
        with report.working("reading"):
            fitted = load_model(model)
            table = fitted.read(data, one_target(target) or fitted.target, separator)
            need_target(table)
        with report.working("predicting"):
            labeled, scores = _scores(fitted, table, unlabeled, report.note)
            _note_rows_of_fit(fitted, table, unlabeled, report.note)
        width = max(map(len, scores))
        for name, value in scores.items():
            report.show(f"{name:<{width}}  {value:.4f}")
        lines = quality_lines(fitted)
        if lines:
            report.show("\nWhen the model was fitted:")
        for line in lines:
            report.show(line)
        report.finish(
            f"Evaluated {fitted.facts['estimator']} on {counted(labeled, 'labelled row')} of {table.X.shape[0]:,}",
            rows=int(table.X.shape[0]),
            labeled=labeled,
            error_bound=fitted.facts["error_bound"],
            scores=scores,
            **quality_facts(fitted),
        )


def _scores(
    model: TableModel, table: Table, unlabeled: str | None, note: Callable[[str], None]
) -> tuple[int, dict[str, Any]]:
    """Return the number of labelled rows and the scores on them."""
    from sklearn import metrics

    from halfmoon.tables import class_names, class_texts, labeled_rows, regression_values

    labeled = labeled_rows(table, unlabeled)
    predicted = model.predict(table)[labeled]
    if model.task == "regress":
        truth = regression_values(table, labeled)[labeled]
        scores = {
            "R^2": metrics.r2_score(truth, predicted) if len(truth) > 1 else float("nan"),
            "mean absolute error": metrics.mean_absolute_error(truth, predicted),
            "root mean square error": metrics.root_mean_squared_error(truth, predicted),
        }
    elif model.task == "cluster":
        assert table.target is not None
        truth = class_names(table.target[labeled])
        scores = {
            "adjusted Rand index": metrics.adjusted_rand_score(truth, predicted),
            "mutual information": metrics.normalized_mutual_info_score(truth, predicted),
        }
    else:
        assert table.target is not None
        assert model.classes is not None
        labels, guesses = class_texts(table.target[labeled], model.classes), predicted.astype(str)
        _note_strangers(model, labels, note)
        recalls = {name: float((guesses[labels == name] == name).mean()) for name in sorted(set(labels))}
        scores = {
            "accuracy": metrics.accuracy_score(labels, guesses),
            "balanced accuracy": sum(recalls.values()) / len(recalls),
        } | {f"recall of {name}": recall for name, recall in recalls.items()}
    return int(labeled.sum()), {name: float(value) for name, value in scores.items()}


def _note_rows_of_fit(model: TableModel, table: Table, unlabeled: str | None, note: Callable[[str], None]) -> None:
    """Warn of rows that had a label in the fit: that the model is right on them says nothing of new rows."""
    from dataclasses import replace

    import numpy as np

    from halfmoon._validation import take_rows
    from halfmoon.runtime.spool import is_on_disk
    from halfmoon.tables import labeled_rows

    if model.task == "cluster" or is_on_disk(table.X):
        return
    rows = np.flatnonzero(labeled_rows(table, unlabeled))
    names = [table.rows[int(i)] for i in rows] if len(table.rows) else ()
    seen = int(model.labeled_in_fit(replace(table, X=take_rows(table.X, rows), target=None, rows=names)).sum())
    if seen:
        note(
            f"{seen:,} of the {counted(len(rows), 'labelled row')} had a label in the fit: the scores here are too "
            "good for new rows, those of held-out labels below are not"
        )


def _note_strangers(model: TableModel, truth: NDArray[Any], note: Callable[[str], None]) -> None:
    """Warn of labels that the model has never seen: it cannot be right on their rows."""
    import numpy as np

    from halfmoon.tables import known_columns

    assert model.classes is not None
    known = [str(name) for name in model.classes]
    strange = truth[~np.isin(truth, known)]
    if len(strange):
        of = counted(len(truth), "labelled row")
        note(
            f"{len(strange):,} of {of} count as errors: the model has never seen their labels "
            f"({len(set(strange))} different, such as {str(strange[0])!r}). {known_columns(str(strange[0]), known)}"
        )
