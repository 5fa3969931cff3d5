"""How often the verdicts of reports are right, over draws of the labelled rows.

Run ``python -m benchmarks.verdicts --data DIR --out DIR`` (DIR with letter.npz and mnist.npz; without it only data
that come with scikit-learn or are made up are measured). Labels are drawn uniformly, parameters are the defaults, 500
rows at most, 200 landmarks. The true gain of a draw is the score of the model on the unlabelled rows less that of the
base kernel on the labelled rows alone, with the same labels. "Help" is right if it is above 0, "do not help" if it is
below a point.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from benchmarks._machine import machine
from benchmarks._small_sets import TARGETS, Maker, SmallSet, classification_sets, draw_set, fitted, geometries
from halfmoon import LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning

LABELS, DRAWS_PER_SET = (12, 30, 100), 20
POINT = 0.01


def true_gain(model: object, small: SmallSet, mask: np.ndarray) -> float:
    """Return the score of a model on the unlabelled rows less that of its base kernel."""
    X, y = small.X[~mask], small.y[~mask]
    alone = model.learned_.problem.decide(model.base_decision()(X.astype(np.float64)))
    return _score(model.predict(X), y) - _score(alone, y)


def _score(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(predicted == y)) if y.dtype.kind in "iu" else r2_score(y, predicted)


def measure(
    maker: Maker, data: Path | None, labels: int, n_draws: int, seed: int
) -> dict[str, list[tuple[str, float]]]:
    """Return verdict and true gain of every draw, for each estimator."""
    found: dict[str, list[tuple[str, float]]] = {}
    for draw in range(n_draws):
        if draw % DRAWS_PER_SET == 0:
            rng = np.random.default_rng([draw, labels, seed])
            small = draw_set(maker, data, rng)
            if 2 * labels > len(small.y):
                return found
            draws = geometries(small, labels, rng)
        mask, kernel = next(draws)
        for estimator in (LapSVC, LapRLSClassifier) if small.y.dtype.kind in "iu" else (LapRLSRegressor,):
            model = fitted(estimator, small, mask, kernel)
            found.setdefault(estimator.__name__, []).append((model.report_.verdict, true_gain(model, small, mask)))
    return found


def table(data: Path | None, n_draws: int, names: list[str] | None, numbers: list[int], seed: int) -> Iterator[str]:
    """Yield the rows of the table, and the totals."""
    yield "| data | labels | estimator | mean gain | help: said, right | do not help: said, right | cannot be told |"
    yield "|---|---|---|---|---|---|---|"
    makers = classification_sets(data) | TARGETS
    totals = np.zeros(4, dtype=int)
    for name, maker in {name: makers[name] for name in names or makers}.items():
        for labels in numbers:
            for method, outcomes in measure(maker, data, labels, n_draws, seed).items():
                gains = np.array([gain for _, gain in outcomes])
                helped = np.array([verdict == "help" for verdict, _ in outcomes])
                useless = np.array([verdict == "do not help" for verdict, _ in outcomes])
                counts = [helped.sum(), (gains[helped] > 0.0).sum(), useless.sum(), (gains[useless] < POINT).sum()]
                totals += np.array(counts)
                rest = len(outcomes) - counts[0] - counts[2]
                yield (
                    f"| {name} | {labels} | {method} | {100 * gains.mean():+.1f} | {counts[0]}, {counts[1]} | "
                    f"{counts[2]}, {counts[3]} | {rest} |"
                )
    yield f"| all |  |  |  | {totals[0]}, {totals[1]} | {totals[2]}, {totals[3]} |  |"


def main() -> None:
    """Run the benchmark and write verdicts.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with letter.npz and mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sets", nargs="*", help="names of data sets; all by default")
    parser.add_argument("--labels", nargs="*", type=int, default=LABELS, help="numbers of labels")
    parser.add_argument("--seed", type=int, default=14, help="of the draws")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [f"Machine: {machine('numpy', 'scikit-learn')}. {options.draws} draws, seed {options.seed}.", ""]
    for line in table(options.data, options.draws, options.sets, options.labels, options.seed):
        print(line, flush=True)
        lines.append(line)
        (options.out / "verdicts.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
