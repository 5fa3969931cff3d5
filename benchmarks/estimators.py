"""Errors and times of the estimators at their defaults, beside scikit-learn's, in one run.

Run ``python -m benchmarks.estimators --data DIR --out DIR`` (DIR with mnist.npz; without it only data that come with
scikit-learn or are made up are measured).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_circles, make_moons, make_swiss_roll
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from benchmarks._machine import machine
from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.experiments import figure4

Errors = dict[str, list[float]]
SVC_GRID = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 1e-3, 1e-2, 1e-1, 1.0]}


def tuned_svc(X: np.ndarray, y: np.ndarray) -> GridSearchCV:
    """Fit an RBF SVC tuned by cross-validation on the labelled rows."""
    folds = min(5, int(np.bincount(np.unique(y, return_inverse=True)[1]).min()))
    return GridSearchCV(SVC(), SVC_GRID, cv=max(2, folds)).fit(X, y)


def compare(X: np.ndarray, y: np.ndarray, few: np.ndarray, new: np.ndarray, y_new: np.ndarray, n_hat: int, seed: int):
    """Return the errors in per cent of all methods on new points."""
    labeled = few >= 0
    kernel = DataDependentKernel(n_landmarks=n_hat, random_state=seed)
    fitted = {
        "LapSVC": LapSVC(kernel=kernel).fit(X, few),
        "LapRLSClassifier": LapRLSClassifier(kernel=kernel).fit(X, few),
        "SVC": SVC().fit(X[labeled], y[labeled]),
        "SVC, tuned": tuned_svc(X[labeled], y[labeled]),
        "LabelSpreading(knn)": LabelSpreading(kernel="knn").fit(X, few),
    }
    return {name: 100 * (1 - model.score(new, y_new)) for name, model in fitted.items()}


def draws(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a data set, in random order."""
    rng = np.random.default_rng(seed)
    if name == "Gaussians, 200-d":  # Bayes error 3 %
        y = np.repeat([0, 1], 1500)
        X = rng.normal(size=(3000, 200)) + np.where(y, 1, -1)[:, None] * 1.88 / np.sqrt(200)
    else:
        X, y = SETS[name](seed)
    order = rng.permutation(len(X))
    return X[order], y[order]


SETS: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "digits": lambda seed: load_digits(return_X_y=True),
    "breast cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "moons": lambda seed: make_moons(1000, noise=0.2, random_state=seed),
    "circles": lambda seed: make_circles(1000, noise=0.1, factor=0.5, random_state=seed),
}


def classification(n_draws: int) -> Iterator[str]:
    """Yield rows of the table of errors on new points."""
    yield "| data | labels | LapSVC | LapRLSClassifier | SVC | SVC, tuned | LabelSpreading(knn) | draws |"
    yield "|---|---|---|---|---|---|---|---|"
    cases = [("digits", 3, 200), ("digits", 10, 200), ("Gaussians, 200-d", 50, 500), ("breast cancer", 50, 250)]
    cases += [("moons", 50, 250), ("circles", 50, 250)]
    for name, per_class, n_hat in cases:
        found: dict[str, list[float]] = {}
        for seed in range(n_draws):
            X, y = draws(name, seed)
            half = len(X) // 2
            if name == "breast cancer":
                X = StandardScaler().fit(X[:half]).transform(X)
            few = np.full(half, -1)
            for c in np.unique(y):
                few[np.flatnonzero(y[:half] == c)[:per_class]] = c
            for method, error in compare(X[:half], y[:half], few, X[half:], y[half:], n_hat, seed).items():
                found.setdefault(method, []).append(error)
        means = " | ".join(f"{np.mean(errors):.1f}" for errors in found.values())
        yield f"| {name} | {per_class} a class | {means} | {n_draws} |"


def mnist(data: Path, n_draws: int) -> Iterator[str]:
    """Yield rows of the table of MNIST, ten classes, 64,000 rows, 250 landmarks."""
    archive = np.load(data / "mnist.npz")
    X, y = archive["X"], archive["y"].astype(int)
    yield "| labels | estimator | training rows % | new points % | fit s | predict 6,000 s | draws |"
    yield "|---|---|---|---|---|---|---|"
    for labels in (100, 300):
        for estimator in (LapRLSClassifier, LapSVC):
            rows = []
            for seed in range(n_draws):
                rng = np.random.default_rng(seed)
                order = rng.permutation(len(X))
                train, new = order[:64_000], order[64_000:]
                few = np.full(64_000, -1)
                chosen = rng.choice(64_000, labels, replace=False)
                few[chosen] = y[train][chosen]
                model = estimator(kernel=DataDependentKernel(n_landmarks=250, random_state=seed))
                start = time.perf_counter()
                model.fit(X[train], few)
                fitted = time.perf_counter()
                wrong = np.mean(model.predict(X[new]) != y[new])
                predicted = time.perf_counter()
                own = np.mean(model.transduction_ != y[train])
                rows.append((100 * own, 100 * wrong, fitted - start, predicted - fitted))
                print(labels, estimator.__name__, seed, rows[-1], flush=True)
            own, wrong, fit, predict = np.mean(rows, axis=0)
            figures = f"{own:.2f} | {wrong:.2f} | {fit:.1f} | {predict:.1f}"
            yield f"| {labels} | {estimator.__name__} | {figures} | {n_draws} |"


