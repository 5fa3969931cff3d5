"""Copies of a point. A KD-tree degenerates on them and a plain k-NN graph turns them into hubs.

So the search runs on the distinct points, and each row then gets its own copies first. Where there are more
than k copies, they lie on a circle and a row takes the k nearest there: no copy becomes a hub, and all of them
stay connected, also in a mutual graph with k >= 2.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._kernels import expand_copies

__all__ = ["Copies", "find_copies"]


@dataclass(frozen=True)
class Copies:
    """Which rows are copies of which distinct point, in the order of first appearance."""

    group: NDArray[np.intp]
    first: NDArray[np.intp]  # a row for each distinct point

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one row a distinct point: the mean over its copies."""
        if len(self.first) == len(self.group):
            return values.copy()
        n, m = len(self.group), len(self.first)
        counts = np.bincount(self.group, minlength=m)
        average = sparse.csr_array((1.0 / counts[self.group], (self.group, np.arange(n))), shape=(m, n))
        return average @ values

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
        expand_copies(self.group, rank, start, members, near, near_distances, indices, distances)
        return distances, indices


def find_copies(X: Any) -> Copies:
    """Group equal rows of a validated dense or CSR array by a 128-bit digest of their bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import find_copies
    >>> find_copies(np.array([[1.0], [2.0], [1.0]])).group.tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    first: list[int] = []
    group = np.empty(X.shape[0], dtype=np.intp)
    for i, row in enumerate(_row_bytes(X)):
        key = hashlib.blake2b(row, digest_size=16).digest()
        group[i] = seen.setdefault(key, len(first))
        if group[i] == len(first):
            first.append(i)
    return Copies(group=group, first=np.array(first, dtype=np.intp))


def _row_bytes(X: Any) -> Any:
    """Yield the bytes of each row, equal exactly when the rows are."""
    if sparse.issparse(X):
        X = X.copy()
        X.eliminate_zeros()
        X.sort_indices()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()
    else:
        for row in X:
            yield (row + 0.0).tobytes()  # -0.0 and 0.0 are one number
