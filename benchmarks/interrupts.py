"""Ctrl-C at random moments: how processes end, how soon, and what their files are like afterwards.

Run ``python -m benchmarks.interrupts --count 200``. Every case runs in a process of its own: once to its end, then
again and again with a SIGINT after a delay drawn over the whole duration. Half of the signals go to the process alone,
as from ``kill``; the others to its whole group, as from a terminal. The clock starts when Python has started and
halfmoon's entry point is imported.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from benchmarks._machine import machine

INTERRUPTED = 130
PATIENCE = 120.0  # seconds after a signal until a process counts as hanging
LINGER = 3.0  # seconds that helper processes of joblib may take to follow

LISTEN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start processes in the background without it
"""
API = f"""{LISTEN}
import sys, threading
print("ready", flush=True)
try:
    import numpy as np
    import halfmoon
    data = np.load("data.npz")
    X, y = data["X"], data["y"]
    {{work}}
except KeyboardInterrupt:
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if left:
        print("left over:", left, file=sys.stderr)
    sys.exit(3 if left else 130)
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
COMMAND = f"""{LISTEN}
import sys
from halfmoon.cli import main
sys.argv[1:] = {{words!r}}
print("ready", flush=True)
main()
"""
WORK = {
    "fit": "halfmoon.LapRLSClassifier().fit(X, y)",
    "predict": "halfmoon.load('given.hm').estimator.predict(X)",
    "search": (
        "from halfmoon.model_selection import KernelSearchCV; "
        "KernelSearchCV(halfmoon.LapSVC(), {'kernel__eta': [0.1, 1.0, 10.0], 'C': [1.0, 10.0]}, cv=3).fit(X, y)"
    ),
    "save": "model = halfmoon.load('given.hm')\n    for _ in range(20):\n        halfmoon.save(model, 'out.hm')",
}
WORDS = {
    "halfmoon fit": ["fit", "data.npz", "--target", "y", "--unlabeled", "-1", "--out", "out.hm"],
    "halfmoon predict": ["predict", "given.hm", "new.npz", "--force", "--out", "out.csv"],
    "halfmoon reproduce": ["reproduce", "figure4", "--trials", "2", "--jobs", "2", "--out", "out"],
}
CASES = [*WORK, *WORDS]


@dataclass
class Tally:
    """What came of the signals of one case."""

    moments: int = 0
    interrupted: int = 0  # ended with 130; the others were done before the signal came, or count as faults below
    by_signal: int = 0  # ended by a signal: a crash, or Python's own end of an interrupt that nobody has caught
    wrong: int = 0  # other exit codes than 0 and 130, threads or processes left over, more than one line on stderr
    damaged: int = 0  # files that are not whole, temporaries that stay
    seconds: list[float] = field(default_factory=list)  # from the signal to the end

    def row(self, name: str) -> str:
        """Return a line of the table."""
        slowest, middle = (max(self.seconds), np.median(self.seconds)) if self.seconds else (0.0, 0.0)
        counts = f"{self.moments:>9}{self.interrupted:>13}{self.by_signal:>11}{self.wrong:>13}{self.damaged:>9}"
        return f"{name:<20}{counts}{slowest:>11.2f}{middle:>9.2f}"


HEADER = (
    f"{'case':<20}{'moments':>9}{'interrupted':>13}{'by signal':>11}{'other wrong':>13}{'damaged':>9}"
    f"{'longest s':>11}{'median':>9}"
)


def prepare(folder: Path, rows: int, features: int, seed: int) -> None:
    """Write the files that the cases read, and compile what they use."""
    rng = np.random.default_rng(seed)
    moons, truth = make_moons(rows, noise=0.1, random_state=seed)
    X = np.hstack([moons, rng.normal(scale=0.1, size=(rows, features - 2))])
    y = np.where(np.arange(rows) < 100, truth, -1)
    np.savez(folder / "data.npz", X=X, y=y)
    np.savez(folder / "new.npz", X=X)
    for case in ("halfmoon fit", "halfmoon predict"):
        subprocess.run([sys.executable, "-m", "halfmoon", *WORDS[case], "--quiet"], cwd=folder, check=True, timeout=600)
        if case == "halfmoon fit":
            (folder / "out.hm").rename(folder / "given.hm")
    (folder / "out.csv").unlink()


def script(case: str) -> str:
    """Return the program of a case."""
    return API.format(work=WORK[case]) if case in WORK else COMMAND.format(words=WORDS[case])


def duration(case: str, folder: Path) -> float:
    """Run a case to its end; return the seconds it took."""
    process, start = _start(case, folder)
    _, errors = process.communicate(timeout=600)
    if process.returncode != 0:
        raise RuntimeError(f"{case} fails without any interrupt: {errors}")
    _clear(folder)
    return time.monotonic() - start


def interrupt(case: str, folder: Path, delay: float, *, group: bool, tally: Tally) -> str:
    """Send one SIGINT after a delay and note what comes of it; return what is wrong with it, or nothing."""
    process, start = _start(case, folder)
    time.sleep(max(0.0, start + delay - time.monotonic()))
    sent = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        errors += "\nhangs"
    tally.moments += 1
    tally.interrupted += process.returncode == INTERRUPTED
    tally.seconds.append(time.monotonic() - sent)
    problem = _problem(case, process, errors)
    if problem:
        tally.by_signal += process.returncode < 0
        tally.wrong += process.returncode >= 0
    tally.damaged += _damaged(folder)
    _clear(folder)
    return problem


def _start(case: str, folder: Path) -> tuple[subprocess.Popen[str], float]:
    """Start a case in a group of its own and wait until it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", script(case)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process, time.monotonic()


