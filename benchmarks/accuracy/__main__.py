"""Measure errors of halfmoon and its peers on the same draws, and make the tables of docs/accuracy.md of it.

``make bench-accuracy DATA=DIR`` makes the peers' environment and runs everything. A run that was killed goes on where
it was. ``--methods halfmoon --forget`` puts halfmoon's results away, to measure them again; ``--report`` only makes
tables and picture of what is there.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from benchmarks.accuracy import ours, peers
from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.draws import LABELS
from benchmarks.accuracy.pages import write_pages
from benchmarks.accuracy.problem import Method
from benchmarks.accuracy.run import Plan, Worker, run
from benchmarks.accuracy.store import Result, Store
from halfmoon.exceptions import DisconnectedGraphWarning

GROUPS = ours.GROUPS | peers.GROUPS


def chosen(names: list[str] | None) -> list[Method]:
    """Return the methods that are named, by themselves or by their package; all if none is."""
    methods = [method for group in GROUPS.values() for method in group]
    if names is None:
        return methods
    known = {method.name for method in methods} | set(GROUPS)
    if not set(names) <= known:
        raise SystemExit(f"Unknown methods {sorted(set(names) - known)}. Known: {', '.join(sorted(known))}.")
    return [m for group, members in GROUPS.items() for m in members if group in names or m.name in names]


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with letter.npz and mnist.npz; else these are left out")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results/accuracy"), help="folder of results.jsonl")
    parser.add_argument("--peers", default=".venv-peers/bin/python", help="Python of the peers' environment")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", help=f"names of methods, or any of {', '.join(GROUPS)}")
    parser.add_argument("--labels", nargs="+", type=int, choices=LABELS, default=list(LABELS), help="per class")
    parser.add_argument("--draws", type=int, default=10, help="draws at most; large sets have five")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of processor time that a fit may take")
    parser.add_argument("--budget", type=float, default=200.0, help="seconds of a method on a set; then no new draw")
    parser.add_argument("--tuned", action="store_true", help="tune every method by cross-validation on the labels")
    parser.add_argument("--forget", action="store_true", help="put away results of the named methods, and stop")
    parser.add_argument("--report", action="store_true", help="only make tables and picture of what is there")
    parser.add_argument("--docs", type=Path, help="folder of the documentation: its pages and picture are written anew")
    return parser.parse_args()


def main() -> None:
    """Run what is missing, and write the tables."""
    given = options()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    store = Store(given.out)
    methods = chosen(given.methods)
    if given.forget:
        rows = {row for method in methods for row in method.rows}
        moved = store.forget(lambda r: r.method in rows and r.tuned == given.tuned and r.set in given.sets)
        print(f"{moved} results moved to {given.out / 'results.before.jsonl'}")
        return
    if not given.report:
        measure(given, methods, store)
    results = [result for result in store.read().values() if result.seed == given.seed]
    write_pages(results, [row for method in chosen(None) for row in method.rows], given.out, given.docs)


def measure(given: argparse.Namespace, methods: list[Method], store: Store) -> None:
    """Run what is missing, the two environments beside each other."""
    tables = {"ours": (sys.executable, ours.GROUPS), "peers": (str(Path(given.peers).absolute()), peers.GROUPS)}
    tables = {table: (python, groups) for table, (python, groups) in tables.items() if _some(groups, methods)}
    if "peers" in tables and not Path(given.peers).exists():
        raise SystemExit(f"{given.peers} does not exist: name the Python of the peers' environment with --peers.")
    workers = []
    with ThreadPoolExecutor(len(tables)) as pool:
        try:
            runs = []
            for table, (python, groups) in tables.items():
                workers.append(Worker(python, table))
                plan = plan_of(given, dict.fromkeys(_some(groups, methods), workers[-1]))
                runs.append(pool.submit(follow, plan, store))
            for finished in as_completed(runs):
                finished.result()
        finally:
            for worker in workers:
                worker.end()


def _some(groups: dict[str, tuple[Method, ...]], methods: list[Method]) -> list[Method]:
    """Return the methods that are in some groups."""
    return [method for method in methods if any(method in group for group in groups.values())]


def plan_of(given: argparse.Namespace, methods: dict[Method, Worker]) -> Plan:
    """Return what the command line asks for."""
    return Plan(
        sets=[name for name in given.sets if given.data or not SETS[name].in_folder],
        methods=methods,
        labels=given.labels,
        draws=given.draws,
        seed=given.seed,
        tuned=given.tuned,
        limit=given.limit,
        budget=given.budget,
        folder=given.data,
    )


def follow(plan: Plan, store: Store) -> None:
    """Run a plan and print what it finds."""
    for result in run(plan, store):
        print(line(result), flush=True)


def line(result: Result) -> str:
    """Return a result as a line of progress."""
    where = f"{result.set}, {result.labels} per class, draw {result.draw}: {result.method}"
    if result.train is None:
        return f"{where}: {result.reason}"
    new = "" if result.new is None else f", new points {result.new:.2f} %"
    return f"{where}: {result.train:.2f} %{new}, {result.fit:.1f} s"


if __name__ == "__main__":
    main()
