"""Queries of new rows by cells: compiled functions against oracles, recall, known rows, blocks and threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from halfmoon.graph import NeighborIndex, SearchOptions
from halfmoon.graph._audit import Audit, Effort
from halfmoon.graph._cells import Cells, in_panels
from halfmoon.graph._numba.cells import measure_found, nearest_cells, project_rows, scan_cells
from halfmoon.graph._queries import CellSearch
from halfmoon.runtime.executor import ThreadExecutor

N = 5000


def curved(rng, n, d, q=6):
    """Points near a curved surface of q dimensions."""
    inner = rng.normal(size=(n, q))
    frames = np.random.default_rng(5).normal(size=(2, q, d))
    return inner @ frames[0] + np.sin(inner) @ frames[1] + 0.1 * rng.normal(size=(n, d))


def cells_of(rng, points):
    with ThreadExecutor(2) as executor:
        return Cells.of(points, np.arange(len(points)), rng, executor)


def unpacked(panels, s):
    return panels.reshape(-1, s, 16).transpose(0, 2, 1).reshape(-1, s)


def recall_of(distances, D, k):
    """The share of neighbours no farther than the true k-th."""
    reach = np.sort(D, axis=1)[:, k - 1 : k]
    return (distances <= reach * (1 + 1e-9) + 1e-9).mean()


def test_every_point_is_in_the_cell_of_its_nearest_mean(rng):
    points = rng.normal(size=(int(rng.integers(20, 3000)), int(rng.integers(1, 9)))).astype(np.float32)
    cells = cells_of(rng, points)
    places = np.flatnonzero(cells.names >= 0)
    assert_array_equal(np.sort(cells.names[places]), np.arange(len(points)))
    layout = unpacked(cells.panels, points.shape[1])
    assert_array_equal(layout[places], points[cells.names[places]])
    assert np.isinf(layout[cells.names < 0]).all()
    cell_of_place = np.repeat(np.arange(cells.count), 16 * np.diff(cells.bounds))
    assert_array_equal(cell_of_place[places], cells.cell[cells.names[places]])
    D = pairwise_distances(points.astype(np.float64), unpacked(cells.means, points.shape[1])[: cells.count])
    assert_allclose(D[np.arange(len(points)), cells.cell], D.min(axis=1), rtol=1e-4)
    assert_array_equal(np.take_along_axis(D, cells.in_order(points).astype(int), axis=1)[:, 0], D.min(axis=1))


@pytest.mark.parametrize("queries", [1, 2, 3, 4, 5, 37])
def test_scans_against_an_oracle(rng, queries):
    s, width = int(rng.integers(1, 20)), int(rng.integers(1, 9))
    points = rng.normal(size=(400, s)).astype(np.float32)
    cells, Y = cells_of(rng, points), rng.normal(size=(queries, s)).astype(np.float32)
    probes = int(rng.integers(1, cells.count + 1))
    near = np.empty((queries, probes), np.int32)
    nearest_cells(Y, cells.means, near)
    means = unpacked(cells.means, s)[: cells.count]
    assert_array_equal(near, np.argsort(pairwise_distances(Y.astype(float), means), axis=1)[:, :probes])
    squares, places = np.empty((queries, width), np.float32), np.empty((queries, width), np.int32)
    scan_cells(Y, cells.panels, cells.bounds, near, np.zeros(1, np.uint8), squares, places)
    D = pairwise_distances(Y.astype(float), points) ** 2
    D[~(cells.cell[None, None, :] == near[:, :, None]).any(axis=1)] = np.inf
    expected = np.argsort(D, axis=1)[:, :width]
    assert_allclose(squares, np.take_along_axis(D, expected, axis=1), rtol=1e-4)
    there = np.isfinite(squares)
    assert_array_equal(cells.names[places[there]], expected[there])


@pytest.mark.parametrize("rows", [1, 3, 4, 6])
def test_projection_against_an_oracle(rng, rows):
    d, width = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    X, components = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, d), (d, width)))
    panels = in_panels(np.ascontiguousarray(components.T))
    points = np.empty((rows, 16 * (len(panels) // d)), np.float32)
    project_rows(X, panels, points)
    assert_allclose(points[:, :width], X.astype(float) @ components, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["float64", "float32", "uint8"])
def test_measured_rows_against_an_oracle(rng, kind):
    X = rng.integers(0, 4, size=(60, 3)).astype(kind)  # many ties
    Y = rng.integers(0, 4, size=(20, 3)).astype(float)
    found = np.array([rng.permutation(60)[:9] for _ in range(20)], dtype=np.int32)
    found[:, 6:][rng.random((20, 3)) < 0.5] = -1
    equal = np.where(rng.random(20) < 0.5, rng.integers(60, size=20), -1)
    distances, indices = np.empty((20, 5)), np.empty((20, 5), dtype=np.intp)
    measure_found(Y, X, equal, found, distances, indices)
    for i in range(20):
        candidates = sorted({*found[i].tolist(), int(equal[i])} - {-1})
        ranked = sorted((float(np.linalg.norm(Y[i] - X[j])), j) for j in candidates)[:5]
        assert_allclose(distances[i, : len(ranked)], [length for length, _ in ranked])
        assert indices[i, : len(ranked)].tolist() == [j for _, j in ranked]


@pytest.mark.parametrize("kind", ["low", "middle", "wide", "bytes", "sparse"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_queries_reach_their_recall(rng, kind, metric):
    d = {"low": 5, "middle": 40, "wide": 300, "bytes": 100, "sparse": 400}[kind]
    X, Y = curved(rng, N, d), curved(rng, 800, d)
    if kind == "bytes":
        X, Y = (np.clip(10 * data + 128, 0, 255).astype(np.uint8) for data in (X, Y))
    if kind == "sparse":
        X, Y = (sparse.csr_array(np.where(np.abs(data) > 3.0, data, 0.0) + np.eye(1, d)) for data in (X, Y))
    index = NeighborIndex(X, metric=metric)
    assert isinstance(index._queries, CellSearch)
    distances, found = index.query(Y, 5)
    D = pairwise_distances(Y.astype(float), X[index.duplicates.first].astype(float), metric=metric)
    assert recall_of(distances, D, 5) >= 0.98  # 0.99, up to the sampling of both
    assert_allclose(distances, np.take_along_axis(D, found, axis=1), atol=1e-6)
    assert np.all(np.diff(distances, axis=1) >= 0)


def test_a_higher_recall_is_reached_too(rng):
    X, Y = curved(rng, N, 30, q=12), curved(rng, 1000, 30, q=12)
    D = pairwise_distances(Y, X)
    recalls, efforts = [], []
    for recall in (0.8, 0.99, 0.999):
        index = NeighborIndex(X, options=SearchOptions(query_recall=recall))
        recalls.append(recall_of(index.query(Y, 5)[0], D, 5))
        efforts.append(index._queries.effort(5).cells)
    assert np.all(np.array(recalls) >= np.array([0.78, 0.98, 0.996]))
    assert efforts == sorted(efforts)
    assert efforts[0] < efforts[2]


@pytest.mark.parametrize("k", [1, 40, 300])
def test_lists_of_any_length(rng, k):
    """Longer than the audit's, longer than a cell holds: complete, without repetition, at the recall."""
    X, Y = curved(rng, N, 8), curved(rng, 100, 8)
    distances, found = NeighborIndex(X).query(Y, k)
    assert all(len(set(row)) == k and min(row) >= 0 for row in found.tolist())
    assert recall_of(distances, pairwise_distances(Y, X), k) >= 0.97


