"""restrict: the contract on disconnected graphs, and what it warns of."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from halfmoon import restrict
from halfmoon.exceptions import AccuracyWarning, DisconnectedGraphWarning
from halfmoon.geometry import interpolate
from halfmoon.graph import check_graph, knn_graph, laplacian
from halfmoon.regularizers import AmplifiedResistance, HeatRegularizer, PowerRegularizer
from halfmoon.solvers import SolveOptions
from reference import power_pinv


@pytest.fixture
def islands(rng):
    """Three islands of 20, 12 and 6 points, and two isolated vertices."""
    blocks = [knn_graph(rng.normal(size=(m, 2)), n_neighbors=m // 2) for m in (20, 12, 6)]
    return check_graph(sparse.block_diag([*blocks, sparse.csr_array((2, 2))]))


def test_one_warning_names_the_counts(islands):
    with pytest.warns(DisconnectedGraphWarning) as caught:
        restrict(PowerRegularizer(islands), [0, 3, 21, 38])
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "The graph has 5 components, and 2 of them" in text
    assert caught[0].filename == __file__
    assert "2 of them, with 7 of 40 vertices, hold no landmark" in text  # the island of 6 and vertex 39


def test_connected_graphs_are_not_warned_about(cloud):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restrict(PowerRegularizer(cloud[1]), [0, 1])


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_components_do_not_see_each_other(islands, rng, ridge, normalized):
    """Q^+ is block diagonal; the block of a component is the one it would have alone."""
    S = np.array([2, 7, 11, 22, 28, 30])
    Q = PowerRegularizer(islands, power=2, ridge=ridge, normalized=normalized)
    r = restrict(Q, S)
    assert_allclose(r.greens[:3, 3:], 0.0, atol=1e-10 * np.abs(r.greens).max())
    alone = restrict(PowerRegularizer(islands[:20][:, :20], power=2, ridge=ridge, normalized=normalized), S[:3])
    assert_allclose(r.greens[:3, :3], alone.greens, rtol=1e-7)
    h_star = interpolate(Q, r, rng.normal(size=6), SolveOptions())
    assert_allclose(h_star[32:], 0.0, atol=1e-12)  # components without landmark: zero, not NaN
    assert np.isfinite(h_star).all()


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_isolated_landmark_keeps_its_value(islands, ridge):
    S = [0, 25, 38]
    Q = PowerRegularizer(islands, ridge=ridge)
    r = restrict(Q, S)
    h_star = interpolate(Q, r, [1.0, 2.0, 3.0], SolveOptions())
    assert_allclose(h_star[S], [1.0, 2.0, 3.0], atol=1e-9)
    assert h_star[39] == 0.0
    assert r.null_basis.shape[1] == (1 if ridge == 0 else 0)


def test_graph_without_edges():
    W = np.zeros((5, 5))
    with pytest.warns(DisconnectedGraphWarning, match="5 components"):
        r = restrict(PowerRegularizer(W, power=2, ridge=0.5), [1, 3])
    assert_allclose(r.greens, np.eye(2) * 0.5**-2)
    assert_allclose(r.Q_hat, np.eye(2) * 0.25)
    with pytest.warns(DisconnectedGraphWarning):
        assert_allclose(restrict(PowerRegularizer(W, ridge=0.0), [1, 3]).Q_hat, 0.0)


def test_graph_without_edges_and_without_ridge():
    with pytest.warns(DisconnectedGraphWarning, match="100 components"):
        r = restrict(PowerRegularizer(sparse.csr_array((100, 100)), ridge=0.0), [0, 5])
    assert_allclose(r.Q_hat, 0.0)


def test_singular_matrices_that_are_not_dominant_are_refused(cloud):
    """Sparse L_norm: its null space is not read off its signs, and noise must not pass for an answer."""
    with pytest.raises(ValueError, match="pass it as a dense array"):
        restrict(laplacian(cloud[1], normalized=True), [0, 1, 2])


def test_interpolation_reports_what_it_cannot_represent():
    """The Green's function of the amplified resistance of a star has rank one on its leaves."""
    star = np.zeros((12, 12))
    star[0, 1:] = star[1:, 0] = 1.0
    Q = AmplifiedResistance(star)
    r = restrict(Q, np.arange(5))
    assert np.abs(r.Q_hat).max() < 1e6
    with pytest.warns(AccuracyWarning, match="misses the values at the landmarks"):
        interpolate(Q, r, np.arange(5.0), SolveOptions())


