"""Gram products of tiles: the upper triangle, within the stated rounding."""

import numpy as np
import pytest

from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.solvers._gram import BLOCK, GROUP, gram_rounding, mirrored, upper_gram


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_upper_triangle_is_right_up_to_the_stated_rounding(rng, dtype):
    n, widths = GROUP + 700, [16] * (BLOCK // 16) + [5]
    X, Y = ([rng.normal(size=(n, w)).astype(dtype) for w in widths] for _ in range(2))
    left, right = (np.concatenate(tiles, axis=1, dtype=np.float64) for tiles in (X, Y))
    with ThreadExecutor(2) as executor:
        found = upper_gram(X, Y, dtype, executor)
    allowed = gram_rounding(n, dtype) * np.outer(np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0))
    assert np.all(np.triu(np.abs(found - left.T @ right) - allowed) <= 0.0)


def test_a_mirrored_matrix_is_symmetric(rng):
    A = rng.normal(size=(7, 7))
    assert np.array_equal(mirrored(A), mirrored(A).T)
    assert np.array_equal(np.triu(mirrored(A)), np.triu(A))
