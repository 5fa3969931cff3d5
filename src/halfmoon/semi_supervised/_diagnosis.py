"""An honest readout: what the model rests on, and whether the unlabelled rows helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    def of(cls, estimator: Any, scores: dict[str, float]) -> Diagnosis:
        """Read a fitted estimator."""
        kernel, examples = estimator.kernel_, estimator._examples
        components = kernel.regularizer_.components
        rows = examples.rows if kernel.method != "budget" else np.empty(0, dtype=np.intp)
        order = np.argsort(components.sizes)[::-1]
        return cls(
            name=type(estimator).__name__,
            n_rows=examples.X.shape[0],
            n_labeled=len(examples.rows),
            n_landmarks=len(kernel.landmark_indices_),
            component_sizes=components.sizes[order],
            component_labels=np.bincount(components.labels[rows], minlength=components.count)[order],
            error_bound=kernel.restriction_.error_bound,
            bound_kind=kernel.restriction_.bound_kind,
            choice=str(estimator.choice_),
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

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores and the largest components; return the axes.

        Parameters
        ----------
        axes : pair of matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        pair of matplotlib axes
        """
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
        left, right = axes
        left.barh(list(self.scores), list(self.scores.values()), color=["#1b6ca8", "#b0b7bf"])
        left.invert_yaxis()
        left.set_xlabel("held-out score")
        left.set_title("Do the unlabelled rows help?", fontsize=10)
        for row, value in enumerate(self.scores.values()):
            left.text(value, row, f" {value:.3f}", va="center", fontsize=9)
        shown = min(12, len(self.component_sizes))
        places = np.arange(shown)
        right.bar(places, self.component_sizes[:shown], color="#b0b7bf", label="points")
        right.bar(places, np.maximum(self.component_labels[:shown], 0), color="#1b6ca8", label="labelled")
        right.set_yscale("symlog")
        right.set_xlabel(f"component ({shown} largest of {len(self.component_sizes)})")
        right.set_title("Points and labels by component", fontsize=10)
        right.legend(frameon=False, fontsize=8)
        return axes
