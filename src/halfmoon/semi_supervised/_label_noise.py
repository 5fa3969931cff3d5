"""Which labels look wrong: what the other labels say of each, by closed-form leave-one-out, and a model of the noise.

Classes: held-out values v become probabilities q = softmax(t v). A label is wrong with probability e, and then any
other class alike, so that the given label g has the likelihood

    (1 - e) q_g + e (1 - q_g) / (c - 1),

and it is wrong with the second term's share of it. The temperature t and the noise rate e are those of the largest
likelihood. Kernels and ridges around those of the model are averaged, each weighed by its likelihood: which of them is
best is uncertain, and what all of them doubt is wrong more often. All this is done twice, the second time with doubted
labels weighing less, so that one wrong label does not shield another.

Targets: held-out residuals, divided by their standard deviations, are a mixture of a narrow and a wide normal
distribution.

A model that is often wrong contradicts right labels too, and nothing in its probabilities tells which of the two is
wrong: labels are accused only by models that predict most of the labels. These are counted the first time: once doubted
labels weigh less, what is left agrees with the model whatever it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax

from halfmoon.semi_supervised._intervals import of_share
from halfmoon.semi_supervised._label_issues import SUSPICIOUS, LabelIssues
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised.losses import RidgePath

__all__ = ["find_label_issues"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

SHARES = (0.0, 0.3, 0.6, 1.0)  # of the base kernel beside that of the model
FACTORS = (0.3, 1.0, 3.0)  # of the model's ridge
TEMPERATURES = 2.0 ** np.arange(-1.0, 6.1, 0.5)
RATES = np.array([0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3])
PRIOR_RIGHT, PRIOR_WRONG = 19.0, 1.0  # labels that the noise rate is known from before any is seen
WIDTH = 5.0  # standard deviation of wrong targets' residuals, in units of that of right ones
LEAST_WEIGHT = 0.01
SHARPNESS = 0.5  # nats per doubling of t: labels that disagree are rather wrong than classes mixed
ROUNDS = 50
FEWEST = 20  # labels without which none is accused: a model that is right on fewer may still err on one in ten
TRUSTED = 0.65  # lower bound on the share of labels that a model must predict to accuse one
CLOSER = 0.7  # largest median error of a model that accuses targets, in median deviations of the targets


@dataclass(frozen=True)
class _Doubts:
    """What the others say of each label, and why that may not be enough to call one wrong."""

    suggested: NDArray[np.generic]
    log_odds: Vector  # that the label is wrong
    rate: float
    right: int | None = None  # labels that are predicted
    caveat: str = ""


def find_label_issues(learned: LearnedModel) -> LabelIssues:
    """Rank the labelled rows of a model by how much the others contradict them."""
    training = learned.problem.training
    doubts = _doubted_targets(learned) if learned.problem.classes is None else _doubted_classes(learned)
    log_odds, suggested, checked = doubts.log_odds, doubts.suggested, len(training.targets)
    if doubts.caveat:  # the order stays, but none is more likely wrong than right
        log_odds = log_odds - max(float(log_odds.max()), 0.0)
    if learned.problem.classes is not None:
        checked -= int(_lonely(training.targets).sum())
        doubted = expit(log_odds) > SUSPICIOUS
        suggested = learned.problem.classes[np.where(doubted, suggested, training.targets)]
    order = np.argsort(-doubts.log_odds, kind="stable")  # not by the scores, of which several may be 1
    return LabelIssues(
        rows=training.origins[order],
        given=learned.problem.truth[order],
        suggested=suggested[order],
        scores=expit(log_odds[order]),
        noise_rate=float("nan") if doubts.caveat else doubts.rate,
        n_checked=checked,
        n_right=doubts.right,
        caveat=doubts.caveat,
    )


def _doubted_classes(learned: LearnedModel) -> _Doubts:
    """Suggest the most likely other class."""
    problem, weights = learned.problem, learned.problem.weights
    given = problem.training.targets
    everyone = np.arange(len(given))
    lonely = _lonely(given)
    right = np.zeros(len(given), dtype=bool)
    for first in (True, False):
        q, rate = _held_out_probabilities(learned, weights, ~lonely)
        right = (q.argmax(axis=1) == given) & ~lonely if first else right
        log_odds = np.where(lonely, logit(rate), _log_odds(q[everyone, given], rate, q.shape[1]))
        weights = problem.weights * np.maximum(expit(-log_odds), LEAST_WEIGHT)
    accused = (log_odds > 0.0) & ~lonely
    unknown = accused & ~_recognised(given, right & ~accused, ~(lonely | accused))
    q[everyone, given] = -1.0
    return _Doubts(q.argmax(axis=1), np.where(unknown, 0.0, log_odds), rate, int(right.sum()), _caveat(right, ~lonely))


def _caveat(right: NDArray[np.bool_], checked: NDArray[np.bool_]) -> str:
    """Return why no label can be called wrong; nothing if the model predicts enough of them."""
    count, total = int(right.sum()), int(checked.sum())
    score = f"the model gets {count} of {total} held-out labels right"
    if total < FEWEST:
        return f"{score}, and fewer than {FEWEST} labels are too few to accuse one"
    return "" if of_share(count, total)[0] >= TRUSTED else f"{score}, too few to accuse one"


def _recognised(given: NDArray[np.intp], right: NDArray[np.bool_], others: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether at least half of the `others` of each label's class are predicted, and one at least.

    A model that never predicts a rare class would accuse all of its labels.
    """
    n_classes = int(given.max()) + 1
    predicted, there = (np.bincount(given[which], minlength=n_classes) for which in (right, others))
    return ((predicted > 0) & (2 * predicted >= there))[given]


