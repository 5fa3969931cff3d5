"""Neighbours of new rows: cells around means propose, exact distances decide, a sample of rows sets the effort.

1. The sketch of a new row is compared with the means of all cells, then with all points of the nearest cells.
2. The nearest of these by their sketches are measured in float64; the nearest of those are the answer.
How many cells and points that takes follows from an audit. A row that equals one of X finds it, by a digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._audit import Audit, Effort, without
from halfmoon.graph._cells import Cells, in_panels
from halfmoon.graph._duplicates import RowLookup
from halfmoon.graph._exact import euclidean_search, sorted_nearest
from halfmoon.graph._numba.cells import measure_found, nearest_cells, project_rows, scan_cells
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._points import rows_at_once
from halfmoon.graph._principal_components import MOST, Sample, centered, principal_components, sample_rows
from halfmoon.runtime.compiling_ahead import await_compiled
from halfmoon.runtime.executor import Executor, ThreadExecutor, stop_flag
from halfmoon.runtime.half_floats import as_bits
from halfmoon.runtime.lanes import WIDTH

__all__ = ["CellSearch"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]

CAPTURED = 0.9  # share of the variance that the sketch should hold: more than for a graph, which refines its lists
FEW_FEATURES = 64  # up to which the sketch is the row itself
ROWS = 2048  # new rows answered at once, at most: enough for most cells to meet several
SAMPLE = 500  # rows whose true neighbours are looked up
LONGEST = 32  # true neighbours looked up per row
PROPOSED = 256  # points that the sketch proposes for a row, at most
PIECES = 16  # that the sample is cut into
FAR = 2.0  # times the largest norm of a point: float32 orders the points of cells badly for rows farther away
ROUNDING = 1e-5  # of distances between sketches, relative to the largest norm


class CellSearch:
    """Euclidean search for new rows among many rows, dense or sparse; it does not change once it is built."""

    def __init__(self, X: Any, options: SearchOptions) -> None:
        await_compiled("queries")
        self.X, self.options = X, options
        self.exact = euclidean_search(X, options)
        self.lookup = RowLookup(X)
        rng = np.random.default_rng(options.seed)
        sample = np.sort(rng.choice(X.shape[0], min(SAMPLE, X.shape[0]), replace=False))
        with ThreadExecutor(options.threads) as executor:
            others = np.setdiff1d(np.arange(X.shape[0]), sample)  # what is learnt from a row is as if made for it
            self.sketch = _Projection.of(X[np.sort(rng.permutation(others)[: sample_rows(X.shape[1])])], rng, executor)
            points = np.empty((X.shape[0], self.sketch.width), np.float32)
            blocks = _blocks(X.shape[0], rows_at_once(ROWS, X.shape[1]))
            for rows, of_rows in zip(blocks, executor.map(_sketch_rows, (self.sketch, X), blocks), strict=True):
                points[rows] = of_rows
            self.largest = float(np.sqrt(np.einsum("ij,ij->i", points, points).max()))  # norm of a sketch
            self.cells = Cells.of(points, others, rng, executor)
            self.audit = self._look_up(sample, points[sample], executor)

    def _look_up(self, sample: NDArray[np.intp], points: NDArray[np.float32], executor: Executor) -> Audit:
        """Return where the true neighbours of a sample of rows turn up."""
        order = self.cells.in_order(points)
        pieces = [piece for piece in np.array_split(np.arange(len(sample)), PIECES) if piece.size]
        width = min(PROPOSED + 1, self.X.shape[0])
        scans = executor.map(_scan, (self.cells, width), [(points[piece], order[piece]) for piece in pieces])
        squares, found = (np.concatenate(arrays) for arrays in zip(*scans, strict=True))
        truth = self._true_neighbors(sample, found, squares[:, -1], min(LONGEST + 1, self.X.shape[0]))
        return Audit.of(order, self.cells.cell, without(truth, sample), without(found, sample))

    def _true_neighbors(
        self, sample: NDArray[np.intp], found: NDArray[np.int32], last: NDArray[np.float32], k: int
    ) -> NDArray[np.intp]:
        """Return the k nearest rows of a sample: among the points found, or, unless these are proven, by exact search.

        No sketch is longer than its row, so what is not found is at least as far as the `last` that is.
        """
        distances, truth = _measure(self.X[sample], self.X, np.full(len(sample), -1), found, k)
        rounding = ROUNDING * self.largest
        unproven = np.flatnonzero(np.sqrt(last.astype(np.float64)) - rounding < distances[:, -1])
        if unproven.size and found.shape[1] < self.X.shape[0]:
            truth[unproven] = self.exact.query(self.X[sample[unproven]], k)[1]
        return truth

    def effort(self, k: int) -> Effort | None:
        """Return what a query of k neighbours looks at; None if exact search costs no more."""
        n, d = self.X.shape
        return self.audit.effort(k, self.options.query_recall, n / self.cells.count, self.sketch.width, d)

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return about the k nearest rows of each row of Y; a row that equals one of X finds it."""
        effort = self.effort(k)
        if effort is None:
            return self.exact.query(Y, k)
        distances, indices = np.empty((Y.shape[0], k)), np.empty((Y.shape[0], k), dtype=np.intp)
        blocks = _blocks(Y.shape[0], rows_at_once(ROWS, Y.shape[1]))
        asked = _Asked(self.X, self.lookup, self.sketch, self.largest, self.cells, effort, Y, k)
        with ThreadExecutor(self.options.threads) as executor:
            for rows, found in zip(blocks, executor.map(_answer, asked, blocks), strict=True):
                distances[rows], indices[rows] = found
        few = np.flatnonzero(indices[:, -1] < 0)  # far away, or in cells that hold fewer than k points together
        if few.size:
            distances[few], indices[few] = self.exact.query(Y[few], k)
        return distances, indices


