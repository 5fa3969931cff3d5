"""Labels that each strategy of `suggest` needs, against random choice, and learning curves.

Run ``python -m benchmarks.active_learning --data DIR --out DIR`` (DIR with mnist.npz and letter.npz; without it only
data that come with scikit-learn or are made up are measured). A run draws rows, builds one kernel for all strategies,
and starts without any label: until there are labels of two classes, `suggest` is asked with the kernel, then with a
LapRLSClassifier that is refitted to every batch. Errors are those on the unlabelled rows. A table, the curves (JSON)
and a chart (SVG) are written; runs that are in the JSON file already are not repeated. Exits with 1 where a claim
does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks._machine import machine
from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.active_learning import STRATEGIES, suggest
from halfmoon.runtime.atomic_write import atomic_write

LEVEL = 0.05  # the error to reach
START = (2, 4, 6, 8, 10)
FEW = (*START, *range(15, 61, 5))
MANY = (*START, *range(20, 101, 10), *range(120, 261, 20))
ALL = [name for name in STRATEGIES if name != "error"]  # which is "auto" where there are classes
Draw = Callable[[Path, np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class LabelingTask:
    """Rows and classes, and the numbers of labels after which the error is looked at: batches end there."""

    draw: Draw
    counts: tuple[int, ...]


def _stored(source: str, classes: tuple[int, ...], n: int, parity: bool = False) -> Draw:
    def draw(data: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        with np.load(data / f"{source}.npz") as archive:
            X, y = archive["X"], archive["y"].astype(int)
        rows = rng.permutation(np.flatnonzero(np.isin(y, classes)))[:n]
        return X[rows], y[rows] % 2 if parity else y[rows]

    return draw


def _loaded(load: Callable[..., tuple[np.ndarray, np.ndarray]], scaled: bool) -> Draw:
    def draw(data: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, y = load(return_X_y=True)
        rows = rng.permutation(len(y))
        return (StandardScaler().fit_transform(X) if scaled else X)[rows], y[rows]

    return draw


def _gaussians(data: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=1000)  # Bayes error 3 %
    return rng.normal(size=(len(y), 50)) + np.where(y, 1, -1)[:, None] * 1.88 / np.sqrt(50), y


TASKS = {
    "digits": LabelingTask(_loaded(load_digits, scaled=False), (*START, *range(15, 101, 5))),
    "wine": LabelingTask(_loaded(load_wine, scaled=True), FEW),
    "breast cancer": LabelingTask(_loaded(load_breast_cancer, scaled=True), FEW),
    "Gaussians, 50-d": LabelingTask(_gaussians, FEW),
}
STORED = {
    "MNIST odd, even": LabelingTask(_stored("mnist", tuple(range(10)), 12_000, parity=True), MANY),
    "letter O, Q": LabelingTask(_stored("letter", (14, 16), 12_000), FEW),
}


class Labeling:
    """A loop of suggestions, labels and refits that starts without any label."""

    def __init__(self, X: np.ndarray, y: np.ndarray, seed: int) -> None:
        first = np.sort(np.unique(X, axis=0, return_index=True)[1])  # the kernel of a model has distinct rows
        self.X, self.y = X[first], y[first]
        kernel = DataDependentKernel(random_state=seed).fit(self.X)
        self.kernel, self.columns = LapRLSClassifier(instant_refits=True).prepare_refits(kernel)

    def curve(self, strategy: str, counts: tuple[int, ...], seed: int) -> list[float]:
        """Return the errors on the unlabelled rows after these numbers of labels."""
        model, few, errors = None, np.full(len(self.y), -1), []
        random_state = np.random.RandomState(seed)
        for count in counts:
            while (few != -1).sum() < count:
                rows = self._next(model, few, count, strategy, random_state)
                few[rows] = self.y[rows]
                if model is None and len(np.unique(few)) > 2:
                    model = self._fit(few)
            if model is not None:
                model.refit(few)
            guesses = np.full(len(few), few.max()) if model is None else model.transduction_
            errors.append(float(np.mean((guesses != self.y)[few == -1])))
        return errors

    def _next(self, model, few, count, strategy, random_state) -> np.ndarray:
        labeled = np.flatnonzero(few != -1)
        if model is not None:
            return suggest(model, count - len(labeled), strategy, random_state)
        start = "random" if strategy == "random" else "coverage"
        return suggest(self.kernel, 1, start, random_state, exclude=labeled)

    def _fit(self, few: np.ndarray) -> LapRLSClassifier:
        model = LapRLSClassifier(instant_refits=True)
        return model.adopt(model.learn(model.problem(self.X, few), self.kernel, base_columns=self.columns))


class Curves:
    """Errors of every set, run and strategy, in a file that is written after each run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, dict[str, list[float]]]] = json.loads(path.read_text()) if path.exists() else {}

    def measure(self, name: str, task: LabelingTask, data: Path | None, runs: range, strategies: list[str]) -> None:
        """Measure the runs and strategies that are not there yet."""
        of_set = self.found.setdefault(name, {})
        for run in runs:
            of_run = of_set.setdefault(str(run), {})
            missing = [strategy for strategy in strategies if strategy not in of_run]
            if not missing:
                continue
            rng = np.random.default_rng([run, len(name)])
            labeling = Labeling(*task.draw(data, rng), int(rng.integers(2**31)))
            of_run |= {strategy: labeling.curve(strategy, task.counts, run) for strategy in missing}
            with atomic_write(self.path) as file:
                file.write(json.dumps(self.found).encode())

    def errors(self, name: str, strategy: str, runs: range) -> np.ndarray:
        """Return the errors of one set and strategy, one row per run."""
        return np.array([self.found[name][str(run)][strategy] for run in runs])


