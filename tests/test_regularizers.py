"""Regularisers against their definitions."""

import pickle
from functools import partial

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from halfmoon import restrict
from halfmoon.exceptions import NotPositiveSemidefiniteError
from halfmoon.graph import check_graph, knn_graph, laplacian
from halfmoon.regularizers import (
    AmplifiedResistance,
    HeatRegularizer,
    MatrixRegularizer,
    PowerRegularizer,
    SpectralRegularizer,
)
from halfmoon.solvers import SolveOptions
from reference import amplified_pinv, n_components, power_matrix, power_pinv, spectral_pinv

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


def matern(x):
    return (x + 0.5) ** 1.5


def bounded(x):
    return 2.0 - np.exp(-x)


def square(x):
    return x**2


def check(regularizer, expected, rng, tolerance=1e-7, **options):
    """Q^+ on the landmarks, Q^+ B and the certificate agree with the dense oracle."""
    n = regularizer.n
    S = rng.permutation(n)[: max(2, n // 3)]
    r = restrict(regularizer, S, **options)
    scale = np.abs(expected).max()
    assert np.abs(r.greens - expected[np.ix_(S, S)]).max() <= r.error_bound * np.abs(r.smooth).max() + 1e-11 * scale
    assert_allclose(r.greens, expected[np.ix_(S, S)], atol=tolerance * scale)
    B = rng.normal(size=(n, 3))
    solved = regularizer.solve(B, SolveOptions(eps=1e-9, solver=options.get("solver", "auto")))
    assert_allclose(solved, expected @ B, atol=10 * tolerance * scale)
    return r


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 1e-2])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_powers(graph, rng, power, ridge, normalized):
    regularizer = PowerRegularizer(graph, power=power, normalized=normalized, ridge=ridge)
    check(regularizer, power_pinv(graph, power, normalized, ridge), rng)