@dataclass(frozen=True)
class _Projection:
    """The sketch of a row, computed coordinate by coordinate: the same bits whatever rows come with it."""

    center: NDArray[np.float32] | None
    components: NDArray[np.float32] | None  # None: the sketch is the row, centred
    panels: NDArray[np.float32] | None  # the same columns, for dense rows
    width: int

    @classmethod
    def of(cls, X: Any, rng: np.random.Generator, executor: Executor) -> _Projection:
        """Choose as many principal components as hold most of the variance; none where that is no gain."""
        sample, d = Sample.of(X, rng), X.shape[1]
        if not sparse.issparse(X) and d <= FEW_FEATURES:
            return cls(sample.center, None, None, d)
        columns, held = principal_components(sample, executor)
        width = min(-(-(int(np.searchsorted(held, CAPTURED)) + 1) // WIDTH) * WIDTH, columns.shape[1])
        if not sparse.issparse(X) and d <= 2 * MOST and (held[width - 1] < CAPTURED or 2 * width > d):
            return cls(sample.center, None, None, d)
        columns = np.ascontiguousarray(columns[:, :width])
        return cls(sample.center, columns, in_panels(np.ascontiguousarray(columns.T)), width)

    def __call__(self, rows: Any) -> NDArray[np.float32]:
        """Return the sketches of some rows."""
        moved = centered(rows, self.center)
        if self.components is None or self.panels is None:
            return moved
        if sparse.issparse(moved):
            return np.ascontiguousarray(moved @ self.components)
        points = np.empty((len(moved), WIDTH * (len(self.panels) // moved.shape[1])), dtype=np.float32)
        project_rows(moved, self.panels, points)
        return np.ascontiguousarray(points[:, : self.width])


@dataclass(frozen=True)
class _Asked:
    X: Any
    lookup: RowLookup
    sketch: _Projection
    largest: float  # norm of a point
    cells: Cells
    effort: Effort
    Y: Any
    k: int


def _answer(asked: _Asked, rows: slice) -> Neighbors:
    """Return the neighbours of some rows of Y; index -1 and distance inf where exact search is needed."""
    Y, points = asked.Y[rows], asked.sketch(asked.Y[rows])
    cells = np.zeros((len(points), asked.effort.cells), dtype=np.int32)
    nearest_cells(points, asked.cells.means, cells)
    _, found = _scan((asked.cells, asked.effort.points), (points, cells))
    near = np.linalg.norm(points.astype(np.float64), axis=1) <= FAR * asked.largest
    found[~near] = -1  # also of rows beyond float32
    return _measure(Y, asked.X, asked.lookup.find(Y), found, asked.k)


def _scan(
    prepared: tuple[Cells, int], block: tuple[NDArray[np.float32], NDArray[np.int32]]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the nearest points to some sketches in some cells each, by squares, inf and -1 where there are fewer."""
    (cells, width), (points, scanned) = prepared, block
    nearest, places = np.empty((len(points), width), np.float32), np.zeros((len(points), width), np.int32)
    scan_cells(points, cells.panels, cells.bounds, scanned, stop_flag(), nearest, places)
    return nearest, np.where(np.isfinite(nearest), cells.names[places], -1)


def _measure(Y: Any, X: Any, equal: NDArray[np.intp], found: NDArray[np.int32], k: int) -> Neighbors:
    """Return the k nearest of the rows of X found for each row of Y, and of the one known to be equal."""
    if not sparse.issparse(Y):
        distances, indices = np.empty((len(found), k)), np.empty((len(found), k), dtype=np.intp)
        measure_found(Y.astype(np.float64), as_bits(X), equal, found, distances, indices)
        return distances, indices
    found = np.hstack([np.where(found == equal[:, None], -1, found), equal[:, None]])
    gaps = Y[np.repeat(np.arange(Y.shape[0]), found.shape[1])] - X[np.maximum(found, 0).ravel()]
    distances = np.where(found < 0, np.inf, sparse.linalg.norm(gaps, axis=1).reshape(found.shape))
    return sorted_nearest(distances, found, k)


def _sketch_rows(prepared: tuple[_Projection, Any], rows: slice) -> NDArray[np.float32]:
    sketch, X = prepared
    return sketch(X[rows])


def _blocks(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
