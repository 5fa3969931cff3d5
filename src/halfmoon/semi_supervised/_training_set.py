"""Which rows are labelled, with what, and how much they weigh: the examples that a model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from halfmoon._validation import UNLABELED, check_sample_weight, labeled_mask
from halfmoon.exceptions import LabelWarning
from halfmoon.graph import find_duplicates
from halfmoon.runtime.spool import gather_rows
from halfmoon.runtime.storable import storable

__all__ = ["TrainingSet", "check_allowed", "class_labels", "label_kind", "label_list", "regression_targets"]

OF_EXAMPLES = ("rows", "targets", "weights", "origins")
KINDS: dict[str, Any] = {"texts": str, "bytes": bytes, "truth values": (bool, np.bool_), "numbers": Number}
MISSING_AS_TEXTS = ("", "-1", "None", "nan", "<NA>")  # what numpy, pandas and str() make of them
MANY = 20  # classes of whole numbers; as many different targets are common
LARGEST_WEIGHT = 1e300  # of an example: thousands of them, divided by a ridge, must not overflow
LARGEST_TARGET = 1e200  # coefficients are targets over a ridge, and must not overflow either


@storable
@dataclass(frozen=True)
class TrainingSet:
    """Distinct training points and the labelled examples among them.

    A row of weight 0 is not there, and copies of a row are one point: a weight of 2 and two equal rows are the same.

    Attributes
    ----------
    X : ndarray or csr_array
        The distinct points.
    left_out : ndarray or csr_array
        The rows of weight 0.
    point : ndarray of shape (n,)
        Point of each row of the data; -1 for rows of weight 0.
    rows : ndarray of shape (l,)
        Point of each example.
    targets : ndarray of shape (l,)
        Its class number or target value.
    weights : ndarray of shape (l,)
        Its weight.
    origins : ndarray of shape (l,)
        The first row of the data with its point and its label.
    """

    X: Any
    left_out: Any
    point: NDArray[np.intp]
    rows: NDArray[np.intp]
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    origins: NDArray[np.intp]

    @property
    def n_examples(self) -> int:
        """Number of labelled examples."""
        return len(self.rows)

    @property
    def n_unlabeled(self) -> int:
        """Number of points without a label."""
        return int(self.X.shape[0] - len(np.unique(self.rows)))

    @property
    def X_L(self) -> Any:
        """The labelled rows, in float64."""
        return self.X[self.rows].astype(np.float64)

    @property
    def is_plain(self) -> bool:
        """Whether every row of the data is a point of its own."""
        return len(self.point) == self.X.shape[0] and not self.left_out.shape[0]

    @property
    def copies(self) -> NDArray[np.intp]:
        """How many rows of the data each point is."""
        return np.bincount(self.point[self.point >= 0], minlength=self.X.shape[0])

    def rows_of(self, points: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first row of the data that is each of these points."""
        present = np.flatnonzero(self.point >= 0)
        first = np.empty(self.X.shape[0], dtype=np.intp)
        first[self.point[present[::-1]]] = present[::-1]  # of several rows, the one that is written last stays
        return first[points]

    @classmethod
    def gather(
        cls, X: Any, labeled: NDArray[np.bool_], targets: NDArray[Any], sample_weight: Any, *, merge: bool
    ) -> TrainingSet:
        """Merge copies (unless a ready-made graph numbers the rows) and equal examples; `targets` has all rows."""
        n = X.shape[0]
        weights = check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        present = np.flatnonzero(weights > 0.0) if merge else np.arange(n)
        labeled = labeled & (weights > 0.0)
        if not labeled.any():
            what, mark = ("target", "NaN") if targets.dtype.kind == "f" else ("label", "-1, None or NaN")
            raise ValueError(
                f"None of the {n} rows is labelled: no row of positive weight has a {what}. Mark unlabelled rows with "
                f"{mark} and give the others their {what}."
            )
        points, point = _distinct(X, present, merge)
        return cls(points, X[point < 0], point, **_merged(labeled, point, targets, weights))

    @classmethod
    def unlabeled(cls, X: Any, *, merge: bool) -> TrainingSet:
        """Return the distinct points of X without any example, to be `relabeled` later."""
        points, point = _distinct(X, np.arange(X.shape[0]), merge)
        nothing = np.empty(0, dtype=np.intp)
        return cls(points, X[:0], point, nothing, nothing, np.empty(0), nothing)

    def relabeled(self, labeled: NDArray[np.bool_], targets: NDArray[Any], sample_weight: Any) -> TrainingSet:
        """Return other labels of the same rows."""
        weights = check_sample_weight(
            sample_weight, np.empty((len(self.point), 1)), dtype=np.float64, ensure_non_negative=True
        )
        labeled = labeled & (weights > 0.0) & (self.point >= 0)
        if not labeled.any():
            raise ValueError(f"None of the {len(self.point)} rows is labelled.")
        return replace(self, **_merged(labeled, self.point, targets, weights))

    def subset(self, which: NDArray[np.intp]) -> TrainingSet:
        """Return some of the examples."""
        return replace(self, **{name: getattr(self, name)[which] for name in OF_EXAMPLES})

    def extended(self, rows: NDArray[np.intp], targets: NDArray[Any], weights: NDArray[np.float64]) -> TrainingSet:
        """Return the examples with further ones after them."""
        return replace(
            self,
            rows=np.concatenate([self.rows, rows]),
            targets=np.concatenate([self.targets, targets]),
            weights=np.concatenate([self.weights, weights]),
            origins=np.concatenate([self.origins, self.rows_of(rows)]),
        )

    def scaled(self, factors: NDArray[np.float64]) -> TrainingSet:
        """Return the examples with their weights multiplied."""
        with np.errstate(over="ignore"):
            return replace(self, weights=_checked_weights(self.weights * factors))


