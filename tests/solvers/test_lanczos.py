"""Powers of an inverse on a few columns against dense algebra."""

import numpy as np
import pytest
from scipy import sparse

from halfmoon.regularizers import PowerRegularizer
from halfmoon.solvers import SolveOptions, project_out
from halfmoon.solvers._lanczos import MOST_COLUMNS, few_columns


@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("normalized", [True, False])
def test_equals_the_dense_inverse(graph, power, normalized, rng):
    Q = PowerRegularizer(graph, power=power, normalized=normalized, ridge=0.1)
    system = Q.inverse.system
    B = project_out(system.modes, rng.normal(size=(system.n, 3)))
    B[:, 1] = 0.0
    X = few_columns(system, B, power, 1e-10)
    if X is None:  # where rounding ends the recurrence, or the degrees are too far apart
        X = Q.solve_off_modes(B, SolveOptions(eps=1e-10))
    R = system.R.toarray()
    truth = np.linalg.matrix_power(np.linalg.inv(R), power) @ B
    np.testing.assert_allclose(X, truth, atol=1e-7 * np.abs(truth).max())
    assert not X[:, 1].any()


def test_serves_a_well_conditioned_system_and_few_columns_only(rng):
    ring = sparse.csr_array(np.roll(np.eye(500), 1, axis=1) + np.roll(np.eye(500), -1, axis=1))
    B = project_out(PowerRegularizer(ring).inverse.system.modes, rng.normal(size=(500, MOST_COLUMNS + 1)))
    good, bad = (PowerRegularizer(ring, power=2, ridge=ridge).inverse.system for ridge in (1e-2, 1e-6))
    assert few_columns(good, B[:, :1], 2, 1e-9) is not None
    assert few_columns(bad, B[:, :1], 2, 1e-9) is None
    assert few_columns(good, B, 2, 1e-9) is None


@pytest.mark.parametrize("power", [1, 3])
def test_an_eigenvector_takes_one_step(power):
    """On a complete graph every vector orthogonal to the constants is one."""
    system = PowerRegularizer(np.ones((6, 6)) - np.eye(6), power=power, normalized=False, ridge=0.1).inverse.system
    b = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0], [0.0]])
    np.testing.assert_allclose(few_columns(system, b, power, 1e-10), b / 6.1**power)
