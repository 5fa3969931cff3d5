"""Known shares of the classes: shift the decision values, and let the landmarks agree with the shares.

With few labels the shares say more than the labels do. First the landmarks get the classes that the labels and the
shares imply together, and become examples; together they weigh as much as one label per class. Each is assigned by
what labels and other landmarks say of it, with offsets that make the shares of all rows as they should be, and this is
repeated until it settles (a threshold and a diffusion in turn, as in the MBO scheme, here small dense algebra on the
landmarks). Then the decision values are shifted until the training rows fall into classes as the shares say
(class-mass normalisation).
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
SHARPNESS = 4.0  # of counting shares
SETTLING = (1.5, 4.0)  # the same while classes settle: in different states, of which the least contradictory is kept
HEAVY = 16.0  # labels per class that the landmarks weigh where contradictions are counted
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


def offsets_for_shares(
    values: Matrix,
    shares: Vector,
    masses: Vector | None = None,
    *,
    sharpness: float = SHARPNESS,
    start: Vector | None = None,
) -> Vector:
    """Return what to add to each column so that the shares of mass won by each class are as given.

    Rows have mass 1 unless `masses` says otherwise. Shares are counted softly, by a softmax whose temperature is the
    spread of the values over `sharpness`, so that the solution is unique and does not jump. A good `start` saves
    rounds. Two classes: a quantile.
    """
    masses = np.ones(len(values)) if masses is None else masses
    masses = masses / masses.sum()
    if values.shape[1] == 1:
        order = np.argsort(values[:, 0], kind="stable")
        below = np.cumsum(masses[order]) - masses[order] / 2.0
        return -np.interp(shares[:1], below, values[order, 0])
    spread = _spread(values)
    values = sharpness * (values / spread)
    offsets = np.zeros(len(shares)) if start is None else sharpness * (start / spread)
    for _ in range(SHIFTS):
        found = masses @ softmax(values + offsets, axis=1)
        if np.abs(found / shares - 1.0).max() < TOLERANCE:
            break
        step = np.log(shares / np.maximum(found, np.finfo(float).tiny))
        offsets = offsets + step - step.mean()
    return offsets / sharpness * spread


def _spread(values: Matrix) -> float:
    """Return the standard deviation of all values, as far as rounding lets it be seen; 1 where there is none."""
    unit = float(np.abs(values).max(initial=0.0))
    if unit == 0.0:
        return 1.0
    return unit * max(float((values / unit).std()), np.finfo(float).eps)


@dataclass(frozen=True)
class AssumedClasses:
    """A learning problem with the landmarks as further examples, whose classes are assumed.

    Attributes
    ----------
    mixture : KernelMixture
        The kernels on the labelled rows and, after them, the landmarks that are not labelled.
    landmarks : ndarray
        These landmarks, as rows of the data.
    masses : ndarray
        How many rows each of them stands for.
    problem : LearningProblem
        The labelled examples alone.
    shares : ndarray
        Shares of the classes.
    """

    mixture: KernelMixture
    landmarks: Indices
    masses: Vector
    problem: LearningProblem
    shares: Vector

    @classmethod
    def of(cls, mixture: KernelMixture, problem: LearningProblem, landmarks: Indices, shares: Vector) -> AssumedClasses:
        """Put the landmarks, given as rows of the data, beside the labelled rows."""
        places = np.flatnonzero(~np.isin(landmarks, problem.training.rows))
        geometry, copies = mixture.kernel.geometry, problem.training.copies.astype(np.float64)
        copies = copies if geometry.n == len(copies) else np.ones(geometry.n)  # a graph of the landmarks alone
        masses = np.maximum(geometry.gather(copies, mixture.kernel.power)[places], 0.0)
        masses = masses if masses.any() else np.ones(len(places))
        return cls(mixture.with_landmarks(places), landmarks[places], masses, problem, shares)

    @property
    def _n_labeled(self) -> int:
        return self.problem.training.n_examples

    @property
    def weights(self) -> Vector:
        """Weights of the examples: the landmarks together count as one label per class."""
        return self._weights(1.0)

    def _weights(self, labels_per_class: float) -> Vector:
        own = self.problem.weights
        each = labels_per_class * float(own.mean()) * len(self.shares) / max(len(self.landmarks), 1)
        return np.concatenate([own, np.full(len(self.landmarks), each)])

    def settle(self, choice: Choice) -> LearningProblem:
        """Return the problem with the classes that the landmarks settle on."""
        light, heavy = self._ridge(choice, 1.0), self._ridge(choice, HEAVY)
        start = self._from_labels(choice, self._label_ridge(choice).inverse)
        numbers = self._settled(light.inverse, heavy.inverse, start)
        return self.problem.extended(self.landmarks, numbers, self.weights[self._n_labeled :])

    def held_out(self, choice: Choice) -> Matrix:
        """Return decision values on the labelled examples, shifted, the landmarks having settled without each.

        Ridge regressions, whatever the loss: leaving out i changes P to P - P_i P_i' / P_ii.
        """
        light, heavy, alone = self._ridge(choice, 1.0), self._ridge(choice, HEAVY), self._label_ridge(choice)
        K = self.mixture.mixed(choice.weights)
        values = np.empty_like(self.problem.Y)
        for i in range(self._n_labeled):
            P, to_intercept = _without(light.inverse, light.sums, i)
            start = self._from_labels(choice, _without(alone.inverse, alone.sums, i)[0])
            Y = self._targets(self._settled(P, _without(heavy.inverse, heavy.sums, i)[0], start))
            f = K @ (P @ Y) + to_intercept @ Y
            values[i] = f[i] + offsets_for_shares(f[self._n_labeled :], self.shares, self.masses)
        return values

    def _ridge(self, choice: Choice, labels_per_class: float) -> RidgeSolution:
        """Return the ridge regression on all examples, with landmarks of that weight."""
        K, Y = self.mixture.mixed(choice.weights), np.zeros((self.mixture.n_rows, 1))
        return RidgePath(K, Y, self._weights(labels_per_class)).at(choice.alpha)

    def _label_ridge(self, choice: Choice) -> RidgeSolution:
        n = self._n_labeled
        K = self.mixture.mixed(choice.weights)[:n, :n]
        return RidgePath(K, self.problem.Y, self.problem.weights).at(choice.alpha)

    def _from_labels(self, choice: Choice, P: Matrix) -> Matrix:
        """Return what the labels alone say about the landmarks, but for a constant; their dual is P Y."""
        n = self._n_labeled
        return self.mixture.mixed(choice.weights)[n:, :n] @ (P @ self.problem.Y)

    def _settled(self, light: Matrix, heavy: Matrix, start: Matrix) -> Indices:
        """Return the classes that the landmarks settle on, of several tries those that contradict each other least.

        Contradiction is the mean square of leave-one-out residuals of the landmarks, at a weight at which they are
        compared with each other more than with the labels. `light` and `heavy` are P at the two weights.
        """
        if not len(start):  # every landmark is labelled
            return np.empty(0, dtype=np.intp)
        tries = [self._settled_once(light, start, sharpness) for sharpness in SETTLING]
        return min(tries, key=lambda numbers: np.square(self._residuals(heavy, numbers)).mean())

    def _settled_once(self, P: Matrix, f: Matrix, sharpness: float) -> Indices:
        """Assign the landmarks to classes, each by what all others say of it, until nothing changes."""
        numbers, offsets = None, None
        for _ in range(ROUNDS):
            offsets = offsets_for_shares(f, self.shares, self.masses, sharpness=sharpness, start=offsets)
            found = winners(f + offsets)
            if numbers is not None and np.array_equal(found, numbers):
                break
            numbers = found
            f = signs_of(numbers, len(self.shares)) - self._residuals(P, numbers)
        assert numbers is not None
        return numbers

    def _residuals(self, P: Matrix, numbers: Indices) -> Matrix:
        """Return the leave-one-out residuals of the landmarks in these classes; the dual is P Y."""
        n = self._n_labeled
        own = np.maximum(np.diagonal(P)[n:, None], np.finfo(float).tiny)
        return (P @ self._targets(numbers))[n:] / own

    def _targets(self, numbers: Indices) -> Matrix:
        """Return the targets: of the labelled examples as given, of the landmarks as assumed."""
        return np.concatenate([self.problem.Y, signs_of(numbers, len(self.shares))])


def _without(P: Matrix, sums: Vector, i: int) -> tuple[Matrix, Vector]:
    """Return P and the weights of the targets in the intercept, without example i."""
    share = sums / sums.sum()
    if P[i, i] <= 0.0:
        return P, share
    column = P[:, i] / P[i, i]
    return P - np.outer(column, P[i]), share - share[i] * column
