"""Try mutants of the modules that hold the mathematics: ``python -m reliability.mutants --sample 300 --seed 1``.

The results are kept in a file: a mutant that was killed is not tried again while its line is as it was, one that has
survived is. So a run can be cut short and go on, and new tests are tried on the survivors.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import queue
import sys
from collections import Counter
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from halfmoon.runtime.atomic_write import atomic_write
from reliability.mutants.changes import Mutant, mutants_of
from reliability.mutants.page import page
from reliability.mutants.trials import lines_of_tests, work

SOURCE = Path("src")
LOOK = 5.0  # seconds between looks at the processes
FEATURES = ("tests/test_kernels.py", "tests/test_large_eta.py")
NEAR = {
    "halfmoon/geometry": (
        "tests/test_restriction.py", "tests/test_geometry.py", "tests/test_landmarks.py", "tests/test_append.py",
        "tests/test_stored_interpolation.py", *FEATURES, "tests/test_theory.py", "tests/test_progress.py",
    ),
    "halfmoon/kernels": (*FEATURES, "tests/test_geometry.py", "tests/test_theory.py", "tests/test_append.py"),
    "halfmoon/semi_supervised/losses": (
        "tests/semi_supervised/test_svm.py", "tests/semi_supervised/test_mixture.py",
        "tests/semi_supervised/test_estimators.py", "tests/semi_supervised/test_report.py",
    ),
}  # fmt: skip
DEFECTS = "tests/reliability/test_found_defects.py"
OWN = "tests/test_small_changes.py"  # written for mutants that had survived


def all_mutants() -> dict[str, Mutant]:
    """Return the mutants of all modules by what tells them apart."""
    found: dict[str, Mutant] = {}
    for folder in NEAR:
        for path in sorted((SOURCE / folder).glob("*.py")):
            text = path.read_text()
            lines, seen = text.splitlines(), Counter[str]()
            for mutant in mutants_of(str(path.relative_to(SOURCE)), text):
                key = f"{mutant.module}; {lines[mutant.line - 1].strip()}; {mutant.before} -> {mutant.after}"
                seen[key] += 1
                found[key if seen[key] == 1 else f"{key} ({seen[key]})"] = mutant
    return found


def _tested(mutants: dict[str, Mutant]) -> list[tuple[str, Mutant, list[str]]]:
    """Return mutants with the tests of their lines."""
    tests = sorted({*chain(*NEAR.values()), DEFECTS, OWN})
    near = lines_of_tests(tests, SOURCE)
    return [(key, mutant, near(mutant.module, mutant.line)) for key, mutant in mutants.items()]


def main() -> None:
    """Try a sample of mutants, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sample",
        type=int,
        default=None,
        help="mutants drawn over all modules, with those of earlier runs; all if not given",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("mutants.json"))
    parser.add_argument("--docs", type=Path, default=None, help="page to write")
    options = parser.parse_args()
    mutants = all_mutants()
    known = json.loads(options.out.read_text()) if options.out.exists() else {}
    drawn = sorted(mutants, key=lambda key: (key not in known, sha256(f"{options.seed} {key}".encode()).digest()))
    chosen = drawn[: options.sample]  # an edit of the code changes a part of the sample only
    found = {key: known[key] for key in chosen if key in known}
    todo = _tested({key: mutants[key] for key in chosen if found.get(key, "survived") == "survived"})
    command = f"python -m reliability.mutants --seed {options.seed}"
    command += "" if options.sample is None else f" --sample {options.sample}"
    results: Any = mp.get_context("spawn").Queue()
    workers = [
        mp.get_context("spawn").Process(target=work, args=(todo[part :: options.jobs], SOURCE, part, results))
        for part in range(options.jobs)
    ]
    for worker in workers:
        worker.start()
    tried = 0
    while tried < len(todo):
        try:
            key, line, verdict = results.get(timeout=LOOK)
        except queue.Empty:
            if not all(worker.is_alive() or worker.exitcode == 0 for worker in workers):
                raise
            continue
        found[key], tried = verdict, tried + 1
        print(f"{tried} of {len(todo)}: {verdict}: line {line}: {key}", file=sys.stderr, flush=True)
        text = page(command, found, mutants)
        for path, content in ((options.out, json.dumps(known | found, indent=1)), (options.docs, text)):
            if path is not None:
                with atomic_write(path) as file:
                    file.write(content.encode())
    print(page(command, found, mutants))


if __name__ == "__main__":
    main()
