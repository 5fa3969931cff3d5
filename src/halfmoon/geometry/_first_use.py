"""The first use of many rows: solvers and queries are compiled by a second process while this one makes the graph."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from scipy import sparse

from halfmoon.geometry._stages import GeometrySettings
from halfmoon.graph import compile_queries, queries_are_compiled
from halfmoon.runtime.compiling_ahead import compiling_ahead
from halfmoon.runtime.execution import current_client
from halfmoon.runtime.executor import thread_count
from halfmoon.solvers import SolveOptions, compile_solvers, solvers_are_compiled

__all__ = ["compile_stages", "compiling_later_stages"]

MANY = 15_000  # rows from which on the graph is compiled too: before it there is time to compile the rest
SEARCHED = ("euclidean", "cosine")  # metrics
PROGRAM = "import sys; from halfmoon.geometry._first_use import compile_stages; compile_stages(sys.argv[1])"


def compiling_later_stages(X: Any, settings: GeometrySettings) -> AbstractContextManager[None]:
    """Return a block in which a second process compiles what comes after the graph, unless numba's cache has it."""
    idle = thread_count(settings.n_jobs) > 1 and current_client() is None
    searched = settings.graph is None and settings.neighbors is None and settings.metric in SEARCHED
    known = solvers_are_compiled() and queries_are_compiled()
    if X.shape[0] < MANY or not idle or not searched or known or not sys.executable or hasattr(sys, "frozen"):
        return nullcontext()
    wanted = {
        "weighted": settings.weights != "binary",
        "tile_width": SolveOptions().tile_width,
        "dtype": X.dtype.str,
        "features": X.shape[1],
        "as_sparse": sparse.issparse(X),
    }
    return compiling_ahead(PROGRAM, [json.dumps(wanted)])


def compile_stages(wanted: str) -> None:
    """Compile solvers, then queries, and say so: the second process."""
    parameters = json.loads(wanted)
    compile_solvers(parameters.pop("weighted"), parameters.pop("tile_width"))
    print("solvers", flush=True)
    compile_queries(**parameters)
    print("queries", flush=True)
