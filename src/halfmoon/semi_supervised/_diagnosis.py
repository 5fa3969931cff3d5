"""What a model rests on: its report, and beneath it components, landmarks and the accuracy of the solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._report import Report
from halfmoon.semi_supervised._stored_rounding import stored_rounding

__all__ = ["Diagnosis"]


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` returns; print it, or `plot` it.

    Attributes
    ----------
    report : Report
        How good the model is, and whether the unlabelled rows help.
    n_landmarks : int
        Landmarks.
    component_sizes : ndarray
        Sizes of the components of the graph, largest first.
    component_labels : ndarray
        Labelled examples in each of these components.
    error_bound : float
        Bound on the relative error of Q^+ on the landmarks: of a linear system, not of the predictions.
    bound_kind : {"proven", "probable", "estimated"}
        What that bound rests on.
    interpolation_error : float or None
        Bound on what float32 changes in the decision values of the training rows, given the dual coefficients; None
        unless the interpolation is stored (``instant_refits``).
    """

    report: Report
    n_landmarks: int
    component_sizes: NDArray[np.int64]
    component_labels: NDArray[np.int64]
    error_bound: float
    bound_kind: str
    interpolation_error: float | None = None

    @classmethod
    def of(cls, learned: LearnedModel, report: Report) -> Diagnosis:
        """Read a learnt model."""
        kernel, training = learned.kernel, learned.problem.training
        components = kernel.geometry_.components
        rows = training.rows if kernel.method != "budget" else np.empty(0, dtype=np.intp)
        order = np.argsort(components.sizes)[::-1]
        return cls(
            report=report,
            n_landmarks=len(kernel.landmark_indices_),
            component_sizes=components.sizes[order],
            component_labels=np.bincount(components.labels[rows], minlength=components.count)[order],
            error_bound=kernel.restriction_.error_bound,
            bound_kind=kernel.restriction_.bound_kind,
            interpolation_error=stored_rounding(learned),
        )

    @property
    def scores(self) -> dict[str, float]:
        """Held-out scores of the model and of what it is compared with; higher is better."""
        report = self.report
        return {score.name: score.value for score in (report.model, report.base, report.trivial)}

    @property
    def verdict(self) -> str:
        """One plain sentence on whether the unlabelled rows help."""
        return self.report.verdict_in_words

    @property
    def details(self) -> list[str]:
        """Lines on graph, landmarks and solves."""
        return [
            f"graph: {self._components}",
            f"landmarks: {self.n_landmarks}; the linear systems behind them are solved to {self.error_bound:.1e} "
            f"({self.bound_kind})",
            *self._on_interpolation,
        ]

    @property
    def _components(self) -> str:
        count, bare = len(self.component_sizes), self.component_labels == 0
        if not bare.any():
            labels = "every component has a label" if count > 1 else "all points are connected"
        elif bare.sum() == 1:
            labels = f"1 component with {self.component_sizes[bare].sum():,} points holds no label"
        else:
            labels = f"{bare.sum()} components with {self.component_sizes[bare].sum():,} points hold no label"
        if count == 1:
            return f"1 component of {self.component_sizes[0]:,} points; {labels}"
        return f"{count} components, the largest with {self.component_sizes[0]:,} points; {labels}"

    @property
    def _on_interpolation(self) -> list[str]:
        if self.interpolation_error is None:
            return []
        return [
            "decision values of the training rows: from the stored interpolation, which float32 changes by at most "
            f"{self.interpolation_error:.1e} for these dual coefficients"
        ]

    def __str__(self) -> str:
        return "\n".join([str(self.report), "  details:", *(f"    {line}" for line in self.details)])

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
        bars = ax.barh(range(len(names)), values, height=0.55, color=["#0072b2", "#d55e00", "#8a9199"])
        ax.bar_label(bars, [f"{value:.3f}" for value in values], padding=3, fontsize=9)
        for place, name in enumerate(names):  # inside the axes: beside them they would cover another subplot
            ax.text(0.0, place - 0.3, f" {name}", va="bottom", fontsize=9)
        ax.set(yticks=[], ylim=(len(names) - 0.6, -0.75))
        ax.margins(x=0.15)
        ax.set_xlabel("held-out score")
        return ax
