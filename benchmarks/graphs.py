"""Neighbour lists by halfmoon and by the tools people use for them: time against recall, each at its best setting.

Run ``python -m benchmarks.graphs --data DIR --out DIR`` (DIR with mnist.npz and letter.npz), or a part of it with
``--cases mnist5 mixture64x16`` or ``--quick``. For each data set and recall (0.95 and 0.99) it looks for the fastest
setting of each peer that reaches the recall (a peer is given up at twice the time of another), and compares it with
halfmoon asked for that recall; halfmoon's time includes its own audit. Every search runs in a process of its own, after
a warm-up that compiles; short ones are repeated. Times are the smallest, recalls the median of three seeds. A neighbour
counts if it is no farther than the true k-th, on 2,000 random rows. The last columns of the table compare seconds of
the clock and of the CPU. Measurements are kept in graphs.json and used again, unless --forget names their search: a run
can be made in parts. Ends with exit code 1 if halfmoon is not as much faster as it claims.

``--auto`` measures the three searches of halfmoon and the choice of ``method="auto"`` instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._graph_cases import CASES, QUICK, SAMPLE, points, reach_of, recall_of
from benchmarks._graph_chart import draw
from benchmarks._graph_choice import measure_choice
from benchmarks._graph_searches import PEERS, RECALLS, SEARCHES, settings
from benchmarks._machine import machine

SLOWER = 1.1  # halfmoon claims never to take more than so many times the best peer's time
HOPELESS = 2.0  # times the time of another peer that reaches the highest recall: no dearer settings are tried
SEEDS = (0, 1, 2)
WARM_UP = 20_000  # rows: as many as the approximate search is chosen for, so that it is what gets compiled
PACKAGES = ("numpy", "numba", "pynndescent", "faiss-cpu", "hnswlib")

Measurement = dict[str, Any]  # case, search, setting, seed, label, seconds, cpu, recall, memory


class Log:
    """Measurements so far, kept in a file."""

    def __init__(self, path: Path, forget: list[str]) -> None:
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else []
        self.measurements: list[Measurement] = [m for m in kept if m["search"] not in forget]

    def measure(self, case: str, search: str, limit: float, folder: Path) -> None:
        """Measure a search along its frontier, in a process of its own, unless the file has it."""
        if any(m["case"] == case and m["search"] == search for m in self.measurements):
            return
        command = [sys.executable, "-m", "benchmarks.graphs", "--one", case, search, str(limit), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        made = json.loads(done.stdout.splitlines()[-1])
        self.measurements += made
        self.path.write_text(json.dumps(self.measurements, indent=1))
        for m in made:
            print(f"  {search:12s} {m['label']:18s} {m['seconds']:8.3f} s  {m['recall']:.4f}", flush=True)


def run_one(name: str, search: str, limit: float, folder: Path) -> None:
    """Measure a search on saved data in this process: one seed along the frontier, then all seeds of the best settings.

    Settings come cheapest first: what follows the first that is good enough, or takes longer than the limit, is slower.
    The results are printed as JSON.
    """
    case = CASES[name]
    X, rows, reach = (np.load(folder / f"{part}.npy") for part in ("X", "rows", "reach"))
    for _ in SEARCHES[search](np.ascontiguousarray(X[:WARM_UP]), case.k, settings(search, case.k)[-1], SEEDS[0]):
        pass
    made: list[Measurement] = []

    def run(setting: str, seed: int) -> list[Measurement]:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of what came before
        before, found = memory("VmRSS"), []
        for label, (clock, cpu), lists in SEARCHES[search](X, case.k, setting, seed):
            peak = max(memory("VmHWM") - before, 0.0)
            recall = recall_of(X, rows, reach, lists[rows], case.k)
            about = {"case": name, "search": search, "setting": setting, "seed": seed, "label": label}
            found.append(about | {"seconds": float(clock), "cpu": float(cpu), "recall": recall, "memory": peak})
            if recall > max(RECALLS) or (search != "halfmoon" and clock > limit):
                break
        made.extend(found)
        return found

    for setting in settings(search, case.k):
        found = run(setting, SEEDS[0])
        if search != "halfmoon" and (found[-1]["recall"] >= max(RECALLS) or found[0]["seconds"] > limit):
            break
    best = [fastest(made, name, search, recall) for recall in RECALLS]
    for setting in dict.fromkeys(m["setting"] for m in (made if search == "halfmoon" else best) if m):
        for seed in SEEDS[1:]:
            run(setting, seed)
    print(json.dumps(made))


def memory(field: str) -> float:
    """Return what this process holds now (VmRSS) or held at most (VmHWM), in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1e6
    raise KeyError(field)


