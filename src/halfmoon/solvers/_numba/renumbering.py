"""Renumbering of graphs and factors, into arrays that are there already: sparse products would hold several copies."""

from __future__ import annotations

from halfmoon.runtime.jit import inner_njit, njit
from halfmoon.solvers._numba.elimination import sort_by_key

__all__ = ["earlier_neighbors", "renumber", "renumber_columns", "transpose"]


@njit
def renumber(
    ptr,  # IN   CSR of W
    ind,  # IN
    value,  # IN
    vertex,  # IN   (n,) row i of the result is row vertex[i] of W
    position,  # IN   (n,) the inverse of vertex
    new_ptr,  # OUT  (n + 1,)
    new_ind,  # OUT  (nnz,) ascending in every row
    new_value,  # OUT  (nnz,)
):
    """Renumber rows and columns of a matrix."""
    used = 0
    new_ptr[0] = 0
    for i in range(vertex.size):
        first, v = used, vertex[i]
        for k in range(ptr[v], ptr[v + 1]):
            new_ind[used] = position[ind[k]]
            new_value[used] = value[k]
            used += 1
        new_ptr[i + 1] = used
        sort_by_key(used - first, new_value[first:used], new_ind[first:used])


@njit
def earlier_neighbors(
    first,  # IN   (n + 1,) column i of the factor has the entries first[i] to first[i + 1] - 1
    row,  # IN   vertices, by column
    order,  # IN   (n,) the vertex of each column
    ptr,  # OUT  (n + 1,)
    before,  # OUT  as many as rows
):
    """List, for every vertex, the vertices whose columns it is in, in their order."""
    n = order.size
    count_entries(row, ptr)
    for i in range(n):
        for k in range(first[i], first[i + 1]):
            v = row[k]
            before[ptr[v]] = order[i]
            ptr[v] += 1
    step_back(ptr)


@njit
def renumber_columns(
    first,  # IN   (n + 1,) column i of the factor has the entries first[i] to first[i + 1] - 1
    row,  # IN   vertices, by column
    value,  # IN   float64
    column,  # IN   (n,) column that becomes row i
    position,  # IN   (n,) new number of each vertex
    s,  # IN   (n,) by new numbers
    largest,  # IN   bound on values
    ptr,  # OUT  (n + 1,)
    ind,  # OUT  as many as rows
    scaled,  # OUT  working precision: C_ji s_j / s_i
):
    """Write the columns of a factor as rows, in new numbers and scaled."""
    used = 0
    ptr[0] = 0
    for i in range(column.size):
        for k in range(first[column[i]], first[column[i] + 1]):
            j = position[row[k]]
            x = value[k] * s[j] / s[i]
            ind[used] = j
            scaled[used] = largest if x > largest else x
            used += 1
        ptr[i + 1] = used


@njit
def transpose(
    ptr,  # IN   CSR
    ind,  # IN
    value,  # IN
    new_ptr,  # OUT  CSR of the transposed matrix
    new_ind,  # OUT
    new_value,  # OUT
):
    """Transpose a square matrix."""
    count_entries(ind, new_ptr)
    for i in range(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            place = new_ptr[ind[k]]
            new_ind[place] = i
            new_value[place] = value[k]
            new_ptr[ind[k]] += 1
    step_back(new_ptr)


@inner_njit
def count_entries(ind, ptr):
    # IN ind  OUT ptr: (n + 1,) where the entries of each number begin
    """Set ptr to the sums of the counts of smaller numbers."""
    for v in range(ptr.size):
        ptr[v] = 0
    for k in range(ind.size):
        ptr[ind[k] + 1] += 1
    for v in range(1, ptr.size):
        ptr[v] += ptr[v - 1]


@inner_njit
def step_back(ptr):
    # INOUT ptr: (n + 1,) the ends of all lists, and becomes their beginnings
    """Undo what filling the lists has done."""
    for v in range(ptr.size - 1, 0, -1):
        ptr[v] = ptr[v - 1]
    ptr[0] = 0
