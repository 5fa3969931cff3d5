"""Compile what queries by cells need, by a query of made-up data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from halfmoon.graph._exact import DATA_PANEL
from halfmoon.graph._numba.cells import scan_in_cells
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._queries import FEW_FEATURES, CellSearch
from halfmoon.runtime.compiling_ahead import is_cached
from halfmoon.runtime.lanes import WIDTH

__all__ = ["compile_queries", "queries_are_compiled"]

SPAN = 100.0  # of whole numbers, if the data are such


def queries_are_compiled() -> bool:
    """Return whether numba's cache seems to have what `compile_queries` compiles."""
    return is_cached(scan_in_cells)


def compile_queries(dtype: Any, features: int, as_sparse: bool) -> None:
    """Compile the functions that answer queries among rows of a type, sketched if they have many features."""
    rng = np.random.default_rng(0)
    d = features if features <= FEW_FEATURES else max(features, 2 * FEW_FEATURES)
    patches = rng.random((DATA_PANEL + 1, WIDTH)) @ rng.random((WIDTH, d))  # in few dimensions: worth a sketch
    X = (SPAN / WIDTH * patches).astype(dtype)
    search = CellSearch(sparse.csr_array(X) if as_sparse else X, SearchOptions(n_jobs=1))
    search.query(search.X[:1], 1)
    search.exact.query(search.X[:1], 1)
