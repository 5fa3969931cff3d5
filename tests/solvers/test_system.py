"""A system that is made from a graph is the system of the matrix."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from halfmoon.graph import laplacian
from halfmoon.regularizers import PowerRegularizer


def test_what_is_made_from_a_graph_is_what_its_matrix_gives():
    rng = np.random.default_rng()
    A = sparse.random_array((60, 60), density=0.1, rng=rng, format="lil")
    A.setdiag(0.0)
    A[7], A[:, 7] = 0.0, 0.0  # an isolated vertex
    W = sparse.csr_array(A + A.T)
    made = PowerRegularizer(W, ridge=0.25, normalized=False).inverse.system
    M = sparse.csr_array(laplacian(made.source.W) + sparse.diags_array(made.source.shift))
    given = replace(made, source=M)
    assert (made.M != M).nnz == 0
    assert np.array_equal(made.rounding, given.rounding)
    assert (made.weights != given.weights).nnz == 0
    assert not made.is_signed
    assert not given.is_signed
    assert replace(made, source=abs(M)).is_signed
    np.testing.assert_array_equal(made.R.toarray(), given.R.toarray())
    assert np.allclose(made.R.toarray(), M.toarray() / np.outer(made.scale, made.scale))


def test_a_graph_is_not_copied():
    W = PowerRegularizer(np.ones((5, 5)) - np.eye(5))
    assert W.inverse.system.weights is W.W
