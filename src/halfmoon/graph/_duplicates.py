"""Duplicates of a point. A KD-tree degenerates on them and a plain k-NN graph turns them into hubs.

So the search runs on the distinct points, and each row then gets its own duplicates first. Where there are more
than k duplicates, they lie on a circle and a row has the k nearest there: none becomes a hub, and all of them
stay connected, also in a mutual graph with k >= 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._numba.duplicates import FIRST, SECOND, digest_dense, digest_sparse, expand_duplicates
from halfmoon.graph._points import in_form
from halfmoon.runtime.half_floats import as_bits
from halfmoon.runtime.storable import storable

__all__ = ["Duplicates", "RowLookup", "find_duplicates"]

SMALL = 1 << 22  # numbers that numpy digests in less time than it takes to compile
INTERPRETED = 20_000  # entries of lists that Python fills in less time than it takes to compile


@storable
@dataclass(frozen=True)
class Duplicates:
    """Which rows are duplicates of which distinct point, in the order of first appearance."""

    group: NDArray[np.intp]
    first: NDArray[np.intp]  # a row for each distinct point

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one row per distinct point: the mean over its duplicates."""
        if len(self.first) == len(self.group):
            return values.copy()
        n, m = len(self.group), len(self.first)
        counts = np.bincount(self.group, minlength=m)
        average = sparse.csr_array((1.0 / counts[self.group], (self.group, np.arange(n))), shape=(m, n))
        return average @ values

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one row per row of the data, given one per distinct point."""
        return values if len(self.first) == len(self.group) else values[self.group]

    def expand(
        self, near_distances: NDArray[np.float64], near: NDArray[np.intp], k: int
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Turn neighbours among the distinct points into k neighbours of every row."""
        n, m = len(self.group), len(self.first)
        members = np.argsort(self.group, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(self.group, minlength=m))))
        rank = np.empty(n, dtype=np.intp)
        rank[members] = np.arange(n) - start[self.group[members]]
        indices, distances = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        fill = expand_duplicates if n * k > INTERPRETED else expand_duplicates.py_func
        fill(self.group, rank, start, members, near, near_distances, indices, distances)
        return distances, indices


def find_duplicates(X: Any) -> Duplicates:
    """Group equal rows of a validated dense or CSR array by a 128-bit digest of their values.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import find_duplicates
    >>> find_duplicates(np.array([[1.0], [2.0], [1.0]])).group.tolist()
    [0, 1, 0]
    """
    digests = row_digests(X)
    n = len(digests)
    halves = np.sort(digests[:, 0])
    if (halves[1:] != halves[:-1]).all():  # most data: no two rows are equal
        return Duplicates(group=np.arange(n), first=np.arange(n))
    order = np.lexsort((digests[:, 1], digests[:, 0]))  # stable: the first row of a group comes first
    ordered = digests[order]
    starts = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
    first_of_group = order[starts]
    by_appearance = np.argsort(first_of_group)
    number = np.empty(len(by_appearance), dtype=np.intp)
    number[by_appearance] = np.arange(len(by_appearance))
    group = np.empty(n, dtype=np.intp)
    group[order] = number[np.cumsum(starts) - 1]
    return Duplicates(group=group, first=first_of_group[by_appearance].astype(np.intp))


class RowLookup:
    """Finds rows by value: which row of X equals a given one."""

    def __init__(self, X: Any) -> None:
        self.sparse = sparse.issparse(X)
        digests = row_digests(X)
        self.order = np.lexsort((digests[:, 1], digests[:, 0]))
        self.digests = digests[self.order]

    def find(self, Y: Any) -> NDArray[np.intp]:
        """Return, for each row of Y, a row of X that equals it, or -1."""
        wanted = row_digests(in_form(Y, as_sparse=self.sparse))
        place = np.minimum(np.searchsorted(self.digests[:, 0], wanted[:, 0]), len(self.digests) - 1)
        return np.where((self.digests[place] == wanted).all(axis=1), self.order[place], -1)


def row_digests(X: Any) -> NDArray[np.uint64]:
    """Return a 128-bit digest of the numbers in each row, whatever their type; -0.0 and 0.0 are one number."""
    digests = np.empty((X.shape[0], 2), dtype=np.uint64)
    if sparse.issparse(X):
        X = X.copy()
        X.eliminate_zeros()
        digest_sparse(X.indptr, X.indices, X.data, digests)
    elif X.size <= SMALL:
        digest_columns(X, digests)
    else:
        digest_dense(as_bits(X), digests)
    return digests


@np.errstate(over="ignore")  # a hash wraps around
def digest_columns(X: NDArray[Any], digests: NDArray[np.uint64]) -> None:
    """Compute the digests of `digest_dense` column by column: slower, but there is nothing to compile."""
    digests[:] = 0
    for j, column in enumerate(X.T):
        bits = (column.astype(np.float64) + 0.0).view(np.uint64) ^ (np.uint64(j) * FIRST)
        bits = (bits ^ (bits >> np.uint64(30))) * SECOND
        bits = (bits ^ (bits >> np.uint64(27))) * FIRST
        digests[:, 0] += bits ^ (bits >> np.uint64(31))
        digests[:, 1] += (bits ^ (bits >> np.uint64(29))) * SECOND
