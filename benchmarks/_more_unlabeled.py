"""Does more unlabelled data help? Digits 3 against 8 with 20 labels, beside more and more deformed digits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._scaling_data import deformed_digits
from halfmoon import DataDependentKernel, LapRLSClassifier

__all__ = ["more_unlabeled"]

LABELS = 20
JUDGED = 2_000  # originals: the labelled rows are among them, the errors are counted on the others


def more_unlabeled(data: Path, sizes: Sequence[int], draws: int, out: Path) -> list[str]:
    """Return a table of errors: the same labels and the same rows to judge by for every size."""
    X, y = deformed_digits(data, (3, 8), max(sizes), seed=0)
    lines = [
        "| rows | error % | standard error | difference from the first size | standard error |",
        "|---|---|---|---|---|",
    ]
    errors: dict[int, list[float]] = {}
    for n in sizes:
        errors[n] = []
        for draw in range(draws):
            errors[n].append(_error(X[:n], y[:n], draw))
            (out / "more_unlabeled.json").write_text(json.dumps(errors, indent=1))
        gain = np.subtract(errors[n], errors[sizes[0]])
        cells = f"{n:,}", *_mean_and_error(np.array(errors[n])), *_mean_and_error(gain)
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def _error(X: np.ndarray, y: np.ndarray, draw: int) -> float:
    """Return the error in per cent on the unlabelled rows of the first ones, for one draw of the labels."""
    labeled = np.random.default_rng(draw).choice(JUDGED, LABELS, replace=False)
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    kernel = DataDependentKernel(n_landmarks=500, random_state=draw)
    model = LapRLSClassifier(kernel=kernel).fit(X, few)
    rest = np.setdiff1d(np.arange(JUDGED), labeled)
    return 100 * float(np.mean(model.transduction_[rest] != y[rest]))


def _mean_and_error(values: np.ndarray) -> tuple[str, str]:
    return f"{values.mean():.2f}", f"{values.std(ddof=1) / np.sqrt(len(values)):.2f}"
