"""kill -9 at random moments: of fits with a checkpoint, of `save` and `load`, of `halfmoon reproduce`, of the labeller.

The work runs in forks of a process that has done it once, so that nothing is imported or compiled: a moment is drawn
from the whole duration of an undisturbed run. After every kill the files are looked at, and the work goes on in the
same folder; when it ends, its result must be that of the undisturbed run, to the last bit.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import psutil
from typer.testing import CliRunner

from benchmarks._labelling_kills import count_lost
from halfmoon import DataDependentKernel, LapRLSClassifier, load, save
from halfmoon.cli._app import app
from halfmoon.experiments import figure4
from halfmoon.runtime.atomic_write import leftovers
from halfmoon.runtime.pieces import read_piece
from reliability.alone import answer

__all__ = ["KILLS", "Killed", "kill"]

RUNS = 3  # undisturbed ones, of which the middle duration counts
LOOK, LOOKS = 0.5, 60  # seconds between looks at processes whose parent was killed, and how many
PAPER = figure4.Config
SAVED = 6  # times, each of two models in turn


@dataclass(frozen=True)
class Killed:
    """Work in a folder; what is looked at after a kill (how many temporary files there are); what it gives."""

    work: Callable[[Path], object]
    after_kill: Callable[[Path], int]
    result: Callable[[Path], object]
    cleans_up: bool = False  # whether the next run removes temporary files of the killed one


def kill(killed: Killed, kills: int, seed: int) -> tuple[int, str]:
    """Kill so many times; return what happened in words."""
    rng, left, ended, number = np.random.default_rng(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        seconds, expected = _undisturbed(killed, Path(name, "whole"))
        folder = Path(name, "0")
        while number < kills:
            if not _killed(killed.work, folder, float(rng.uniform(0.0, seconds))):
                ended += 1
                assert killed.result(folder) == expected, f"other results after {number} kills"
                shutil.rmtree(folder)
                left = 0
                continue
            number += 1
            before, left = left, killed.after_kill(folder)
            assert left <= (1 if killed.cleans_up else before + 1), f"{left} temporary files after {number} kills"
        _finished(killed.work, folder)
        assert killed.result(folder) == expected, "other results"
        if killed.cleans_up:
            assert killed.after_kill(folder) == 0, "temporary files at the end"
    return kills, f"continued to the end {ended + 1} times with the same bits; no file damaged"


def _undisturbed(killed: Killed, folder: Path) -> tuple[float, object]:
    killed.work(folder)  # here, so that forks find everything loaded
    seconds = []
    for _ in range(RUNS):
        shutil.rmtree(folder)
        start = time.perf_counter()
        _finished(killed.work, folder)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), killed.result(folder)


def _fork(work: Callable[[Path], object], folder: Path) -> int:
    process = os.fork()
    if process:
        return process
    try:
        work(folder)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _finished(work: Callable[[Path], object], folder: Path) -> None:
    _, status = os.waitpid(_fork(work, folder), 0)
    assert status == 0, f"undisturbed work ended with status {status}"


def _killed(work: Callable[[Path], object], folder: Path, delay: float) -> bool:
    """Return whether the kill came before the end; see that nothing goes on without the killed process."""
    process = _fork(work, folder)
    end = time.monotonic() + delay
    while time.monotonic() < end:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            assert status == 0, f"the work ended with status {status} before the kill"
            return False
        time.sleep(min(0.002, max(0.0, end - time.monotonic())))
    children = psutil.Process(process).children(recursive=True)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    for _ in range(LOOKS):
        if not (alive := psutil.wait_procs(children, timeout=LOOK)[1]):
            break
    assert not alive, f"{len(alive)} processes go on without the one that started them"
    assert status in (0, signal.SIGKILL), f"status {status}"
    return status != 0


# A fit with a checkpoint.


@cache
def _rows() -> tuple[np.ndarray, np.ndarray]:
    rng, truth = np.random.default_rng(3), np.arange(4000) % 3
    X = rng.normal(size=(4000, 4)) + 2.0 * truth[:, None]
    return X, np.where(np.arange(4000) < 60, truth, -1)


def _fit(folder: Path) -> None:
    kernel = DataDependentKernel(n_neighbors=8, n_landmarks=150, solver="approx_cholesky", random_state=0)
    model = LapRLSClassifier(kernel=kernel, checkpoint=folder).fit(*_rows())
    np.save(folder.with_suffix(".npy"), model.decision_function_)


def _pieces(folder: Path) -> int:
    """Read every piece of a checkpoint: none may be damaged."""
    for path in folder.glob("*.piece"):
        with path.open("rb") as file:
            read_piece(file)
    return len(leftovers(folder)) if folder.exists() else 0


# Model files.


@cache
def _models() -> tuple[LapRLSClassifier, ...]:
    X, y = _rows()
    parts = [slice(200), slice(20, 400)]
    return tuple(LapRLSClassifier(n_landmarks=20, random_state=0).fit(X[part], y[part]) for part in parts)


@cache
def _decisions() -> tuple[bytes, ...]:
    return tuple(model.decision_function(_rows()[0][:50]).tobytes() for model in _models())


def _save(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(SAVED):
        save(_models()[number % 2], folder / "model.hm")
        assert _saved(folder) == number % 2


def _saved(folder: Path) -> int:
    """Return which model the file holds; it must be one of them."""
    return _decisions().index(load(folder / "model.hm").decision_function(_rows()[0][:50]).tobytes())


def _model_file(folder: Path) -> int:
    if (folder / "model.hm").exists():
        _saved(folder)
    return len(leftovers(folder)) if folder.exists() else 0


# halfmoon reproduce.


def _reproduce(jobs: int) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        if jobs == 1:  # the class could not be sent to processes under its name
            figure4.Config = partial(PAPER, n=200)  # type: ignore[assignment, misc]
        words = ["reproduce", "figure4", "--trials", "3", "--jobs", str(jobs), "--resume", "--quiet"]
        done = CliRunner().invoke(app, [*words, "--out", str(folder)])
        assert done.exit_code == 0, f"exit code {done.exit_code}: {done.output}"

    return work


def _tables(folder: Path) -> object:
    """Return the rows of a reproduction, and its summary without the seconds."""
    summary = (folder / "summary.md").read_text().splitlines()
    return [path.read_bytes() for path in folder.glob("trials/*.csv")], [
        line for line in summary if not line.startswith("Trials: ")
    ]


def _reproduced_files(folder: Path) -> int:
    """Look at what there is of a reproduction: whole tables, whole pictures, a whole summary."""
    from PIL import Image

    from halfmoon.experiments._trials import TrialTable

    for path in folder.glob("trials/*.csv"):
        rows = TrialTable(path).rows
        assert len(rows) % 3 == 0 < len(rows), f"{path} has {len(rows)} rows"
    for path in folder.glob("*.png"):
        Image.open(path).load()
    for path in folder.glob("*.svg"):
        assert path.read_text().rstrip().endswith("</svg>")
    for path in folder.glob("summary.md"):
        assert path.read_text().rstrip().endswith("|")
    return len(list(folder.rglob(".halfmoon.*.tmp")))


def _labeller(kills: int, seed: int) -> tuple[int, str]:
    acknowledged, lost = count_lost(kills, seed)
    assert lost == 0, f"{lost} of {acknowledged} acknowledged labels are lost"
    return kills, f"{acknowledged:,} labels acknowledged, none lost"


KILLS: dict[str, Callable[[int, int], tuple[int, str]]] = {
    "fit": lambda kills, seed: kill(
        Killed(_fit, _pieces, lambda folder: folder.with_suffix(".npy").read_bytes(), cleans_up=True), kills, seed
    ),
    "save": lambda kills, seed: kill(Killed(_save, _model_file, _saved), kills, seed),
    "reproduce": lambda kills, seed: kill(Killed(_reproduce(1), _reproduced_files, _tables), kills, seed),
    "reproduce in processes": lambda kills, seed: kill(Killed(_reproduce(2), _reproduced_files, _tables), kills, seed),
    "labeller": _labeller,
}

if __name__ == "__main__":
    answer(KILLS)
