"""Run a check in a process of its own, in which libraries run on one thread so that it can be forked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

__all__ = ["Check", "alone", "answer"]

Check = Callable[[int, int], tuple[int, str]]  # an amount and a seed -> how often what was tried, what happened
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
SECONDS = 3600.0


def alone(module: str, name: str, amount: int, seed: int, before: Sequence[str] = ()) -> tuple[int, str]:
    """Call a check of a module in a new process, behind a command such as `unshare`."""
    words = [*before, sys.executable, "-W", "ignore", "-m", module, name, str(amount), str(seed)]
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    done = subprocess.run(
        words, env=os.environ | ONE_THREAD | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}"
    times, seen = json.loads(done.stdout.splitlines()[-1])
    return times, seen


def answer(checks: Mapping[str, Check]) -> None:
    """Run the check that the command line names and print what it gives: the main program of such a module."""
    name, amount, seed = sys.argv[1:]
    print("\n" + json.dumps(checks[name](int(amount), int(seed))))
