"""Dense oracles: slow, readable, straight from the paper's formulas."""

import numpy as np
from scipy import linalg, sparse


def dense_laplacian(W, normalized):
    """L or L_norm by the definition; isolated vertices have zero rows."""
    W = W.toarray() if sparse.issparse(W) else np.asarray(W, dtype=float)
    d = W.sum(axis=1)
    L = np.diag(d) - W
    if normalized:
        scale = np.array([1 / np.sqrt(x) if x > 0 else 0.0 for x in d])
        L = scale[:, None] * L * scale[None, :]
    return L


def n_components(W):
    return sparse.csgraph.connected_components(W, directed=False)[0]


def spectral_pinv(W, normalized, inverse, singular):
    """g(L) by eigendecomposition; with `singular` the null vectors of L are left out."""
    eigenvalues, U = linalg.eigh(dense_laplacian(W, normalized))
    count = n_components(W)
    g = np.concatenate([np.zeros(count), inverse(eigenvalues[count:])])
    if not singular:
        g[:count] = inverse(np.zeros(count))
    return (U * g) @ U.T


def power_pinv(W, power, normalized, ridge):
    """((L + ridge I)^power)^+."""
    return spectral_pinv(W, normalized, lambda x: (x + ridge) ** -power, singular=ridge == 0)


def power_matrix(W, power, normalized, ridge):
    """(L + ridge I)^power."""
    L = dense_laplacian(W, normalized)
    return np.linalg.matrix_power(L + ridge * np.eye(len(L)), power)


def amplified_pinv(W):
    """J (L^+ - D^-1 - D^-1 W D^-1) J, J centring on each component."""
    _, labels = sparse.csgraph.connected_components(W, directed=False)
    J = np.eye(W.shape[0]) - np.array([[(a == b) / (labels == a).sum() for b in labels] for a in labels])
    d = np.asarray(W.sum(axis=1)).ravel()
    inverse = np.diag([1 / x if x > 0 else 0.0 for x in d])
    return J @ (power_pinv(W, 1, False, 0.0) - inverse - inverse @ W.toarray() @ inverse) @ J


def sindhwani_kernel(K_ab, K_aX, K_XX, K_Xb, Q, eta):
    """Eq. 4 (with n_hat points: eq. 6), literally."""
    inner = np.linalg.solve(np.eye(len(Q)) + eta * Q @ K_XX, Q @ K_Xb)
    return K_ab - eta * K_aX @ inner


def rbf(A, B, gamma):
    squared = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-gamma * squared)


def schur_complement(Q, S):
    """Q_SS - Q_SC Q_CC^+ Q_CS."""
    C = np.setdiff1d(np.arange(len(Q)), S)
    return Q[np.ix_(S, S)] - Q[np.ix_(S, C)] @ np.linalg.pinv(Q[np.ix_(C, C)]) @ Q[np.ix_(C, S)]


def brute_neighbors(D, k):
    """k nearest other points from a distance matrix: the sorted distances of each row."""
    D = D + np.diag(np.full(len(D), np.inf))
    return np.sort(D, axis=1)[:, :k]
