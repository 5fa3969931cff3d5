"""How often prediction sets, intervals and deviations cover the truth, over draws of the labelled rows.

Run ``python -m benchmarks.coverage --data DIR --out DIR`` (DIR with letter.npz and mnist.npz; without it only data
that come with scikit-learn or are made up are measured). Labels are drawn uniformly. Parameters are the defaults,
mixture and ridge selected by the labels, landmarks chosen with a preference for labelled rows; 500 rows at most, 200
landmarks. Counted are 100 unlabelled rows of the graph and 100 new points per draw; of these, for classes, the ones
whose class has a label. Draws with a single class among the labels are drawn again.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._machine import machine
from benchmarks._small_sets import TARGETS, Maker, classification_sets, draw_set, fitted, geometries
from halfmoon import LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.semi_supervised._conformal import ROUNDING

LABELS, LEVELS, N_ASKED = (20, 50, 100), (0.8, 0.9, 0.95), 100
DRAWS_PER_SET = 20
WITHIN = {1.0: 0.683, 1.96: 0.95}  # share of a normal distribution within so many deviations
Outcome = tuple[tuple[str, str, float], tuple[float, float]]
Found = dict[tuple[str, str, float], list[tuple[float, float]]]


def count_sets(p: np.ndarray, classes: np.ndarray, y: np.ndarray) -> Iterator[tuple[float, float, float]]:
    """Yield level, coverage and mean size of the prediction sets of p-values, on rows whose class has a label."""
    known = np.isin(y, classes)
    truth = np.searchsorted(classes, y[known])
    for level in LEVELS:
        sets = p[known] > 1.0 - level + ROUNDING  # as predict_set has it; one set of p-values serves all levels
        yield level, float(sets[np.arange(len(truth)), truth].mean()), float(sets.sum(axis=1).mean())


def bands(model: object, X: np.ndarray) -> Iterator[tuple[str, float, np.ndarray, np.ndarray]]:
    """Yield intervals, and deviations around the mean as intervals: method, level, lower and upper ends."""
    for level in LEVELS:
        yield "LapRLSRegressor", level, *model.predict_interval(X, level).T
    mean, deviation = model.predict(X, return_std=True)
    for times, level in WITHIN.items():
        yield "return_std", level, mean - times * deviation, mean + times * deviation


def outcomes(model: object, X: np.ndarray, y: np.ndarray, places: dict[str, slice], unit: float) -> Iterator[Outcome]:
    """Yield method, place and level with coverage and size; widths in standard deviations of the targets."""
    if isinstance(model, LapRLSRegressor):
        for method, level, low, high in bands(model, X):
            for place, rows in places.items():
                covered = (low[rows] <= y[rows]) & (y[rows] <= high[rows])
                yield (method, place, level), (float(covered.mean()), float(np.mean(high[rows] - low[rows])) / unit)
        return
    p = model._p_values(X)
    for place, rows in places.items():
        for level, *outcome in count_sets(p[rows], model.classes_, y[rows]):
            yield (type(model).__name__, place, level), tuple(outcome)


def measure(maker: Maker, data: Path | None, labels: int, n_draws: int) -> Found:
    """Return coverage and size of every estimator, place and level, one of each per draw."""
    found: Found = defaultdict(list)
    for draw in range(n_draws):
        if draw % DRAWS_PER_SET == 0:
            rng = np.random.default_rng([draw, labels])
            small = draw_set(maker, data, rng)
            if 2 * labels > len(small.y):
                return found
            draws = geometries(small, labels, rng)
        mask, kernel = next(draws)
        asked = rng.permutation(np.flatnonzero(~mask))[:N_ASKED]
        X, y = np.concatenate([small.X[asked], small.X_new]), np.concatenate([small.y[asked], small.y_new])
        places = {"rows": slice(len(asked)), "new": slice(len(asked), len(asked) + N_ASKED)}
        for estimator in (LapSVC, LapRLSClassifier) if small.y.dtype.kind in "iu" else (LapRLSRegressor,):
            model = fitted(estimator, small, mask, kernel)
            for (method, place, level), outcome in outcomes(model, X, y, places, float(small.y.std())):
                found[method, place, level].append(outcome)
    return found


def table(data: Path | None, n_draws: int, names: list[str] | None, numbers: list[int]) -> Iterator[str]:
    """Yield the rows of the table; an asterisk marks what is outside of level - 2 to level + 2 + 100 / (l + 1)."""
    yield "| data | labels | estimator | asked of | " + " | ".join(f"{level:.0%}" for level in LEVELS) + " | size |"
    yield "|---|---|---|---|" + "---|" * (len(LEVELS) + 1)
    makers = classification_sets(data) | TARGETS
    for name, maker in {name: makers[name] for name in names or makers}.items():
        for labels in numbers:
            found = measure(maker, data, labels, n_draws)
            for method, place in dict.fromkeys(key[:2] for key in found):
                levels = [key[2] for key in found if key[:2] == (method, place)]
                means = {level: np.mean(found[method, place, level], axis=0) for level in levels}
                cells = " | ".join(_marked(100 * means[level][0], 100 * level, labels) for level in levels)
                sizes = " / ".join(f"{means[level][1]:.2f}" for level in levels)
                cells = (
                    f"{cells.split(' | ')[0]} within 1 std |  | {cells.split(' | ')[1]}" if len(levels) == 2 else cells
                )
                yield f"| {name} | {labels} | {method} | {place} | {cells} | {sizes} |"


def _marked(covered: float, level: float, labels: int) -> str:
    inside = level - 2.0 <= covered <= level + 2.0 + 100.0 / (labels + 1)
    return f"{covered:.1f}{'' if inside else ' *'}"


def main() -> None:
    """Run the benchmark and write coverage.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with letter.npz and mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sets", nargs="*", help="names of data sets; all by default")
    parser.add_argument("--labels", nargs="*", type=int, default=LABELS, help="numbers of labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [f"Machine: {machine('numpy', 'scikit-learn')}. {options.draws} draws.", ""]
    for line in table(options.data, options.draws, options.sets, options.labels):
        print(line, flush=True)
        lines.append(line)
        (options.out / "coverage.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
