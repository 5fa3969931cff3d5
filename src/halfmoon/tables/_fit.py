"""Fit a model to a table: prepare its columns, build the estimator of the task, remember names and facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from halfmoon.cluster import KernelKMeans
from halfmoon.kernels import DataDependentKernel
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime.spool import is_on_disk
from halfmoon.semi_supervised import LapRLSRegressor, LapSVC
from halfmoon.tables._model import TableModel
from halfmoon.tables._prepare import check_scales, plan_preparation, scaling_notes, typed_features
from halfmoon.tables._prepare_on_disk import prepare_on_disk
from halfmoon.tables._table import Table
from halfmoon.tables._targets import (
    check_classes,
    check_marks,
    check_slips,
    class_codes,
    guess_task,
    labeled_rows,
    regression_values,
)

__all__ = ["PreparedTable", "Recipe", "fit_table", "prepare_table"]

Notify = Callable[[str], Any]
TASKS = {"classify": "classification", "regress": "regression"}
NEIGHBORS = (5, 10, 20)  # that tuning tries
SMALL_CLUSTER = 0.01  # of the rows; a smaller one gets a note
GRID: dict[str, list[Any]] = {
    "kernel__ridge": [1e-4, 1e-2],
    "kernel__power": [1, 2, 3],
    "kernel__eta": [0.1, 1.0, 10.0],
}


@dataclass(frozen=True)
class Recipe:
    """How to fit a table.

    Attributes
    ----------
    task : {"classify", "regress", "cluster"} or None
        None lets the target decide.
    n_clusters : int or None
        Clusters, for "cluster".
    n_landmarks, n_neighbors : int or None
        Of the kernel; None uses its defaults.
    tune : bool
        Choose neighbours, ridge, power and eta by cross-validation on the labels.
    standardize : bool or None
        Bring numbers to mean 0 and deviation 1; None: yes, but for images, whose pixels share one unit.
    unlabeled : str or None
        Mark of unlabelled rows besides the empty cell.
    seed : int
        Of landmarks, folds and centres.
    checkpoint : Path or None
        Folder for the finished pieces of the fit.
    max_memory : int or None
        Bytes that the fit may take beyond the rows.
    """

    task: str | None = None
    n_clusters: int | None = None
    n_landmarks: int | None = None
    n_neighbors: int | None = None
    tune: bool = False
    standardize: bool | None = None
    unlabeled: str | None = None
    seed: int = 0
    checkpoint: Path | None = None
    max_memory: int | None = None


def fit_table(table: Table, recipe: Recipe, notify: Notify = lambda note: None) -> TableModel:
    """Fit a model to a table.

    Parameters
    ----------
    table : Table
        The data, see `read_table`.
    recipe : Recipe
        What to fit.
    notify : callable, default=None
        Called with each message on what is done to the data.

    Returns
    -------
    TableModel
    """
    problem = _read_problem(table, recipe, notify)
    prepared = prepare_table(table, recipe.standardize, notify)
    estimator, tuning = _fit_estimator(prepared.features, problem, recipe)
    if problem.task == "cluster":
        _note_small_clusters(estimator.labels_, notify)
    return prepared.model(estimator, problem.task, problem.classes, problem.n_labeled, tuning)


@dataclass(frozen=True)
class PreparedTable:
    """A table as estimators take it, and the way there, which models keep.

    Attributes
    ----------
    table : Table
        The data.
    features : ndarray or csr_array
        What an estimator is fitted to.
    transformer : transformer
        From columns to features, fitted.
    columns : dict of str to str, or None
        Kind of every column of features; None if features have no names.
    """

    table: Table
    features: Any
    transformer: Any
    columns: dict[str, str] | None

    def model(
        self, estimator: Any, task: str, classes: Any, n_labeled: int, facts: dict[str, Any] | None = None
    ) -> TableModel:
        """Return an estimator that was fitted to the features as a model of the table; `facts` are further ones."""
        return TableModel(
            Pipeline([("prepare", self.transformer), ("model", estimator)]),
            task,
            _facts(estimator, self.table, n_labeled) | (facts or {}),
            target=self.table.target_name,
            columns=self.columns,
            classes=classes,
            image_shape=self.table.image_shape,
        )


def prepare_table(table: Table, standardize: bool | None = None, notify: Notify = lambda note: None) -> PreparedTable:
    """Turn the columns of a table into features.

    Parameters
    ----------
    table : Table
        The data, see `read_table`.
    standardize : bool, default=None
        Bring numbers to mean 0 and deviation 1; None: yes, but for images, whose pixels share one unit.
    notify : callable, default=None
        Called with each message on what is done to the data.

    Returns
    -------
    PreparedTable
    """
    standardize = table.image_shape is None if standardize is None else standardize
    if is_on_disk(table.X):
        for note in (*table.notes, *scaling_notes(standardize)):
            notify(note)
        return PreparedTable(table, *prepare_on_disk(table, standardize=standardize), None)
    plan = plan_preparation(table, standardize=standardize)
    for note in (*table.notes, *plan.notes):
        notify(note)
    typed = typed_features(table, plan.columns)
    if standardize:
        check_scales(table, typed)
    return PreparedTable(table, plan.transformer.fit_transform(typed), plan.transformer, plan.columns)


@dataclass(frozen=True)
class _Problem:
    """The task, and the target as the estimator expects it."""

    task: str
    y: Any = None
    classes: Any = None
    n_labeled: int = 0


def _read_problem(table: Table, recipe: Recipe, notify: Notify) -> _Problem:
    if recipe.task == "cluster":
        return _Problem("cluster")
    assert table.target is not None
    labeled = labeled_rows(table, recipe.unlabeled)
    n_labeled = int(labeled.sum())
    if recipe.task is None and table.image_shape is None and labeled.all():
        check_marks(table)
    task = _guess_task(table, labeled) if recipe.task is None else recipe.task
    classes, codes = (None, None) if task == "regress" else class_codes(table, labeled)
    if recipe.task is None and table.image_shape is None and (classes is None or classes.dtype.kind == "i"):
        notify(f"this is {TASKS[task]}, by the values of {table.target_name!r}; --task names another task")
    if recipe.task == "classify" and classes is not None:
        check_classes(table, classes, labeled)
    if classes is None:
        return _Problem(task, regression_values(table, labeled), None, n_labeled)
    if labeled.all() and "-1" in classes.astype(str):
        notify("-1 is read as a class, and every row is labelled; if it marks unlabelled rows, add --unlabeled -1")
    return _Problem(task, codes, classes, n_labeled)


def _guess_task(table: Table, labeled: NDArray[np.bool_]) -> str:
    """Return the task that the target suggests; folders of images are classes whatever they are called."""
    assert table.target is not None
    if table.image_shape is not None:
        return "classify"
    check_slips(table, labeled)
    return guess_task(table.target[labeled])


def _fit_estimator(X: Any, problem: _Problem, recipe: Recipe) -> tuple[Any, dict[str, Any]]:
    """Return the fitted estimator of the task, and what tuning found."""
    if problem.task == "cluster":
        assert recipe.n_clusters is not None
        how_large: dict[str, Any] = {"n_neighbors": recipe.n_neighbors, "n_landmarks": recipe.n_landmarks}
        return KernelKMeans(recipe.n_clusters, random_state=recipe.seed, **how_large).fit(X), {}
    kernel = DataDependentKernel(n_landmarks=recipe.n_landmarks, random_state=recipe.seed)
    if recipe.n_neighbors is not None:
        kernel.set_params(n_neighbors=recipe.n_neighbors)
    how: dict[str, Any] = {"kernel": kernel, "checkpoint": recipe.checkpoint, "max_memory": recipe.max_memory}
    estimator = LapRLSRegressor(**how) if problem.task == "regress" else LapSVC(probability=True, **how)
    if not recipe.tune:
        return estimator.fit(X, problem.y), {}
    tried = NEIGHBORS if recipe.n_neighbors is None else (recipe.n_neighbors,)
    fitting = [k for k in tried if k < X.shape[0]] or [X.shape[0] - 1]
    search = KernelSearchCV(estimator, GRID | {"kernel__n_neighbors": fitting}, random_state=recipe.seed)
    search.fit(X, problem.y)
    best = {name.removeprefix("kernel__"): value for name, value in search.best_params_.items()}
    return search.best_estimator_, {
        "tuned": best,
        "candidates": len(search.cv_results_["params"]),
        "held_out_score": float(search.best_score_),
    }


def _note_small_clusters(labels: NDArray[np.int32], notify: Notify) -> None:
    """Name the clusters that hold so few rows that they may be outliers."""
    sizes = np.bincount(labels)
    small = np.flatnonzero((sizes > 0) & (sizes < SMALL_CLUSTER * len(labels)))
    if len(small):
        held = ", ".join(f"{cluster} ({sizes[cluster]:,})" for cluster in small)
        notify(
            f"less than {SMALL_CLUSTER:.0%} of the rows are in cluster {held}: perhaps outliers. Try fewer clusters or "
            "another --seed"
        )


def _facts(estimator: Any, table: Table, n_labeled: int) -> dict[str, Any]:
    kernel = estimator.kernel_
    return {
        "data": table.path.name,
        "estimator": type(estimator).__name__,
        "rows": int(table.X.shape[0]),
        "labeled": n_labeled,
        "features": int(estimator.n_features_in_),
        "landmarks": len(kernel.landmark_indices_),
        "components": int(kernel.restriction_.n_components),
        "error_bound": float(kernel.restriction_.error_bound),
        "bound_kind": kernel.restriction_.bound_kind,
        **({} if table.names is None else {"columns": list(table.names)}),
        **({"images": list(table.rows)} if table.unit == "image" else {}),
        **({"kernel": str(estimator.choice_)} if hasattr(estimator, "choice_") else {}),
    }
