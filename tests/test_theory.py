"""The theorems of the paper, and the identities that go beyond it, as assertions against dense oracles."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from halfmoon import DataDependentKernel, restrict
from halfmoon.exceptions import AccuracyWarning
from halfmoon.geometry import interpolate
from halfmoon.graph import knn_graph, laplacian
from halfmoon.regularizers import PowerRegularizer
from halfmoon.solvers import SOLVERS, SolveOptions, null_modes
from halfmoon.solvers._dense_chain import DenseChainSolver
from reference import (
    dense_laplacian,
    n_components,
    power_matrix,
    power_pinv,
    rbf,
    schur_complement,
    sindhwani_kernel,
)

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

POWERS = [1, 2, 3, 4]
RIDGES = [0.0, 1e-2]
PaperKernel = partial(DataDependentKernel, scale=None)  # eq. 4 to 7 as they stand
NORMALIZED = [False, True]


def landmarks_of(rng, n, share=0.3):
    return rng.permutation(n)[: max(3, int(share * n))]


class SloppySolver(DenseChainSolver):
    """An exact solver that is then made wrong by a known amount: what a certificate has to notice."""

    name = "sloppy"
    error = 1e-3

    def __init__(self, system, options):
        self.system = system
        self.pinv = np.linalg.pinv(system.M.toarray(), hermitian=True, rcond=1e-13)
        self.rng = np.random.default_rng(system.n)
        self.size = 0.0

    def solve(self, B, rtol):
        X = self.pinv @ B
        self.size = np.maximum(self.size, np.linalg.norm(X, axis=0))  # corrections are no better: nothing to refine
        noise = self.rng.normal(size=X.shape)
        return X + self.error * self.size * noise / np.linalg.norm(noise, axis=0), 3


@pytest.fixture(params=[1e-1, 1e-3, 1e-8])
def sloppy(request, monkeypatch):
    """A row in the solver table is all that a new solver needs."""
    monkeypatch.setitem(SOLVERS, "sloppy", type("Sloppy", (SloppySolver,), {"error": request.param}))
    return "sloppy"


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("power", POWERS)
def test_theorem_2_1_full_kernel_reproduces(cloud, rng, power, ridge, normalized):
    """K~ is the reproducing kernel of <h, g>_K + eta h' Q g, here on the span of K(z, .), z in Z."""
    X, W = cloud
    Z = np.concatenate([X, rng.normal(size=(5, 2))])
    gamma, eta = 40.0, 0.7
    kernel = PaperKernel(
        "rbf", gamma=gamma, eta=eta, eta_unit=1.0, method="full", extension="kernel", graph=W,
        power=power, ridge=ridge, normalized=normalized,
    ).fit(X)  # fmt: skip
    Q = power_matrix(W, power, normalized, ridge)
    K_ZZ, K_XZ = rbf(Z, Z, gamma), rbf(X, Z, gamma)
    products = K_ZZ + eta * K_XZ.T @ Q @ K_XZ  # <K(z, .), K(z', .)>~ by eq. 3
    assert_allclose(kernel(Z), K_ZZ @ np.linalg.solve(products, K_ZZ), atol=1e-7)


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("power", POWERS)
def test_theorem_2_1_equation_4(graph, rng, power, ridge, normalized):
    """The full kernel is eq. 4, on every graph of the zoo, also where Q is singular."""
    n, eta = graph.shape[0], 0.3
    X, A = rng.normal(size=(n, 2)), rng.normal(size=(4, 2))
    kernel = PaperKernel(
        "rbf", gamma=1.0, eta=eta, eta_unit=1.0, method="full", extension="kernel", graph=graph,
        power=power, ridge=ridge, normalized=normalized,
    ).fit(X)  # fmt: skip
    Q = power_matrix(graph, power, normalized, ridge)
    expected = sindhwani_kernel(rbf(A, A, 1.0), rbf(A, X, 1.0), rbf(X, X, 1.0), rbf(X, A, 1.0), Q, eta)
    assert_allclose(kernel(A), expected, atol=1e-6)


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("power", POWERS)
def test_theorem_3_1_greens_function_reproduces(graph, rng, power, ridge, normalized):
    """<h, Q^+ e_i>_Q = h_i for h in the image of Q."""
    n = graph.shape[0]
    A = restrict(PowerRegularizer(graph, power=power, normalized=normalized, ridge=ridge), np.arange(n)).greens
    Q = power_matrix(graph, power, normalized, ridge)
    h = power_pinv(graph, power, normalized, ridge) @ Q @ rng.normal(size=n)
    scale = np.abs(A).max() * np.abs(Q).max() * np.abs(h).max()
    assert_allclose(h @ Q @ A, h, atol=1e-12 * scale + 1e-9)


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("power", POWERS)
def test_theorem_3_2_interpolation(graph, rng, power, normalized):
    """h_hat' Q_hat g_hat = h*' Q g*, h* interpolates, and no other interpolant is smoother."""
    n, ridge = graph.shape[0], 0.05
    S = landmarks_of(rng, n)
    regularizer = PowerRegularizer(graph, power=power, normalized=normalized, ridge=ridge)
    r = restrict(regularizer, S)
    Q = power_matrix(graph, power, normalized, ridge)
    h_hat, g_hat = rng.normal(size=(2, len(S)))
    h_star, g_star = interpolate(regularizer, r, np.stack([h_hat, g_hat], axis=1), SolveOptions(solver="direct")).T
    assert_allclose(h_star[S], h_hat, atol=1e-6)
    assert_allclose(h_hat @ r.Q_hat @ g_hat, h_star @ Q @ g_star, rtol=1e-6, atol=1e-6 * abs(h_hat @ r.Q_hat @ h_hat))
    other = h_star + 0.1 * np.where(np.isin(np.arange(n), S), 0.0, rng.normal(size=n))
    assert other @ Q @ other >= h_star @ Q @ h_star * (1 - 1e-9)


