"""Laplacians and components against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from halfmoon.graph import connected_components, laplacian
from reference import dense_laplacian, n_components


@pytest.mark.parametrize("normalized", [False, True])
def test_definition_and_semidefiniteness(graph, normalized):
    L = laplacian(graph, normalized=normalized)
    assert_allclose(L.toarray(), dense_laplacian(graph, normalized), atol=1e-12)
    assert (L != L.T).nnz == 0
    eigenvalues = linalg.eigvalsh(L.toarray())
    assert eigenvalues[0] > -1e-9 * eigenvalues[-1]
    assert (eigenvalues < 1e-10 * eigenvalues[-1]).sum() == n_components(graph)


def test_quadratic_form(graph, rng):
    """h' L h = 1/2 sum_ij (h_i - h_j)^2 W_ij (section 2)."""
    h = rng.normal(size=graph.shape[0])
    W = graph.toarray()
    assert_allclose(h @ laplacian(graph) @ h, 0.5 * ((h[:, None] - h[None, :]) ** 2 * W).sum())


def test_components(graph):
    components = connected_components(graph)
    assert components.count == n_components(graph)
    assert components.sizes.sum() == graph.shape[0]
    rows, columns = graph.nonzero()
    assert_array_equal(components.labels[rows], components.labels[columns])
    everything = np.arange(graph.shape[0])
    assert_array_equal(components.covered_by(everything), components.sizes)
