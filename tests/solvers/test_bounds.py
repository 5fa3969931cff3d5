"""What bounds rest on: floors of the spectrum, residuals by edges, and the chain of fallbacks when a solver fails."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse

from halfmoon import restrict
from halfmoon.exceptions import AccuracyWarning, FloatRangeError
from halfmoon.geometry import restrict_powers
from halfmoon.graph import check_graph, knn_graph, laplacian
from halfmoon.regularizers import HeatRegularizer, PowerRegularizer
from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.solvers import SolveOptions, _iterative, _landmark_block
from halfmoon.solvers._certificate import largest, over
from halfmoon.solvers._direct import DirectSolver
from halfmoon.solvers._factor import backward_error, factorize
from halfmoon.solvers._iterative import ApproximateCholeskySolver, ConjugateGradientSolver
from halfmoon.solvers._probable_floor import probable_floor
from reference import dense_laplacian, n_components, power_pinv

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

ITERATIVE = ["cg", "approx_cholesky"]


def second_eigenvalue(W, normalized):
    return linalg.eigvalsh(dense_laplacian(W, normalized))[n_components(W)]


# Floors of the spectrum


@pytest.mark.parametrize("normalized", [False, True])
def test_a_spanning_tree_proves_a_floor(graph, normalized):
    system = PowerRegularizer(graph, normalized=normalized, ridge=0.0).inverse.system
    assert 0.0 < system.tree_floor <= second_eigenvalue(graph, normalized)


def test_the_tree_floor_adds_to_the_ridge(graph):
    bare, with_ridge = (PowerRegularizer(graph, ridge=ridge).inverse.system.tree_floor for ridge in (0.0, 0.25))
    assert_allclose(with_ridge, bare + 0.25)


@pytest.mark.parametrize(("width", "luck"), [(16, 0.2), (8, 0.035)])
@pytest.mark.parametrize("normalized", [False, True])
def test_the_probable_floor_holds(graph, normalized, seed, width, luck):
    """It fails with probability 1e-12, and is weak by a factor that the fifth root of sqrt(n) / luck bounds."""
    system = PowerRegularizer(graph, normalized=normalized, ridge=0.0).inverse.system
    tiled = replace(ApproximateCholeskySolver(system, SolveOptions()).tiled("float32"), width=width)
    floor, truth = probable_floor((tiled, seed % 2**31)), second_eigenvalue(graph, normalized)
    assert floor <= truth * (1 + 1e-12)
    assert floor >= truth / (1.1 * (4 * np.sqrt(system.n) / luck) ** 0.2)


def test_rounding_of_a_factorization_is_bounded(rng):
    """|L U - A|, with the products summed exactly."""
    A = laplacian(knn_graph(rng.normal(size=(40, 2)), n_neighbors=5)) + 1e-3 * sparse.eye_array(40)
    factor = factorize(sparse.csr_array(A))
    L = [[Fraction(x) for x in row] for row in factor.L.toarray().tolist()]
    U = [[Fraction(x) for x in row] for row in factor.U.toarray().tolist()]
    product = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*U, strict=True)] for row in L]
    permuted = np.empty((40, 40))
    permuted[np.ix_(factor.perm_r, factor.perm_c)] = A.toarray()
    errors = np.array([[float(abs(product[i][j] - Fraction(permuted[i, j]))) for j in range(40)] for i in range(40)])
    sums = errors.sum(axis=1)
    assert np.all(sums[factor.perm_r] <= backward_error(factor))
    assert backward_error(factor).max() <= 1e-12


# Kinds of bounds


@pytest.mark.parametrize("solver", ["direct", *ITERATIVE])
@pytest.mark.parametrize(("power", "ridge"), [(1, 1e-3), (1, 0.0), (2, 1e-3), (3, 1e-2), (4, 1e-2)])
def test_bounds_are_proven_where_float64_can(rng, solver, power, ridge):
    W = knn_graph(rng.normal(size=(300, 2)), n_neighbors=8, connect=True)
    r = restrict(PowerRegularizer(W, power=power, ridge=ridge), np.arange(20), solver=solver)
    assert r.bound_kind == "proven"
    assert r.failure_probability == 0.0
    assert "(proven)" in repr(r)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_bounds_beyond_float64_are_probable(rng, solver):
    """p = 5 at a ridge of 1e-9 asks for residuals of 1e-24: the kind changes, nothing is pretended."""
    W = knn_graph(rng.normal(size=(400, 2)), n_neighbors=10, connect=True)
    r = restrict(PowerRegularizer(W, power=5, ridge=1e-9), np.arange(20), solver=solver)
    exact = restrict(PowerRegularizer(W, power=5, ridge=1e-9), np.arange(20), solver="direct")
    assert r.bound_kind == "probable"
    assert 0.0 < r.failure_probability <= 1e-12
    assert "(probable, fails with probability 1e-12)" in repr(r)
    assert r.error_bound <= 1e-6
    assert exact.bound_kind == "proven"  # by inertia
    allowed = (r.error_bound + exact.error_bound) * np.abs(exact.smooth).max()
    assert np.abs(r.smooth - exact.smooth).max() <= allowed


def test_bounds_of_functions_of_L_are_estimated(cloud):
    assert restrict(HeatRegularizer(cloud[1]), [0, 1]).bound_kind == "estimated"


# Residuals by edges


def test_residuals_of_stiff_graphs_are_exact_to_their_bound(rng):
    """Weights over 24 decades: differences along heavy edges keep their digits."""
    W = np.triu(10.0 ** rng.uniform(-12, 12, size=(12, 12)), 1)
    Q = PowerRegularizer(W + W.T, normalized=False, ridge=1e-9)
    system = Q.inverse.system
    X = 1.0 + 1e-9 * rng.normal(size=(12, 3))
    B = rng.normal(size=(12, 3))
    residual, rounding = system.residual(B, X)
    unit, ridge = Fraction(system.unit), Fraction(1e-9)
    for i in range(12):
        for c in range(3):
            x = [Fraction(value) for value in X[:, c]]
            flow = sum(Fraction(Q.W[i, j]) * (x[i] - x[j]) for j in range(12))
            exact = Fraction(B[i, c]) - (flow + ridge * x[i]) / unit
            assert abs(Fraction(residual[i, c]) - exact) <= Fraction(rounding[i, c])


def test_a_ridge_below_rounding_still_counts(rng):
    """ridge = 1e-18 beside weights of 1 and an isolated part of weights of 1e-19: off the modes it decides there."""
    weak = 1e-19 * (np.ones((3, 3)) - np.eye(3))
    W = check_graph(sparse.block_diag([np.ones((4, 4)) - np.eye(4), weak]))
    S = np.array([0, 4, 5])
    for solver in ("direct", *ITERATIVE):
        r = restrict(PowerRegularizer(W, power=1, ridge=1e-18, normalized=False), S, solver=solver, eps=1e-3)
        inverse = 1.0 / (3e-19 + 1e-18)
        assert_allclose(r.smooth[1:, 1:], inverse * (np.eye(3) - 1 / 3)[:2, :2], rtol=2 * r.error_bound + 1e-12)


# What is not finite never passes


def test_nan_is_never_within_a_bound():
    assert np.isnan(over(np.array([np.nan]), 1.0)).all()
    assert np.isnan(largest(np.array([np.nan]), np.array([0.0])))
    assert largest(np.array([0.0]), np.array([np.inf])) == 0.0


def test_blocks_outside_of_float64_raise_one_named_error():
    far = np.array([[0.0, 1e-160], [1e-160, 0.0]])
    for solver in ("direct", "eigen", *ITERATIVE):
        with pytest.raises(FloatRangeError, match="cannot be computed in float64"):
            restrict(PowerRegularizer(far, power=3, ridge=0.0, normalized=False), [0], solver=solver)
        with pytest.raises(FloatRangeError, match="too small for float64"):
            restrict(PowerRegularizer(1e280 * far * 1e20, power=3, ridge=0.0, normalized=False), [0], solver=solver)


def test_weights_that_float64_cannot_relate():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 1e200
    W[1, 2] = W[2, 1] = 1e-200
    with pytest.raises(FloatRangeError, match="Remove the weakest edges"):
        restrict(PowerRegularizer(W), [0])


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1e20, 1e60])
@pytest.mark.parametrize("solver", ["direct", "eigen", *ITERATIVE])
def test_scaling_the_graph_scales_the_block(rng, solver, scale):
    """L scales with the weights, L_norm does not."""
    W = knn_graph(rng.normal(size=(120, 2)), n_neighbors=6, weights="heat")
    S = np.arange(10)
    for p in (1, 2, 3):
        ones = restrict(PowerRegularizer(W, power=p, ridge=0.1), S, solver=solver)
        scaled = restrict(PowerRegularizer(scale * W, power=p, ridge=0.1), S, solver=solver)
        assert_allclose(scaled.smooth, ones.smooth, rtol=0, atol=2e-6 * np.abs(ones.smooth).max())
        plain = restrict(PowerRegularizer(W, power=p, ridge=0.1, normalized=False), S, solver=solver)
        large = restrict(PowerRegularizer(scale * W, power=p, ridge=0.1 * scale, normalized=False), S, solver=solver)
        assert_allclose(large.smooth * scale**p, plain.smooth, rtol=0, atol=2e-6 * np.abs(plain.smooth).max())


# The chain of fallbacks, by fault injection


@pytest.fixture
def problem(rng):
    W = knn_graph(rng.normal(size=(200, 2)), n_neighbors=8, weights="heat", connect=True)
    S = np.arange(12)
    return PowerRegularizer(W, power=2, ridge=1e-2), S, power_pinv(W, 2, True, 1e-2)[np.ix_(S, S)]


def break_precision(monkeypatch, *broken, value=np.nan):
    """Let conjugate gradients in some precisions return `value`."""
    solve = _landmark_block.TiledSystem.solve_tile

    def faulty(tiled, space, goal):
        result = solve(tiled, space, goal)
        if tiled.dtype in broken:
            space.x[:] = value
        return result

    monkeypatch.setattr(_landmark_block.TiledSystem, "solve_tile", faulty)


def close(restriction, exact):
    total = restriction.greens
    return np.abs(total - exact).max() <= (restriction.error_bound + 1e-11) * np.abs(exact).max()


@pytest.mark.parametrize("solver", ITERATIVE)
def test_float64_follows_where_float32_fails(problem, monkeypatch, solver):
    Q, S, exact = problem
    break_precision(monkeypatch, "float32")
    r = restrict(Q, S, solver=solver)
    assert r.solver == solver
    assert "float64" in r.reason
    assert close(r, exact)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_factorization_follows_where_float64_fails(problem, monkeypatch, solver):
    Q, S, exact = problem
    break_precision(monkeypatch, "float32", "float64")
    r = restrict(Q, S, solver=solver)
    assert r.solver == "direct"
    assert "reached inf only" in r.reason
    assert close(r, exact)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_clear_error_follows_where_everything_fails(problem, monkeypatch, solver):
    Q, S, _ = problem
    break_precision(monkeypatch, "float32", "float64")
    monkeypatch.setattr(DirectSolver, "solve", lambda self, B, rtol: (np.full_like(B, np.nan), 0))
    with pytest.raises(FloatRangeError, match="cannot be computed in float64"):
        restrict(Q, S, solver=solver)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_large_systems_have_no_factorization_to_fall_back_on(problem, monkeypatch, solver):
    Q, S, _ = problem
    monkeypatch.setattr(_iterative, "DIRECT_LIMIT", 100)
    break_precision(monkeypatch, "float32", "float64")
    with pytest.raises(FloatRangeError, match="cannot be computed in float64"):
        restrict(Q, S, solver=solver)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_solver_that_stands_still_is_noticed(problem, monkeypatch, solver):
    """Iterations that change nothing: the bound is honest and the accuracy is missed aloud."""
    Q, S, exact = problem
    monkeypatch.setattr(_iterative, "DIRECT_LIMIT", 100)
    monkeypatch.setattr("halfmoon.solvers._tiled.ITERATION_LIMIT", {"float32": 1, "float64": 1})
    monkeypatch.setattr("halfmoon.solvers._tiled.MAX_CYCLES", 1)
    with pytest.warns(AccuracyWarning, match=r"accurate to .* only, eps=1.0e-06 was asked"):
        r = restrict(Q, S, solver=solver)
    assert close(r, exact)
    assert "accuracy not reached" in r.reason


# Tasks


def test_what_workers_are_given_is_picklable(rng):
    """The seam to other executors: a chain goes through a pickle and gives the same bits."""
    W = knn_graph(rng.normal(size=(300, 2)), n_neighbors=6, weights="heat")
    solver = ConjugateGradientSolver(PowerRegularizer(W, ridge=1e-2).inverse.system, SolveOptions())
    seen = []

    class Recording(ThreadExecutor):
        def map(self, task, prepared, items):
            task, prepared = pickle.loads(pickle.dumps((task, prepared)))
            seen.append(task.__name__)
            return super().map(task, prepared, items)

    plain = solver.landmark_blocks(np.arange(20), [1, 2, 3], SolveOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_landmark_block, "executor_for", Recording)
        pickled = solver.landmark_blocks(np.arange(20), [1, 2, 3], SolveOptions())
    assert {"run_tile", "_gram_group"} <= set(seen)
    for one, other in zip(plain, pickled, strict=True):
        assert_array_equal(one.block, other.block)


def test_powers_of_one_chain_have_bounds_of_their_own(rng):
    W = knn_graph(rng.normal(size=(500, 2)), n_neighbors=8, connect=True)
    found = restrict_powers(PowerRegularizer(W, ridge=1e-2), np.arange(30), [1, 2, 3, 4], solver="approx_cholesky")
    for p, r in found.items():
        exact = power_pinv(W, p, True, 1e-2)[:30, :30]
        assert r.error_bound <= 1e-6
        assert close(r, exact)