def test_theorem_3_2_equals_schur_complement_for_definite_Q(graph, rng):
    S = landmarks_of(rng, graph.shape[0])
    r = restrict(PowerRegularizer(graph, power=1, normalized=False, ridge=0.1), S)
    assert_allclose(r.Q_hat, schur_complement(power_matrix(graph, 1, False, 0.1), S), atol=1e-8 * np.abs(r.Q_hat).max())


def test_theorem_3_2_for_singular_Q(cloud, rng):
    """ridge = 0: (L^+|S)^-1 = Schur complement + c w w', which also penalises the interpolant's mean."""
    _, W = cloud
    n = W.shape[0]
    L = dense_laplacian(W, normalized=False)
    S = landmarks_of(rng, n)
    C = np.setdiff1d(np.arange(n), S)
    G = restrict(PowerRegularizer(W, power=1, normalized=False, ridge=0.0), S).greens
    H = np.zeros((n, len(S)))  # the harmonic extension
    H[S] = np.eye(len(S))
    H[C] = -np.linalg.solve(L[np.ix_(C, C)], L[np.ix_(C, S)])
    w = H.mean(axis=0)
    expected = schur_complement(L, S) + np.outer(w, w) / (w @ G @ w)
    assert_allclose(np.linalg.inv(G), expected, atol=1e-7 * np.abs(expected).max())
    small_ridge = restrict(PowerRegularizer(W, power=1, normalized=False, ridge=1e-7), S).Q_hat
    assert_allclose(small_ridge, schur_complement(L, S), atol=1e-4)


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", RIDGES)
def test_theorem_4_2_and_its_bound(graph, rng, ridge, normalized, sloppy):
    """|A_ij - Q^+_ij| <= the certificate, whatever the solver did; p = 1 errs to second order, from below."""
    n = graph.shape[0]
    S = landmarks_of(rng, n)
    exact = power_pinv(graph, 1, normalized, ridge)[np.ix_(S, S)]
    error, bound = _error_and_bound(graph, S, 1, normalized, ridge, sloppy, exact)
    assert np.abs(error).max() <= bound
    assert linalg.eigvalsh(error).max() <= 1e-10 * np.abs(exact).max()  # A lies below Q^+ on S


