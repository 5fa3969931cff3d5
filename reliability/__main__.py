"""Run the programme: ``python -m reliability --profile long --seed 7 --docs docs/reliability.md``.

``--only`` repeats one hostile case as the report names it, such as
``--only "rows; LapSVC fit; X; NaN in a cell; 1234"``.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks._machine import machine
from reliability.hostile import Case, try_case
from reliability.programme import PARTS, SHOWN, Line, Scale, run_part

SCALES = {
    "quick": Scale("quick", rounds=1, minutes=3.0, seeds=20),
    "long": Scale("long", rounds=3, minutes=50.0, seeds=200),
    "nightly": Scale("nightly", rounds=10, minutes=180.0, seeds=2_000),
}
HEAD = """# Reliability

What was tried to break the library, how often, with which seed, and what happened. `make reliability` writes this
page. `python -m reliability --only CASE` repeats a hostile case; the seed repeats a property or a comparison. A reduced
part runs in `make test`, with seeds of its own, and `.github/workflows/nightly.yml` runs a longer one every night with
fresh seeds.

The rule for hostile inputs: the right result, or a clear error. Where the same data exist as plain float64 arrays, the
right result is theirs; otherwise it is finite and of the documented shape. A clear error is raised on purpose, by us or
by scikit-learn's checks. Everything else is a failure: other exceptions, warnings of numpy, NaN, changed inputs, a
changed state of the process, no answer within a minute, an end by signal. Warnings of the library
(`halfmoon.exceptions`) are allowed.

The rule for faults: no file is damaged, nothing goes on running, and what is continued or repeated gives the bits of an
undisturbed run. Moments of kills are drawn from the whole duration of such a run. An error of the system names its
file, and leaves the old one and no temporary file. An exception that is raised inside a fit comes out as itself, with
no thread of the library running and the estimator as it was; it is raised at every call of a function of the library
by a counter, in all threads. A killed `save` or `reproduce` may leave one temporary file (`.halfmoon.*.tmp`).
"""


def page(lines: list[Line], facts: dict[str, object]) -> str:
    """Return the page."""
    cases = sum(line.times for line in lines)
    failed = sum(len(line.failures) for line in lines)
    text = [HEAD, f"This run: {cases:,} cases, {failed:,} failures. Command: `{facts['command']}`."]
    text += [f"It took {facts['seconds']:,} s. Machine: {facts['machine']}."]
    for part in dict.fromkeys(line.part for line in lines):
        rows = [line for line in lines if line.part == part]
        text += ["", f"## {part.capitalize()}", "", "| tried | times | seed | what happened |", "|---|---|---|---|"]
        text += [f"| {line.what} | {line.times:,} | {line.seed} | {line.result} |" for line in rows]
        shown = [failure for line in rows for failure in line.failures[:SHOWN]]
        text += ["", *(f"- {' '.join(failure.split())[:300]}" for failure in shown)] if shown else []
    return "\n".join(text) + "\n"


def main() -> None:
    """Run the parts that are asked for, and fail if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=SCALES, default="long")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seed", type=int, default=None, help="of the run; drawn if not given")
    parser.add_argument("--minutes", type=float, default=None, help="for the hostile inputs")
    parser.add_argument("--out", type=Path, default=Path("reliability.json"))
    parser.add_argument("--docs", type=Path, default=None, help="page to write")
    parser.add_argument("--only", metavar="CASE", help="repeat a hostile case")
    options = parser.parse_args()
    if options.only:
        print(try_case(Case.of(options.only)))
        return
    seed = secrets.randbits(32) if options.seed is None else options.seed
    scale = SCALES[options.profile]
    if options.minutes is not None:
        scale = Scale(scale.profile, scale.rounds, options.minutes, scale.seeds, scale.jobs)
    start, lines = time.perf_counter(), []
    for part in options.parts:
        lines += run_part(part, scale, seed)
        done = [line for line in lines if line.part == part]
        print(f"{part}: {sum(line.times for line in done):,} cases", file=sys.stderr)
    facts = {
        "command": f"python -m reliability --profile {options.profile} --seed {seed}"
        + ("" if options.minutes is None else f" --minutes {options.minutes:g}")
        + ("" if options.parts == list(PARTS) else " --parts " + " ".join(f'"{part}"' for part in options.parts)),
        "seconds": round(time.perf_counter() - start),
        "machine": machine("numpy", "scipy", "scikit-learn", "numba"),
    }
    options.out.write_text(json.dumps({"facts": facts, "lines": [asdict(line) for line in lines]}, indent=1))
    text = page(lines, facts)
    print(text)
    if options.docs is not None:
        options.docs.write_text(text)
    sys.exit(any(line.failures for line in lines))


if __name__ == "__main__":
    main()
