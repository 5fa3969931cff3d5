"""Figure 4: k-means on two moons, by Euclidean distance and in the metric of the full and the efficient kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from halfmoon import DataDependentKernel, KernelKMeans
from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._trials import Job, trial_seed

__all__ = ["Config", "clustering_error", "clusterings", "experiment", "moons"]

EUCLIDEAN, FULL, EFFICIENT = "Euclidean", "full kernel", "efficient kernel"


@dataclass(frozen=True)
class Config:
    """Data, landmarks, and the kernel: the best of a small grid over gamma and eta, as in the paper."""

    n: int = 1000
    noise: float = 0.05
    gap: float = 0.65  # between the moons: Euclidean k-means then errs by about the paper's 11 %
    n_landmarks: int = 40
    trials: int = 20
    kernel: dict[str, Any] = field(
        default_factory=lambda: {"n_neighbors": 10, "power": 2, "ridge": 1e-5, "normalized": False, "eta": 1e4}
    )


def experiment(options: Options) -> Experiment:
    """Return the job of Figure 4."""
    config = Config()
    trials = options.count(config.trials, 2)
    job = Job("moons", partial(_trial, config, options.seed), trials, repr((config, options.seed)))
    draw = partial(plot, config, options.seed)
    return Experiment("figure4", "Clustering: 2-moons data, 1000 data points", [job], draw, claims, table)


def moons(config: Config, seed: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return points and their moon."""
    X, y = make_moons(config.n, noise=config.noise, random_state=seed)
    return X - config.gap * np.outer(y, [0.0, 1.0]), y


def clusterings(config: Config, seed: int) -> dict[str, NDArray[np.intp]]:
    """Return the clusters that the three methods find."""
    X, _ = moons(config, seed)
    kernels = {
        FULL: DataDependentKernel(method="full", **config.kernel),
        EFFICIENT: DataDependentKernel(n_landmarks=config.n_landmarks, random_state=seed, **config.kernel),
    }
    found = {EUCLIDEAN: KMeans(2, n_init=10, random_state=seed).fit_predict(X)}
    for name, kernel in kernels.items():
        found[name] = KernelKMeans(2, kernel=kernel, random_state=seed).fit_predict(X)
    return found


def _trial(config: Config, seed: int, trial: int) -> list[dict[str, Any]]:
    _, y = moons(config, trial_seed(seed, trial))
    found = clusterings(config, trial_seed(seed, trial))
    return [{"method": name, "error": clustering_error(clusters, y)} for name, clusters in found.items()]


def clustering_error(clusters: NDArray[np.intp], y: NDArray[np.intp]) -> float:
    """Return the share of points in the wrong cluster, whichever way the two are numbered."""
    share = float(np.mean(clusters != y))
    return min(share, 1.0 - share)


def _means(rows: Rows) -> dict[str, float]:
    """Return the mean error of every method, in per cent."""
    methods = (EUCLIDEAN, FULL, EFFICIENT)
    return {name: 100 * float(np.mean([r["error"] for r in rows["moons"] if r["method"] == name])) for name in methods}


def claims(rows: Rows) -> list[Claim]:
    """Compare with the paper's 11.4, 0 and 1 per cent."""
    means = _means(rows)
    return [
        Claim(
            "Two moons, k-means, Euclidean", "about 11 %", f"{means[EUCLIDEAN]:.2f} %", abs(means[EUCLIDEAN] - 11) < 2
        ),
        Claim("Two moons, k-means, full kernel", "0 %", f"{means[FULL]:.2f} %", round(means[FULL], 2) == 0.0),
        Claim("Two moons, k-means, efficient", "at most 1 %", f"{means[EFFICIENT]:.2f} %", means[EFFICIENT] <= 1.0),
    ]


def table(rows: Rows) -> str:
    """Return the mean errors beside the paper's."""
    paper = {EUCLIDEAN: "11.4 %", FULL: "0 %", EFFICIENT: "1 %"}
    lines = ["| k-means with | mean error | paper |", "|---|---|---|"]
    return "\n".join(lines + [f"| {name} | {mean:.2f} % | {paper[name]} |" for name, mean in _means(rows).items()])


def plot(config: Config, seed: int, rows: Rows) -> Any:
    """Draw the clusters of the first trial."""
    from matplotlib import pyplot as plt

    X, y = moons(config, trial_seed(seed, 0))
    found = clusterings(config, trial_seed(seed, 0))
    figure, axes = plt.subplots(1, len(found), figsize=(12, 3.4), layout="constrained")
    for ax, (name, clusters) in zip(axes, found.items(), strict=True):
        for cluster, look in enumerate(({"color": "#0072b2", "marker": "o"}, {"color": "#d55e00", "marker": "^"})):
            ax.plot(*X[clusters == cluster].T, linestyle="", markersize=3.5, alpha=0.8, **look)
        ax.set(title=f"{name}: {100 * clustering_error(clusters, y):.1f} % wrong", aspect="equal", xticks=[], yticks=[])
    return figure