def test_cells_that_hold_too_few_points_are_made_up_for(rng):
    """A cell of few rows far from the others: one cell is enough for the recall of the rest, but not for them."""
    X = np.concatenate([curved(rng, N, 5), 1e3 + curved(rng, 3, 5)])
    Y = 1e3 + curved(rng, 20, 5)
    _, found = NeighborIndex(X, options=SearchOptions(query_recall=0.3)).query(Y, 8)
    assert all({N, N + 1, N + 2} <= set(row) and len(set(row)) == 8 for row in found.tolist())


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_known_rows_find_themselves(rng, shift):
    """Also where float32 cannot tell them from their neighbours."""
    X = curved(rng, N, 12)
    X[: N // 2] = shift + 1e-3 * X[: N // 2]
    known = rng.permutation(N)[:200]
    distances, found = NeighborIndex(X).query(X[known], 3)
    assert_array_equal(found[:, 0], known)
    assert_array_equal(distances[:, 0], 0.0)


@pytest.mark.parametrize("d", [20, 300])
def test_a_row_has_the_same_neighbours_whatever_comes_with_it(rng, d):
    X, Y = curved(rng, N, d), curved(rng, 2100, d)
    seed = int(rng.integers(1 << 31))
    one, many = (NeighborIndex(X, options=SearchOptions(n_jobs=jobs, seed=seed)) for jobs in (1, 3))
    distances, found = one.query(Y, 5)
    for some in (slice(0, 1), slice(2047, 2050), slice(100, 777), rng.permutation(len(Y))):
        for again in (one, many):
            other_distances, other = again.query(Y[some], 5)
            assert_array_equal(other, found[some])
            assert_array_equal(other_distances, distances[some])


@pytest.mark.parametrize("method", ["exact", "kdtree"])
def test_methods_that_are_asked_for_stay_exact(rng, method):
    X, Y = (rng.normal(size=(n, 9)) for n in (N, 200))
    _, found = NeighborIndex(X, method=method).query(Y, 5)
    assert_array_equal(found, np.argsort(pairwise_distances(Y, X), axis=1)[:, :5])


def test_a_recall_of_one_is_exact(rng):
    X, Y = (rng.normal(size=(n, 20)) for n in (N, 200))
    truth = np.argsort(pairwise_distances(Y, X), axis=1)[:, :5]
    for method in ("auto", "approximate"):
        options = SearchOptions(query_recall=1.0)
        assert_array_equal(NeighborIndex(X, method=method, options=options).query(Y, 5)[1], truth)


def test_noise_in_many_dimensions_is_searched_exactly(rng):
    """Nothing to gain from cells: exact search costs no more."""
    X, Y = (rng.normal(size=(n, 400)) for n in (N, 200))
    index = NeighborIndex(X, options=SearchOptions(query_recall=0.9999))
    assert index._queries.effort(5) is None
    assert_array_equal(index.query(Y, 5)[1], np.argsort(pairwise_distances(Y, X), axis=1)[:, :5])


def test_effort_follows_from_where_neighbours_are():
    """Two rows, two neighbours each: cells of rank 0, 1 and 0, 3; the last is the ninth proposed."""
    order = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    cell = np.array([0, 1, 3, 0])
    truth, found = np.array([[0, 1], [2, 3]]), np.full((2, 64), -1)
    found[0, :2], found[1, 0], found[1, 8] = [0, 1], 2, 3
    audit = Audit.of(order, cell, truth, found)
    assert_array_equal(audit.of_cells, [[0, 1], [0, 3]])
    assert_array_equal(audit.of_points, [[0, 1], [0, 8]])
    work = {"per_cell": 1000.0, "width": 10, "d": 100}
    assert audit.effort(1, 1.0, **work) == Effort(cells=1, points=5)
    assert audit.effort(2, 1.0, **work) == Effort(cells=4, points=9)
    assert audit.effort(4, 1.0, **work) == Effort(cells=4, points=18)  # in proportion, but not more cells than all
    assert audit.effort(2, 1.0, per_cell=1.0, width=10, d=1) is None


def test_bad_query_recall():
    with pytest.raises(ValueError, match=r"'query_recall' parameter must be in \(0, 1\]. Got 2.0"):
        SearchOptions(query_recall=2.0)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e8, 1e25])
def test_rows_far_from_the_data_find_their_neighbors(rng, far):
    """Float32 cannot order the points for them: exact search answers."""
    X, Y = rng.normal(size=(6000, 10)), far * rng.normal(size=(20, 10))
    _, found = NeighborIndex(X).query(Y, 5)
    _, expected = NeighborIndex(X, method="exact").query(Y, 5)
    assert_array_equal(found, expected)