def _distinct(X: Any, present: NDArray[np.intp], merge: bool) -> tuple[Any, NDArray[np.intp]]:
    """Return the distinct points among the rows that are present, and the point of every row, -1 for the others."""
    n = X.shape[0]
    points = X if len(present) == n else gather_rows(X, present)
    point = np.full(n, -1, dtype=np.intp)
    if merge:
        copies = find_duplicates(points)
        point[present] = copies.group
        points = points if len(copies.first) == points.shape[0] else gather_rows(points, copies.first)
    else:
        point[present] = np.arange(n)
    return points, point


def _merged(
    labeled: NDArray[np.bool_], point: NDArray[np.intp], targets: NDArray[Any], weights: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    """Return the labelled rows as examples, equal ones merged into one."""
    origins = np.flatnonzero(labeled)
    origins = origins[np.lexsort((targets[origins], point[origins]))]  # stable: the first of equal ones stays first
    rows, targets = point[origins], targets[origins]
    starts = np.concatenate(([True], (rows[1:] != rows[:-1]) | (targets[1:] != targets[:-1])))
    masses = np.bincount(np.cumsum(starts) - 1, weights=weights[origins]).astype(np.float64)
    return {
        "rows": rows[starts],
        "targets": targets[starts],
        "weights": _checked_weights(masses),
        "origins": origins[starts],
    }


def _checked_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights whose sums, divided by a ridge, can be computed with."""
    largest = float(weights.max())
    if not 1.0 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"The largest weight of a labelled row, sample weight times class weight, is {largest:.3g}. It must be "
            f"between {1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}. Multiply all weights by one number that brings "
            "them near 1."
        )
    return weights


def class_labels(y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[np.intp]]:
    """Return which rows are labelled, the classes, and the class number of every row (-1 where unlabelled)."""
    y = _checked(y)
    labeled = labeled_mask(y, n)
    values = np.asarray(y)[labeled]
    if values.dtype.kind == "O":
        values = _plain(values)
    if not labeled.any():
        raise ValueError(f"None of the {n} rows is labelled: y holds only -1, NaN or None. Label at least two classes.")
    _check_classes(values)
    classes, codes = np.unique(values, return_inverse=True)
    _warn_of_missing(classes)
    _warn_of_many(classes, len(values))
    if len(classes) < 2:
        signs = " -1 means unlabelled here: encode classes -1 and 1 as 0 and 1." if not labeled.all() else ""
        raise ValueError(
            f"A classifier needs labelled rows of at least 2 classes. Got 1 class, {classes.tolist()[0]!r}, on "
            f"{int(labeled.sum())} labelled rows.{signs}"
        )
    numbers = np.full(n, -1, dtype=np.intp)
    numbers[labeled] = codes
    return labeled, classes, numbers


def _check_classes(values: NDArray[Any]) -> None:
    """Refuse labels that are measurements, and of types that no class has."""
    if values.dtype.kind == "f" and (odd := values[(values != np.floor(values)) | np.isinf(values)]).size:
        raise ValueError(
            f"Unknown label type: y holds numbers that are not whole, such as {odd[0]:g}. To predict numbers use "
            "LapRLSRegressor, where NaN marks rows without a target. Classes are whole numbers or texts."
        )
    check_classification_targets(values[:1])  # the type alone: it warns of many classes in words of its own


def _warn_of_many(classes: NDArray[Any], n_labeled: int) -> None:
    """Warn of whole numbers that look like measurements."""
    count = len(classes)
    if classes.dtype.kind in "iuf" and count > MANY and 2 * count > n_labeled:
        warn(
            f"y holds {count} classes in {n_labeled} labelled rows. If they are numbers to be predicted, use "
            "LapRLSRegressor, where NaN marks rows without a target.",
            LabelWarning,
            stacklevel=3,
        )


def _warn_of_missing(classes: NDArray[Any]) -> None:
    """Warn of classes that are texts of what stands for a missing label elsewhere."""
    if classes.dtype.kind not in "US":
        return
    found = [repr(name) for name in classes.astype(str).tolist() if name in MISSING_AS_TEXTS]
    if found:
        what = f"The text {found[0]} in y is a class of its own. If it marks"
        if len(found) > 1:
            what = f"The texts {', '.join(found)} in y are classes of their own. If they mark"
        warn(
            f"{what} unlabelled rows, mark them with None, in an array of dtype object: numpy turns numbers among "
            "texts into texts.",
            LabelWarning,
            stacklevel=3,
        )


def regression_targets(y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows have a target, and the targets (NaN where there is none)."""
    if hasattr(y, "to_numpy") and hasattr(getattr(y, "dtype", None), "na_value"):
        y = y.to_numpy(dtype=np.float64, na_value=np.nan)
    given = _checked(y)
    try:
        targets = np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"Targets must be numbers: {error}. Classes go into LapSVC or LapRLSClassifier.") from error
    if targets.shape != (n,):
        raise ValueError(f"y must hold one target per row of X: expected shape ({n},), got {targets.shape}.")
    if np.isinf(targets).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    largest = float(np.nanmax(np.abs(targets), initial=0.0))
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"Targets reach {largest:.3g} in size; beyond {LARGEST_TARGET:g} predictions overflow. Use a larger unit."
        )
    labeled = ~np.isnan(targets)
    marks = int((targets == UNLABELED).sum())
    signs = np.isin(targets[labeled], (-1.0, 1.0)).all()  # classes, as which -1 is common
    if 2 * marks > n and not signs:
        warn(
            f"y holds {UNLABELED} in {marks:,} of {n:,} rows, which is a number here. Mark rows without a target with "
            "NaN.",
            LabelWarning,
            stacklevel=2,
        )
    return labeled, targets


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Return objects as the type that holds them all; classes are single values of one kind, not sequences."""
    sequence = next((label for label in labels.tolist() if not np.isscalar(label)), None)
    if sequence is not None:
        raise ValueError(f"A class is a number or a text. Got {sequence!r} in y. Join its parts into a text.")
    first: dict[str, Any] = {}
    for label in labels.tolist():
        first.setdefault(label_kind(label), label)
    if len(first) > 1:  # numpy would turn 1 among texts into "1", and True among numbers into 1
        (one, a), (other, b) = list(first.items())[:2]
        raise ValueError(
            f"y holds {one} and {other}, {a!r} and {b!r}. Give all classes as one kind, as text with str() say."
        )
    return np.array(labels.tolist())


def label_kind(label: Any) -> str:
    """Return what a label is, in a word of the plural.

    Examples
    --------
    >>> from halfmoon.semi_supervised._training_set import label_kind
    >>> label_kind("a"), label_kind(True), label_kind(1.0)
    ('texts', 'truth values', 'numbers')
    """
    for kind, types in KINDS.items():
        if isinstance(label, types):
            return kind
    return f"objects of type {type(label).__name__}"


def label_list(y: Any, n: int) -> list[Any]:
    """Return the labels of n rows, as Python has them."""
    labels = _checked(y).tolist()
    if len(labels) != n:
        raise ValueError(
            f"y must hold one label per row of X: expected {n}, got {len(labels)}. Mark unlabelled rows with -1 "
            "(classes) or NaN (targets)."
        )
    return labels


def check_allowed(y: Any, classes: Any) -> None:
    """Refuse labels that are not among the classes that were announced."""
    allowed = np.asarray(classes).tolist()
    y = _checked(y)
    for label, is_labeled in zip(y.tolist(), labeled_mask(y, len(y)), strict=True):
        if is_labeled and label not in allowed:
            raise ValueError(
                f"y holds {label!r}, which is not among classes={allowed}. Add it there, or leave `classes` out."
            )


def _checked(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Give one label per row, and -1 or None "
            "to unlabelled rows (for targets NaN). Without any label, prepare(X) builds the graph."
        )
    if isinstance(y, list):
        return np.array(y, dtype=object)  # numpy would turn -1 among texts into "-1"
    if hasattr(y, "to_numpy") and hasattr(getattr(y, "dtype", None), "na_value"):
        return y.to_numpy(dtype=object)  # of pandas, Int64 say: as floats they would come back as floats
    return column_or_1d(y, warn=True)
