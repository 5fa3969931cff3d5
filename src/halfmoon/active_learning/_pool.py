"""The candidates that strategies look at: all of them where there are few, otherwise a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import Geometry

__all__ = ["Pool", "solved_for", "some"]

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
SOLVED = 64  # candidates of each kind off the landmarks, where each of them takes a solve


@dataclass(frozen=True)
class Pool:
    """Points that may be suggested.

    Attributes
    ----------
    points : ndarray of shape (m,)
        The candidates, among the distinct points.
    masses : ndarray of shape (m,)
        How many rows each stands for: 0 for those that were not drawn at random.
    """

    points: Indices
    masses: Vector

    @classmethod
    def draw(
        cls,
        free: Indices,
        copies: Indices,
        rng: np.random.Generator,
        *,
        sample: int,
        doubted: int,
        at_hand: Indices | None = None,
        doubt: Vector | None = None,
        wanted: Indices | None = None,
    ) -> Pool:
        """Draw candidates among the free points.

        Parameters
        ----------
        free : ndarray
            Points that may be suggested.
        copies : ndarray of shape (n_points,)
            Rows that each point is.
        rng : Generator
            What draws.
        sample : int
            How many to draw at random.
        doubted : int
            How many more to add, of those that the model is least sure of.
        at_hand : ndarray, default=None
            Points whose kernel values need no solve; None: all.
        doubt : ndarray of shape (len(free),), default=None
            How unsure the model is of the free points.
        wanted : ndarray, default=None
            Free points that must be among the candidates.
        """
        if at_hand is None:
            drawn = some(free, sample, rng)
        else:
            near = some(free[np.isin(free, at_hand)], sample, rng)
            doubted = min(doubted, SOLVED)
            drawn = np.union1d(near, some(free, min(sample, SOLVED), rng))
        further = [np.empty(0, dtype=np.intp) if wanted is None else wanted]
        if doubt is not None and doubted and len(free) > len(drawn):
            further.append(free[np.argpartition(-doubt, min(doubted, len(free) - 1))[:doubted]])
        extra = np.setdiff1d(np.concatenate(further), drawn)
        masses = np.concatenate([copies[drawn].astype(np.float64), np.zeros(len(extra))])
        return cls(np.concatenate([drawn, extra]), masses)


def some(points: Indices, count: int, rng: np.random.Generator) -> Indices:
    """Return at most so many of the points, drawn at random."""
    return points if len(points) <= count else rng.choice(points, count, replace=False)


def solved_for(geometry: Geometry) -> Indices | None:
    """Return the rows of T that need no solve; None: all."""
    if geometry.stored_interpolation is not None or len(geometry.landmarks) == geometry.n:
        return None
    return geometry.landmarks
