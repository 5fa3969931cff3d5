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
from scipy.special import logsumexp

from halfmoon.geometry import Geometry
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised.losses import RidgePath

__all__ = ["Choice", "Coverage", "select_mixture"]

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
    if classes is None:
        Y = Y / (np.abs(Y).max() or 1.0)  # the unit of targets does not matter, and their squares must not overflow
    for mix in _candidates(extension, coverage):
        path = RidgePath(mixture.mixed(mix), Y, weights)
        for alpha in ALPHAS_OF_TARGETS if classes is None else ALPHAS:
            held_out = Y - path.at(alpha).residuals
            loss = _squares(held_out, Y, weights) if classes is None else _surprise(held_out, classes, weights)
            loss += _penalty(mix.get("base", 0.0), alpha) if classes is not None else 0.0
            if loss < best:
                best, chosen = loss, (mix, alpha)
    assert chosen is not None
    return Choice(chosen[0], chosen[1], "leave-one-out" if extension == "auto" else "named; ridge by leave-one-out")


def _candidates(extension: str, coverage: Coverage) -> list[dict[str, float]]:
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


def _squares(held_out: Matrix, Y: Matrix, weights: NDArray[np.float64]) -> float:
    return float(np.average(np.square(held_out - Y).sum(axis=1), weights=weights))


def _surprise(held_out: Matrix, classes: NDArray[np.intp], weights: NDArray[np.float64]) -> float:
    """Return the summed log-loss at the best temperature; an example alone in its class says nothing when left out."""
    votes = np.bincount(classes)[classes] > 1
    values = np.hstack([-held_out, held_out]) if held_out.shape[1] == 1 else held_out
    values, classes, weights = 0.5 * values[votes], classes[votes], weights[votes]  # targets -1 and 1: 0 and 1, shifted
    own = values[np.arange(len(classes)), classes]
    losses = [weights @ (logsumexp(t * values, axis=1) - t * own) for t in TEMPERATURES]
    return float(min(losses))