def _problem(case: str, process: subprocess.Popen[str], errors: str) -> str:
    """Return what is wrong with the end of a process, or nothing."""
    code = process.returncode
    lines = [line for line in errors.strip().splitlines() if not line.startswith("note: ")]  # of the work until then
    if code not in (0, INTERRUPTED):
        return f"exit {code}: {lines[-1] if lines else ''}"
    if case in WORDS and code == INTERRUPTED and not (len(lines) == 1 and "Interrupted: " in lines[0]):
        return f"said: {errors.strip()}"
    end = time.monotonic() + LINGER
    while _alive(process.pid):
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            return "processes left over"
        time.sleep(0.05)
    return ""


def _alive(group: int) -> bool:
    """Return whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _damaged(folder: Path) -> int:
    """Count results that cannot be read, and temporary files."""
    damaged = len(list(folder.rglob(".halfmoon.*.tmp")))
    for path in (*folder.glob("out.hm"), *folder.glob("out.csv"), *folder.glob("out/trials/*.csv")):
        try:
            _read(path)
        except Exception:
            damaged += 1
    return damaged


def _read(path: Path) -> None:
    if path.suffix == ".hm":
        from halfmoon import load

        load(path)
    else:
        np.genfromtxt(path, delimiter=",", skip_header=1, dtype=None, encoding="utf8", invalid_raise=True)


def _clear(folder: Path) -> None:
    for path in folder.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in folder.rglob(".halfmoon.*.tmp"):
        path.unlink()


def run(
    cases: Sequence[str], count: int, folder: Path, rng: np.random.Generator, log: Callable[[str], object]
) -> dict[str, Tally]:
    """Interrupt the cases in turn, `count` times in all."""
    durations, tallies = {case: duration(case, folder) for case in cases}, {case: Tally() for case in cases}
    log(", ".join(f"{case} {seconds:.1f} s" for case, seconds in durations.items()))
    for number in range(count):
        case = cases[number % len(cases)]
        delay = float(rng.uniform(0.0, durations[case]))
        problem = interrupt(case, folder, delay, group=bool(rng.integers(2)), tally=tallies[case])
        if problem:
            log(f"{case}, after {delay:.2f} s: {problem}")
    return tallies


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="signals in all")
    parser.add_argument("--rows", type=int, default=20_000, help="points")
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None, help="of data and delays; drawn unless given")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, metavar="CASE", help=", ".join(CASES))
    options = parser.parse_args()
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if options.seed is None else options.seed
    print(f"Machine: {machine('numpy', 'scipy', 'scikit-learn', 'numba')}.")
    print(f"{options.rows:,} x {options.features} points, seed {seed}; uninterrupted:")
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), options.rows, options.features, seed)
        tallies = run(options.cases, options.count, Path(name), np.random.default_rng(seed), partial(print, flush=True))
    print(HEADER)
    for case, tally in tallies.items():
        print(tally.row(case))


if __name__ == "__main__":
    main()
