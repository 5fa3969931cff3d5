"""Results beside those of independent code: formulas of the paper, scipy, scikit-learn, pyamg."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import networkx as nx
import numpy as np
import pyamg
from scipy import linalg, sparse
from scipy.sparse.linalg import splu
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, LapRLSClassifier, restrict
from halfmoon.geometry import compute_restriction, interpolate
from halfmoon.graph import NeighborIndex, knn_graph, laplacian
from halfmoon.regularizers import AmplifiedResistance, HeatRegularizer, PowerRegularizer
from halfmoon.semi_supervised.losses import RidgePath, support_vector_machine
from halfmoon.solvers import SOLVERS, SolveOptions, solve_sdd

__all__ = ["DIFFERENTIAL", "run_differential"]

Rng = np.random.Generator
DIFFERENTIAL: dict[str, Callable[[Rng], None]] = {}


def beside(name: str) -> Callable[[Callable[[Rng], None]], Callable[[Rng], None]]:
    """Enter a comparison in the table."""

    def enter(function: Callable[[Rng], None]) -> Callable[[Rng], None]:
        DIFFERENTIAL[name] = function
        return function

    return enter


def run_differential(name: str, seed: int) -> None:
    """Run one comparison; a deviation raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        DIFFERENTIAL[name](np.random.default_rng(seed))


def _close(found: object, expected: object, rtol: float) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=rtol * np.abs(expected).max() + 1e-300)


def _points(rng: Rng) -> np.ndarray:
    return rng.normal(size=(int(rng.integers(15, 60)), int(rng.integers(1, 5))))


def _graph(rng: Rng) -> sparse.csr_array:
    """Return a connected graph with weights over two decades."""
    n = int(rng.integers(8, 40))
    W = np.triu((rng.random((n, n)) < 0.2) * 10 ** rng.uniform(-1, 1, (n, n)), 2)
    W += np.diag(10 ** rng.uniform(-1, 1, n - 1), 1)
    return sparse.csr_array(W + W.T)


def _dense(W: sparse.csr_array, normalized: bool) -> np.ndarray:
    A = W.toarray()
    d = A.sum(axis=1)
    L = np.diag(d) - A
    return L / np.sqrt(np.outer(d, d)) if normalized else L


@beside("landmark blocks: powers of a dense Laplacian")
def _powers(rng: Rng) -> None:
    W, power, normalized = _graph(rng), int(rng.integers(1, 5)), bool(rng.random() < 0.5)
    ridge = 10.0 ** rng.uniform(-3, 1)
    inverse = np.linalg.inv(_dense(W, normalized) + ridge * np.eye(W.shape[0]))
    S = rng.permutation(W.shape[0])[:4]
    found = restrict(PowerRegularizer(W, power=power, normalized=normalized, ridge=ridge), S, eps=1e-9)
    _close(found.greens, np.linalg.matrix_power(inverse, power)[np.ix_(S, S)], 1e-6)


@beside("heat regulariser: scipy's expm")
def _heat(rng: Rng) -> None:
    W, t = _graph(rng), 10.0 ** rng.uniform(-2, 0.5)
    S = rng.permutation(W.shape[0])[:4]
    expected = linalg.expm(-t * _dense(W, True))[np.ix_(S, S)]
    _close(restrict(HeatRegularizer(W, t=t), S, eps=1e-9).greens, expected, 1e-6)


@beside("amplified resistances: dense formula")
def _resistance(rng: Rng) -> None:
    W = _graph(rng)
    n = W.shape[0]
    inverse = np.diag(1.0 / W.toarray().sum(axis=1))
    J = np.eye(n) - 1.0 / n
    G = J @ (np.linalg.pinv(_dense(W, False)) - inverse - inverse @ W.toarray() @ inverse) @ J
    S = rng.permutation(n)[:4]
    _close(restrict(AmplifiedResistance(W), S, eps=1e-9).greens, G[np.ix_(S, S)], 1e-6)


@beside("full kernel: eq. 4 with dense matrices")
def _full_kernel(rng: Rng) -> None:
    X = _points(rng)
    kernel = DataDependentKernel(
        method="full", extension="kernel", scale=None, gamma=0.5, eta=0.1, n_neighbors=4, power=2, random_state=0
    ).fit(X)
    Q = np.linalg.matrix_power(_dense(kernel.graph_, True) + 0.01 * np.eye(len(X)), 2)
    Z = rng.normal(size=(5, X.shape[1]))
    K, K_Z = rbf_kernel(X, gamma=0.5), rbf_kernel(X, Z, gamma=0.5)
    inner = np.linalg.solve(np.eye(len(X)) + kernel.eta_ * Q @ K, Q @ K_Z)
    _close(kernel(Z), rbf_kernel(Z, gamma=0.5) - kernel.eta_ * K_Z.T @ inner, 1e-5)


for solver in SOLVERS:

    @beside(f"solver {solver}: scipy's splu")
    def _splu(rng: Rng, solver: str = solver) -> None:
        W = _graph(rng)
        A = sparse.csc_array(laplacian(W) + 10.0 ** rng.uniform(-3, 1) * sparse.eye_array(W.shape[0]))
        B = rng.normal(size=(W.shape[0], 3))
        _close(solve_sdd(A, B, solver=solver, eps=1e-10).X, splu(A).solve(B), 1e-5)


