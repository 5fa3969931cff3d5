"""Trying mutants: a process that has loaded everything but the library forks once per mutant and runs the tests there.

The library is a copy, one per process; the tests are those that run the changed line, the doctests of the module
before them. A mutant that is noticed makes one of them fail, or last for too long.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing as mp
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from coverage import CoverageData

from reliability.mutants.changes import Mutant

__all__ = ["lines_of_tests", "try_mutants", "work"]

FOLDER = Path(".mutants")
SEED = "20261118"  # of all tests: a mutant is judged by tests that have passed
SECONDS, SOUND = 60.0, 600.0  # for a mutant, whose tests take a few, and for all tests of the unchanged library
PLUGINS = ("_pytest", "pytest_", "hypothesis", "_hypothesis", "anyio", "typeguard")  # of pytest, which loads them
QUIET = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly")
ALONE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HALFMOON_TEST_SEED": SEED,
    "PYTHONDONTWRITEBYTECODE": "1",
}
ENOUGH = 30.0  # seconds of tests per mutant, the quickest ones first


def lines_of_tests(tests: Iterable[str], source: Path) -> Callable[[str, int], list[str]]:
    """Run tests once; return which of them run a line of a module, the quickest first. None may fail."""
    FOLDER.mkdir(exist_ok=True)
    data, clock = FOLDER.resolve() / "coverage", FOLDER.resolve() / "seconds.json"
    words = [*QUIET, *tests, f"--cov={source}", "--cov-context=test", "--cov-report=", "--cov-fail-under=0"]
    environment = os.environ | ALONE | {"COVERAGE_FILE": str(data), "HALFMOON_MUTANTS_CLOCK": str(clock)}
    environment["PYTHONPATH"] = os.pathsep.join([str(source.resolve()), str(Path.cwd())])
    words += ["-p", "reliability.mutants.clock"]
    subprocess.run([sys.executable, "-m", "pytest", *words], env=environment, check=True)
    seconds, coverage = json.loads(clock.read_text()), CoverageData(str(data))
    coverage.read()
    found = {str(Path(file).relative_to(source.resolve())): file for file in coverage.measured_files()}

    def tests_of(module: str, line: int) -> list[str]:
        lines = coverage.contexts_by_lineno(found[module]) if module in found else {}
        own = {name.partition("|")[0] for name in lines.get(line, ()) if name}
        all_of_module = {name.partition("|")[0] for names in lines.values() for name in names if name}
        return _quickest(own or all_of_module, seconds)  # defaults and constants are read when the module is imported

    return tests_of


def _quickest(names: set[str], seconds: Mapping[str, float]) -> list[str]:
    """Return as many tests as there is time for."""
    ordered, total, kept = sorted(names, key=lambda name: (seconds[name], name)), 0.0, []
    for name in ordered:
        total += seconds[name]
        if total > ENOUGH:
            break
        kept.append(name)
    return kept


def try_mutants(mutants: Iterable[tuple[Mutant, list[str]]], source: Path, worker: int) -> Iterator[str]:
    """Try mutants with their tests one after the other; yield "killed", "timeout" or "survived" for each."""
    os.environ |= ALONE
    copied = FOLDER / f"copy{worker}"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(source, copied / "src", ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str((copied / "src").resolve()))
    _load_all_but_the_library()
    mutants = list(mutants)
    modules = {str(copied / "src" / mutant.module) for mutant, _ in mutants}
    _check_that_all_pass([*sorted(modules), *sorted({test for _, tests in mutants for test in tests})])
    for mutant, tests in mutants:
        path = copied / "src" / mutant.module
        text = path.read_text()
        path.write_text(mutant.applied_to(text))
        try:
            verdict = _verdict([str(path), *tests])
        finally:
            path.write_text(text)
        yield verdict


def work(given: Iterable[tuple[str, Mutant, list[str]]], source: Path, worker: int, results: Any) -> None:
    """Try mutants in a process of its own; put what tells them apart, their lines and verdicts into a queue."""
    given = list(given)
    verdicts = try_mutants(((mutant, tests) for _, mutant, tests in given), source, worker)
    for (key, mutant, _), verdict in zip(given, verdicts, strict=True):
        results.put((key, mutant.line, verdict))


def _load_all_but_the_library() -> None:
    """Import what the library and the tests import, so that forks need not."""
    listing = "import sys, pytest, hypothesis, halfmoon, halfmoon.cli._app, networkx, mpmath; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        if not name.startswith(("halfmoon", "__main__", *PLUGINS)):
            try:
                importlib.import_module(name)
            except ImportError:
                continue  # a name that only its package knows
    assert "halfmoon" not in sys.modules


def _check_that_all_pass(tests: list[str]) -> None:
    """Run all tests on the unchanged library: if one failed here, every mutant would seem to be noticed."""
    if _verdict(tests, SOUND) != "survived":
        raise RuntimeError(f"The tests fail on the library as it is: python -m pytest {' '.join(tests[:3])} ...")


def _verdict(tests: list[str], seconds: float = SECONDS) -> str:
    """Run tests in a fork."""
    process = mp.get_context("fork").Process(target=_run_tests, args=(tests,))
    process.start()
    process.join(seconds)
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)  # type: ignore[arg-type]
        process.join()
        return "timeout"
    return "survived" if process.exitcode == 0 else "killed"


def _run_tests(tests: list[str]) -> None:
    os.setsid()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    import pytest

    os._exit(int(pytest.main([*QUIET, *tests])))
