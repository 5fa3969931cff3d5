"""What `label_issues` returns: the labelled rows, those first whose labels look wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LabelIssue", "LabelIssues"]

SUSPICIOUS = 0.5  # score from which on a label is more likely wrong than right
SHOWN = 10


class LabelIssue(NamedTuple):
    """One labelled row: where it is, its label, the label that the others suggest, and how likely it is wrong."""

    row: Any
    given: Any
    suggested: Any
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Labelled rows, those first whose labels the other labels contradict most.

    A sequence of `LabelIssue`; print it, or turn it into a data frame with `to_frame`.

    Attributes
    ----------
    rows : ndarray of shape (l,)
        The labelled rows, as rows of the X given to `fit`; of equal rows with equal labels, the first.
    given : ndarray of shape (l,)
        Their labels or targets.
    suggested : ndarray of shape (l,)
        What the other labelled rows say: the most likely class other than the given one where the score is above 1/2,
        else the given one; for a regressor, the value that they predict.
    scores : ndarray of shape (l,)
        Probabilities that the labels are wrong, largest first; where there is a `caveat` they are at most 1/2, and
        their order is all that they say.
    noise_rate : float
        Estimated share of wrong labels; NaN where there is a `caveat`.
    n_checked : int
        Labels that the others say something about: not those that are alone in their class.
    n_right : int or None
        Checked labels that the others predict; None for a regressor.
    caveat : str
        Why no label can be called wrong; empty if the model is good enough on labels that it has not seen.
    unit : str
        What a row is called in texts.
    """

    rows: NDArray[Any]
    given: NDArray[Any]
    suggested: NDArray[Any]
    scores: NDArray[np.float64]
    noise_rate: float
    n_checked: int
    n_right: int | None
    caveat: str
    unit: str = "row"

    @property
    def n_suspicious(self) -> int:
        """Number of labels that are more likely wrong than right; these come first."""
        return int((self.scores > SUSPICIOUS).sum())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> LabelIssue:
        return LabelIssue(_plain(self.rows[i]), _plain(self.given[i]), _plain(self.suggested[i]), float(self.scores[i]))

    def __iter__(self) -> Iterator[LabelIssue]:
        return (self[i] for i in range(len(self)))

    @property
    def title(self) -> str:
        """How many labels look wrong, in one line."""
        if not self.n_checked:
            return f"None of the {len(self)} labels can be checked: each is alone in its class."
        alone = len(self) - self.n_checked
        ending = f"; {alone} more cannot be checked, alone in {'its' if alone == 1 else 'their'} class" if alone else ""
        if self.caveat:
            return f"No label is called wrong: {self.caveat}{ending}"
        told = f"estimated share of wrong labels {100 * self.noise_rate:.1f} %"
        if self.n_right is not None:
            told += f"; the model gets {self.n_right} of {self.n_checked} held-out labels right"
        return f"{self.n_suspicious} of {self.n_checked} labels look wrong ({told}){ending}"

    def table(self) -> list[tuple[str, str, str, str]]:
        """Return the rows whose labels look wrong as texts, but at most ten."""
        return [
            (f"{self.unit} {issue.row}", _text(issue.given), _text(issue.suggested), f"{issue.score:.3f}")
            for issue in (self[i] for i in range(min(SHOWN, self.n_suspicious)))
        ]

    def __str__(self) -> str:
        if not self.n_suspicious:
            return self.title
        lines = [("", "given", "suggested", "score"), *self.table()]
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        rest = self.n_suspicious - SHOWN
        more = [f"  and {rest} more"] if rest > 0 else []
        return "\n".join([self.title, *(f"  {text.rstrip()}" for text in texts), *more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.n_suspicious:
            return f"<p>{escape(self.title)}</p>"
        lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in self.table())
        head = "<tr><th></th><th>given</th><th>suggested</th><th>score</th></tr>"
        caption = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{lines}</tbody></table>"

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns row, given, suggested and score."""
        return {"row": self.rows, "given": self.given, "suggested": self.suggested, "score": self.scores}

    def to_frame(self) -> Any:
        """Return a pandas data frame with the columns row, given, suggested and score."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, for JSON."""
        return {
            "noise_rate": None if np.isnan(self.noise_rate) else self.noise_rate,
            "suspicious": self.n_suspicious,
            "checked": self.n_checked,
            "right": self.n_right,
            "caveat": self.caveat,
            "issues": [i._asdict() for i in self],
        }

    def named(self, classes: NDArray[Any]) -> LabelIssues:
        """Return the same with other names of the classes, which are class numbers so far."""
        return replace(self, given=classes[self.given], suggested=classes[self.suggested])

    def called(self, names: NDArray[Any], unit: str) -> LabelIssues:
        """Return the same with other names of the rows, one for every row of the data: lines of a file, say."""
        return replace(self, rows=names[self.rows], unit=unit)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
