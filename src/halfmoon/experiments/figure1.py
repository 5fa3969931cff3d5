"""Figure 1: on concentric circles the landmarks know the whole graph, a graph on the landmarks alone does not.

Two labellings of the landmarks are compared by h' Q_hat h: by half-plane, and by circle. Q_hat comes from the 2-NN
graph of all points, or (panel c) from a 2-NN graph of the landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_circles

from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._trials import Job, trial_seed
from halfmoon.geometry import restrict
from halfmoon.graph import knn_graph
from halfmoon.regularizers import PowerRegularizer

__all__ = ["Config", "experiment"]

LABELINGS = ("half-plane", "circle")


@dataclass(frozen=True)
class Config:
    """Sizes and noise."""

    n: int = 200
    n_hat: int = 16
    noise: float = 0.01
    factor: float = 0.7  # the gap between the circles is less than that between landmarks along them
    n_neighbors: int = 2
    ridge: float = 1e-4
    trials: int = 20


@dataclass(frozen=True)
class Circles:
    """One draw: points, their circle, landmarks, and the two graphs."""

    X: NDArray[np.float64]
    circle: NDArray[np.intp]
    landmarks: NDArray[np.intp]
    whole: sparse.csr_array
    reduced: sparse.csr_array

    @classmethod
    def drawn(cls, config: Config, seed: int) -> Circles:
        """Draw points and landmarks; build the graphs."""
        X, circle = make_circles(config.n, noise=config.noise, factor=config.factor, random_state=seed)
        landmarks = np.random.default_rng(seed).choice(config.n, config.n_hat, replace=False)
        graphs = [knn_graph(points, n_neighbors=config.n_neighbors) for points in (X, X[landmarks])]
        return cls(X, circle, landmarks, *graphs)

    def labels(self, name: str) -> NDArray[np.float64]:
        """Return the labelling of the landmarks, -1 and 1."""
        positive = self.X[self.landmarks, 0] > 0.0 if name == "half-plane" else self.circle[self.landmarks] == 1
        return np.where(positive, 1.0, -1.0)


def experiment(options: Options) -> Experiment:
    """Return the job of Figure 1."""
    config = Config()
    job = Job(
        "circles",
        partial(_trial, config, options.seed),
        options.count(config.trials, 5),
        repr((config, options.seed)),
    )
    return Experiment("figure1", "Concentric circles", [job], partial(plot, config, options.seed), claims, table)


def _trial(config: Config, seed: int, trial: int) -> list[dict[str, Any]]:
    drawn = Circles.drawn(config, trial_seed(seed, trial))
    rows = []
    for graph, W, S in (
        ("all points", drawn.whole, drawn.landmarks),
        ("landmarks only", drawn.reduced, np.arange(config.n_hat)),
    ):
        Q_hat = restrict(PowerRegularizer(W, power=1, ridge=config.ridge), S).Q_hat
        for name in LABELINGS:
            h = drawn.labels(name)
            rows.append({"graph": graph, "labeling": name, "penalty": float(h @ Q_hat @ h)})
    return rows


def claims(rows: Rows) -> list[Claim]:
    """Compare the penalties of the two labellings on the two graphs."""
    ratio = {graph: _ratio(rows, graph) for graph in ("all points", "landmarks only")}
    return [
        Claim(
            "Figure 1: with the graph of all points the labelling by circle is smoother than that by half-plane",
            "penalty at most a fifth",
            f"{ratio['all points']:.3f} of it (median)",
            ratio["all points"] <= 0.2,
        ),
        Claim(
            "Figure 1(c): a graph on the landmarks alone does not show it",
            "penalty above a half",
            f"{ratio['landmarks only']:.2f} of it (median)",
            ratio["landmarks only"] > 0.5,
        ),
    ]


def _ratio(rows: Rows, graph: str) -> float:
    """Return the median over trials of the penalty by circle over that by half-plane."""
    penalty = {
        name: np.array([r["penalty"] for r in rows["circles"] if (r["graph"], r["labeling"]) == (graph, name)])
        for name in LABELINGS
    }
    return float(np.median(penalty["circle"] / penalty["half-plane"]))


def table(rows: Rows) -> str:
    """Return the median penalties."""
    lines = ["| graph on | circle / half-plane, h' Q_hat h |", "|---|---|"]
    lines += [f"| {graph} | {_ratio(rows, graph):.3f} |" for graph in ("all points", "landmarks only")]
    return "\n".join(lines)


def plot(config: Config, seed: int, rows: Rows) -> Any:
    """Draw the labellings on the graph of all points, and the graph on the landmarks."""
    from matplotlib import pyplot as plt
    from matplotlib.collections import LineCollection

    drawn = Circles.drawn(config, trial_seed(seed, 0))
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    points = drawn.X[drawn.landmarks]
    panels = (
        ("(a) by half-plane: not smooth", drawn.X, drawn.whole, "half-plane"),
        ("(b) by circle: smooth", drawn.X, drawn.whole, "circle"),
        ("(c) graph on the landmarks alone", points, drawn.reduced, "circle"),
    )
    for ax, (title, X, W, name) in zip(axes, panels, strict=True):
        edges = sparse.coo_array(sparse.triu(W))
        lines = list(np.stack([X[edges.row], X[edges.col]], axis=1))
        ax.add_collection(LineCollection(lines, colors="0.6", linewidths=0.8))
        ax.plot(*drawn.X.T, ".", color="0.25", markersize=2.5)
        labels = drawn.labels(name)
        for sign, look in ((1.0, {"color": "#d55e00", "marker": "o"}), (-1.0, {"color": "#009e73", "marker": "s"})):
            ax.plot(*points[labels == sign].T, linestyle="", markersize=8, markeredgecolor="black", **look)
        if name == "half-plane":
            ax.axvline(0.0, linestyle=":", color="black")
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    return figure
