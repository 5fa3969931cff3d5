"""The example of the README: how much its score depends on the seed, and on which rows are labelled.

Run ``python -m benchmarks.example_draws``. Three labels per digit, accuracy on all other rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits

from halfmoon import LapSVC

DRAWS = 10


def accuracy(X: np.ndarray, y: np.ndarray, labeled: np.ndarray, seed: int) -> float:
    """Return the share of the unlabelled rows that are right, in per cent."""
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    model = LapSVC(n_neighbors=8, random_state=seed).fit(X, few)
    rest = few == -1
    return 100.0 * float(model.score(X[rest], y[rest]))


def three_of_each(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return three rows of every class, drawn at random."""
    return np.concatenate([rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in np.unique(y)])


def told(what: str, scores: Sequence[float]) -> str:
    """Return the mean and the range of scores, in words."""
    return f"{what}: mean {np.mean(scores):.1f} %, {min(scores):.1f} to {max(scores):.1f} %"


def main() -> None:
    """Print both ranges."""
    X, y = load_digits(return_X_y=True)
    first = np.concatenate([np.flatnonzero(y == c)[:3] for c in np.unique(y)])
    print(told(f"{DRAWS} seeds, the labels of the README", [accuracy(X, y, first, seed) for seed in range(DRAWS)]))
    drawn = [three_of_each(y, np.random.default_rng(seed)) for seed in range(DRAWS)]
    print(told(f"{DRAWS} draws of the labels", [accuracy(X, y, rows, seed) for seed, rows in enumerate(drawn)]))


if __name__ == "__main__":
    main()
