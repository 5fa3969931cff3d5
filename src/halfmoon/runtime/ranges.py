"""Cutting work into ranges that depend on the data alone."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["ranges"]

RANGES = 16  # at least, where there is so much to do: threads even out, and handing out tasks costs little


def ranges(count: int, size: int) -> list[tuple[int, int]]:
    """Return consecutive (first, last) that cover range(count), none longer than `size`.

    Examples
    --------
    >>> from halfmoon.runtime.ranges import ranges
    >>> ranges(3, 100)
    [(0, 1), (1, 2), (2, 3)]
    >>> len(ranges(10_000, 100))
    100
    """
    pieces = max(min(count, RANGES), -(-count // size))
    cuts = np.linspace(0, count, pieces + 1).astype(np.int64).tolist()
    return list(itertools.pairwise(cuts))
