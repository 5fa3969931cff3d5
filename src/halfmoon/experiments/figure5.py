"""Figure 5: time of Q_hat and of (I + eta Q_hat K_hat)^-1, against the n x n inverse of the standard construction."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.metrics.pairwise import rbf_kernel

from halfmoon.experiments._data import load
from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._trials import Job, trial_seed
from halfmoon.geometry import restrict
from halfmoon.graph import knn_graph, laplacian
from halfmoon.regularizers import PowerRegularizer

__all__ = ["Config", "experiment"]

ITERATIVE, DIRECT, STANDARD = "efficient, iterative solver", "efficient, direct solver", "standard construction"
FITTED_FROM = 8000  # points, for the exponents
MINUTES_OF_THE_PAPER = 3.0


@dataclass(frozen=True)
class Config:
    """Sizes, and how far each method goes."""

    sizes: tuple[int, ...] = (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
    n_hat: int = 500
    ridge: float = 1e-3
    most_direct: int = 64_000
    most_standard: int = 8000
    gamma: float = 1.0
    eta: float = 1.0


def experiment(options: Options) -> Experiment:
    """Return the job of Figure 5: one trial a size."""
    config = Config()
    if options.quick:
        config = Config(sizes=config.sizes[:5], most_standard=2000)
    work = partial(_trial, config, options.data, options.seed)
    job = Job("seconds", work, len(config.sizes), repr((config, options.seed)), alone=True)
    return Experiment("figure5", "Computation time", [job], plot, claims, table)


def _trial(config: Config, folder: Path | None, seed: int, trial: int) -> list[dict[str, Any]]:
    """Time all methods at one size; the smallest size is run once before, to load what is compiled."""
    X, _ = load("mnist", folder)
    n = config.sizes[trial]
    rng = np.random.default_rng(trial_seed(seed, trial))
    points = X[rng.choice(len(X), n, replace=False)].astype(np.float64) / 255.0
    W = knn_graph(points, n_neighbors=5)
    S = rng.choice(n, min(config.n_hat, n // 2), replace=False)
    _efficient(config, knn_graph(points[:500], n_neighbors=5), points[:500], np.arange(100), "auto")
    rows = [{"n": n, "method": ITERATIVE, "seconds": _efficient(config, W, points, S, "auto")}]
    if n <= config.most_direct:
        rows.append({"n": n, "method": DIRECT, "seconds": _efficient(config, W, points, S, "direct")})
    if n <= config.most_standard:
        rows.append({"n": n, "method": STANDARD, "seconds": _standard(config, W, points)})
    return rows


def _efficient(config: Config, W: Any, X: NDArray[np.float64], S: NDArray[np.intp], solver: str) -> float:
    start = time.perf_counter()
    Q_hat = restrict(PowerRegularizer(W, power=1, normalized=False, ridge=config.ridge), S, solver=solver).Q_hat
    K_hat = rbf_kernel(X[S], gamma=config.gamma)
    linalg.inv(np.eye(len(S)) + config.eta * Q_hat @ K_hat)
    return time.perf_counter() - start


def _standard(config: Config, W: Any, X: NDArray[np.float64]) -> float:
    start = time.perf_counter()
    Q = laplacian(W)
    linalg.inv(np.eye(len(X)) + config.eta * (Q @ rbf_kernel(X, gamma=config.gamma)), overwrite_a=True)
    return time.perf_counter() - start


def _times(rows: Rows, method: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes and seconds of a method."""
    own = [row for row in rows["seconds"] if row["method"] == method]
    return np.array([row["n"] for row in own], dtype=float), np.array([row["seconds"] for row in own])


def _exponent(n: NDArray[np.float64], seconds: NDArray[np.float64]) -> float:
    """Return the slope of log time over log size, on the largest sizes."""
    large = n >= min(FITTED_FROM, n[-2])
    return float(np.polyfit(np.log(n[large]), np.log(seconds[large]), 1)[0])


def claims(rows: Rows) -> list[Claim]:
    """Check the exponent and the time at the largest size."""
    n, seconds = _times(rows, ITERATIVE)
    slope = _exponent(n, seconds)
    return [
        Claim(
            f"Time of the efficient kernel from {FITTED_FROM:,} to 64,000 points",
            "exponent at most 1.15",
            f"{slope:.2f} (up to n = {n[-1]:,.0f})",
            slope <= 1.15,
        ),
        Claim(
            f"Time at n = {n[-1]:,.0f}",
            f"well below the paper's {MINUTES_OF_THE_PAPER:.0f} minutes at 64,000",
            f"{seconds[-1]:.1f} s",
            seconds[-1] < 20.0 * MINUTES_OF_THE_PAPER,
        ),
    ]


def table(rows: Rows) -> str:
    """Return seconds by size, and the exponents."""
    methods = [m for m in (ITERATIVE, DIRECT, STANDARD) if len(_times(rows, m)[0])]
    lines = ["| n | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for n in sorted({row["n"] for row in rows["seconds"]}):
        own = {row["method"]: f"{row['seconds']:.3g} s" for row in rows["seconds"] if row["n"] == n}
        lines.append(f"| {n:,} | " + " | ".join(own.get(m, "") for m in methods) + " |")
    exponents = (f"{_exponent(*_times(rows, m)):.2f}" for m in methods)
    return "\n".join([*lines, "| exponent | " + " | ".join(exponents) + " |"])


def plot(rows: Rows) -> Any:
    """Draw times against sizes, log-log, with the fitted exponents."""
    from matplotlib import pyplot as plt

    from halfmoon.plotting.style import color, line, marker, method_numbers

    figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for method, number in method_numbers((ITERATIVE, DIRECT, STANDARD)).items():
        n, seconds = _times(rows, method)
        if len(n):
            look = {"color": color(number), "marker": marker(number), "linestyle": line(number)}
            ax.loglog(n, seconds, label=f"{method}: $n^{{{_exponent(n, seconds):.2f}}}$", **look)
    ax.set(xlabel="labelled and unlabelled points", ylabel="seconds")
    ax.grid(alpha=0.4, linewidth=0.5)
    ax.legend(frameon=False)
    return figure