def _lonely(given: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which labels are alone in their class: left out, they say nothing, as their class is gone."""
    return np.bincount(given)[given] == 1


def _held_out_probabilities(learned: LearnedModel, weights: Vector, telling: NDArray[np.bool_]) -> tuple[Matrix, float]:
    """Return class probabilities of the examples that have not seen their labels, and the noise rate.

    They are averages over kernels and ridges, weighed by their likelihood on the examples that are `telling`.
    """
    problem, alpha = learned.problem, learned.choice.alpha
    own, base = learned.mixture.mixed(learned.choice.weights), learned.mixture.gram("base")
    given = problem.training.targets[telling]
    costs, rates, probabilities = [], [], []
    for share in SHARES:
        path = RidgePath((1.0 - share) * own + share * base, problem.Y, weights)
        for factor in FACTORS:
            held_out = problem.Y - path.at(factor * alpha).residuals
            values = np.hstack([-held_out, held_out]) if held_out.shape[1] == 1 else held_out
            cost, temperature, rate = _fit_noise(values[telling], given)
            costs.append(cost)
            rates.append(rate)
            probabilities.append(softmax(temperature * values, axis=1))
    votes = softmax(-np.array(costs))
    return np.tensordot(votes, probabilities, axes=1), float(votes @ rates)


def _fit_noise(values: Matrix, given: NDArray[np.intp]) -> tuple[float, float, float]:
    """Return minus the log-likelihood at its largest, the temperature and the noise rate."""
    others = values.shape[1] - 1
    prior = PRIOR_WRONG * np.log(RATES) + PRIOR_RIGHT * np.log1p(-RATES)
    own = values[np.arange(len(given)), given]
    q = np.exp(TEMPERATURES[:, None] * own - logsumexp(TEMPERATURES[:, None, None] * values, axis=2))[:, :, None]
    costs = -np.log((1.0 - RATES) * q + RATES * (1.0 - q) / others).sum(axis=1) - prior  # (temperatures, rates)
    costs -= SHARPNESS * np.log2(TEMPERATURES)[:, None]
    t, e = np.unravel_index(costs.argmin(), costs.shape)
    return float(costs[t, e]), float(TEMPERATURES[t]), float(RATES[e])


def _log_odds(q: Vector, rate: float, n_classes: int) -> Vector:
    """Return the log-odds that a label is wrong to which the others give probability q."""
    tiny = np.finfo(float).tiny
    return logit(rate) + np.log(np.maximum(1.0 - q, tiny) / (n_classes - 1)) - np.log(np.maximum(q, tiny))


def _doubted_targets(learned: LearnedModel) -> _Doubts:
    """Suggest held-out predictions.

    P of `RidgePath` is the inverse of the covariance off the intercept, so that a held-out residual (P y)_i / P_ii has
    a variance of 1 / P_ii, up to a scale that the residuals themselves tell.
    """
    problem = learned.problem
    K = learned.mixture.mixed(learned.choice.weights)
    solution = RidgePath(K, problem.Y, problem.weights).at(learned.choice.alpha)
    residuals = solution.residuals[:, 0]
    size = np.abs(residuals * np.sqrt(np.maximum(np.diagonal(solution.inverse), 0.0)))
    scale = 1.4826 * float(np.median(size))  # the median of |normal| is 1 / 1.4826 of its deviation
    z = size / scale if scale > 0.0 else np.where(size > 0.0, np.inf, 0.0)
    caveat = _caveat_of_targets(problem.Y[:, 0], residuals)
    return _Doubts(problem.Y[:, 0] - residuals, *_outliers(z), caveat=caveat)


def _caveat_of_targets(y: Vector, residuals: Vector) -> str:
    """Return why no target can be called wrong; medians, which wrong targets hardly change."""
    if len(y) < FEWEST:
        return f"{len(y)} targets are too few to accuse one ({FEWEST} are the least)"
    error, deviation = (float(np.median(np.abs(values))) for values in (residuals, y - np.median(y)))
    if error <= CLOSER * deviation:
        return ""
    return (
        f"held-out predictions are off by {error:.3g} (median), the median of the targets by {deviation:.3g}: too "
        "little is predicted to accuse one"
    )


def _outliers(z: Vector) -> tuple[Vector, float]:
    """Return the log-odds of being from the wide of two normal distributions, and its share, by EM."""
    evidence = 0.5 * z**2 * (1.0 - WIDTH**-2) - np.log(WIDTH)
    rate = PRIOR_WRONG / (PRIOR_WRONG + PRIOR_RIGHT)
    for _ in range(ROUNDS):
        rate = float((expit(logit(rate) + evidence).sum() + PRIOR_WRONG) / (len(z) + PRIOR_WRONG + PRIOR_RIGHT))
    return logit(rate) + evidence, rate
