"""Try to break the certificate: find cases where `error_bound` of `restrict` is below the true error.

Run ``python -m benchmarks.certificates --cases 20000 --large 500 --seed 7 --jobs 2 --out FILE.json``. Small graphs are
compared with a multi-precision oracle, large ones with refinement in extended precision. Ctrl-C ends a run early; the
file holds what there is so far. A failing case is repeated with ``--only`` and its seed, as in
``--only small-1234.7``; without the part after the point all cases of that graph are run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._certificate_cases import CASES_PER_GRAPH, FAILURES, STATUSES, Outcome, check
from benchmarks._machine import machine

SAVE_SECONDS = 30.0
SHOWN = 40  # failures in the table; the file has all
PATIENCE = 4  # times as many cases as wanted are tried where the reference cannot judge

Report = dict[str, Any]


def outcomes(pool: ProcessPoolExecutor, kind: str, wanted: int, rng: np.random.Generator) -> Iterator[list[Outcome]]:
    """Yield what comes of one graph after the other until `wanted` cases are judged."""
    running: set[Future[list[Outcome]]] = set()
    judged = tried = 0
    while True:
        while judged + len(running) * CASES_PER_GRAPH[kind] < wanted and tried < PATIENCE * wanted and len(running) < 8:
            running.add(pool.submit(check, kind, int(rng.integers(2**32))))
            tried += CASES_PER_GRAPH[kind]
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            judged += sum(outcome.status != "not judged" for outcome in future.result())
            yield future.result()


def tally(found: list[Outcome], names: tuple[str, ...], key: Callable[[Outcome], tuple[Any, ...]]) -> list[Report]:
    """Count the outcomes of each group."""
    groups: dict[tuple[Any, ...], list[Outcome]] = defaultdict(list)
    for outcome in found:
        groups[key(outcome)].append(outcome)
    rows = []
    for values, group in sorted(groups.items()):
        statuses = Counter(outcome.status for outcome in group)
        tightness = [outcome.tightness for outcome in group if outcome.tightness is not None]
        rows.append(
            dict(zip(names, values, strict=True))
            | {"cases": len(group)}
            | {status: statuses[status] for status in STATUSES}
            | {"accuracy missed": sum(outcome.missed for outcome in group)}
            | {"bound / error": float(np.median(tightness)) if tightness else "-"}
        )
    return rows


def report(found: list[Outcome], settings: Report) -> Report:
    """Return what goes into the file."""
    return {
        "machine": machine("numpy", "scipy", "numba", "mpmath"),
        "settings": settings,
        "totals": tally(found, ("size",), lambda o: (o.kind,)),
        "solvers": tally(
            found, ("size", "solver", "memory", "power"), lambda o: (o.kind, o.case.solver, o.case.memory, o.case.power)
        ),
        "bound kinds": tally(found, ("size", "bound kind"), lambda o: (o.kind, o.bound_kind)),
        "failures": [asdict(outcome) for outcome in found if outcome.status in FAILURES],
    }


def table(rows: list[Report]) -> str:
    """Return rows as a markdown table."""
    if not rows:
        return "No cases."
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [[f"{x:.1e}" if isinstance(x, float) else str(x) for x in row.values()] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown(result: Report) -> str:
    """Return the tables and the first failures."""
    lines = [f"Machine: {result['machine']}."]
    for name in ("totals", "solvers", "bound kinds"):
        lines += ["", f"{name.capitalize()}:", "", table(result[name])]
    failures = result["failures"]
    if failures:
        lines += ["", f"Failures, {min(SHOWN, len(failures))} of {len(failures)}; repeat one with --only SEED:", ""]
        lines += [f"- {f['seed']} {f['status']}: {f['problem']}; {f['case']}: {f['message']}" for f in failures[:SHOWN]]
    return "\n".join(lines)


def run(options: argparse.Namespace) -> Report:
    """Run all cases, saving what there is every half minute and at the end, also after Ctrl-C."""
    found: list[Outcome] = []
    rng = np.random.default_rng(options.seed)
    start = saved = time.perf_counter()
    settings: Report = {"seed": options.seed, "cases": options.cases, "large": options.large, "jobs": options.jobs}
    pool = ProcessPoolExecutor(options.jobs, initializer=_prepare_worker)
    try:
        for kind, wanted in (("small", options.cases), ("large", options.large)):
            begin = time.perf_counter()
            for some in outcomes(pool, kind, wanted, rng):
                found += some
                settings[f"{kind} seconds"] = round(time.perf_counter() - begin, 1)
                if time.perf_counter() - saved > SAVE_SECONDS:
                    saved = time.perf_counter()
                    failed = sum(outcome.status in FAILURES for outcome in found)
                    print(f"{len(found):,} cases, {failed:,} failures, {saved - start:.0f} s", file=sys.stderr)
                    _save(options.out, report(found, settings))
    except KeyboardInterrupt:
        settings["interrupted"] = True
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        result = report(found, settings)
        _save(options.out, result)
    return result


def _save(path: Path, result: Report) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1))
    os.replace(part, path)


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and saves
    threadpool_limits(1)


def main() -> None:
    """Run the programme, or repeat one case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000, help="on graphs of 2 to 45 vertices")
    parser.add_argument("--large", type=int, default=500, help="on graphs of 2,001 to 5,000 vertices")
    parser.add_argument("--seed", type=int, default=None, help="of the run; drawn if not given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("certificates.json"))
    parser.add_argument("--only", metavar="SEED", help="repeat a case (small-1234.7) or a graph (small-1234)")
    options = parser.parse_args()
    if options.only:
        kind, _, rest = options.only.partition("-")
        seed, _, place = rest.partition(".")
        for outcome in check(kind, int(seed), int(place) if place else None):
            print(outcome)
        return
    if options.seed is None:
        options.seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(markdown(run(options)))


if __name__ == "__main__":
    main()