def test_theorem_4_2_entrywise_form(cloud, rng):
    """Energy-norm solve errors below eps give |A_ij - Q^+_ij| <= (2 eps + eps^2) sqrt(Q^+_ii Q^+_jj)."""
    _, W = cloud
    Q = power_matrix(W, 1, True, 0.01)
    G, n = np.linalg.inv(Q), W.shape[0]
    S = landmarks_of(rng, n)
    exact, eps = G[:, S], 1e-2
    R = rng.normal(size=exact.shape)
    energy = np.sqrt(np.einsum("ij,ij->j", R, Q @ R))
    R *= eps * np.sqrt(np.diag(G)[S]) / energy  # |r_i|_Q = eps |Q^+ e_i|_Q = eps sqrt(Q^+_ii)
    Z = exact + R
    paper = Z.T @ Q @ Z
    sizes = np.sqrt(np.outer(np.diag(G)[S], np.diag(G)[S]))
    assert np.all(np.abs(paper - exact[S]) <= (2 * eps + eps**2) * sizes)
    second_order = Z[S] + Z[S].T - Z.T @ Q @ Z  # equals Q^+_SS - r' Q r exactly
    assert_allclose(second_order, exact[S] - R.T @ Q @ R, atol=1e-9 * np.abs(exact).max())
    assert np.all(np.abs(second_order - exact[S]) <= eps**2 * sizes * (1 + 1e-6))


@pytest.mark.parametrize("power", POWERS)
def test_theorem_4_3_kernel_error(cloud, rng, power, sloppy):
    """The error of the kernel itself stays below its bound."""
    X, W = cloud
    A = rng.normal(size=(20, 2))
    options = {
        "gamma": 2.0, "eta": 0.5, "eta_unit": 1.0, "graph": W, "power": power, "ridge": 0.1, "extension": "kernel",
        "landmarks": landmarks_of(rng, len(X)),
    }  # fmt: skip
    exact = PaperKernel("rbf", solver="direct", **options).fit(X)
    rough = PaperKernel("rbf", solver=sloppy, eps=1e6, **options).fit(X)
    assert np.abs(exact(A) - rough(A)).max() <= rough.kernel_error_bound() + 1e-9
    assert exact.kernel_error_bound() < 1e-6


def test_theorem_4_3_in_the_units_of_the_kernel(cloud, sloppy):
    """c K with eta / c is c times the kernel, and so is the bound (the paper's kappa must be squared)."""
    X, W = cloud

    def bound(c):
        options = {"eta": 0.5 / c, "eta_unit": 1.0, "graph": W, "ridge": 0.1, "extension": "kernel", "n_landmarks": 15}
        kernel = PaperKernel(ConstantKernel(c) * RBF(0.5), solver=sloppy, eps=1e6, random_state=0, **options)
        return kernel.fit(X).kernel_error_bound()

    assert_allclose(bound(100.0), 100.0 * bound(1.0))


@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("power", POWERS)
def test_theorem_4_4_powers_and_their_bound(graph, rng, power, ridge, normalized, sloppy):
    n = graph.shape[0]
    S = landmarks_of(rng, n)
    exact = power_pinv(graph, power, normalized, ridge)[np.ix_(S, S)]
    error, bound = _error_and_bound(graph, S, power, normalized, ridge, sloppy, exact)
    assert np.abs(error).max() <= bound