def measure_case(name: str, data: Path | None, log: Log) -> None:
    """Measure halfmoon and all peers on a case."""
    case = CASES[name]
    print(f"# {case.title}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        X = points(case, data)
        rows = np.sort(np.random.default_rng(1).choice(case.n, SAMPLE, replace=False))
        for array, values in (("X", X), ("rows", rows), ("reach", reach_of(X, rows, case.k))):
            np.save(folder / f"{array}.npy", values)
        for search in SEARCHES:
            good = [m["seconds"] for peer in PEERS if (m := fastest(log.measurements, name, peer, max(RECALLS)))]
            log.measure(name, search, HOPELESS * min(good, default=np.inf), folder)


def summaries(measurements: list[Measurement], name: str, search: str) -> Iterator[Measurement]:
    """Yield each setting of a search once: the smallest time and the median recall over the seeds."""
    of_search = [m for m in measurements if m["case"] == name and m["search"] == search]
    for label in dict.fromkeys(m["label"] for m in of_search):
        same = [m for m in of_search if m["label"] == label]
        smallest = {kind: min(m[kind] for m in same) for kind in ("seconds", "cpu")}
        yield same[0] | smallest | {"recall": float(np.median([m["recall"] for m in same]))}


def fastest(measurements: list[Measurement], name: str, search: str, recall: float) -> Measurement | None:
    """Return the fastest setting of a search that reaches a recall, None if none does."""
    good = [m for m in summaries(measurements, name, search) if m["recall"] >= recall]
    return min(good, key=lambda m: m["seconds"], default=None)


def report(measurements: list[Measurement]) -> tuple[str, list[str]]:
    """Return the table, and the claims that fail."""
    lines = [
        f"Machine: {machine(*PACKAGES)}.",
        "",
        "| data | recall | halfmoon | " + " | ".join(PEERS) + " | best peer / halfmoon | CPU |",
        "|---" * (5 + len(PEERS)) + "|",
    ]
    failures = []
    for name in (name for name in CASES if any(m["case"] == name for m in measurements)):
        for recall, claim in RECALLS.items():
            ours = fastest(measurements, name, "halfmoon", recall)
            peers = {peer: fastest(measurements, name, peer, recall) for peer in PEERS}
            ratio, cpu = (
                min((m[kind] for m in peers.values() if m), default=np.inf) / ours[kind] if ours else 0.0
                for kind in ("seconds", "cpu")
            )
            cells = " | ".join(map(cell, (ours, *peers.values())))
            lines.append(f"| {CASES[name].title} | {recall} | {cells} | {ratio:.2f} | {cpu:.2f} |")
            if ratio < claim:
                worse = f", and slower than {SLOWER} times the best peer" if ratio < 1.0 / SLOWER else ""
                failures.append(f"{CASES[name].title}, recall {recall}: {ratio:.2f} times as fast, not {claim}{worse}")
    return "\n".join(lines), failures


def cell(measurement: Measurement | None) -> str:
    """Return one cell of the table."""
    if measurement is None:
        return "slower"
    return f"{measurement['seconds']:.3g} s @ {measurement['recall']:.3f} ({measurement['label']})"


def main() -> None:
    """Run the benchmark and write graphs.md, graphs.png and graphs.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz and letter.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--cases", nargs="+", choices=CASES, help="data sets, all by default")
    parser.add_argument("--quick", action="store_true", help="a few data sets, for a look")
    parser.add_argument("--forget", nargs="+", choices=SEARCHES, default=[], help="searches to measure again")
    parser.add_argument("--auto", action="store_true", help='measure the choice of method="auto"')
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        case, search, limit, folder = options.one
        run_one(case, search, float(limit), Path(folder))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.auto:
        table, failures = measure_choice(options.quick)
        (options.out / "graphs-auto.md").write_text(table + "\n")
    else:
        log = Log(options.out / "graphs.json", options.forget)
        for name in options.cases or (QUICK if options.quick else CASES):
            if CASES[name].name not in ("MNIST", "letter") or options.data:
                measure_case(name, options.data, log)
        table, failures = report(log.measurements)
        (options.out / "graphs.md").write_text(table + "\n")
        draw(
            {
                CASES[name].title: {search: list(summaries(log.measurements, name, search)) for search in SEARCHES}
                for name in CASES
                if any(m["case"] == name for m in log.measurements)
            },
            options.out / "graphs.png",
        )
    print(table)
    for failure in failures:
        print(f"CLAIM FAILS: {failure}")
    if failures:
        sys.exit(1)
    print("All claims hold.")


if __name__ == "__main__":
    main()
