"""A model of a data file: the fitted pipeline together with the names of its columns and classes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from halfmoon.active_learning import suggest
from halfmoon.exceptions import UnseenCategoryWarning
from halfmoon.runtime.spool import gather_rows
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised import Explanation, LabelIssues
from halfmoon.tables._prepare import typed_features, unseen_categories
from halfmoon.tables._read import read_table
from halfmoon.tables._read_rows import read_rows
from halfmoon.tables._table import Table, known_columns
from halfmoon.tables._wanted import Wanted

__all__ = ["TableModel"]

SINGLE = 1e-6  # relative rounding of numbers that were kept in float32


@storable
class TableModel(BaseEstimator):
    """What `fit_table` returns and model files of the command line hold.

    Parameters
    ----------
    pipeline : Pipeline
        Preparation of the columns and estimator, fitted.
    task : {"classify", "regress", "cluster"}
        What it predicts.
    facts : dict
        Plain facts of the fit: rows, labelled rows, landmarks, error bound and so on.
    target : str or None
        Column of the target.
    columns : dict of str to str, or None
        Kind of every column of features: "number", "text" (categories), "words", "date " with its format, or
        "384 numbers" for vectors; None if features have no names.
    classes : ndarray or None
        Names of the classes, in the order of probabilities.
    image_shape : tuple of int or None
        Height, width and channels that images are brought to.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from halfmoon.tables import Recipe, fit_table, read_table
    >>> frame = load_iris(as_frame=True).frame
    >>> frame.loc[frame.index % 10 > 0, "target"] = None
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.csv"
    ...     frame.to_csv(path, index=False)
    ...     model = fit_table(read_table(path, target="target"), Recipe())
    >>> model.predict(frame)[:3].tolist()
    [0, 0, 0]
    """

    def __init__(
        self,
        pipeline: Pipeline,
        task: str,
        facts: dict[str, Any],
        *,
        target: str | None = None,
        columns: dict[str, str] | None = None,
        classes: NDArray[Any] | None = None,
        image_shape: tuple[int, int, int] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.task = task
        self.facts = facts
        self.target = target
        self.columns = columns
        self.classes = classes
        self.image_shape = image_shape

    @property
    def estimator(self) -> Any:
        """The last step: a semi-supervised estimator, or k-means."""
        return self.pipeline.steps[-1][1]

    def __repr__(self) -> str:
        """Say what it predicts from what; the facts fill a screen."""
        target = f", target={self.target!r}" if self.target is not None else ""
        columns = f", {len(self.columns)} columns" if self.columns is not None else ""
        return f"TableModel({self.task}{target}{columns}, {type(self.estimator).__name__})"

    def read(self, path: str | Path, target: str | None = None, separator: str | None = None) -> Table:
        """Read a data file for this model; rows of formats that it was fitted to on disk stay there."""
        names = self.facts.get("columns")
        if names is not None and (Path(path).is_dir() or Path(path).suffix.lower() == ".parquet"):
            Wanted(separator=separator).check_no_separator(Path(path))
            return read_rows(path, target=target, columns=names)
        return read_table(path, target=target, separator=separator, columns=self.columns, image_shape=self.image_shape)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, number or cluster of every row of a table, a data frame or an array."""
        predicted = self.pipeline.predict(self._features(X))
        return predicted if self.classes is None else self.classes[predicted]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, one column per class."""
        return self.pipeline.predict_proba(self._features(X))

    def predict_deviation(self, X: Any) -> NDArray[np.float64]:
        """Return the standard deviation of the predicted numbers."""
        return self.pipeline.predict(self._features(X), return_std=True)[1]

    def explain(self, X: Any, of: Any = None) -> Explanation:
        """Return why every row is predicted as it is, see `LapEstimator.explain`; classes go by their names."""
        if self.task == "cluster":
            raise ValueError("Clusters come from no labelled rows, so that there is nothing to explain them by.")
        prepared = self.pipeline[:-1].transform(self._features(X))
        if self.classes is None:
            return self.estimator.explain(prepared)
        number = None if of is None else self._class_number(of)
        return self.estimator.explain(prepared, number).named(self.classes)

    def label_issues(self) -> LabelIssues:
        """Return the labelled rows, those first whose labels look wrong, see `LapEstimator.label_issues`."""
        if self.task == "cluster":
            raise ValueError("A model of clusters has no labels to check. Fit a classifier or a regressor.")
        issues = self.estimator.label_issues()
        return issues if self.classes is None else issues.named(self.classes)

    def labeled_in_fit(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows equal one that had a label in the fit, but for rounding to float32."""
        prepared = self.pipeline[:-1].transform(self._features(X))
        training = self.estimator.learned_.problem.training
        known = gather_rows(training.X, np.unique(training.rows))
        nearest = NearestNeighbors(n_neighbors=1).fit(known).kneighbors(prepared, return_distance=False)[:, 0]
        apart = abs(prepared.astype(np.float64) - known[nearest].astype(np.float64)).max(axis=1)
        apart = apart.toarray()[:, 0] if sparse.issparse(apart) else apart
        return apart <= SINGLE * max(float(abs(known).max()), np.finfo(float).tiny)

    def suggest(self, X: Any, n: int = 10, strategy: str = "auto", random_state: Any = None) -> NDArray[np.intp]:
        """Return the rows to label next of the data that the model was fitted to, see `active_learning.suggest`."""
        if self.task == "cluster":
            raise ValueError("A model of clusters knows no labels to add to. Fit a classifier or a regressor.")
        prepared = self.pipeline[:-1].transform(self._features(X))
        training = self.estimator.learned_.problem.training
        if prepared.shape[0] != len(training.point) or not _equal(prepared, training.X[training.point]):
            raise ValueError(
                f"These are not the {len(training.point):,} rows that the model was fitted to, in their order: row "
                "numbers would mean other rows. Give the data of the fit, or fit a model to these."
            )
        return suggest(self.estimator, n, strategy, random_state)

    def _class_number(self, name: Any) -> int:
        assert self.classes is not None
        known = np.flatnonzero(self.classes.astype(str) == str(name))
        if not len(known):
            raise ValueError(
                f"{name!r} is not a class of this model. {known_columns(str(name), self.classes.astype(str).tolist())}"
            )
        return int(known[0])

    def _features(self, X: Any) -> Any:
        table = X if isinstance(X, Table) else Table(Path("data"), X)
        features = typed_features(table, self.columns, self.pipeline.n_features_in_)
        for note in unseen_categories(table, features, self.pipeline[0]):
            warnings.warn(note, UnseenCategoryWarning, stacklevel=3)
        return features

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _equal(A: Any, B: Any) -> bool:
    """Return whether two matrices, dense or sparse, hold the same numbers, but for rounding to float32."""
    A, B = (M.astype(np.float64) for M in (A, B))
    scale = max(float(abs(B).max()), np.finfo(float).tiny)
    return float(abs(A - B).max()) <= SINGLE * scale