@pytest.mark.parametrize("solver", ["direct", "eigen"])
@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("power", POWERS)
def test_exact_solvers_are_exact_and_certified(graph, rng, power, ridge, normalized, solver):
    """Direct solves meet eps = 1e-6 with a verified bound, for every power and ridge, and A is p.s.d."""
    S = landmarks_of(rng, graph.shape[0])
    r = restrict(PowerRegularizer(graph, power=power, normalized=normalized, ridge=ridge), S, solver=solver)
    exact = power_pinv(graph, power, normalized, ridge)[np.ix_(S, S)]
    largest = np.abs(exact).max()
    # The oracle itself loses digits: its eigenvalues near 0 carry an absolute error of 1e-15.
    oracle = 1e-13 * (1.0 if largest == 0 else 1.0 + 1.0 / _smallest(graph, normalized, ridge)) * power
    assert np.abs(r.greens - exact).max() <= (r.error_bound + oracle) * largest
    assert r.error_bound <= 1e-6
    assert linalg.eigvalsh(r.greens)[0] >= -1e-9 * largest


def _smallest(graph, normalized, ridge):
    count = n_components(graph) if ridge == 0 else 0
    return linalg.eigvalsh(dense_laplacian(graph, normalized))[count] + ridge


def _error_and_bound(graph, S, power, normalized, ridge, solver, exact):
    regularizer = PowerRegularizer(graph, power=power, normalized=normalized, ridge=ridge)
    r = restrict(regularizer, S, eps=1e300, solver=solver)
    oracle = 1e-11 * np.abs(exact).max()
    return r.greens - exact, r.error_bound * np.abs(r.smooth).max() + oracle


@pytest.mark.parametrize("extension", ["kernel", "graph"])
@pytest.mark.parametrize("normalized", NORMALIZED)
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize("power", POWERS)
def test_all_points_as_landmarks_give_the_full_kernel(graph, rng, power, ridge, normalized, extension):
    n = graph.shape[0]
    X, A = rng.normal(size=(n, 2)), rng.normal(size=(6, 2))
    options = {
        "gamma": 1.0, "eta": 0.4, "graph": graph, "power": power, "ridge": ridge, "normalized": normalized,
        "extension": extension,
    }  # fmt: skip
    full = PaperKernel("rbf", method="full", **options).fit(X)
    efficient = PaperKernel("rbf", n_landmarks=n, **options).fit(X)
    assert_allclose(efficient(A, X), full(A, X), atol=1e-8)
    assert_allclose(efficient(X), full(X), atol=1e-8)


@pytest.mark.parametrize("extension", ["kernel", "graph"])
@pytest.mark.parametrize("method", ["efficient", "full", "budget"])
def test_gram_matrices_are_positive_semidefinite(rng, method, extension):
    X = rng.normal(size=(80, 3))
    for power in POWERS:
        kernel = PaperKernel(
            n_landmarks=25,
            method=method,
            extension=extension,
            power=power,
            eta=10.0 ** rng.uniform(-2, 4),
            eta_unit=1.0,
            n_neighbors=9,
        ).fit(X)
        K = kernel(np.concatenate([X, rng.normal(size=(20, 3))]))
        assert linalg.eigvalsh(K)[0] >= -1e-10 * np.abs(K).max()


@pytest.mark.parametrize("ridge", [0.0, 1e-2])
def test_extensions_agree_on_the_landmarks(cloud, rng, ridge):
    X, W = cloud
    S = landmarks_of(rng, len(X))
    options = {"gamma": 1.0, "eta": 2.0, "graph": W, "ridge": ridge, "landmarks": S}
    by_kernel = PaperKernel(extension="kernel", **options).fit(X)
    by_graph = PaperKernel(extension="graph", **options).fit(X)
    assert_allclose(by_graph(X[S]), by_kernel(X[S]), atol=1e-8)


def test_graph_extension_is_the_interpolant_of_the_landmark_kernel(cloud, rng):
    """K_g on training points is T K_SS T' with T from Theorem 3.2."""
    X, W = cloud
    S = landmarks_of(rng, len(X))
    kernel = PaperKernel(gamma=1.0, eta=2.0, eta_unit=1.0, graph=W, power=2, ridge=0.01, landmarks=S).fit(X)
    G = power_pinv(W, 2, True, 0.01)
    T = G[:, S] @ np.linalg.inv(G[np.ix_(S, S)])
    assert_allclose(kernel(X), T @ kernel(X[S]) @ T.T, atol=1e-7)


