"""Known shares of the classes: shift the decision values, and let the landmarks agree with the shares.

With few labels the shares say more than the labels do. First the landmarks get the classes that the labels and the
shares imply together, and become examples; together they weigh as much as one label per class. This is repeated until
it settles (a threshold and a diffusion in turn, as in the MBO scheme, here small dense algebra on the landmarks). Then
the decision values are shifted until the training rows fall into classes as the shares say (class-mass normalisation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._mixture_selection import Choice
from halfmoon.semi_supervised._problem import LearningProblem, signs_of, winners
from halfmoon.semi_supervised.losses import RidgePath, RidgeSolution

__all__ = ["AssumedClasses", "class_shares", "offsets_for_shares"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
SHIFTS = 200
TOLERANCE = 1e-2  # of a share, relative
ROUNDS = 20  # of assumed classes; they settle after five to ten


def class_shares(priors: Any, classes: NDArray[Any]) -> Vector:
    """Return the shares of the classes, in the order of `classes`, from what a user gives as `priors`.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._class_priors import class_shares
    >>> class_shares("balanced", np.array(["cat", "dog"]))
    array([0.5, 0.5])
    >>> class_shares({"dog": 30, "cat": 10}, np.array(["cat", "dog"]))      # whole numbers are counts
    array([0.25, 0.75])
    """
    if isinstance(priors, str):
        if priors != "balanced":
            raise ValueError(f"The 'priors' parameter must be 'balanced', shares or counts. Got {priors!r} instead.")
        return np.full(len(classes), 1.0 / len(classes))
    if isinstance(priors, Mapping):
        if set(priors) != set(classes.tolist()):
            raise ValueError(
                f"The 'priors' parameter must name every class, {classes.tolist()}. Got {sorted(priors, key=str)}."
            )
        priors = [priors[name] for name in classes.tolist()]
    given = np.asarray(priors)
    counts = given.dtype.kind in "iu"
    wrong = given.shape != (len(classes),) or given.dtype.kind not in "iuf" or not np.all(given > 0)
    if wrong or not (counts or abs(given.sum() - 1.0) <= 1e-6):
        raise ValueError(
            f"The 'priors' parameter must hold {len(classes)} positive shares that sum to 1, or whole numbers as "
            f"counts, one per class in the order of classes_; or be a dict from class to share; or 'balanced'. "
            f"Got {priors!r}."
        )
    return given / given.sum()


def offsets_for_shares(values: Matrix, shares: Vector, start: Vector | None = None) -> Vector:
    """Return what to add to each column so that the shares of rows won by each class are as given.

    Shares are counted softly, by a softmax whose temperature is the spread of the values, so that the solution is
    unique and does not jump. A good `start` saves rounds.
    """
    if values.shape[1] == 1:  # two classes: a quantile
        return -np.quantile(values, shares[0], axis=0)
    sharpness = 4.0 / max(float(values.std()), np.finfo(float).tiny)
    offsets = np.zeros(len(shares)) if start is None else start
    for _ in range(SHIFTS):
        found = softmax(sharpness * (values + offsets), axis=1).mean(axis=0)
        if np.abs(found / shares - 1.0).max() < TOLERANCE:
            break
        step = np.log(shares / np.maximum(found, np.finfo(float).tiny)) / sharpness
        offsets = offsets + step - step.mean()
    return offsets


@dataclass(frozen=True)
class AssumedClasses:
    """A learning problem with the landmarks as further examples, whose classes are assumed.

    Attributes
    ----------
    mixture : KernelMixture
        The kernels on the labelled rows and, after them, the landmarks that are not labelled.
    landmarks : ndarray
        These landmarks, as rows of the data.
    problem : LearningProblem
        The labelled examples alone.
    shares : ndarray
        Shares of the classes.
    """

    mixture: KernelMixture
    landmarks: Indices
    problem: LearningProblem
    shares: Vector

    @classmethod
    def of(cls, mixture: KernelMixture, problem: LearningProblem, landmarks: Indices, shares: Vector) -> AssumedClasses:
        """Put the landmarks, given as rows of the data, beside the labelled rows."""
        places = np.flatnonzero(~np.isin(landmarks, problem.training.rows))
        return cls(mixture.with_landmarks(places), landmarks[places], problem, shares)

    @property
    def _n_labeled(self) -> int:
        return self.problem.training.n_examples

    @property
    def weights(self) -> Vector:
        """Weights of the examples: the landmarks together count as one label per class."""
        own = self.problem.weights
        each = float(own.mean()) * len(self.shares) / max(len(self.landmarks), 1)
        return np.concatenate([own, np.full(len(self.landmarks), each)])

    def settle(self, choice: Choice) -> LearningProblem:
        """Return the problem with the classes that the landmarks settle on."""
        ridge = RidgePath(self.mixture.mixed(choice.weights), self._targets(None), self.weights).at(choice.alpha)
        to_intercept = ridge.sums / ridge.sums.sum()
        numbers, _ = self._settled(choice, ridge.inverse, to_intercept, self._from_labels(choice))
        return self.problem.extended(self.landmarks, numbers[self._n_labeled :], self.weights[self._n_labeled :])

    def held_out(self, choice: Choice) -> Matrix:
        """Return decision values on the labelled examples, shifted, the landmarks having settled without each.

        Ridge regressions, whatever the loss: leaving out i changes P to P - P_i P_i' / P_ii.
        """
        ridge = RidgePath(self.mixture.mixed(choice.weights), self._targets(None), self.weights).at(choice.alpha)
        alone = self._label_ridge(choice)
        K = self.mixture.mixed(choice.weights)
        values = np.empty_like(self.problem.Y)
        for i in range(self._n_labeled):
            P_alone, alone_to_intercept = _without(alone.inverse, alone.sums, i)
            start = K[:, : self._n_labeled] @ (P_alone @ self.problem.Y) + alone_to_intercept @ self.problem.Y
            _, f = self._settled(choice, *_without(ridge.inverse, ridge.sums, i), start)
            values[i] = f[i] + offsets_for_shares(f[self._n_labeled :], self.shares)
        return values

    def _label_ridge(self, choice: Choice) -> RidgeSolution:
        n = self._n_labeled
        K = self.mixture.mixed(choice.weights)[:n, :n]
        return RidgePath(K, self.problem.Y, self.problem.weights).at(choice.alpha)

    def _from_labels(self, choice: Choice) -> Matrix:
        """Return what the labels alone say about all examples."""
        alone = self._label_ridge(choice)
        return self.mixture.mixed(choice.weights)[:, : self._n_labeled] @ alone.dual + alone.intercept

    def _settled(self, choice: Choice, P: Matrix, to_intercept: Vector, f: Matrix) -> tuple[Indices, Matrix]:
        """Assign the landmarks to classes and fit, in turn, until nothing changes; return classes and values.

        The dual is P Y and the intercept `to_intercept` Y.
        """
        K, numbers, offsets = self.mixture.mixed(choice.weights), None, None
        for _ in range(ROUNDS):
            offsets = offsets_for_shares(f[self._n_labeled :], self.shares, offsets)
            found = winners(f + offsets)
            if numbers is not None and np.array_equal(found, numbers):
                break
            numbers = found
            Y = self._targets(numbers)
            f = K @ (P @ Y) + to_intercept @ Y
        assert numbers is not None
        return numbers, f

    def _targets(self, numbers: Indices | None) -> Matrix:
        """Return the targets: of the labelled examples as given, of the landmarks as assumed (0 before)."""
        Y = self.problem.Y
        if numbers is None:
            return np.concatenate([Y, np.zeros((len(self.landmarks), Y.shape[1]))])
        return np.concatenate([Y, signs_of(numbers[self._n_labeled :], len(self.shares))])


def _without(P: Matrix, sums: Vector, i: int) -> tuple[Matrix, Vector]:
    """Return P and the weights of the targets in the intercept, without example i."""
    share = sums / sums.sum()
    if P[i, i] <= 0.0:
        return P, share
    column = P[:, i] / P[i, i]
    return P - np.outer(column, P[i]), share - share[i] * column
