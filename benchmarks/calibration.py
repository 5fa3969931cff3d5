"""Log-loss and calibration error of class probabilities with few labels, beside scikit-learn's, in one run.

Run ``python -m benchmarks.calibration --data DIR --out DIR`` (DIR with letter.npz and mnist.npz; without it only data
that come with scikit-learn or are made up are measured). So many labels per class are drawn; asked are all unlabelled
rows of the graph (500 rows at most) and 250 new points. Parameters are the defaults, but 200 landmarks.

CalibratedClassifierCV over SVC is fitted to the labelled rows with as many folds as the labels allow, at most 5 (with
one label per class on the rows that the machine was fitted to); LabelSpreading's RBF kernel has the width of SVC's. Of
each of the two the better variant (sigmoid or isotonic, knn or RBF) counts, by its mean log-loss in that row of the
table. Probabilities are lifted to 1e-6 before the logarithm. Calibration error: 10 bins of the largest probability.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from benchmarks._machine import machine
from benchmarks._small_sets import Maker, SmallSet, classification_sets, draw_set
from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC
from halfmoon.semi_supervised import learn

PER_CLASS, N_LANDMARKS, DRAWS_PER_SET = (1, 2, 3, 5, 10, 30), 200, 5
LEAST, BINS = 1e-6, 10
OURS = ("LapSVC", "LapRLSClassifier")
PEERS = {
    "calibrated SVC": ("SVC, sigmoid", "SVC, isotonic"),
    "LabelSpreading": ("LabelSpreading, knn", "LabelSpreading, rbf"),
}
Losses = dict[str, list[tuple[float, float]]]


def draw_labels(y: np.ndarray, per_class: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels of some rows of each class, at most half of them; -1 elsewhere."""
    few = np.full(len(y), -1)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        few[rows[: min(per_class, len(rows) // 2)]] = c
    return few


def calibrated_svc(X: np.ndarray, y: np.ndarray, method: str) -> CalibratedClassifierCV:
    """Fit a calibrated machine with as many folds as there are labels in the smallest class, at most 5."""
    folds = min(5, int(np.bincount(np.unique(y, return_inverse=True)[1]).min()))
    everything = np.arange(len(y))
    cv = folds if folds > 1 else [(everything, everything)]
    return CalibratedClassifierCV(SVC(), method=method, cv=cv).fit(X, y)


def models(small: SmallSet, few: np.ndarray, kernel: DataDependentKernel) -> Iterator[tuple[str, object]]:
    """Yield all methods, fitted."""
    for estimator in (LapSVC, LapRLSClassifier):
        model = estimator(probability=True)
        yield estimator.__name__, model.adopt(learn(model.problem(small.X, few), kernel, model.loss, None))
    labeled = few >= 0
    for method in ("sigmoid", "isotonic"):
        yield f"SVC, {method}", calibrated_svc(small.X[labeled], few[labeled], method)
    width = 1.0 / (small.X.shape[1] * small.X.var())
    yield "LabelSpreading, knn", LabelSpreading(kernel="knn").fit(small.X, few)
    yield "LabelSpreading, rbf", LabelSpreading(kernel="rbf", gamma=width).fit(small.X, few)


def losses(P: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return log-loss and expected calibration error."""
    P = np.where(np.isfinite(P).all(axis=1, keepdims=True), P, 1.0 / P.shape[1])  # LabelSpreading: far from everything
    own = np.maximum(P[np.arange(len(truth)), truth], LEAST)
    confidence, right = P.max(axis=1), P.argmax(axis=1) == truth
    bins = np.minimum((BINS * confidence).astype(int), BINS - 1)
    gaps = [abs(np.sum(right[bins == b] - confidence[bins == b])) for b in range(BINS)]
    return float(-np.log(own).mean()), float(np.sum(gaps) / len(truth))


def measure(maker: Maker, data: Path | None, per_class: int, n_draws: int) -> Losses:
    """Return log-loss and calibration error of every method, one of each per draw."""
    found: Losses = defaultdict(list)
    for draw in range(n_draws):
        if draw % DRAWS_PER_SET == 0:
            rng = np.random.default_rng([draw, per_class])
            small = draw_set(maker, data, rng)
            unfitted = DataDependentKernel(n_landmarks=min(N_LANDMARKS, len(small.y)), random_state=draw, n_jobs=1)
            kernel = unfitted.fit(small.X)
        few = draw_labels(small.y, per_class, rng)
        of_draw = kernel.rewarp(geometry=kernel.geometry_.replace(labeled=few >= 0))
        X, y = np.concatenate([small.X[few < 0], small.X_new]), np.concatenate([small.y[few < 0], small.y_new])
        truth = np.searchsorted(np.unique(small.y), y)
        for name, model in models(small, few, of_draw):
            found[name].append(losses(model.predict_proba(X), truth))
    return found


def table(data: Path | None, n_draws: int) -> Iterator[str]:
    """Yield the rows of the table, log-loss / calibration error, and the means over all rows."""
    names = (*OURS, *PEERS)
    yield "| data | labels per class | " + " | ".join(names) + " |"
    yield "|---|---|" + len(names) * "---|"
    rows = []
    for name, maker in classification_sets(data).items():
        for per_class in PER_CLASS:
            found = {
                method: np.mean(values, axis=0) for method, values in measure(maker, data, per_class, n_draws).items()
            }
            best = {
                peer: min((found[variant] for variant in variants), key=lambda m: m[0])
                for peer, variants in PEERS.items()
            }
            rows.append([found[method] for method in OURS] + list(best.values()))
            yield f"| {name} | {per_class} | " + " | ".join(f"{a:.3f} / {b:.3f}" for a, b in rows[-1]) + " |"
    yield "| mean | | " + " | ".join(f"{a:.3f} / {b:.3f}" for a, b in np.mean(rows, axis=0)) + " |"


def main() -> None:
    """Run the benchmark and write calibration.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with letter.npz and mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # small samples, isolated rows: all in the table
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [f"Machine: {machine('numpy', 'scikit-learn')}. {options.draws} draws.", ""]
    for line in table(options.data, options.draws):
        print(line, flush=True)
        lines.append(line)
        (options.out / "calibration.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