def test_graph_extension_tends_to_the_nystroem_approximation(cloud, rng):
    """eta -> infinity: eta K_g -> Q^+_{:,S} A^-1 Q^+_{S,:}."""
    X, W = cloud
    S = landmarks_of(rng, len(X))
    eta = 1e9
    kernel = PaperKernel(gamma=50.0, eta=eta, eta_unit=1.0, graph=W, power=1, ridge=0.1, landmarks=S).fit(X)
    G = power_pinv(W, 1, True, 0.1)
    nystroem = G[:, S] @ np.linalg.solve(G[np.ix_(S, S)], G[S])
    assert_allclose(eta * kernel(X), nystroem, atol=1e-5)


def test_symmetric_form_of_equation_6(cloud, rng):
    """(I + eta Q_hat K_hat)^-1 Q_hat = (A + eta K_hat)^-1."""
    X, W = cloud
    S = landmarks_of(rng, len(X))
    r = restrict(PowerRegularizer(W, ridge=0.1), S)
    K_hat, eta = rbf(X[S], X[S], 1.0), 3.0
    left = np.linalg.solve(np.eye(len(S)) + eta * r.Q_hat @ K_hat, r.Q_hat)
    assert_allclose(left, np.linalg.inv(r.greens + eta * K_hat), atol=1e-8)


def test_normalized_ridge_is_a_scaled_diagonally_dominant_matrix(graph):
    """L_norm + mu I = D^-1/2 (L + mu D) D^-1/2; L_norm itself need not be diagonally dominant."""
    mu = 0.01
    W = graph.toarray()
    d = np.where(W.sum(axis=1) > 0, W.sum(axis=1), 1.0)
    scaled = (laplacian(graph).toarray() + mu * np.diag(d)) / np.sqrt(np.outer(d, d))
    assert_allclose(laplacian(graph, normalized=True).toarray() + mu * np.eye(len(d)), scaled, atol=1e-12)


@pytest.mark.parametrize("normalized", NORMALIZED)
def test_component_modes_are_eigenvectors(graph, normalized):
    """R V = mu V, V' V = I: the part of Q^+ that is added in closed form."""
    regularizer = PowerRegularizer(graph, power=1, normalized=normalized, ridge=0.25)
    V = regularizer.modes.toarray()
    assert_allclose(V.T @ V, np.eye(n_components(graph)), atol=1e-12)
    assert_allclose(regularizer.inverse.system.apply(V), 0.25 * V, atol=1e-12)


def test_null_space_of_signed_matrices_by_the_double_cover(graph, rng):
    """Flipping signs by a vector s turns the null vector 1_C into s on C; an odd cycle has none."""
    L = laplacian(graph).toarray()
    s = rng.choice([-1.0, 1.0], size=len(L))
    V = null_modes(sparse.csr_array(s[:, None] * L * s[None, :])).toarray()
    assert V.shape[1] == n_components(graph)
    assert_allclose(s[:, None] * L * s[None, :] @ V, 0.0, atol=1e-9 * max(1.0, np.abs(L).max()))
    odd_cycle = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
    assert null_modes(sparse.csr_array(odd_cycle)).shape[1] == 0


def test_missed_accuracy_is_reported_with_the_numbers(monkeypatch, rng):
    monkeypatch.setitem(SOLVERS, "sloppy", SloppySolver)
    W = knn_graph(rng.normal(size=(60, 2)), n_neighbors=12)
    with pytest.warns(AccuracyWarning, match=r"accurate to .* only, eps=1.0e-09 was asked"):
        restrict(PowerRegularizer(W, power=2, ridge=0.1), np.arange(10), eps=1e-9, solver="sloppy")