def regression(n_draws: int) -> Iterator[str]:
    """Yield the comparison on a swiss roll with 20 targets."""
    ours, best = [], []
    for seed in range(n_draws):
        X, t = make_swiss_roll(2000, random_state=seed)
        y = np.where(np.arange(2000) < 20, t, np.nan)
        model = LapRLSRegressor(kernel=DataDependentKernel(n_landmarks=250, random_state=seed)).fit(X[:1000], y[:1000])
        ours.append(rmse(model.predict(X[1000:]), t[1000:]))
        peers = [KernelRidge(kernel="rbf", gamma=g).fit(X[:20], t[:20]) for g in 10.0 ** np.arange(-5.0, 2.0, 0.25)]
        best.append(min(rmse(peer.predict(X[1000:]), t[1000:]) for peer in peers))
    yield (
        f"Swiss roll, 1,000 points, 20 targets, {n_draws} draws, new points: RMSE {np.mean(ours):.2f} for "
        f"LapRLSRegressor(), {np.mean(best):.2f} for KernelRidge (alpha = 1) with the width best on the test points."
    )


def rmse(a: np.ndarray, b: np.ndarray) -> float:
    """Return the root mean squared difference."""
    return float(np.sqrt(np.mean(np.square(a - b))))


def clustering(n_draws: int) -> Iterator[str]:
    """Yield the errors of k-means on two moons (section 5.2, as in ``halfmoon reproduce figure4``)."""
    config = figure4.Config()
    errors: Errors = defaultdict(list)
    for seed in range(n_draws):
        _, y = figure4.moons(config, seed)
        for name, clusters in figure4.clusterings(config, seed).items():
            errors[name].append(100 * figure4.clustering_error(clusters, y))
    means = ", ".join(f"{name} {np.mean(values):.2f} %" for name, values in errors.items())
    yield f"Two moons, 1,000 points, k-means with k = 2, {n_draws} draws, {config.kernel}: {means}."


def speed() -> Iterator[str]:
    """Yield the time of a refit and the rate of predictions at 500 landmarks."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(10, 20))[rng.integers(10, size=12_000)] + rng.normal(size=(12_000, 20))) @ rng.normal(
        size=(20, 50)
    )
    y = rng.integers(2, size=12_000)
    for extension in ("kernel", "graph"):
        few = np.full(12_000, -1)
        few[rng.choice(12_000, 100, replace=False)] = y[:100]
        model = LapSVC(C=1.0, kernel=DataDependentKernel(n_landmarks=500, extension=extension, random_state=0))
        model.fit(X, few)
        times = []
        for _ in range(5):  # one label more, as an annotator gives them
            few[rng.choice(np.flatnonzero(few < 0))] = rng.integers(2)
            start = time.perf_counter()
            model.refit(few)
            times.append(time.perf_counter() - start)
        new = X[rng.integers(12_000, size=100_000)] + 0.1 * rng.normal(size=(100_000, 50))
        model.predict(new[:1000])
        start = time.perf_counter()
        model.predict(new)
        rate = 100_000 / (time.perf_counter() - start)
        yield (
            f"12,000 rows, 50 features, 500 landmarks, extension={extension!r}: refit to 100 labels and one more "
            f"{1000 * np.median(times):.0f} ms, prediction {rate:,.0f} rows per second on all cores."
        )


def main() -> None:
    """Run the benchmark and write estimators.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [f"Machine: {machine('numpy', 'scikit-learn', 'numba')}.", ""]
    parts = [clustering(20), regression(options.draws), speed(), classification(2 * options.draws)]
    parts += [mnist(options.data, options.draws)] if options.data else []
    for part in parts:
        for line in part:
            print(line, flush=True)
            lines.append(line)
        lines.append("")
        (options.out / "estimators.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