def test_Q_hat_is_the_pseudo_inverse_of_greens(graph, rng):
    S = rng.permutation(graph.shape[0])[:6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        for ridge in (0.0, 0.1):
            r = restrict(PowerRegularizer(graph, power=1, ridge=ridge), S)
            A, Q_hat = r.greens, r.Q_hat
            assert_allclose(A @ Q_hat @ A, A, atol=1e-8 * np.abs(A).max())
            assert_allclose(Q_hat @ A @ Q_hat, Q_hat, atol=1e-8 * np.abs(Q_hat).max())


def test_modes_do_not_drown_the_rest(cloud):
    """ridge^-4 = 1e20 beside entries of order 1: Q_hat still sees both."""
    _, W = cloud
    S = np.arange(0, 90, 9)
    r = restrict(PowerRegularizer(W, power=4, ridge=1e-5), S)
    assert np.abs(r.greens).max() > 1e15
    limit = restrict(PowerRegularizer(W, power=4, ridge=0.0), S)
    assert_allclose(r.smooth, limit.smooth, atol=1e-2 * np.abs(limit.smooth).max())
    w = r.modes[:, 0]
    projector = np.eye(10) - np.outer(w, w) / (w @ w)
    assert np.linalg.norm(r.Q_hat @ w) < 1e-10 * np.linalg.norm(r.Q_hat) * np.linalg.norm(w)
    inner = np.linalg.inv(r.smooth)
    expected = inner - np.outer(inner @ w, inner @ w) / (w @ inner @ w)  # the limit of an infinite mode
    assert_allclose(r.Q_hat, expected, atol=1e-6 * np.abs(expected).max())
    assert np.linalg.matrix_rank(projector) == 9


def test_smooth_regularisers_that_decay_below_rounding(cloud):
    """exp(-60 L): A has numerical rank far below n_hat; the kernel's inverse stays finite."""
    _, W = cloud
    r = restrict(HeatRegularizer(W, t=60.0), np.arange(60), eps=1e-3)
    assert np.isfinite(r.Q_hat).all()


def test_repr_and_bounds(cloud):
    r = restrict(PowerRegularizer(cloud[1], ridge=0.1), [3, 5, 8])
    assert repr(r).startswith("Restriction(n_landmarks=3, components=1, solver='direct', n_iter=0, error_bound=")
    exact = power_pinv(cloud[1], 2, True, 0.1)[np.ix_([3, 5, 8], [3, 5, 8])]
    assert np.linalg.norm(r.greens - exact, 2) <= r.spectral_error_bound + 1e-12


@pytest.mark.parametrize(
    ("landmarks", "options", "message"),
    [
        ([0, 0], {}, "must be distinct"),
        ([90], {}, r"must lie in \[0, 89\]: got 90"),
        ([0], {"eps": -1.0}, "'eps' parameter must be a finite number > 0. Got -1.0"),
        ([0], {"solver": "cholesky"}, "one of 'auto', 'direct', 'eigen'"),
    ],
)
def test_bad_arguments(cloud, landmarks, options, message):
    with pytest.raises(ValueError, match=message):
        restrict(PowerRegularizer(cloud[1]), landmarks, **options)


def test_bad_interpolation_values(cloud):
    Q = PowerRegularizer(cloud[1])
    r = restrict(Q, [0, 1, 2])
    with pytest.raises(ValueError, match=r"expected 3 rows, got shape \(2,\)"):
        interpolate(Q, r, [1.0, 2.0], SolveOptions())
