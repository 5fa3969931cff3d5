"""From held-out values to a verdict: whether the model beats its base kernel by more than luck.

"Do not help" is said where the gain is below a point for one of two reasons: the two models agree on all but a
hundredth of the unlabelled rows, which needs no label to be seen, or enough labels bound it. Of classes, agreement
comes before everything: two such models may still differ on many labels, where these are wrong. "Help" is said where
a sign test on the labels that only one of the two gets right leaves at most a chance in a thousand that it is luck; for
targets, where this is so of both a sign test and a t-test on the squared errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from halfmoon.semi_supervised._intervals import of_difference, of_mean, of_share
from halfmoon.semi_supervised._problem import LearningProblem, winners
from halfmoon.semi_supervised._report import Score, Verdict

__all__ = ["Comparison", "compare_classes", "compare_targets"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
NOTICEABLE = 0.01  # a gain below it is none
LUCK = 0.001  # chance that "help" is luck; where rows never help, luck alone says it, so that it must be rare
CONFIDENCE = 0.95  # of upper bounds
DETECTABLE = 15.5  # (z_0.999 + z_0.8)^2: labels that find a gain in four of five draws
CLEAR = (
    1.5  # standard errors from which on an observed gain says how many labels would tell; 0 of 60 says nothing of it
)


@dataclass(frozen=True)
class Comparison:
    """Scores of the model, of its base kernel and of a trivial rule, and what they say."""

    model: Score
    base: Score
    trivial: Score
    n_counted: int
    gain: float
    gain_low: float
    gain_high: float
    wins: int | None
    losses: int | None
    verdict: Verdict
    labels_to_tell: int | None


def compare_classes(
    problem: LearningProblem, model: Matrix, base: Matrix, names: tuple[str, str], differ: NDArray[np.bool_], n: int
) -> Comparison:
    """Compare held-out decision values.

    Parameters
    ----------
    problem : LearningProblem
        The labelled examples.
    model, base : ndarray of shape (l, c)
        Held-out values of the model and of the base kernel alone.
    names : tuple of str
        What to call the two.
    differ : ndarray of bool
        Whether the two predict different classes, on a sample of the unlabelled rows; empty if there are none.
    n : int
        Number of unlabelled rows.

    Returns
    -------
    Comparison
    """
    truth = problem.training.targets
    counted = np.bincount(truth)[truth] > 1
    total = int(counted.sum())
    right, plain = (winners(values)[counted] == truth[counted] for values in (model, base))
    wins, losses = int(np.sum(right & ~plain)), int(np.sum(plain & ~right))
    verdict = _verdict_on_classes(wins, losses, total, differ, n)
    low, high = of_difference(wins, losses, total)
    clear = verdict == "cannot be told" and wins - losses > CLEAR * np.sqrt(wins + losses)
    return Comparison(
        model=_share(names[0], right),
        base=_share(names[1], plain),
        trivial=_share("most frequent class", (truth == np.bincount(truth).argmax())[counted]),
        n_counted=total,
        gain=(wins - losses) / max(total, 1),
        gain_low=low,
        gain_high=high,
        wins=wins,
        losses=losses,
        verdict=verdict,
        labels_to_tell=_labels_to_tell(wins, losses, total, float(differ.mean()), n + total) if clear else None,
    )


def _verdict_on_classes(wins: int, losses: int, total: int, differ: NDArray[np.bool_], n: int) -> Verdict:
    if not differ.size:
        return "no unlabelled rows"
    most = float(differ.mean()) if len(differ) == n else _upper_share(int(differ.sum()), len(differ))
    if most < NOTICEABLE:  # gain <= disagreement, whatever the labels are
        return "do not help"
    if wins > losses and _no_luck(wins, wins + losses):
        return "help"
    if total and _upper_share(wins, total) - (1.0 - _upper_share(total - losses, total)) < NOTICEABLE:
        return "do not help"
    return "cannot be told"


def compare_targets(
    problem: LearningProblem, model: Vector, base: Vector, names: tuple[str, str], differ: Vector, n: int
) -> Comparison:
    """Compare held-out predictions of numbers; `differ` holds differences of the two on a sample of unlabelled rows."""
    y, unit = problem.training.targets / problem.unit, problem.unit
    center = (y.sum() - y) / max(len(y) - 1, 1)  # the mean without each
    errors = [np.square(values / unit - y) for values in (model, base)] + [np.square(center - y)]
    variance = float(np.var(y)) or float("nan")  # one target, or equal ones: there is nothing to explain
    scores = [_r_squared(name, e, variance) for name, e in zip((*names, "mean of the targets"), errors, strict=True)]
    better = (errors[1] - errors[0]) / variance
    gain, error = float(np.nan_to_num(better.mean())), _error_of_mean(better)
    rest = float(np.mean(np.square(differ / unit))) / variance if differ.size else 0.0
    closer = int(np.sum(better > 0.0))
    verdict = _verdict_on_targets(gain, error, closer, len(y), differ.size > 0, rest, 1.0 - scores[1].value)
    low, high = of_mean(better)
    clear = verdict == "cannot be told" and gain > CLEAR * error
    needed = int(min(DETECTABLE * len(y) * (error / max(gain, NOTICEABLE)) ** 2, 1e9)) if clear else 0
    return Comparison(
        model=scores[0],
        base=scores[1],
        trivial=scores[2],
        n_counted=len(y),
        gain=gain,
        gain_low=low,
        gain_high=high,
        wins=None,
        losses=None,
        verdict=verdict,
        labels_to_tell=_rounded(needed, n + len(y)) if clear else None,
    )


def _verdict_on_targets(
    gain: float, error: float, closer: int, size: int, unlabeled: bool, rest: float, missed: float
) -> Verdict:
    """Return the verdict; the model is closer to `closer` of the `size` targets than its base kernel is."""
    if not unlabeled:
        return "no unlabelled rows"
    t = float(stats.t.ppf(1.0 - LUCK, max(size - 1, 1)))
    # A few large errors can make a mean: most targets must be predicted better, too.
    if size > 2 and gain > max(t * error, NOTICEABLE) and _no_luck(closer, size):
        return "help"
    # Predictions that differ by d gain at most 2 |d| |e| + |d|^2, whatever the targets are.
    if 2.0 * np.sqrt(rest * max(missed, 0.0)) + rest < NOTICEABLE or (size > 2 and gain + t * error < NOTICEABLE):
        return "do not help"
    return "cannot be told"


def _no_luck(wins: int, total: int) -> bool:
    """Tell whether a fair coin would hardly ever fall on one side so often (sign test)."""
    return bool(stats.binomtest(wins, total, alternative="greater").pvalue <= LUCK)


def _share(name: str, right: NDArray[np.bool_]) -> Score:
    count = int(right.sum())
    return Score(name, count / right.size if right.size else float("nan"), *of_share(count, right.size), count)


def _r_squared(name: str, squares: Vector, variance: float) -> Score:
    low, high = of_mean(squares)
    return Score(name, 1.0 - float(squares.mean()) / variance, 1.0 - high / variance, 1.0 - low / variance)


def _error_of_mean(values: Vector) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")


def _upper_share(count: int, total: int) -> float:
    """Return the upper Clopper-Pearson bound on a share."""
    return 1.0 if count >= total else float(stats.beta.ppf(CONFIDENCE, count + 1, total - count))


def _labels_to_tell(wins: int, losses: int, total: int, differ: float, most: int) -> int | None:
    """Return how many labels a sign test needs if the model goes on to win as often where the two differ."""
    decisive = DETECTABLE * ((wins + losses) / (wins - losses)) ** 2
    rate = min(differ, (wins + losses) / total)  # of labels that only one of the two gets right
    return _rounded(int(decisive / max(rate, 1e-6)), most)


def _rounded(needed: int, most: int) -> int | None:
    """Return a number of labels to two digits; None if there are not so many rows."""
    needed = max(needed, 10)
    digits = 10 ** max(len(str(needed)) - 2, 0)
    needed = -(-needed // digits) * digits
    return needed if needed <= most else None
