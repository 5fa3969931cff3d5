"""10,000 handwritten digits, a few labels, nothing tuned: errors of halfmoon and of scikit-learn.

Run ``python -m benchmarks.few_labels --data DIR`` (DIR with mnist.npz). Each draw has other rows and other labels,
drawn uniformly; a draw that misses a class is drawn again. With ``--equal`` the rows are the same, and every class has
equally many labels. Errors are on the unlabelled rows.
Nothing is chosen by them but the kernel of LabelSpreading, whose default, RBF, fails here.
Each result is written to few-labels.json (few-labels-equal.json) at once; started again, it continues there.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import euclidean_distances
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks._machine import machine
from halfmoon import LapSVC
from halfmoon.runtime.atomic_write import atomic_write

N_ROWS, LABELS, DRAWS = 10_000, (20, 30, 50, 100, 300), 10
Answer = Callable[[np.ndarray, np.ndarray], np.ndarray]
Draw = tuple[int, np.ndarray, np.ndarray, np.ndarray]  # number of labels, rows, classes, labels
Errors = dict[str, np.ndarray]  # method -> (numbers of labels, draws), in per cent


def by_labels(make: Callable[[], Any], X: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Return the classes of all rows by a classifier that knows the labelled ones only."""
    known = few >= 0
    return make().fit(X[known], few[known]).predict(X)


def by_self_training(X: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Return the classes of all rows by a machine that labels rows that it is sure of.

    This is ``SelfTrainingClassifier(SVC(probability=True))``. The machine sees row numbers and looks the distances
    up, computed once for all rounds. On 1,500 rows the answers are the same, with 300 labels in a ninth of the time.
    """
    squares = euclidean_distances(X.astype(float), squared=True)

    def default_kernel(A: np.ndarray, trained: np.ndarray) -> np.ndarray:
        rows, columns = A[:, 0].astype(int), trained[:, 0].astype(int)
        gamma = 1.0 / (X.shape[1] * X[columns].astype(float).var())  # gamma="scale" of the training rows
        return np.exp(-gamma * squares[np.ix_(rows, columns)])

    numbers = np.arange(len(X), dtype=float)[:, None]
    machine = SVC(kernel=default_kernel, probability=True, random_state=0)
    return SelfTrainingClassifier(machine).fit(numbers, few).predict(numbers)


def by_label_spreading(X: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Return the classes of all rows by label spreading; its RBF kernel has one width for all data and fails here."""
    return LabelSpreading(kernel="knn").fit(X, few).transduction_


PEERS: dict[str, Answer] = {
    "LabelSpreading (knn)": by_label_spreading,
    "SelfTraining (SVC)": by_self_training,
    "SVC": partial(by_labels, SVC),
    "LogisticRegression": partial(by_labels, LogisticRegression),
}


def draw_labels(y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the labels of some rows, -1 elsewhere; every class has one."""
    while True:
        rows = rng.choice(len(y), count, replace=False)
        if len(np.unique(y[rows])) == len(np.unique(y)):
            few = np.full(len(y), -1)
            few[rows] = y[rows]
            return few


def draw_equal_labels(y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the labels of equally many rows of every class, -1 elsewhere."""
    classes = np.unique(y)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == c), count // len(classes), replace=False) for c in classes])
    few = np.full(len(y), -1)
    few[rows] = y[rows]
    return few


def digits_of(
    data: Path, draw: int, *, equal: bool = False
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield, for each number of labels, the number, rows, classes and the labels of a draw."""
    with np.load(data / "mnist.npz") as archive:
        images, digits = archive["X"], archive["y"].astype(int)
    rng = np.random.default_rng([draw, N_ROWS])
    rows = rng.choice(len(digits), N_ROWS, replace=False)
    X, y = images[rows] / np.float32(255.0), digits[rows]
    for count in LABELS:
        yield count, X, y, (draw_equal_labels if equal else draw_labels)(y, count, rng)


def measure(data: Path, n_draws: int, results: Path, counts: Sequence[int], *, equal: bool) -> Errors:
    """Return the errors of all methods on the same draws; those in the file of results are not computed again."""
    known: dict[str, dict[str, float]] = json.loads(results.read_text()) if results.exists() else {}
    for draw in range(n_draws):
        for count, X, y, few in digits_of(data, draw, equal=equal):
            if count not in counts or (key := f"{draw} {count}") in known:
                continue
            answers = {"LapSVC": LapSVC(random_state=draw).fit(X, few).transduction_}
            answers |= {name: answer(X, few) for name, answer in PEERS.items()}
            known[key] = {name: 100.0 * float(np.mean(a[few < 0] != y[few < 0])) for name, a in answers.items()}
            with atomic_write(results) as file:
                file.write(json.dumps(known, indent=1).encode())
            print(key, {name: round(error, 1) for name, error in known[key].items()}, flush=True)
    return {
        name: np.array([[known[f"{draw} {count}"][name] for draw in range(n_draws)] for count in counts])
        for name in ("LapSVC", *PEERS)
    }


def standard_error(of_method: np.ndarray) -> np.ndarray:
    """Return the standard errors of the means over draws."""
    return of_method.std(axis=1, ddof=1) / np.sqrt(of_method.shape[1])


def table(errors: Errors, counts: Sequence[int]) -> str:
    """Return the table, means and standard errors."""
    lines = ["| labels | " + " | ".join(errors) + " |", "|---|" + "---|" * len(errors)]
    for i, count in enumerate(counts):
        cells = [f"{e[i].mean():.1f} ± {standard_error(e)[i]:.1f}" for e in errors.values()]
        lines.append(f"| {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_figure(errors: Errors, counts: Sequence[int], path: Path) -> None:
    """Draw the errors against the number of labels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from halfmoon.plotting.style import color, line, marker, method_numbers

    figure, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    for name, number in method_numbers(errors).items():
        mean, error = errors[name].mean(axis=1), standard_error(errors[name])
        look = {"color": color(number), "marker": marker(number), "linestyle": line(number), "capsize": 3}
        ax.errorbar(counts, mean, yerr=error, label=name, linewidth=2.4 if name == "LapSVC" else 1.4, **look)
    ax.set(xscale="log", xlabel="labels", ylabel="wrong among the unlabelled rows, %", ylim=(0, None))
    ax.set_xticks(counts, [str(count) for count in counts])
    ax.minorticks_off()
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{N_ROWS:,} handwritten digits, ten classes, nothing tuned", loc="left", fontsize=11)
    ax.legend(frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Run the benchmark, print the table and draw a figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--labels", type=int, nargs="+", choices=LABELS, default=LABELS)
    parser.add_argument("--equal", action="store_true", help="draw equally many labels of every class")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # disconnected graphs, machines that did not converge: all in the table
    options.out.mkdir(parents=True, exist_ok=True)
    name = "few-labels-equal" if options.equal else "few-labels"
    results = options.out / f"{name}.json"
    errors = measure(options.data, options.draws, results, options.labels, equal=options.equal)
    print(f"Machine: {machine('numpy', 'scikit-learn')}. {options.draws} draws.\n\n{table(errors, options.labels)}")
    draw_figure(errors, options.labels, options.out / f"{name}.png")


if __name__ == "__main__":
    main()
