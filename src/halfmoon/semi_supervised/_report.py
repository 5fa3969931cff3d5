"""The report of a fit: how good the model is, against what, and whether the unlabelled rows help."""

from __future__ import annotations

import html
import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from halfmoon.runtime.storable import storable

__all__ = ["Report", "Score", "Verdict"]

Verdict = Literal["help", "do not help", "cannot be told", "no unlabelled rows"]


@storable
@dataclass(frozen=True)
class Score:
    """A score on held-out labels.

    Attributes
    ----------
    name : str
        Whose score it is.
    value : float
        Share of the labels that are right, or R^2.
    standard_error : float
        Its standard error.
    right : int or None
        Number of labels that are right; None for regression.
    """

    name: str
    value: float
    standard_error: float
    right: int | None = None

    def in_words(self, counted: int) -> str:
        """Return the score as a reader wants it: labels where there are few, a percentage beside them."""
        if self.right is None:
            return f"R^2 {self.value:.3f} (standard error {self.standard_error:.3f})"
        error = _points(self.standard_error)
        return f"{self.right} of {counted} right ({self.value:.0%}, standard error {error})"


@storable
@dataclass(frozen=True)
class Report:
    """How good a fitted model is; print it, or read its attributes.

    The scores of the two models are held out: each labelled row is predicted by a model that was chosen and fitted
    without it.

    Attributes
    ----------
    estimator : str
        Class of the estimator.
    n_rows : int
        Distinct rows.
    n_labeled : int
        Labelled examples.
    n_counted : int
        Labels that the scores count: a class with a single label cannot be predicted without it. 0: there is no score.
    model, base, trivial : Score
        Of the model, of the plain base kernel on the labelled rows alone, and of the most frequent class (or the mean).
    gain, gain_error : float
        Score of the model less that of the base kernel, and its standard error (of the paired differences).
    wins, losses : int or None
        Labels that only the model, and only the base kernel, gets right; None for regression.
    disagreement : float
        Share of the unlabelled rows on which model and base kernel differ; for regression their mean squared
        difference over the variance of the targets, NaN where all targets are equal.
    verdict : {"help", "do not help", "cannot be told", "no unlabelled rows"}
        Whether the unlabelled rows help.
    labels_to_tell : int or None
        About how many labels would tell, where they cannot; None: more than there are rows, or no need.
    how : str
        How the scores were held out.
    kernel : str
        The kernel that was chosen, and why.
    """

    estimator: str
    n_rows: int
    n_labeled: int
    n_counted: int
    model: Score
    base: Score
    trivial: Score
    gain: float
    gain_error: float
    wins: int | None
    losses: int | None
    disagreement: float
    verdict: Verdict
    labels_to_tell: int | None
    how: str
    kernel: str

    @property
    def verdict_in_words(self) -> str:
        """The verdict as a plain sentence."""
        if self.verdict == "no unlabelled rows":
            return "There are no unlabelled rows."
        if self.verdict != "cannot be told":
            return f"The unlabelled rows {self.verdict}."
        if not self.n_counted:
            return "Whether the unlabelled rows help cannot be told without a held-out score."
        sentence = f"Whether the unlabelled rows help cannot be told from {self.n_counted} labels"
        if self.labels_to_tell is None:
            return f"{sentence}; labels of all rows would not tell either."
        return f"{sentence}; about {self.labels_to_tell:,} would tell."

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What and how much, line by line."""
        if not self.n_counted:
            score = "none: every label is alone in its class; two labels per class are the least for a score"
            return [("held-out score", score), ("difference", self._disagreement), ("kernel", self.kernel)]
        rows = [
            (self.model.name, self.model.in_words(self.n_counted)),
            (self.base.name, self.base.in_words(self.n_counted)),
            (self.trivial.name, self.trivial.in_words(self.n_counted)),
        ]
        return [*rows, ("difference", self._difference), ("kernel", self.kernel)]

    @property
    def _difference(self) -> str:
        if self.wins is None:
            return f"{self.gain:+.3f} (standard error {self.gain_error:.3f})"
        return (
            f"{self.wins} more right, {self.losses} fewer ({_points(self.gain, '+')}, standard error "
            f"{100 * self.gain_error:.0f}); {self._disagreement}"
        )

    @property
    def _disagreement(self) -> str:
        who = "the two" if self.n_counted else f"{self.model.name} and {self.base.name}"
        return f"{who} differ on {self.disagreement:.1%} of the unlabelled rows"

    @property
    def _title(self) -> str:
        return f"{self.estimator}: {self.n_rows:,} distinct rows, {self.n_labeled:,} labelled; {self.how}"

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines)
        body = [f"  {name + ':':<{width + 1}} {text}" for name, text in self.lines]
        return "\n".join([self._title, *body, f"  {self.verdict_in_words}"])

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.lines
        )
        return (
            f"<div><p>{html.escape(self._title)}</p><table>{body}</table>"
            f"<p><strong>{html.escape(self.verdict_in_words)}</strong></p></div>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values that JSON can hold; what is not finite is None."""
        return {name: _plain(value) for name, value in asdict(self).items()} | {
            "verdict_in_words": self.verdict_in_words
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2)


def _points(share: float, sign: str = "") -> str:
    """Return a share in percentage points.

    Examples
    --------
    >>> from halfmoon.semi_supervised._report import _points
    >>> _points(0.012), _points(-0.05, "+")
    ('1 point', '-5 points')
    """
    text = f"{100 * share:{sign}.0f}"
    return f"{text} {'point' if text.lstrip('+-') == '1' else 'points'}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
