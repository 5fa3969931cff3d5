"""Hostile inputs at every public entry point: the cases are the product of two tables, and a seed repeats each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from reliability.hostile_files import FILE_CALLS, FILES
from reliability.hostile_graphs import GRAPH_CALLS, GRAPHS
from reliability.hostile_parameters import PARAMETER_CALLS, PARAMETERS
from reliability.hostile_requests import REQUEST_CALLS, REQUESTS
from reliability.hostile_rows import ROWS
from reliability.judge import Verdict, judge
from reliability.row_entry_points import DISCONTINUOUS, ROW_CALLS

__all__ = ["KINDS", "Case", "all_cases", "drawn_cases", "try_case"]

Maker = Callable[[np.random.Generator], Any]


class Kind(NamedTuple):
    """A table of calls, each with the names of the tables of inputs it reads, and these tables."""

    calls: Mapping[str, tuple[tuple[str, ...], Callable[[Any], Any]]]
    inputs: Mapping[str, Mapping[str, Maker]]


KINDS = {
    "rows": Kind(ROW_CALLS, ROWS),
    "graphs": Kind(GRAPH_CALLS, GRAPHS),
    "parameters": Kind(PARAMETER_CALLS, PARAMETERS),
    "files": Kind(FILE_CALLS, FILES),
    "requests": Kind(REQUEST_CALLS, REQUESTS),
}


class Case(NamedTuple):
    """One call with one input; the text of it repeats it."""

    kind: str
    call: str
    table: str
    name: str
    seed: int

    def __str__(self) -> str:
        return "; ".join(map(str, self))

    @classmethod
    def of(cls, text: str) -> Case:
        """Return the case that a report names."""
        kind, call, table, name, seed = text.split("; ")
        return cls(kind, call, table, name, int(seed))


def all_cases(seed: int, kinds: Mapping[str, Kind] = KINDS) -> Iterator[Case]:
    """Yield every call with every input that it reads, once."""
    for kind, (calls, inputs) in kinds.items():
        for call, (tables, _) in calls.items():
            for table in tables:
                for name in inputs[table]:
                    yield Case(kind, call, table, name, seed)


def drawn_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Return some of the cases, every call and every input about equally often."""
    cases = list(all_cases(int(rng.integers(2**32))))
    return [cases[i] for i in rng.permutation(len(cases))[:count]]


def try_case(case: Case) -> Verdict:
    """Run a case."""
    calls, inputs = KINDS[case.kind]
    given = inputs[case.table][case.name](np.random.default_rng([case.seed, len(case.name)]))
    plain = None if any(word in case.call for word in DISCONTINUOUS) else given.plain
    return judge(calls[case.call][1], given, plain, lambda given: given.inputs)
