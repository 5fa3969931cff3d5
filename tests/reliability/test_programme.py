"""The short profile of the programme that tries to break the library, and that the programme can fail."""

import secrets
import time
import warnings

import numpy as np
import pytest

from halfmoon import exceptions
from reliability import hostile
from reliability.batches import run_cases
from reliability.differential import DIFFERENTIAL, run_differential
from reliability.faults import FAULTS, run_fault
from reliability.judge import Result, Verdict, judge
from reliability.load import LOADS, run_load
from reliability.properties import PROPERTIES, run_property
from reliability.security import SECURITY, run_security

CASES = 250  # of hostile inputs, drawn


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
    assert run_property(name, "short", seed) > 0


@pytest.mark.parametrize("name", DIFFERENTIAL)
def test_comparisons(name, seed):
    for number in range(3):
        run_differential(name, seed + number)


@pytest.mark.parametrize("name", SECURITY)
def test_security(name, seed):
    for number in range(SECURITY[name][1]):
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
