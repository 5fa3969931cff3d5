"""Every solver of the table on every graph of the zoo, against dense pseudo-inverses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from halfmoon.exceptions import AccuracyWarning, NotDiagonallyDominantError
from halfmoon.graph import knn_graph, laplacian
from halfmoon.solvers import (
    SOLVERS,
    DenseChainSolver,
    System,
    null_modes,
    prepare,
    smallest_eigenvalue_bound,
    solve_sdd,
)
from halfmoon.solvers._factor import factorize, negative_pivots
from reference import dense_laplacian, n_components


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_pseudo_inverse(graph, rng, ridge, solver):
    n = graph.shape[0]
    A = laplacian(graph) + ridge * sparse.eye_array(n)
    B = rng.normal(size=(n, 4))
    solution = solve_sdd(A, B, solver=solver, eps=1e-11)
    eigenvalues, U = linalg.eigh(A.toarray())
    kept = slice(n_components(graph) if ridge == 0 else 0, None)
    expected = U[:, kept] @ ((U[:, kept].T @ B) / eigenvalues[kept, None])
    assert_allclose(solution.X, expected, atol=1e-9 * np.abs(expected).max())
    assert solution.residual_norms.max() <= 1e-11 * np.linalg.norm(B)
    assert solution.solver in SOLVERS
    assert_allclose(
        solve_sdd(A, B[:, 0], solver=solver, eps=1e-11).X, solution.X[:, 0], atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_positive_off_diagonals(graph, rng, solver):
    """General SDD matrices: signs flipped at random, balanced or not."""
    n = graph.shape[0]
    off = graph.toarray() * np.triu(rng.choice([-1.0, 1.0], size=(n, n)), 1)
    A = off + off.T
    A += np.diag(np.abs(A).sum(axis=1))
    B = A @ rng.normal(size=(n, 3))
    X = solve_sdd(A, B, solver=solver, eps=1e-10).X
    assert_allclose(A @ X, B, atol=1e-8 * np.abs(B).max())
    assert_allclose(null_modes(sparse.csr_array(A)).T @ X, 0.0, atol=1e-9 * np.abs(X).max())


def test_zero_matrix_has_the_zero_solution():
    assert_allclose(solve_sdd(np.zeros((3, 3)), np.ones(3)).X, 0.0)


def test_inputs_are_not_changed(rng):
    A = laplacian(knn_graph(rng.normal(size=(30, 2))))
    B = rng.normal(size=(30, 2))
    kept_A, kept_B = A.copy(), B.copy()
    A.data.flags.writeable = B.flags.writeable = False
    solve_sdd(A, B)
    assert (kept_A != A).nnz == 0
    assert_allclose(B, kept_B)


@pytest.mark.parametrize(
    ("A", "error", "message"),
    [
        ([[1.0, -2.0], [-2.0, 3.0]], NotDiagonallyDominantError, "row 0 has diagonal 1 < off-diagonal sum 2"),
        ([[-1.0, 0.0], [0.0, 1.0]], NotDiagonallyDominantError, "row 0 has diagonal -1"),
        ([[1.0, 0.5], [0.1, 1.0]], ValueError, "A is not symmetric"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], ValueError, r"square and non-empty. Got shape \(2, 3\)"),
        ([[np.nan, 0.0], [0.0, 1.0]], ValueError, "NaN or infinite"),
    ],
)
def test_bad_matrices(A, error, message):
    with pytest.raises(error, match=message):
        solve_sdd(A, np.ones(2))


def test_bad_arguments():
    A = np.eye(3)
    with pytest.raises(ValueError, match=r"B must be finite with 3 rows.*Got shape \(2,\)"):
        solve_sdd(A, np.ones(2))
    with pytest.raises(ValueError, match="B must be finite"):
        solve_sdd(A, np.array([1.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match=r"one of 'auto', 'direct', 'eigen', 'cg', 'approx_cholesky'. Got 'magic'"):
        solve_sdd(A, np.ones(3), solver="magic")
    with pytest.raises(ValueError, match="'eps' parameter must be a finite number > 0"):
        solve_sdd(A, np.ones(3), eps=0.0)


def test_missed_residual_is_reported(monkeypatch):
    class Lazy(DenseChainSolver):
        name = "lazy"

        def __init__(self, system, options):
            pass

        def solve(self, B, rtol):
            return np.zeros_like(B), 1

    monkeypatch.setitem(SOLVERS, "lazy", Lazy)
    with pytest.warns(AccuracyWarning, match="Solver 'lazy' missed eps on 1 of 1 right-hand sides"):
        solve_sdd(np.eye(2), np.ones(2), solver="lazy")


@pytest.mark.parametrize("normalized", [False, True])
def test_proven_bound_on_the_spectrum(rng, normalized):
    """Below the second eigenvalue, and not by more than the safety margin."""
    W = knn_graph(rng.normal(size=(200, 2)), n_neighbors=6)
    count = n_components(W)
    d = np.asarray(W.sum(axis=1)).ravel() if normalized else np.ones(200)
    M = laplacian(W)
    modes = sparse.csr_array(np.sqrt(d)[:, None] * null_modes(M).toarray())
    modes = sparse.csr_array(modes / np.sqrt(modes.multiply(modes).sum(axis=0)))
    system = System(M, np.sqrt(d), modes, 0.0, 0.0, null_modes(M), excess=np.zeros(200))
    bound = smallest_eigenvalue_bound(system, prepare(system))
    second = linalg.eigvalsh(dense_laplacian(W, normalized))[count]
    assert 0.05 * second < bound < second


def test_inertia(rng):
    """Sylvester: as many negative pivots as negative eigenvalues."""
    A = laplacian(knn_graph(rng.normal(size=(80, 2)))).toarray()
    shift = rng.uniform(0.5, 5.0)
    shifted = A - shift * np.eye(80)
    assert negative_pivots(factorize(sparse.csr_array(shifted))) == (linalg.eigvalsh(A) < shift).sum()
