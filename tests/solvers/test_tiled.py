"""The tiled solvers: adversarial graphs, certificates, threads, memory, progress."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse

from halfmoon import restrict
from halfmoon.exceptions import NotDiagonallyDominantError
from halfmoon.geometry import restrict_powers
from halfmoon.graph import check_graph, knn_graph, laplacian
from halfmoon.regularizers import MatrixRegularizer, PowerRegularizer
from halfmoon.runtime.execution import checkpointing
from halfmoon.runtime.memory import Allowance, allowing
from halfmoon.solvers import SolveOptions, System, null_modes, prepare, solve_sdd
from reference import n_components, spectral_pinv

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

ITERATIVE = ["cg", "approx_cholesky"]


@pytest.fixture(params=[16, 8], ids="width {}".format)
def width(request):
    """Columns of a tile, which the memory of the context decides."""
    with allowing(Allowance(threads=4, tile_width=request.param, columns=1 << 30, wide_codes=True)):
        yield request.param


def smooth_part(W, power, normalized, ridge):
    """((L + ridge I)^power)^-1 off the component modes."""
    return spectral_pinv(W, normalized, lambda x: (x + ridge) ** -power, singular=True)


def weights_over_12_orders(rng):
    W = np.triu(10.0 ** rng.uniform(-6, 6, size=(120, 120)) * (rng.random((120, 120)) < 0.05), 1)
    W += np.diag(10.0 ** rng.uniform(-6, 6, size=119), 1)
    return W + W.T


def dumbbell(rng):
    return nx.barbell_graph(60, 40)


def hub(rng):
    W = np.zeros((300, 300))
    W[0, 1:] = W[1:, 0] = 1.0
    ring = np.arange(1, 299)
    W[ring, ring + 1] = W[ring + 1, ring] = rng.random(298)
    return W


ADVERSARIAL = {
    "long path": lambda rng: nx.path_graph(400),
    "star": lambda rng: nx.star_graph(399),
    "hub": hub,
    "dumbbell": dumbbell,
    "12 orders": weights_over_12_orders,
    "many components": lambda rng: sparse.block_diag([np.ones((m, m)) - np.eye(m) for m in rng.integers(1, 5, 150)]),
    "k-NN": lambda rng: knn_graph(rng.normal(size=(400, 2)), n_neighbors=7),
}


@pytest.fixture(params=ADVERSARIAL)
def adversary(request, rng):
    return check_graph(ADVERSARIAL[request.param](rng))


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(("power", "ridge"), [(1, 1e-3), (1, 0.0), (2, 1e-3), (3, 1e-2), (4, 1e-2)])
def test_the_bound_is_reached_and_never_violated(adversary, rng, power, ridge, normalized, solver, width):
    """eps is what the user gets, by tighter goals, by float64 or by a direct solver."""
    n = adversary.shape[0]
    S = rng.permutation(n)[:20]
    r = restrict(PowerRegularizer(adversary, power=power, ridge=ridge, normalized=normalized), S, solver=solver)
    assert r.error_bound <= 1e-6
    smooth = smooth_part(adversary, power, normalized, ridge)[np.ix_(S, S)]
    # The oracle loses digits too: its eigenvalues carry an absolute error of 1e-15 times the largest.
    spectrum = linalg.eigvalsh(laplacian(adversary, normalized=normalized).toarray())
    oracle = 1e-14 * power * spectrum[-1] / (spectrum[n_components(adversary)] + ridge)
    assert np.abs(r.smooth - smooth).max() <= (r.error_bound + oracle) * np.abs(smooth).max()


def _hub_of_degree_10_000(rng):
    n = 10_001
    ring = np.arange(1, n)
    rows = np.concatenate([np.zeros(n - 1, dtype=int), ring])
    columns = np.concatenate([ring, np.roll(ring, 1)])
    W = sparse.coo_array((rng.uniform(0.5, 2.0, size=len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    return check_graph(W + W.T)


def _thousands_of_components(rng):
    return check_graph(sparse.block_diag([np.ones((m, m)) - np.eye(m) for m in rng.integers(1, 6, 3000)], format="csr"))


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("make", [_hub_of_degree_10_000, _thousands_of_components])
def test_large_adversaries_against_the_direct_solver(rng, make, solver, width):
    W = make(rng)
    S = rng.permutation(W.shape[0])[:30]
    for power, ridge in ((1, 1e-3), (2, 1e-2), (1, 0.0)):
        Q = PowerRegularizer(W, power=power, ridge=ridge)
        ours, exact = restrict(Q, S, solver=solver), restrict(Q, S, solver="direct")
        assert ours.solver == solver
        assert ours.error_bound <= 1e-6
        allowed = (ours.error_bound + exact.error_bound) * np.abs(exact.smooth).max()
        assert np.abs(ours.smooth - exact.smooth).max() <= allowed


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 120), power=st.integers(1, 4), log_ridge=st.floats(-6, 0))
def test_symmetric_semidefinite_and_certified(seed, n, power, log_ridge):
    rng = np.random.default_rng(seed)
    W = knn_graph(rng.normal(size=(n, 3)), n_neighbors=int(rng.integers(2, 8)), weights="heat")
    ridge = 10.0**log_ridge
    S = rng.permutation(n)[: int(rng.integers(1, 20))]
    r = restrict(PowerRegularizer(W, power=power, ridge=ridge), S, solver="approx_cholesky")
    assert_array_equal(r.smooth, r.smooth.T)
    largest = np.abs(r.smooth).max()
    assert linalg.eigvalsh(r.smooth)[0] >= -2e-6 * len(S) * largest
    exact = smooth_part(W, power, True, ridge)[np.ix_(S, S)]
    assert np.abs(r.smooth - exact).max() <= (r.error_bound + 1e-11) * largest
    assert r.error_bound <= 1e-6


@pytest.mark.parametrize("solver", ITERATIVE)
def test_residuals_of_solve_sdd(adversary, rng, solver, width):
    A = laplacian(adversary) + 1e-2 * sparse.eye_array(adversary.shape[0])
    B = rng.normal(size=(adversary.shape[0], 19))  # more than one tile
    solution = solve_sdd(A, B, eps=1e-7, solver=solver)
    assert np.all(solution.residual_norms <= 1e-7 * np.linalg.norm(B, axis=0))


@pytest.mark.parametrize("solver", ITERATIVE)
def test_same_bits_whatever_the_thread_count(rng, solver, width):
    W = knn_graph(rng.normal(size=(500, 2)), n_neighbors=6)
    S = rng.permutation(500)[:70]
    one, two = (restrict(PowerRegularizer(W), S, solver=solver, n_jobs=jobs) for jobs in (1, 3))
    assert_array_equal(one.smooth, two.smooth)
    B = rng.normal(size=(500, 40))
    left, right = (solve_sdd(laplacian(W), B, solver=solver, n_jobs=jobs).X for jobs in (1, 2))
    assert_array_equal(left, right)


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_streamed_blocks_need_no_n_by_n_hat_arrays(rng, power, width):
    """Where n x n_hat does not fit, the landmark rows alone are kept; the accuracy is the same."""
    W = knn_graph(rng.normal(size=(600, 3)), n_neighbors=8)
    S = rng.permutation(600)[:50]
    options = {"solver": "approx_cholesky", "eps": 1e-6}
    stored = restrict(PowerRegularizer(W, power=power, ridge=1e-2), S, **options)
    streamed = restrict(PowerRegularizer(W, power=power, ridge=1e-2), S, max_memory=1000, **options)
    assert "stored" in stored.reason
    assert "streamed" in streamed.reason
    assert streamed.error_bound <= 1e-6
    largest = np.abs(stored.smooth).max()
    assert np.abs(stored.smooth - streamed.smooth).max() <= (stored.error_bound + streamed.error_bound) * largest


@pytest.mark.parametrize("max_memory", [None, 1000])
@pytest.mark.parametrize("solver", ["direct", *ITERATIVE])
def test_all_powers_from_one_chain(rng, solver, max_memory, width):
    W = knn_graph(rng.normal(size=(300, 2)), n_neighbors=9)
    S = rng.permutation(300)[:25]
    Q = PowerRegularizer(W, ridge=1e-2)
    together = restrict_powers(Q, S, [1, 2, 3, 4], solver=solver, max_memory=max_memory)
    for p, r in together.items():
        exact = smooth_part(W, p, True, 1e-2)[np.ix_(S, S)]
        assert r.error_bound <= 1e-6
        assert np.abs(r.smooth - exact).max() <= (r.error_bound + 1e-11) * np.abs(exact).max()


def test_progress_counts_columns(rng, width):
    W = knn_graph(rng.normal(size=(300, 2)), n_neighbors=6)
    calls = []
    restrict(
        PowerRegularizer(W, power=1), np.arange(40), solver="approx_cholesky", n_jobs=1,
        progress=lambda done, total, energy: calls.append((done, total, energy)),
    )  # fmt: skip
    assert [done for done, _, _ in calls] == [*range(width, 40, width), 40]
    assert all(total == 40 and energy >= 0.0 for _, total, energy in calls)


def test_a_checkpoint_of_wide_tiles_is_not_continued_with_narrow_ones(rng, tmp_path):
    """Columns of other tiles differ in their last bits: a run with less memory solves for its own."""
    Q = PowerRegularizer(knn_graph(rng.normal(size=(500, 2)), n_neighbors=6), power=2)
    blocks = {}
    for folder in (tmp_path, None):
        for columns in (16, 8):
            allowed = Allowance(threads=1, tile_width=columns, columns=1 << 30, wide_codes=True)
            with allowing(allowed), checkpointing(folder, {}):
                blocks[folder, columns] = restrict(Q, np.arange(70), solver="cg").smooth
    assert_array_equal(blocks[tmp_path, 8], blocks[None, 8])
    assert_array_equal(blocks[tmp_path, 16], blocks[None, 16])


def test_ctrl_c_stops_and_leaves_the_solver_usable(rng):
    W = knn_graph(rng.normal(size=(300, 2)), n_neighbors=6)
    Q = PowerRegularizer(W, power=1)
    calls = []

    def interrupt(done, total, energy):
        calls.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restrict(Q, np.arange(300), solver="approx_cholesky", n_jobs=1, progress=interrupt)
    assert len(calls) == 1
    assert restrict(Q, np.arange(300), solver="approx_cholesky", n_jobs=1).error_bound <= 1e-6


def test_iterations_do_not_grow_with_a_small_ridge(rng):
    """Null modes are projected out exactly: the ridge does not matter for convergence."""
    W = knn_graph(rng.normal(size=(2000, 2)), n_neighbors=8)
    counts = [
        restrict(PowerRegularizer(W, power=1, ridge=ridge), np.arange(16), solver="approx_cholesky").n_iter
        for ridge in (1e-3, 1e-6, 1e-9)
    ]
    assert max(counts) <= 2 * min(counts) + 6


def test_preconditioner_saves_iterations(rng):
    W = check_graph(nx.grid_2d_graph(50, 50))
    counts = {
        solver: restrict(PowerRegularizer(W, power=1, ridge=1e-6), np.arange(16), solver=solver).n_iter
        for solver in ITERATIVE
    }
    assert 3 * counts["approx_cholesky"] < counts["cg"]


def test_positive_off_diagonals_in_a_regulariser(rng):
    """A diagonally dominant Q with both signs, through the double cover."""
    Q = rng.normal(size=(60, 60)) * (rng.random((60, 60)) < 0.1)
    Q = np.triu(Q, 1) + np.triu(Q, 1).T
    Q += np.diag(np.abs(Q).sum(axis=1) + 0.1)
    S = np.arange(12)
    for solver in ITERATIVE:
        r = restrict(MatrixRegularizer(sparse.csr_array(Q)), S, solver=solver)
        assert_allclose(r.greens, np.linalg.inv(Q)[:12, :12], atol=1e-6 * np.abs(r.greens).max())


def test_iterative_solvers_refuse_what_is_not_dominant():
    Q = sparse.csr_array(np.array([[2.0, 1.5, 1.5], [1.5, 2.0, 1.5], [1.5, 1.5, 2.0]]))
    with pytest.raises(NotDiagonallyDominantError, match="solver='cg' needs a diagonally dominant Q"):
        restrict(MatrixRegularizer(Q), [0], solver="cg")


def test_auto_takes_the_solver_that_fits(rng, capsys):
    small = laplacian(knn_graph(rng.normal(size=(100, 2))))
    assert prepare(System.of_matrix(small, null_modes(small))).name == "direct"
    W = knn_graph(rng.normal(size=(2500, 2)), n_neighbors=8)
    r = restrict(PowerRegularizer(W, power=3, ridge=1e-3), np.arange(20))
    assert r.solver == "approx_cholesky"
    assert "iterations" in r.reason
    restrict(PowerRegularizer(W, power=3, ridge=1e-3), np.arange(20), verbose=True)
    assert "pilot" in capsys.readouterr().out
    well_conditioned = restrict(PowerRegularizer(W, power=3, ridge=10.0), np.arange(20))
    assert well_conditioned.solver == "cg"


@pytest.mark.parametrize(("shape", "solver"), [("plane", "cg"), ("path", "approx_cholesky")])
def test_a_single_column_goes_without_a_factor_where_it_is_quick(rng, shape, solver):
    W = knn_graph(rng.normal(size=(2500, 2)), n_neighbors=8) if shape == "plane" else nx.path_graph(2500)
    Q = PowerRegularizer(W, power=2, ridge=1e-5)
    one, exact = (restrict(Q, [7], solver=name) for name in ("auto", "direct"))
    assert one.solver == solver
    assert "pilot" in one.reason
    assert np.abs(one.smooth - exact.smooth).max() <= (one.error_bound + exact.error_bound) * np.abs(one.smooth).max()


def test_options_are_checked():
    with pytest.raises(ValueError, match="'n_jobs' parameter must be an integer >= 1"):
        SolveOptions(n_jobs=0)
    with pytest.raises(ValueError, match="'max_memory' parameter must be an integer >= 1"):
        SolveOptions(max_memory=0)
    assert SolveOptions(n_jobs=2).threads == 2
    assert SolveOptions().threads >= 1
    assert SolveOptions().memory > 1 << 20