def labels_needed(counts: tuple[int, ...], errors: np.ndarray) -> float | None:
    """Return after how many labels the mean error has come down to the level, between two counts in proportion."""
    means = errors.mean(axis=0)
    low = np.flatnonzero(means <= LEVEL)
    if not len(low):
        return None
    last = int(low[0])
    if last == 0:
        return float(counts[0])
    return float(np.interp(-LEVEL, -means[last - 1 : last + 1], counts[last - 1 : last + 1]))


def area(counts: tuple[int, ...], errors: np.ndarray) -> np.ndarray:
    """Return the mean error over the numbers of labels, in per cent, for each run: the area under its curve."""
    return 100 * np.trapezoid(errors, counts, axis=1) / (counts[-1] - counts[0])


def table(curves: Curves, tasks: dict[str, LabelingTask], runs: range, strategies: list[str]) -> Iterator[str]:
    """Yield labels needed, area under the curve, and its paired difference to random choice."""
    yield "| data | strategy | labels to 5 % | error over all label counts, % | less than random choice |"
    yield "|---|---|---|---|---|"
    for name, task in tasks.items():
        of_random = area(task.counts, curves.errors(name, "random", runs))
        for strategy in strategies:
            errors = curves.errors(name, strategy, runs)
            needed = labels_needed(task.counts, errors)
            areas = area(task.counts, errors)
            gain, spread = paired(of_random, areas)
            compared = "" if strategy == "random" else f"{gain:.2f} ± {spread:.2f}"
            shown = f"more than {task.counts[-1]}" if needed is None else f"{needed:.0f}"
            yield f"| {name} | {strategy} | {shown} | {areas.mean():.2f} | {compared} |"


def paired(of_random: np.ndarray, areas: np.ndarray) -> tuple[float, float]:
    """Return by how much areas are smaller than those of random choice on the same draws, and the standard error."""
    gains = of_random - areas
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def broken_claims(curves: Curves, tasks: dict[str, LabelingTask], runs: range) -> Iterator[str]:
    """Yield what does not hold of "auto": half the labels on MNIST, and nowhere more area than random choice."""
    for name, task in tasks.items():
        auto, chance = (curves.errors(name, strategy, runs) for strategy in ("auto", "random"))
        gain, spread = paired(area(task.counts, chance), area(task.counts, auto))
        if gain < -spread:
            yield f"{name}: the area under the curve of auto is {-gain:.2f} ± {spread:.2f} above that of random choice"
        if name.startswith("MNIST"):
            needed, by_chance = labels_needed(task.counts, auto), labels_needed(task.counts, chance)
            most = (task.counts[-1] if by_chance is None else by_chance) / 2
            if needed is None or needed > most:
                yield f"{name}: auto needs {needed} labels for 5 %, random choice {by_chance}"


def main() -> None:
    """Run the benchmark and write active_learning.md, .json and .svg."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz and letter.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--chart", type=Path, help="SVG file; active_learning.svg in --out by default")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first run: other draws")
    parser.add_argument("--sets", nargs="*", default=[""], help="beginnings of the names of sets; all by default")
    parser.add_argument("--strategies", nargs="*", default=ALL, help="auto and random among them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # components without labels
    options.out.mkdir(parents=True, exist_ok=True)
    tasks = (STORED if options.data else {}) | TASKS
    tasks = {name: task for name, task in tasks.items() if name.startswith(tuple(options.sets))}
    runs = range(options.first, options.first + options.runs)
    curves = Curves(options.out / "active_learning.json")
    for name, task in tasks.items():
        curves.measure(name, task, options.data, runs, options.strategies)
    where = machine("numpy", "scikit-learn")
    lines = [f"Machine: {where}. {options.runs} runs.", "", *table(curves, tasks, runs, options.strategies)]
    (options.out / "active_learning.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    from benchmarks._active_learning_chart import draw

    shown = {
        name: (task.counts, {strategy: curves.errors(name, strategy, runs) for strategy in options.strategies})
        for name, task in tasks.items()
    }
    draw(shown, options.chart or options.out / "active_learning.svg")
    broken = list(broken_claims(curves, tasks, runs))
    print("\n".join(f"does not hold: {claim}" for claim in broken) or "All claims hold.")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