@beside("solve_sdd: pyamg")
def _pyamg(rng: Rng) -> None:
    W = _graph(rng)
    A = sparse.csr_array(laplacian(W) + 0.1 * sparse.eye_array(W.shape[0]))
    b = rng.normal(size=W.shape[0])
    A32 = sparse.csr_matrix((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
    expected = pyamg.ruge_stuben_solver(A32).solve(b, tol=1e-12)
    _close(solve_sdd(A, b, eps=1e-10).X, expected, 1e-6)


@beside("singular systems: numpy's pinv")
def _pinv(rng: Rng) -> None:
    W = sparse.block_diag([_graph(rng), _graph(rng)], format="csr")
    b = rng.normal(size=W.shape[0])
    _close(solve_sdd(laplacian(W), b, eps=1e-10).X, np.linalg.pinv(_dense(W, False), hermitian=True) @ b, 1e-6)


@beside("support vector machine: scikit-learn's SVC on the Gram matrix, C from 1e-6 to 1e8")
def _svm(rng: Rng) -> None:
    X = rng.normal(size=(int(rng.integers(6, 30)), 2))
    signs = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    K, C = rbf_kernel(X, gamma=10.0 ** rng.uniform(-1, 1)), 10.0 ** rng.uniform(-6, 8)
    dual, _ = support_vector_machine(K, signs, np.full(len(X), C))
    theirs = np.zeros(len(X))
    svc = SVC(C=C, kernel="precomputed", tol=1e-8, max_iter=10**6).fit(K, signs)
    theirs[svc.support_] = svc.dual_coef_[0]
    ours, best = (float(np.abs(a).sum() - a @ K @ a / 2) for a in (dual, theirs))
    assert np.abs(dual).max() <= C * (1 + 1e-9)
    assert abs(dual.sum()) <= 1e-6 * max(np.abs(dual).sum(), 1e-300)
    assert ours >= best - 1e-6 * abs(best), (ours, best)


@beside("ridge regression with intercept: the bordered system")
def _ridge(rng: Rng) -> None:
    X = rng.normal(size=(int(rng.integers(4, 30)), 2))
    K, weights, alpha = rbf_kernel(X), rng.uniform(0.2, 3.0, len(X)), 10.0 ** rng.uniform(-3, 3)
    Y = rng.normal(size=(len(X), 2))
    bordered = np.block(
        [[K + np.diag(alpha / weights), np.ones((len(X), 1))], [np.ones((1, len(X))), np.zeros((1, 1))]]
    )
    expected = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, 2))]))
    found = RidgePath(K, Y, weights).at(alpha)
    _close(found.dual, expected[:-1], 1e-6)
    _close(found.intercept, expected[-1], 1e-6)


@beside("LapRLS: closed form in the kernel on the labelled rows")
def _laprls(rng: Rng) -> None:
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    alpha = 10.0 ** rng.uniform(-2, 1)
    model = LapRLSClassifier(
        alpha, kernel=DataDependentKernel(extension="kernel", n_landmarks=15, n_neighbors=4, random_state=0)
    ).fit(X, y)
    K = model.kernel_(X[:12])
    unit = np.diag(K).mean()
    bordered = np.block([[K / unit + alpha * np.eye(12), np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    coefficients = np.linalg.solve(bordered, np.append(2.0 * y[:12] - 1.0, 0.0))
    Z = rng.normal(size=(6, 2))
    expected = model.kernel_(Z, X[:12]) / unit @ coefficients[:-1] + coefficients[-1]
    _close(model.decision_function(Z), expected, 1e-6)


@beside("LabelSpreading: p = 1 with the ridge (1 - a) / a on the normalised Laplacian")
def _label_spreading(rng: Rng) -> None:
    X = rng.normal(size=(40, 2))
    W = knn_graph(X, n_neighbors=5, random_state=0)
    a = rng.uniform(0.1, 0.95)
    y = np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
    theirs = LabelSpreading(kernel=lambda A, B: W.toarray(), alpha=a, max_iter=100_000, tol=1e-14).fit(X, y)
    Y = np.column_stack([y == 0, y == 1]).astype(float)
    F = PowerRegularizer(W, power=1, normalized=True, ridge=(1 - a) / a).solve(Y, SolveOptions(eps=1e-12))
    total = F.sum(axis=1, keepdims=True)
    reached = total[:, 0] > 1e-6
    _close((F / np.where(total == 0.0, 1.0, total))[reached], theirs.label_distributions_[reached], 1e-5)


@beside("interpolation with p = 1 and a vanishing ridge: harmonic functions (Laplace learning)")
def _harmonic(rng: Rng) -> None:
    W = _graph(rng)
    n = W.shape[0]
    S = np.sort(rng.permutation(n)[:5])
    U = np.setdiff1d(np.arange(n), S)
    Q, options = PowerRegularizer(W, power=1, normalized=False, ridge=1e-9), SolveOptions(eps=1e-10)
    h_hat = rng.normal(size=5)
    found = interpolate(Q, compute_restriction(Q, S, options), h_hat, options)
    L = _dense(W, False)
    _close(found[U], -np.linalg.solve(L[np.ix_(U, U)], L[np.ix_(U, S)] @ h_hat), 1e-5)


@beside("neighbours: scikit-learn's brute force")
def _neighbors(rng: Rng) -> None:
    X, Z = rng.normal(size=(int(rng.integers(15, 60)), 3)), rng.normal(size=(9, 3))
    metric = str(rng.choice(["euclidean", "manhattan", "cosine"]))
    found = NeighborIndex(X, metric=metric).query(Z, 4)[0]
    _close(found, NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute").fit(X).kneighbors(Z)[0], 1e-7)


@beside("effective resistances: networkx")
def _networkx(rng: Rng) -> None:
    W = _graph(rng)
    S = rng.permutation(W.shape[0])[:2]
    G = restrict(PowerRegularizer(W, power=1, normalized=False, ridge=0.0), S, eps=1e-9).smooth
    expected = nx.resistance_distance(
        nx.from_scipy_sparse_array(W), int(S[0]), int(S[1]), "weight", invert_weight=False
    )
    _close(G[0, 0] + G[1, 1] - 2 * G[0, 1], expected, 1e-5)
