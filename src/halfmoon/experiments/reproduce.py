"""The whole reproduction: run experiments, write tables and figures, and a summary of what holds."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib

from halfmoon.experiments import figure1, figure2, figure3, figure4, figure5, table1
from halfmoon.experiments._experiment import Claim, Experiment, Options, count_of_claims
from halfmoon.experiments._trials import disconnected_as_they_are, run_trials
from halfmoon.runtime.atomic_write import atomic_write

__all__ = ["EXPERIMENTS", "Options", "count_of_claims", "reproduce"]

EXPERIMENTS: dict[str, Callable[[Options], Experiment]] = {
    "table1": table1.experiment,
    "figure1": figure1.experiment,
    "figure2": figure2.experiment,
    "figure3": figure3.experiment,
    "figure4": figure4.experiment,
    "figure5": figure5.experiment,
}


def reproduce(names: Sequence[str], out: Path, options: Options, *, jobs: int, resume: bool = True) -> list[Claim]:
    """Run experiments by name, write what they give into `out`, and return the claims that were checked.

    Parameters
    ----------
    names : sequence of str
        Keys of EXPERIMENTS.
    out : Path
        Folder for tables, figures, the trials and summary.md.
    options : Options
        Data folder, seed, trials, quick.
    jobs : int
        Processes.
    resume : bool, default=True
        Continue with the trials that are there; else begin anew.

    Returns
    -------
    list of Claim
    """
    out.mkdir(parents=True, exist_ok=True)
    sections, claims = [], []
    for name in names:
        experiment = EXPERIMENTS[name](options)
        start = time.perf_counter()
        trials = out / "trials"
        rows = {job.name: run_trials(job, trials, jobs=jobs, resume=resume) for job in experiment.jobs}
        seconds = time.perf_counter() - start
        found = experiment.claims(rows)
        claims += found
        if experiment.plot is not None:
            with disconnected_as_they_are():
                _save(experiment.plot(rows), out / name)
        sections.append(_section(experiment, rows, found, seconds))
        with atomic_write(out / "summary.md") as file:
            file.write(_summary(sections, claims, options, jobs).encode())
    return claims


def _save(figure: Any, path: Path) -> None:
    """Write a figure as PNG and SVG."""
    from matplotlib import pyplot as plt

    for suffix, more in ((".png", {"dpi": 150}), (".svg", {})):
        with atomic_write(path.with_suffix(suffix)) as file:
            figure.savefig(file, format=suffix.removeprefix("."), **more)
    plt.close(figure)


def _section(experiment: Experiment, rows: Any, claims: list[Claim], seconds: float) -> str:
    counts = ", ".join(f"{name}: {len({row['trial'] for row in own})}" for name, own in rows.items())
    picture = [] if experiment.plot is None else [f"![{experiment.title}]({experiment.name}.png)", ""]
    return "\n".join(
        [
            f"## {experiment.name}: {experiment.title}",
            "",
            f"Trials: {counts}. This run: {seconds:,.0f} s.",
            "",
            *picture,
            experiment.table(rows),
            "",
            _verdicts(claims),
        ]
    )


def _verdicts(claims: list[Claim]) -> str:
    lines = ["| claim | aim | measured | verdict |", "|---|---|---|---|"]
    lines += [f"| {c.text} | {c.aim} | {c.measured} | {c.verdict} |" for c in claims]
    return "\n".join(lines)


def _summary(sections: list[str], claims: list[Claim], options: Options, jobs: int) -> str:
    machine = f"{platform.machine()}, {joblib.cpu_count()} cores, Python {platform.python_version()}"
    head = [
        "# Reproduction",
        "",
        f"{count_of_claims(claims)}. Seed {options.seed}, {jobs} processes, "
        f"{'quick' if options.quick else 'full'}; {machine}.",
    ]
    return "\n\n".join(["\n".join(head), *sections]) + "\n"
