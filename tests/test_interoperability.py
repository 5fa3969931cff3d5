"""One kernel object in scikit-learn's kernel methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from halfmoon import DataDependentKernel

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


def fitted(extension, seed, **parameters):
    X, y = make_moons(200, noise=0.03, random_state=seed)
    parameters = {"eta_unit": 1.0, "gamma": 2.0, "power": 2, "ridge": 1e-3} | parameters
    kernel = DataDependentKernel(n_landmarks=40, n_neighbors=8, extension=extension, random_state=seed, **parameters)
    return X, y, kernel.fit(X)


@pytest.fixture(params=["graph", "kernel"])
def moons(request, seed):
    return fitted(request.param, seed)


@pytest.mark.parametrize("extension", ["graph", "kernel"])
def test_svc(rng, extension):
    """With five labels per class the warped kernel separates the moons, where the base kernel does not."""
    warped, base = [], []
    for seed in rng.integers(1 << 31, size=10):
        X, y, kernel = fitted(extension, int(seed), eta=1e4)
        labeled = np.concatenate([np.flatnonzero(y == c)[:5] for c in (0, 1)])
        svc = SVC(kernel=kernel, C=1e4).fit(X[labeled], y[labeled])
        warped.append(svc.score(X, y))
        base.append(SVC(C=1e4).fit(X[labeled], y[labeled]).score(X, y))
    assert np.mean(warped) > max(0.88, np.mean(base))
    precomputed = SVC(kernel="precomputed", C=1e4).fit(kernel(X[labeled]), y[labeled])
    assert (precomputed.predict(kernel(X, X[labeled])) == svc.predict(X)).mean() > 0.99


def test_cross_validation_keeps_the_fitted_kernel(moons):
    X, y, kernel = moons
    assert cross_val_score(SVC(kernel=kernel, C=1e6), X[:60], y[:60], cv=3).mean() > 0.8
    search = GridSearchCV(SVC(kernel=kernel), {"C": [1.0, 1e6]}, cv=3).fit(X[:60], y[:60])
    assert search.best_score_ > 0.8


def test_kernel_ridge(moons):
    X, y, kernel = moons
    few = X[:12]
    by_gp = KernelRidge(kernel=kernel.as_gp_kernel(), alpha=1e-2).fit(few, y[:12]).predict(X[:20])
    by_pairs = KernelRidge(kernel=kernel, alpha=1e-2).fit(few, y[:12]).predict(X[:20])
    dual = np.linalg.solve(kernel(few) + 1e-2 * np.eye(12), y[:12])
    assert_allclose(by_gp, kernel(X[:20], few) @ dual, atol=1e-8)
    assert_allclose(by_pairs, by_gp, atol=1e-8)


def test_kernel_pca(moons):
    X, _, kernel = moons
    K = kernel(X)
    by_matrix = KernelPCA(2, kernel="precomputed").fit_transform(K)
    by_object = KernelPCA(2, kernel=kernel.as_gp_kernel()).fit_transform(X)
    assert_allclose(np.abs(by_object), np.abs(by_matrix), atol=1e-6 * np.abs(by_matrix).max())


@pytest.mark.parametrize("extension", ["graph", "kernel"])
def test_spectral_clustering(seed, extension):
    X, y, kernel = fitted(extension, seed, ridge=1e-5)
    distances = kernel.distance(X)
    affinity = np.exp(-((5 * distances / np.median(distances)) ** 2))
    labels = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(affinity)
    assert max((labels == y).mean(), (labels != y).mean()) > 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the noise may hit its bound
def test_gaussian_process(moons):
    X, y, kernel = moons
    few, targets = X[:30], y[:30].astype(float)
    gp = GaussianProcessRegressor(kernel.as_gp_kernel() + WhiteKernel(1e-2, "fixed")).fit(few, targets)
    mean, std = gp.predict(X, return_std=True)
    C = linalg.cho_factor(kernel(few) + (1e-2 + 1e-10) * np.eye(30))
    k = kernel(X, few)
    assert_allclose(mean, k @ linalg.cho_solve(C, targets), atol=1e-6)
    variance = kernel.diag(X) - np.einsum("ij,ji->i", k, linalg.cho_solve(C, k.T)) + 1e-2
    assert_allclose(std**2, variance, atol=1e-6)
    tuned = GaussianProcessRegressor(kernel.as_gp_kernel() + WhiteKernel(0.1)).fit(few, targets)
    assert tuned.kernel_.k2.noise_level != 0.1  # the other hyper-parameters are still learnt


def test_gp_kernel_has_nothing_to_train(moons):
    X, _, kernel = moons
    gp_kernel = kernel.as_gp_kernel()
    assert clone(gp_kernel) is gp_kernel
    assert gp_kernel.theta.size == 0
    assert not gp_kernel.is_stationary()
    K, gradient = gp_kernel(X[:4], eval_gradient=True)
    assert gradient.shape == (4, 4, 0)
    assert_allclose(K, kernel(X[:4]))
    assert repr(gp_kernel).startswith("DataDependentGPKernel(DataDependentKernel(")
