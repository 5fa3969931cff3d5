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
    low, high : float
        95 % interval: Wilson's of a share, Student's of R^2.
    right : int or None
        Number of labels that are right; None for regression.
    """

    name: str
    value: float
    low: float
    high: float
    right: int | None = None

    def in_words(self, counted: int) -> str:
        """Return the score as a reader wants it: labels where there are few, a percentage beside them."""
        if self.right is None:
            return f"R^2 {self.value:.3f}{_interval(self.low, self.high)}"
        return (
            f"{self.right} of {counted} right ({self.value:.0%}, 95% interval {100 * self.low:.0f} to {self.high:.0%})"
        )


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
    n_unlabeled, n_compared : int
        Distinct rows without a label, and how many of these the two models were compared on.
    n_counted : int
        Labels that the scores count: a class with a single label cannot be predicted without it. 0: there is no score.
    model, base, trivial : Score
        Of the model, of the plain base kernel on the labelled rows alone, and of the most frequent class (or the mean).
    gain : float
        Score of the model less that of the base kernel.
    gain_low, gain_high : float
        Its 95 % interval, from the paired differences.
    wins, losses : int or None
        Labels that only the model, and only the base kernel, gets right; None for regression.
    disagreement : float
        Share of the unlabelled rows on which model and base kernel differ; for regression their mean squared
        difference over the variance of the targets, NaN where all targets are equal.
    verdict : {"help", "do not help", "cannot be told", "no unlabelled rows"}
        Whether the unlabelled rows help.
    labels_to_tell : int or None
        About how many labels of random rows would show a gain like the one observed, where it is no verdict but at
        least 1.5 standard errors; None otherwise, and if it is more than there are rows.
    how : str
        How the scores were held out.
    kernel : str
        The kernel that was chosen, and why.
    """

    estimator: str
    n_rows: int
    n_labeled: int
    n_unlabeled: int
    n_compared: int
    n_counted: int
    model: Score
    base: Score
    trivial: Score
    gain: float
    gain_low: float
    gain_high: float
    wins: int | None
    losses: int | None
    disagreement: float
    verdict: Verdict
    labels_to_tell: int | None
    how: str
    kernel: str

    @property
    def verdict_in_words(self) -> str:
        """The verdict in plain sentences, with the next step."""
        if self.verdict == "no unlabelled rows":
            return "Every row is labelled: there is nothing that unlabelled rows could add."
        if self.verdict == "help":
            return "The unlabelled rows help."
        if self.verdict == "do not help":
            return f"The unlabelled rows do not help: a plain {self._plain_model} does as well."
        if not self.n_counted:
            return f"Whether the unlabelled rows help cannot be told without a held-out score. {self._next_step}"
        labels = f"{self.n_counted} {'targets' if self.wins is None else 'labels'}"
        return f"Whether the unlabelled rows help cannot be told from {labels}: {self._standing} {self._next_step}"

    @property
    def _plain_model(self) -> str:
        return "SVR" if self.wins is None else "SVC"

    @property
    def _standing(self) -> str:
        """Who is ahead."""
        if self.gain > 0.0:
            return "the gain may be luck."
        if self.wins is None:
            return "the plain kernel is ahead." if self.gain < 0.0 else "both have the same score."
        if self.wins == self.losses:
            return f"both get {self.model.right} of {self.n_counted} right."
        return f"the plain kernel is ahead, {self.base.right} right against {self.model.right}."

    @property
    def _next_step(self) -> str:
        """What would tell: an observed gain says how many labels only where it is clear, and 0 says nothing."""
        if self.labels_to_tell is not None:
            fewer = "" if self.wins is None else f", or fewer of the {self._n_differing} on which the two differ"
            return f"If it is not, about {self.labels_to_tell:,} labels of random rows would tell{fewer}."
        behind = self.n_counted and self.gain < 0.0
        if not self.disagreement > 0.0:
            return f"They agree on all unlabelled rows: a plain {self._plain_model} does as well."
        where = f"some of the {self._n_differing} unlabelled rows on which the two differ"
        if self.wins is None:
            where = "the unlabelled rows on which the two differ most"
        if behind:
            return f"Use a plain {self._plain_model}, unless labels of {where} speak for {self.model.name}."
        return f"Label {where}: these show which is right."

    @property
    def _n_differing(self) -> str:
        about = "" if self.n_compared == self.n_unlabeled else "about "
        return f"{about}{round(self.disagreement * self.n_unlabeled):,}"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What and how much, line by line."""
        if not self.n_counted:
            score = "none: every label is alone in its class; two labels per class are the least for a score"
            return [
                ("held-out score", score),
                (self.base.name, self._disagreement.lstrip("; ")),
                ("kernel", self.kernel),
            ]
        rows = [
            (self.model.name, self.model.in_words(self.n_counted)),
            (self.base.name, self.base.in_words(self.n_counted)),
            (self.trivial.name, self.trivial.in_words(self.n_counted)),
        ]
        return [*rows, ("difference", self._difference), ("kernel", self.kernel)]

    @property
    def _difference(self) -> str:
        if self.wins is None:
            return f"{self.gain:+.3f}{_interval(self.gain_low, self.gain_high)}{self._disagreement}"
        interval = f"95% interval {100 * self.gain_low:+.0f} to {100 * self.gain_high:+.0f}"
        return f"{self.wins} more right, {self.losses} fewer ({_points(self.gain)}, {interval}){self._disagreement}"

    @property
    def _disagreement(self) -> str:
        """How far the two are apart on the unlabelled rows, if there are any."""
        if not self.n_compared:
            return ""
        if self.wins is None:
            return f"; {math.sqrt(self.disagreement):.2f} deviations of the targets apart on the unlabelled rows"
        rows = f"{self._n_differing} of {self.n_unlabeled:,}"
        return f"; the two differ on {self.disagreement:.1%} of the unlabelled rows, {rows}"

    @property
    def _title(self) -> str:
        alone = self.n_labeled - self.n_counted if self.n_counted else 0
        unscored = f" ({alone:,} alone in {'its' if alone == 1 else 'their'} class and not scored)" if alone else ""
        return f"{self.estimator}: {self.n_rows:,} different rows, {self.n_labeled:,} labelled{unscored}; {self.how}"

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


def _points(share: float) -> str:
    """Return a share in percentage points, with its sign.

    Examples
    --------
    >>> from halfmoon.semi_supervised._report import _points
    >>> _points(0.012), _points(-0.05)
    ('+1 point', '-5 points')
    """
    text = f"{100 * share:+.0f}"
    return f"{text} {'point' if text.lstrip('+-') == '1' else 'points'}"


def _interval(low: float, high: float) -> str:
    """Return an interval in brackets; nothing if a single value leaves it open."""
    return f" (95% interval {low:.3f} to {high:.3f})" if math.isfinite(low) and math.isfinite(high) else ""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
