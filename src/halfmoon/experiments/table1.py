"""Table 1: the data sets and their sizes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halfmoon.experiments._data import TABLE_1, Task, load_task
from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._trials import Job

__all__ = ["experiment"]


def experiment(options: Options) -> Experiment:
    """Return a job that counts."""
    job = Job("sizes", partial(_count, TABLE_1, options.data), len(TABLE_1), repr(TABLE_1))
    return Experiment("table1", "Binary classification experiments", [job], None, claims, table)


def _count(tasks: tuple[Task, ...], folder: Path | None, number: int) -> list[dict[str, Any]]:
    task = tasks[number]
    _, y = load_task(task, folder)
    sizes = {"n": task.n, "n_hat": task.n_hat, "n_test": task.n_test}
    return [{"task": task.name, **sizes, "rows": len(y), "positive": int(np.sum(y > 0.0))}]


def claims(rows: Rows) -> list[Claim]:
    """Check that the samples of Table 1 can be drawn."""
    missing = [row["task"] for row in rows["sizes"] if row["rows"] < row["n"] + row["n_test"]]
    measured = "all six can be drawn" if not missing else f"too few rows for {', '.join(missing)}"
    return [Claim("Table 1: sizes of sample and test set", "as in the paper", measured, not missing)]


def table(rows: Rows) -> str:
    """Return Table 1 with the rows that are there."""
    lines = ["| data set | n | n_hat | test set | rows in the classes |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['task']} | {row['n']:,} | {row['n_hat']} | {row['n_test']:,} | {row['rows']:,} |"
        for row in rows["sizes"]
    ]
    return "\n".join(lines)
