"""extension="auto": how much of the graph, how much of the base kernel, and which ridge, by closed-form leave-one-out.

With few labels a leave-one-out error is noise, so it enters as a likelihood beside a weak prior: log-loss of the
held-out predictions for classes, squared error for targets. With one label per class the prior decides alone.

The kernel extension is not among the candidates. Most labelled rows are landmarks, where it has been warped exactly, so
that its leave-one-out error says nothing about other rows (docs/estimators.md has the figures); name it to have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import Geometry
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised.losses import RidgePath

__all__ = ["ALPHAS", "ALPHAS_OF_TARGETS", "Choice", "Coverage", "candidates", "loss_of", "select_mixture", "unit_free"]

Matrix = NDArray[np.float64]
SHARES: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)  # of the base kernel in the sum
ALPHAS = tuple(10.0**e for e in np.arange(-3.0, 0.51, 0.5))  # for classes, kernels of unit diagonal
ALPHAS_OF_TARGETS = tuple(10.0**e for e in np.arange(-5.0, 0.1, 1.0))
TEMPERATURES = 2.0 ** np.arange(6)  # of held-out values, as log-odds
PRIOR_SHARE, PRIOR_LOG_ALPHA, PRIOR_WIDTH = 0.1, -1.0, 2.0


@dataclass(frozen=True)
class Coverage:
    """Which components of the graph the labelled rows reach."""

    leaves_components_out: bool  # some component has no labelled row
    beyond_landmarks: bool  # no labelled row shares a component with a landmark: the graph kernel vanishes on all

    @classmethod
    def of(cls, geometry: Geometry, rows: NDArray[np.intp] | None) -> Coverage:
        """Look at the components; None: the rows are not in the graph, but placed by their nearest points."""
        components = geometry.components
        if rows is None:
            return cls(components.count > 1, False)
        reached = components.labels[rows]
        covered = components.covered_by(geometry.landmarks) > 0
        return cls(len(np.unique(reached)) < components.count, not covered[reached].any())


@storable
@dataclass(frozen=True)
class Choice:
    """Weights of the kernels, the ridge that suits them, and the reason."""

    weights: Mapping[str, float]
    alpha: float
    reason: str

    def __str__(self) -> str:
        mix = " + ".join(f"{weight:g} {name}" for name, weight in self.weights.items())
        return f"{mix}, ridge {self.alpha:.2g} ({self.reason})"


def select_mixture(
    mixture: KernelMixture,
    Y: Matrix,
    weights: NDArray[np.float64],
    classes: NDArray[np.intp] | None,
    extension: str,
    coverage: Coverage,
) -> Choice:
    """Return the kernel that was named, or the best sum of graph and base kernel, with the best ridge.

    Y holds the targets, one column per function; `classes` the class numbers, or None for regression.
    """
    best, chosen = np.inf, None
    Y = unit_free(Y, classes)
    for mix in candidates(extension, coverage):
        path = RidgePath(mixture.mixed(mix), Y, weights)
        for alpha in ALPHAS_OF_TARGETS if classes is None else ALPHAS:
            loss = float(loss_of(Y - path.at(alpha).residuals, Y, weights, classes, mix, alpha))
            if loss < best:
                best, chosen = loss, (mix, alpha)
    assert chosen is not None
    return Choice(chosen[0], chosen[1], "leave-one-out" if extension == "auto" else "named; ridge by leave-one-out")


def unit_free(Y: Matrix, classes: NDArray[np.intp] | None) -> Matrix:
    """Return targets in a unit of their own: it must not matter, and their squares must not overflow."""
    return Y / (np.abs(Y).max() or 1.0) if classes is None else Y


def loss_of(
    held_out: NDArray[np.float64],
    Y: Matrix,
    weights: NDArray[np.float64],
    classes: NDArray[np.intp] | None,
    mix: Mapping[str, float],
    alpha: float,
) -> NDArray[np.float64]:
    """Return what a candidate is chosen by: the loss of its held-out values, and the prior.

    `held_out` may have leading axes, and `weights` too: an example of weight 0 is not there.
    """
    if classes is None:
        return _squares(held_out, Y, weights)
    return _surprise(held_out, classes, weights) + _penalty(mix.get("base", 0.0), alpha)


def candidates(extension: str, coverage: Coverage) -> list[dict[str, float]]:
    """Return the weights to try."""
    if extension != "auto":
        return [{extension: 1.0}]
    # Where a component holds no label the graph says nothing: the base kernel must have a share.
    shares = SHARES[1:] if coverage.leaves_components_out else SHARES
    shares = (1.0,) if coverage.beyond_landmarks else shares
    mixes = [{"graph": 1.0 - share, "base": share} for share in shares]
    return [{name: weight for name, weight in mix.items() if weight > 0.0} for mix in mixes]


def _penalty(share: float, alpha: float) -> float:
    """Return minus the log of the prior: mostly graph, a moderate ridge; worth a fraction of one label."""
    gaps = np.array([share - PRIOR_SHARE, np.log10(alpha) - PRIOR_LOG_ALPHA])
    return float(gaps @ gaps) / (2.0 * PRIOR_WIDTH**2)


def _squares(held_out: NDArray[np.float64], Y: Matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return (np.square(held_out - Y).sum(axis=-1) * weights).sum(axis=-1) / weights.sum(axis=-1)


def _surprise(
    held_out: NDArray[np.float64], classes: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the summed log-loss at the best temperature; an example alone in its class says nothing when left out."""
    counts = (weights > 0.0) @ np.eye(int(classes.max()) + 1)[classes]
    weights = np.where(counts[..., classes] > 1.0, weights, 0.0)
    values = np.concatenate([-held_out, held_out], axis=-1) if held_out.shape[-1] == 1 else held_out
    values = 0.5 * values  # targets -1 and 1: 0 and 1, shifted
    largest = values.max(axis=-1)
    short = largest - values[..., np.arange(len(classes)), classes]
    powers, losses = np.exp(values - largest[..., None]), []
    for t in TEMPERATURES:  # each is twice the one before
        losses.append((weights * (np.log(powers.sum(axis=-1)) + t * short)).sum(axis=-1))
        powers = np.square(powers)
    return np.asarray(np.min(losses, axis=0))