@pytest.mark.parametrize("solver", ["eigen", "chebyshev"])
@pytest.mark.parametrize("normalized", [False, True])
def test_heat(graph, rng, normalized, solver):
    t = rng.uniform(0.1, 3.0)
    expected = spectral_pinv(graph, normalized, lambda x: np.exp(-t * x), singular=False)
    check(HeatRegularizer(graph, t=t, normalized=normalized), expected, rng, solver=solver, eps=1e-9)
    assert_allclose(expected, linalg.expm(-t * laplacian(graph, normalized=normalized).toarray()), atol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "eigen", "chebyshev"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("r", [matern, bounded, square])
def test_spectral_functions(graph, rng, r, normalized, solver):
    singular = r is square
    expected = spectral_pinv(graph, normalized, lambda x: 1 / r(x), singular=singular)
    check(SpectralRegularizer(graph, r, normalized=normalized), expected, rng, solver=solver, eps=1e-8)


def test_large_graphs_are_not_decomposed(rng):
    W = knn_graph(rng.normal(size=(1200, 2)), n_neighbors=10)
    S = rng.permutation(1200)[:10]
    r = restrict(HeatRegularizer(W, t=5.0), S, eps=1e-8)
    assert r.solver == "chebyshev"
    assert 5 < r.n_iter < 100
    exact = restrict(HeatRegularizer(W, t=5.0), S, solver="eigen").greens
    assert np.abs(r.greens - exact).max() <= 1e-8 * np.abs(exact).max()


def test_amplified_resistance(graph, rng):
    expected = amplified_pinv(graph)
    r = check(AmplifiedResistance(graph), expected, rng)
    assert linalg.eigvalsh(r.greens)[0] > -1e-9 * max(1.0, np.abs(r.greens).max())


def test_amplified_resistance_distance(cloud):
    """k_ii + k_jj - 2 k_ij = R_ij - 1/d_i - 1/d_j + 2 w_ij / (d_i d_j) (von Luxburg et al.)."""
    _, W = cloud
    G = restrict(AmplifiedResistance(W), np.arange(W.shape[0])).greens
    P = power_pinv(W, 1, False, 0.0)
    d = np.asarray(W.sum(axis=1)).ravel()
    resistance = np.diag(P)[:, None] + np.diag(P)[None, :] - 2 * P
    expected = resistance - 1 / d[:, None] - 1 / d[None, :] + 2 * W.toarray() / np.outer(d, d)
    off = ~np.eye(len(d), dtype=bool)
    assert_allclose((np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G)[off], expected[off], atol=1e-8)


@pytest.mark.parametrize("convert", [sparse.csr_array, np.asarray])
@pytest.mark.parametrize(("power", "ridge"), [(1, 0.0), (1, 0.1), (2, 0.3)])
def test_own_matrix(graph, rng, power, ridge, convert):
    """Sparse and dense, singular, and beyond diagonal dominance."""
    Q = power_matrix(graph, power, False, ridge)
    check(MatrixRegularizer(convert(Q)), power_pinv(graph, power, False, ridge), rng, tolerance=1e-6)
    expected = power_pinv(graph, power, False, ridge)
    assert_allclose(restrict(convert(Q), [0, 1]).greens, expected[:2, :2], atol=1e-6 * np.abs(expected).max())


def test_own_singular_dense_matrix(rng):
    root = rng.normal(size=(20, 12))
    Q = root @ root.T
    check(MatrixRegularizer(Q), np.linalg.pinv(Q, hermitian=True), rng)


def test_zero_matrix_penalises_nothing():
    r = restrict(np.zeros((4, 4)), [0, 2])
    assert_allclose(r.Q_hat, 0.0)
    assert_allclose(r.null_basis.T @ r.null_basis, np.eye(2))


def test_null_space_supported_on_landmarks(rng):
    """Q_hat leaves free exactly the null vectors of Q that live on S (here: one whole component)."""
    W = sparse.block_diag([np.ones((3, 3)) - np.eye(3), np.ones((5, 5)) - np.eye(5)])
    r = restrict(PowerRegularizer(W, ridge=0.0), [0, 1, 2, 4])
    assert_allclose(np.abs(r.null_basis.ravel()), [3**-0.5, 3**-0.5, 3**-0.5, 0.0], atol=1e-12)
    assert_allclose(r.Q_hat @ r.null_basis, 0.0, atol=1e-12)
    assert r.null_basis.shape[1] == 1
    assert restrict(PowerRegularizer(W, ridge=0.1), [0, 1, 2, 4]).null_basis.shape[1] == 0


@pytest.mark.parametrize(
    "make",
    [
        PowerRegularizer,
        HeatRegularizer,
        AmplifiedResistance,
        partial(SpectralRegularizer, r=matern),
        lambda W: MatrixRegularizer(laplacian(W)),
    ],
)
def test_pickle_and_hash_ignore_what_was_computed(cloud, make):
    _, W = cloud
    Q = make(W)
    fresh = joblib.hash(make(W))
    greens = restrict(Q, [0, 5, 9]).greens
    assert joblib.hash(Q) == fresh
    again = pickle.loads(pickle.dumps(Q))
    assert_allclose(restrict(again, [0, 5, 9]).greens, greens, rtol=1e-12)
    assert "n=90" in repr(Q)


def test_components_are_computed_once(graph, monkeypatch):
    Q = PowerRegularizer(graph)
    assert Q.components is Q.components
    assert Q.components.count == n_components(graph)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda W: PowerRegularizer(W, power=0), ValueError, "'power' parameter must be an integer >= 1. Got 0"),
        (lambda W: PowerRegularizer(W, power=1.5), ValueError, "Got 1.5 instead. For real powers use Spectral"),
        (lambda W: PowerRegularizer(W, ridge=-1.0), ValueError, "'ridge' parameter must be a finite number >= 0"),
        (lambda W: PowerRegularizer(-W), ValueError, "must be positive"),
        (lambda W: HeatRegularizer(W, t=0.0), ValueError, "'t' parameter must be a finite number > 0. Got 0.0"),
        (lambda W: SpectralRegularizer(W, 3.0), TypeError, "must be a function of the eigenvalues. Got 3.0"),
        (lambda W: SpectralRegularizer(W, lambda x: x - 1), NotPositiveSemidefiniteError, r"r\(0\) = -1"),
        (lambda W: SpectralRegularizer(W, np.sum), ValueError, r"r must map shape \(1,\) to itself"),
        (lambda W: restrict(SpectralRegularizer(W, lambda x: (x - 2) ** 2), [0], solver="direct"), ValueError,
         "one of 'auto', 'eigen', 'chebyshev'"),
        (lambda W: MatrixRegularizer(W.toarray()), NotPositiveSemidefiniteError, "negative eigenvalue"),
        (lambda W: MatrixRegularizer(W + 0.5 * sparse.eye_array(90)), NotPositiveSemidefiniteError,
         r"\d+ negative eigenvalues of 90"),
        (lambda W: MatrixRegularizer(sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))), ValueError,
         "singular \\(or indefinite\\)"),
        (lambda W: MatrixRegularizer(np.triu(np.ones((3, 3)))), ValueError, "Q is not symmetric"),
        (lambda W: MatrixRegularizer(np.full((2, 2), np.nan)), ValueError, "NaN or infinite"),
        (lambda W: MatrixRegularizer(np.ones((2, 3))), ValueError, r"square, non-empty matrix. Got shape \(2, 3\)"),
    ],
)  # fmt: skip
def test_bad_regularisers(cloud, make, error, message):
    _, W = cloud
    with pytest.raises(error, match=message):
        make(W)


def test_r_that_vanishes_inside_the_spectrum():
    W = check_graph(np.ones((4, 4)) - np.eye(4))  # eigenvalues 0 and 4
    with pytest.raises(NotPositiveSemidefiniteError, match="must be positive on the spectrum"):
        restrict(SpectralRegularizer(W, lambda x: x - 4 + 4 * (x == 0), normalized=False), [0], solver="eigen")
