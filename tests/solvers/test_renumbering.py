"""Renumbering against sparse products."""

import numpy as np
import pytest
from scipy import sparse

from halfmoon.solvers._numba.renumbering import earlier_neighbors, renumber, renumber_columns, transpose


def random_matrix(rng, n):
    """A sparse matrix with an empty row and a full one."""
    A = sparse.random_array((n, n), density=0.1, rng=rng, format="lil")
    A[0], A[n - 1] = 0.0, rng.random(n)
    return sparse.csr_array(A)


def room(A):
    return np.empty_like(A.indptr), np.empty_like(A.indices), np.empty_like(A.data)


def same(arrays, A):
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(arrays, (A.indptr, A.indices, A.data), strict=True))


@pytest.mark.parametrize("n", [2, 700])
def test_renumbered_matrices_are_those_of_sparse_products(n):
    rng = np.random.default_rng()
    A, vertex = random_matrix(rng, n), rng.permutation(n)
    expected = sparse.csr_array(A[vertex][:, vertex])
    expected.sort_indices()
    arrays = room(A)
    renumber(A.indptr, A.indices, A.data, vertex, np.argsort(vertex), *arrays)
    assert same(arrays, expected)


def test_transposed_matrices_are_sorted_rows():
    A = random_matrix(np.random.default_rng(), 50)
    arrays = room(A)
    transpose(A.indptr, A.indices, A.data, *arrays)
    assert same(arrays, sparse.csr_array(A.T))


def test_columns_become_scaled_rows_in_new_numbers():
    rng = np.random.default_rng()
    n = 40
    A, column, position, s = random_matrix(rng, n), rng.permutation(n), rng.permutation(n), 0.5 + rng.random(n)
    arrays, bound = room(A), 1.0
    renumber_columns(A.indptr, A.indices, A.data, column, position, s, bound, *arrays)
    ptr, ind, scaled = arrays
    expected = np.zeros((n, n))
    expected[:, position] = A.toarray()[column]
    np.testing.assert_allclose(
        sparse.csr_array((scaled, ind, ptr)).toarray(), np.minimum(expected * s / s[:, None], bound)
    )


def test_vertices_are_listed_that_have_another_in_their_column():
    rng = np.random.default_rng()
    A, order = random_matrix(rng, 30), rng.permutation(30)
    ptr, before = np.empty(31, np.int64), np.empty(A.nnz, np.int64)
    earlier_neighbors(A.indptr, A.indices, order, ptr, before)
    for v, column in enumerate(A.toarray().T):
        assert before[ptr[v] : ptr[v + 1]].tolist() == order[np.flatnonzero(column)].tolist()
