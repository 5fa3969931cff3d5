"""What `explain` returns: shares of the labelled rows in decision values, to print, to draw or to compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Explanation", "PointExplanation"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
SHOWN = 5  # labelled rows that a text names for each point
POINTS_SHOWN = 10  # points that a text explains
STEPS_SHOWN = 12  # rows of a path that a text names


@dataclass(frozen=True, eq=False, repr=False)
class PointExplanation:
    """Why one point is predicted as it is; print it, or draw it with `halfmoon.plotting.ExplanationDisplay`.

    Attributes
    ----------
    number : int
        Row of the point in what was explained.
    prediction : object
        The class or number that is predicted.
    of : object
        The class whose decision value is explained; None for a regressor.
    rows : ndarray of shape (l,)
        The labelled rows, as rows of the X given to `fit`, largest share in size first.
    labels : ndarray of shape (l,)
        Their labels or targets.
    assumed : ndarray of bool of shape (l,)
        Whether a row is a landmark whose class was assumed, from `priors`.
    shares : ndarray of shape (l,)
        Their shares in the decision value; negative ones speak against the class.
    intercept : float
        What the model adds whatever the point is, with the shift by class priors.
    total : float
        The decision value of the class, ``shares.sum() + intercept``.
    path : ndarray or None
        Rows along the shortest path in the graph (lengths 1 / w), from the labelled row with the largest share (of a
        regressor, the largest in size) to the point, or to the training row nearest to it; None where there is none.
    length : float
        Its length; infinite where there is none.
    rests_on_graph : bool
        Whether the graph has a weight in the model; if not, there is no path.
    names : tuple of str
        What the rows given to `fit` are called, files of images, say; empty: their numbers.
    name : str or None
        What the point is called.
    first : int
        Number of the first row.
    """

    number: int
    prediction: Any
    of: Any
    rows: Indices
    labels: NDArray[Any]
    assumed: NDArray[np.bool_]
    shares: Vector
    intercept: float
    total: float
    path: Indices | None
    length: float
    rests_on_graph: bool
    names: tuple[str, ...] = ()
    name: str | None = None
    first: int = 0

    @property
    def title(self) -> str:
        """What is explained, in one phrase."""
        other = "" if self.of is None or self.of == self.prediction else f", decision value of {self.of}"
        what = "" if other or self.of is None else ", decision value"
        predicted = f"{self.prediction:.4g}" if self.of is None else f"{self.prediction}"
        point = f"row {self.number}" if self.name is None else self.name
        return f"{point}: {predicted}{other or what}{'' if self.of is None else f' {self.total:+.4g}'}"

    def _called(self, row: int) -> str:
        """Return the name of a training row, or its number."""
        return self.names[row - self.first] if self.names else str(row)

    def summands(self, shown: int = SHOWN) -> list[tuple[str, str, float]]:
        """Return names, labels and sizes of the summands of the decision value; small ones are summed up."""
        head = [
            (
                f"{'' if self.names else 'row '}{self._called(self.rows[i])}{' (assumed)' if self.assumed[i] else ''}",
                f"{self.labels[i]:.4g}" if self.of is None else str(self.labels[i]),
                float(self.shares[i]),
            )
            for i in range(min(shown, len(self.rows)))
        ]
        rest = self.shares[shown:]
        more = [(f"{len(rest)} other rows", "", float(rest.sum()))] if len(rest) else []
        return [*head, *more, ("intercept", "", self.intercept)]

    @property
    def path_text(self) -> str:
        """The path in one line."""
        if not self.rests_on_graph:
            return "no path: the graph has no weight in this model"
        if self.path is None:
            return "no path in the graph"
        rows = [self._called(row) for row in self.path]
        if len(rows) > STEPS_SHOWN:
            half = STEPS_SHOWN // 2
            rows = [*rows[:half], f"({len(rows) - 2 * half} more)", *rows[-half:]]
        return f"path {' - '.join(rows)}, length {self.length:.4g}"

    def __str__(self) -> str:
        summands = self.summands()
        width = max(len(name) for name, _, _ in summands)
        labels = max(len(label) for _, label, _ in summands)
        lines = [f"  {name:<{width}}  {label:<{labels}}  {share:+.4f}" for name, label, share in summands]
        return "\n".join([self.title, *lines, f"  {self.path_text}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(label)}</td><td style='text-align:right'>{share:+.4f}</td></tr>"
            for name, label, share in self.summands()
        )
        head = "<tr><th>from</th><th>label</th><th>share</th></tr>"
        caption = f"<caption>{escape(self.title)}; {escape(self.path_text)}</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{cells}</tbody></table>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, for JSON."""
        return {
            "row": self.number,
            "prediction": _plain(self.prediction),
            "of": _plain(self.of),
            "shares": [
                {"row": int(row), "label": _plain(label), "assumed": bool(assumed), "share": float(share)}
                for row, label, assumed, share in zip(self.rows, self.labels, self.assumed, self.shares, strict=True)
            ],
            "intercept": self.intercept,
            "total": self.total,
            "path": None if self.path is None else self.path.tolist(),
            "path_length": None if self.path is None else self.length,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why points are predicted as they are; ``explanation[i]`` is the `PointExplanation` of point i.

    Attributes
    ----------
    predictions : ndarray of shape (m,)
        Predicted classes or numbers.
    of : ndarray of shape (m,) or None
        The classes whose decision values are explained; None for a regressor.
    rows : ndarray of shape (l,)
        The labelled rows, as rows of the X given to `fit`; of equal rows with equal labels, the first.
    labels : ndarray of shape (l,)
        Their labels or targets.
    assumed : ndarray of bool of shape (l,)
        Whether a row is a landmark whose class was assumed, from `priors`.
    shares : ndarray of shape (m, l)
        Share of each labelled row in each decision value.
    intercept : ndarray of shape (m,)
        What the model adds whatever the point is, with the shift by class priors.
    total : ndarray of shape (m,)
        The decision values, ``shares.sum(axis=1) + intercept``; minus `decision_function` for the first of two classes.
    paths : tuple of ndarray or None
        Shortest paths in the graph, see `PointExplanation`.
    lengths : ndarray of shape (m,)
        Their lengths.
    numbers : ndarray of shape (m,)
        Row of each point in what was explained.
    rests_on_graph : bool
        Whether the graph has a weight in the model; if not, there are no paths.
    names, point_names : tuple of str
        What the rows given to `fit`, and the points, are called; empty: their numbers.
    first : int
        Number of the first row.
    """

    predictions: NDArray[Any]
    of: NDArray[Any] | None
    rows: Indices
    labels: NDArray[Any]
    assumed: NDArray[np.bool_]
    shares: Matrix
    intercept: Vector
    total: Vector
    paths: tuple[Indices | None, ...]
    lengths: Vector
    numbers: Indices
    rests_on_graph: bool
    names: tuple[str, ...] = ()
    point_names: tuple[str, ...] = ()
    first: int = 0

    def __len__(self) -> int:
        return len(self.total)

    def __getitem__(self, i: int) -> PointExplanation:
        i = range(len(self))[i]
        order = np.argsort(-np.abs(self.shares[i]), kind="stable")
        return PointExplanation(
            number=int(self.numbers[i]),
            prediction=self.predictions[i],
            of=None if self.of is None else self.of[i],
            rows=self.rows[order],
            labels=self.labels[order],
            assumed=self.assumed[order],
            shares=self.shares[i, order],
            intercept=float(self.intercept[i]),
            total=float(self.total[i]),
            path=self.paths[i],
            length=float(self.lengths[i]),
            rests_on_graph=self.rests_on_graph,
            names=self.names,
            name=self.point_names[i] if self.point_names else None,
            first=self.first,
        )

    def __iter__(self) -> Iterator[PointExplanation]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        texts = [str(self[i]) for i in range(min(len(self), POINTS_SHOWN))]
        return "\n".join([*texts, *self._left_out])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [self[i]._repr_html_() for i in range(min(len(self), POINTS_SHOWN))]
        return "".join([*tables, *(f"<p>{text}</p>" for text in self._left_out)])

    @property
    def _left_out(self) -> list[str]:
        more = len(self) - POINTS_SHOWN
        return [f"... and {more} more points"] if more > 0 else []

    def named(self, classes: NDArray[Any]) -> Explanation:
        """Return the same with other names of the classes, which are class numbers so far."""
        assert self.of is not None
        return replace(self, predictions=classes[self.predictions], of=classes[self.of], labels=classes[self.labels])

    def counted_from(self, first: int) -> Explanation:
        """Return the same with all rows counted from another number than 0."""
        paths = tuple(None if path is None else path + first for path in self.paths)
        numbers = self.numbers + first
        return replace(self, rows=self.rows + first, paths=paths, numbers=numbers, first=self.first + first)

    def called(self, names: Sequence[str], point_names: Sequence[str]) -> Explanation:
        """Return the same with names of the rows given to `fit`, and of the points."""
        return replace(self, names=tuple(names), point_names=tuple(point_names))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, for JSON."""
        return {"points": [point.to_dict() for point in self]}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
