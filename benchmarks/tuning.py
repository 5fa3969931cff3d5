"""A grid over power, eta, width and C: KernelSearchCV against one fit and against GridSearchCV.

Run ``python -m benchmarks.tuning --data DIR`` (DIR with mnist.npz): MNIST 3 against 8, 12,000 points, 250 landmarks,
100 labels, 5 folds. The naive side is measured on a few candidates and scaled, and says so.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks._machine import machine
from halfmoon import DataDependentKernel, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.model_selection import KernelSearchCV, LabeledKFold

FEW = 4  # candidates that the naive search is measured on


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    archive = np.load(options.data / "mnist.npz")
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(np.isin(archive["y"], (3, 8))))[:12_000]
    X, y = archive["X"][rows], archive["y"][rows].astype(int)
    few = np.where(np.arange(12_000) < 100, y, -1)
    kernel = DataDependentKernel(n_landmarks=250, extension="graph", random_state=0)
    start = time.perf_counter()
    fitted = LapSVC(C=1.0, kernel=kernel).fit(X, few)
    one_fit = time.perf_counter() - start
    gamma = fitted.kernel_.base_kernel_.params["gamma"]
    grid = {
        "kernel__power": [1, 2, 3, 4],
        "kernel__eta": list(10.0 ** np.arange(-3, 4)),
        "kernel__gamma": [gamma * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)],
        "C": [0.1, 1.0, 10.0, 100.0],
    }
    start = time.perf_counter()
    search = KernelSearchCV(LapSVC(kernel=kernel), grid, cv=5).fit(X, few)
    shared = time.perf_counter() - start
    candidates = len(search.cv_results_["params"])
    part = {name: values[:1] for name, values in grid.items()} | {"C": grid["C"][:FEW]}
    start = time.perf_counter()
    GridSearchCV(LapSVC(kernel=kernel), part, cv=LabeledKFold(5, random_state=0), refit=False).fit(X, few)
    naive = (time.perf_counter() - start) * candidates / FEW
    rest = few < 0
    print(f"Machine: {machine('numpy', 'scikit-learn', 'numba')}.")
    print(f"one fit {one_fit:.2f} s")
    print(f"KernelSearchCV, {candidates} candidates, 5 folds: {shared:.2f} s = {shared / one_fit:.1f} fits")
    print(f"GridSearchCV {naive:,.0f} s, scaled from {FEW} candidates: {naive / shared:,.0f} times as long")
    error = 100 * np.mean(search.predict(X[rest]) != y[rest])
    print(f"best {search.best_params_}, error on the unlabelled rows {error:.2f} %")


if __name__ == "__main__":
    main()
