"""The short profile of the programme that tries to break the library, and that the programme can fail."""

import secrets
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

from halfmoon import exceptions
from reliability import hostile
from reliability.batches import run_cases
from reliability.differential import DIFFERENTIAL, run_differential
from reliability.faults import FAULTS, run_fault
from reliability.judge import Result, Verdict, judge
from reliability.load import LOADS, run_load
from reliability.programme import PARTS, SCALES, Piece, PieceTally, repeat, run_part, work
from reliability.properties import PROPERTIES, run_property
from reliability.report import Report
from reliability.security import SECURITY, run_security

CASES = 250  # of hostile inputs, drawn
EXAMPLES = 6  # of each property


def test_hostile_inputs(rng):
    """A case is repeated by python -m reliability --only CASE."""
    found = [(case, hostile.try_case(case)) for case in hostile.drawn_cases(rng, CASES)]
    assert len(found) == CASES
    assert not [f"{case}: {verdict}" for case, verdict in found if verdict.failed]


def test_the_tables_are_large():
    assert len(list(hostile.all_cases(0))) > 20_000
    assert len(PROPERTIES) >= 25


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(name, seed):
    assert run_property(name, EXAMPLES, seed) > 0


@pytest.mark.parametrize("name", DIFFERENTIAL)
def test_comparisons(name, seed):
    for number in range(3):
        run_differential(name, seed + number)


@pytest.mark.parametrize("name", SECURITY)
def test_security(name, seed):
    for number in range(20 if SECURITY[name].drawn else 1):
        run_security(name, seed + number)


@pytest.mark.parametrize("name", LOADS)
def test_load(name, seed):
    run_load(name, "short", seed)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.short])
def test_faults(name, seed):
    assert run_fault(name, "short", seed)[0] > 0


# The judge.


def values(value, **options):
    return lambda given: {"value": Result(value, **options)}


def changing(given):
    given[0] = 7.0
    return {}


def warning_of_numpy(given):
    return {"value": Result(np.divide(1.0, np.zeros(1)).clip(0, 1))}


def seeding(given):
    np.random.seed(secrets.randbits(31))  # noqa: NPY002 - this is what must be noticed
    return {}


def warning_of_ours(given):
    warnings.warn("The graph falls apart.", exceptions.DisconnectedGraphWarning, stacklevel=1)
    return {}


def raw_error(given):
    return np.linalg.solve(np.zeros((2, 2)), np.ones(2))


JUDGED = {
    "not finite": values(np.array([np.nan])),
    "wrong shape": values(np.ones(3), shape=(2,)),
    "changed input": changing,
    "raw warning": warning_of_numpy,
    "changed state": seeding,
    "raw error": raw_error,
    "finite": warning_of_ours,
}


@pytest.mark.parametrize("status", JUDGED)
def test_the_judge_sees(status):
    assert judge(JUDGED[status], np.ones(2)).status == status


def test_the_judge_compares_with_plain_data():
    def call(given):
        return {"value": Result(given + 0.0)}

    assert judge(call, np.ones(2), np.ones(2)).status == "right"
    assert judge(call, np.ones(2), 2.0 * np.ones(2)).status == "differs"


def test_errors_that_were_not_meant_are_told_from_those_that_were():
    def index_error(given):
        return given[10]

    def meant(given):
        from halfmoon.graph import check_graph

        return check_graph(np.full((2, 2), np.nan))

    assert judge(index_error, np.ones(2)).status == "raw error"
    assert judge(meant, np.ones(2)).status == "refused"


def act(case):
    if case == "dies":
        import os
        import signal

        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "hangs":
        time.sleep(1000.0)
    return Verdict("finite")


def test_processes_that_die_or_hang_are_noticed_and_the_rest_is_done():
    cases = ["a", "dies", "b", "hangs", "c"]
    found = dict(run_cases(cases, act, jobs=1, seconds=5.0))
    assert {case: verdict.status for case, verdict in found.items()} == {
        "a": "finite", "dies": "died", "b": "finite", "hangs": "hang", "c": "finite",
    }  # fmt: skip


# The report.


def test_a_run_that_is_cut_short_leaves_what_was_found(tmp_path):
    out, docs = tmp_path / "found.json", tmp_path / "page.md"
    report, tally = Report(out, docs, keep=False), PieceTally("security", 7, 3)
    report.begin("security", "python -m reliability")
    report.note(tally)
    tally.add(Piece("security", "one", "long", 7, 100), Verdict("right", "100: held"))
    tally.add(Piece("security", "two", "long", 7, 100), Verdict("raw error", "ValueError: no"))
    report.written = -np.inf
    report.note(tally)
    for shown in (
        "| security | 200 | 1 |",
        "2 of 3 pieces, cut short",
        "| one | 100 | 7 | held |",
        "| two | 100 | 7 |",
    ):
        assert shown in docs.read_text()
    assert "- security; two; long; 7; 100: ValueError: no" in docs.read_text()
    assert report.failed


def test_parts_that_run_alone_keep_the_others(tmp_path):
    for part in ("security", "load"):
        report = Report(tmp_path / "found.json", tmp_path / "page.md", keep=True)
        report.begin(part, "python -m reliability")
        report.note(PieceTally(part, 7, 0), ended=True)
    assert "## Security" in (tmp_path / "page.md").read_text()
    assert "## Load" in (tmp_path / "page.md").read_text()


def test_a_report_names_what_repeats_a_case(seed):
    comparison = "effective resistances: networkx"
    assert repeat(f"comparisons; {comparison}; long; {seed}; 2") == Verdict("right", "2: held")
    assert repeat(f"parameters; plan(rows=); value; text; {seed}").status == "refused"
    assert not [name for name in (*PROPERTIES, *DIFFERENTIAL, *SECURITY, *LOADS, *FAULTS) if "; " in name]


def test_a_part_tries_all_alike_and_stops_at_its_limit(seed):
    quick = replace(SCALES["quick"], minutes=dict.fromkeys(PARTS, 0.0))
    assert [tally.done for tally in run_part("comparisons", quick, seed)] == [0]
    first = [piece.name for piece in work("properties", SCALES["long"], seed)[: len(PROPERTIES)]]
    assert first == list(PROPERTIES)
    assert sum(piece.times for piece in work("properties", SCALES["long"], seed)) == SCALES["long"].examples * len(
        PROPERTIES
    )
