"""An honest readout: what the model rests on, and whether the unlabelled rows helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._learned import LearnedModel

__all__ = ["Diagnosis"]

NOTICEABLE = 0.01  # gain in score below which the unlabelled rows are said not to help


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` returns; print it, or `plot` it.

    Attributes
    ----------
    name : str
        Class of the estimator.
    n_rows, n_labeled, n_landmarks : int
        Distinct points, labelled examples, landmarks.
    component_sizes : ndarray
        Sizes of the components of the graph, largest first.
    component_labels : ndarray
        Labelled examples in each of these components.
    error_bound : float
        Bound on the relative error of Q^+ on the landmarks.
    bound_kind : {"proven", "probable", "estimated"}
        What that bound rests on.
    choice : str
        The kernel that was chosen, and why.
    scores : dict
        Held-out scores under the chosen kernel and under the base kernel alone; higher is better.
    """

    name: str
    n_rows: int
    n_labeled: int
    n_landmarks: int
    component_sizes: NDArray[np.int64]
    component_labels: NDArray[np.int64]
    error_bound: float
    bound_kind: str
    choice: str
    scores: dict[str, float]

    @classmethod
    def of(cls, name: str, learned: LearnedModel, scores: dict[str, float]) -> Diagnosis:
        """Read a learnt model."""
        kernel, training = learned.kernel, learned.problem.training
        components = kernel.geometry_.components
        rows = training.rows if kernel.method != "budget" else np.empty(0, dtype=np.intp)
        order = np.argsort(components.sizes)[::-1]
        return cls(
            name=name,
            n_rows=training.X.shape[0],
            n_labeled=len(training.rows),
            n_landmarks=len(kernel.landmark_indices_),
            component_sizes=components.sizes[order],
            component_labels=np.bincount(components.labels[rows], minlength=components.count)[order],
            error_bound=kernel.restriction_.error_bound,
            bound_kind=kernel.restriction_.bound_kind,
            choice=str(learned.choice),
            scores=scores,
        )

    @property
    def gain(self) -> float:
        """Held-out score of the chosen kernel above that of the base kernel alone."""
        chosen, base = self.scores.values()
        return chosen - base

    @property
    def verdict(self) -> str:
        """One plain sentence on whether the unlabelled rows help."""
        chosen, base = self.scores.values()
        figures = f"held-out score {chosen:.3f} against {base:.3f} for the base kernel alone"
        if self.n_labeled >= self.n_rows:
            return f"There are no unlabelled rows: {figures}."
        if self.gain >= NOTICEABLE:
            return f"The unlabelled rows help: {figures}."
        return f"The unlabelled rows do not help here: {figures}."

    def __str__(self) -> str:
        bare = self.component_labels == 0
        lines = [
            f"halfmoon {self.name}: {self.n_rows} distinct points, {self.n_labeled} labelled",
            f"  graph: {len(self.component_sizes)} components, the largest with {self.component_sizes[0]} points; "
            f"{int(bare.sum())} components with {int(self.component_sizes[bare].sum())} points hold no label",
            f"  landmarks: {self.n_landmarks}, Q^+ on them accurate to {self.error_bound:.1e} ({self.bound_kind})",
            f"  kernel: {self.choice}",
            f"  {self.verdict}",
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the held-out scores; return the axes.

        `halfmoon.plotting.ComponentSizesDisplay` draws the components.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(5, 2.2), layout="constrained")
        names, values = list(self.scores), np.array(list(self.scores.values()))
        bars = ax.barh(names, values, color=["#1b6ca8", "#b0b7bf"])
        ax.bar_label(bars, [f"{value:.3f}" for value in values], padding=3, fontsize=9)
        ax.invert_yaxis()
        ax.margins(x=0.15)
        ax.set_xlabel("held-out score")
        return ax
