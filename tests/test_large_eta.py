"""Equation 6 for any eta: against an evaluation in 60 digits, and in the limit of a large one."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from halfmoon import DataDependentKernel, LapRLSRegressor
from halfmoon.exceptions import AccuracyWarning

N, LANDMARKS = 60, 12


def points(rng):
    """Points on a jittered grid: their base kernel is well-conditioned at any seed."""
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    return rng.permutation(grid + 0.2 * rng.uniform(-1.0, 1.0, size=grid.shape))


def make_kernel(eta, **parameters):
    landmarks = np.arange(LANDMARKS)
    own = {"gamma": 0.3, "n_neighbors": 8, "extension": "kernel", "eta_unit": 1.0}
    return DataDependentKernel(landmarks=landmarks, eta=eta, scale=None, **own, **parameters)


def exactly(kernel, others):
    """Eq. 6 on the landmarks and other points, from the same values of A and of the base kernel."""
    n_hat = LANDMARKS
    Z = np.vstack([kernel.landmarks_, others])
    K = kernel.base_kernel_(Z, Z)
    K[n_hat:, :n_hat] = kernel.base_kernel_(others, kernel.landmarks_)
    K[:n_hat, n_hat:] = K[n_hat:, :n_hat].T
    K[:n_hat, :n_hat] = kernel.K_hat_
    r = kernel.restriction_
    with mpmath.workdps(60):
        K, modes = mpmath.matrix(((K + K.T) / 2).tolist()), mpmath.matrix(r.modes.tolist())
        A, eta = mpmath.matrix(r.smooth.tolist()) + modes * modes.T, mpmath.mpf(kernel.eta_)
        k = K[:, :n_hat]
        exact = K - eta * (k * ((A + eta * K[:n_hat, :n_hat]) ** -1) * k.T)
        return np.array(exact.tolist(), dtype=np.float64)


@pytest.mark.parametrize("ridge", [1e-2, 1e-4])
@pytest.mark.parametrize("exponent", range(-12, 19, 3))
def test_equation_6_in_all_digits(rng, exponent, ridge):
    X = points(rng)
    kernel = make_kernel(10.0**exponent, ridge=ridge).fit(X)
    others = np.vstack([X[LANDMARKS : LANDMARKS + 8], rng.uniform(0.0, 6.0, size=(3, 2))])
    expected = exactly(kernel, others)
    Z = np.vstack([kernel.landmarks_, others])
    found = kernel(Z)
    sizes = np.sqrt(np.diagonal(expected))  # on the landmarks they shrink as eta^-1/2
    assert np.abs((found - expected) / np.outer(sizes, sizes)).max() < 1e-8
    assert_allclose(kernel.diag(Z), np.diagonal(expected), rtol=1e-8)
    assert_allclose(kernel(Z[:5], Z[5:]), found[:5, 5:], rtol=1e-6, atol=1e-9 * sizes[:5].min())


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.LandmarkWarning")
def test_predictions_have_a_limit(rng):
    """With all labels on landmarks the kernel is A / eta there: predictions no longer depend on eta."""
    X = points(rng)
    few = np.where(np.arange(N) < LANDMARKS, X[:, 0], np.nan)
    large, larger = (
        LapRLSRegressor(alpha=1e-2, kernel=make_kernel(eta)).fit(X, few).predict(X) for eta in (1e11, 1e18)
    )
    assert_allclose(larger, large, atol=1e-5 * np.abs(large).max())


def test_digits_that_float64_does_not_have_are_warned_of(rng):
    X = rng.normal(size=(300, 2))
    smooth = DataDependentKernel(gamma=0.1, n_landmarks=100, random_state=0, extension="kernel", n_neighbors=10)
    with pytest.warns(AccuracyWarning, match=r"eta = 1e\+15 .* between the 100 landmarks"):
        smooth.set_params(eta=1e15).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        smooth.set_params(eta=1.0).fit(X)
