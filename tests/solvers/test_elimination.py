"""Elimination with the landmarks last: the dissection separates, block and bound hold against exact arithmetic."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from benchmarks._certificate_cases import draw
from benchmarks._oracle import exact_blocks, largest_entry, to_mp
from halfmoon import restrict
from halfmoon.graph import check_graph, knn_graph
from halfmoon.regularizers import PowerRegularizer
from halfmoon.solvers import SolveOptions, _elimination
from halfmoon.solvers._elimination import eliminated_block
from halfmoon.solvers._numba.dissection import LEAF, dissect

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
RUNNING = np.zeros(1, dtype=np.uint8)


def islands(rng):
    return sparse.block_diag([nx.to_scipy_sparse_array(nx.grid_2d_graph(k, k)) for k in (1, 1, 3, 12, 14, 2)])


GRAPHS = {
    "plane": lambda rng: knn_graph(rng.random((700, 2)), n_neighbors=6),
    "path": lambda rng: nx.path_graph(500),
    "islands": islands,
    "clique": lambda rng: nx.complete_graph(150),
    "star": lambda rng: nx.star_graph(150),
    "expander": lambda rng: nx.random_regular_graph(6, 300, seed=int(rng.integers(2**31))),
    "no edges": lambda rng: sparse.csr_array((60, 60)),
}


@pytest.fixture(params=GRAPHS)
def large_graph(request, rng):
    return check_graph(GRAPHS[request.param](rng))


def test_a_dissection_separates(large_graph, rng):
    """Every free vertex is a pivot once, and no edge joins the two subtrees below a node."""
    n = large_graph.shape[0]
    free = rng.random(n) < 0.95
    order, start, end, pivots, subtree = dissect(large_graph.indptr, large_graph.indices, free, np.inf, RUNNING)
    assert_array_equal(np.sort(order), np.flatnonzero(free))
    assert pivots.sum() == free.sum()
    for t in range(len(end)):
        if subtree[t] > 1:
            one, other = t + 1, t + 1 + subtree[t + 1]
            assert start[t] == start[other]
            assert end[other] == start[one]
            assert end[one] == end[t] - pivots[t]
            sides = order[start[other] : end[other]], order[start[one] : end[one]]
            assert large_graph[sides[0]][:, sides[1]].nnz == 0
        else:
            assert pivots[t] == end[t] - start[t]


def test_a_dissection_of_a_plane_has_small_separators(rng):
    W = knn_graph(rng.random((4000, 2)), n_neighbors=6)
    _, start, end, pivots, subtree = dissect(W.indptr, W.indices, np.ones(4000, dtype=bool), np.inf, RUNNING)
    inner = subtree > 1
    assert pivots.max() < 4 * np.sqrt(4000)
    assert (end - start)[~inner].max() <= LEAF


def test_a_dissection_gives_up_beyond_its_budget():
    W = check_graph(nx.random_regular_graph(8, 2000, seed=1))
    assert len(dissect(W.indptr, W.indices, np.ones(2000, dtype=bool), 1e6, RUNNING)[1]) == 0


@pytest.mark.parametrize("normalized", [False, True])
def test_the_block_is_that_of_a_dense_inverse(large_graph, rng, normalized, monkeypatch):
    monkeypatch.setattr(_elimination, "WORK_PER_VERTEX", np.inf)
    n = large_graph.shape[0]
    S = rng.permutation(n)[: int(rng.integers(1, 40))]
    system = PowerRegularizer(large_graph, power=1, normalized=normalized, ridge=0.1).inverse.system
    block = eliminated_block(system, S, SolveOptions())
    inverse = np.linalg.inv(system.R.toarray())
    off_modes = inverse - (system.modes @ system.modes.T).toarray() * system.unit / system.mode_value
    assert_allclose(block.block, off_modes[np.ix_(S, S)], rtol=0, atol=1e-12 * inverse.max())
    assert block.bound_kind == "proven"
    assert 0.0 < block.bound <= 1e-8 * inverse.max()


def test_the_bound_holds_against_120_digits(rng):
    """Graphs of all families, weights over many orders of magnitude, ridges down to 1e-12: no eigenvalue is needed."""
    tried = 0
    while tried < 40:
        problem = draw("small", int(rng.integers(2**32)))
        Q = PowerRegularizer(problem.W, power=1, normalized=problem.normalized, ridge=problem.ridge)
        system = Q.inverse.system
        block = eliminated_block(system, problem.landmarks, SolveOptions())
        if block is None:
            continue
        tried += 1
        found = to_mp(np.ldexp(block.block, -int(np.log2(system.unit))))
        exact = exact_blocks(problem.W, problem.landmarks, [1], normalized=problem.normalized, ridge=problem.ridge)[1]
        assert largest_entry(found - exact) <= np.ldexp(block.bound, -int(np.log2(system.unit))), str(problem)


def test_without_excess_or_with_positive_entries_there_is_no_elimination(large_graph):
    singular = PowerRegularizer(large_graph, power=1, ridge=0.0).inverse.system
    assert eliminated_block(singular, np.arange(3), SolveOptions()) is None


def test_auto_eliminates_in_the_plane_only(rng):
    W = knn_graph(rng.random((2500, 2)), n_neighbors=8)
    S = rng.permutation(2500)[:20]
    r = restrict(PowerRegularizer(W, power=1, ridge=1e-6), S)
    assert (r.solver, r.n_iter, r.bound_kind) == ("elimination", 0, "proven")
    assert "separators" in r.reason
    by_tiles = restrict(PowerRegularizer(W, power=1, ridge=1e-6), S, solver="approx_cholesky", eps=1e-9)
    assert_allclose(r.smooth, by_tiles.smooth, rtol=0, atol=2e-9 * np.abs(r.smooth).max())
    assert restrict(PowerRegularizer(W, power=2, ridge=1e-3), S).solver != "elimination"
    expander = check_graph(nx.random_regular_graph(12, 2500, seed=int(rng.integers(2**31))))
    assert restrict(PowerRegularizer(expander, power=1, ridge=1e-3), S).solver == "cg"


def test_elimination_does_not_depend_on_threads(rng):
    W = knn_graph(rng.random((3000, 2)), n_neighbors=8)
    one, three = (restrict(PowerRegularizer(W, power=1), np.arange(30), n_jobs=n_jobs) for n_jobs in (1, 3))
    assert one.solver == "elimination"
    assert_array_equal(one.smooth, three.smooth)
