"""The sketch: principal components that propose neighbours; exact distances decide.

Trees divide the points by the first components (the head). Lists are made by codes: one byte per component, or per
feature where the components hold too little of the distance between near points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._points import rows_at_once
from halfmoon.graph._principal_components import GRAM_FEATURES, MOST, Sample, centered, principal_components
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.memory import allowance

__all__ = ["Sketch"]

HEAD = 32  # components that trees divide by; up to as many features are kept as they are
HELD = 0.7  # share of the squared distance of near rows that components must hold to make the codes
NEAR_ROWS = 128  # of the sample, whose nearest others show what the components hold
BLOCK = 2048  # rows converted at once, at most
LARGEST_CODE = 127
FAR = 0.999  # share of the sample whose entries the codes hold; what is larger is cut off


class Sketch:
    """A map from rows of X to float32 points whose distances never exceed those of X, and to int8 codes.

    Attributes
    ----------
    components : ndarray of shape (d, s) or None
        None: the points are the rows, centred.
    complete : bool
        Whether distances of points equal those of X.
    """

    def __init__(self, X: Any, rng: np.random.Generator, executor: Executor) -> None:
        sample, d, dense = Sample.of(X, rng), X.shape[1], not sparse.issparse(X)
        rows, self.center = sample.rows, sample.center
        self.components: NDArray[np.float32] | None = None
        if not dense or d > HEAD:
            self.components, _ = principal_components(sample, executor)
        self.complete = dense and d <= MOST
        self.codes_features = (
            dense
            and HEAD < d <= GRAM_FEATURES
            and ((allowed := allowance()) is None or allowed.wide_codes)
            and not executor.run(_hold_distances, (rows, self.components))
        )
        coded = rows if self.codes_features or self.components is None else rows @ self.components
        largest = float(np.quantile(np.abs(coded).max(axis=1), FAR))
        self.code_scale = np.float32(LARGEST_CODE / largest if largest > 0.0 else 1.0)

    @property
    def unit(self) -> float:
        """Squared distance per squared distance of codes."""
        return float(self.code_scale) ** -2

    def of_rows(
        self, X: Any, executor: Executor, *, coded: bool = True
    ) -> tuple[NDArray[np.float32], NDArray[np.int8] | None]:
        """Return the heads and the codes of the rows of X, in one pass: the whole sketch of a block is held at a time.

        There are no codes where they are not wanted, and where the points are the rows.
        """
        n, d = X.shape
        width = d if self.components is None else self.components.shape[1]
        head = np.empty((n, min(width, HEAD)), np.float32)
        codes = None
        if coded and self.components is not None:
            codes = np.empty((n, d if self.codes_features else width), np.int8)
        step = rows_at_once(BLOCK, d)
        blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
        prepared = (self, X, codes is not None)
        for rows, (of_head, of_codes) in zip(blocks, executor.map(_sketch_rows, prepared, blocks), strict=True):
            head[rows] = of_head
            if codes is not None:
                codes[rows] = of_codes
        return head, codes


def _sketch_rows(
    prepared: tuple[Sketch, Any, bool], rows: slice
) -> tuple[NDArray[np.float32], NDArray[np.int8] | None]:
    """Return the heads of some rows of X and, if wanted, their codes."""
    sketch, X, coded = prepared
    block = centered(X[rows], sketch.center)
    points = block if sketch.components is None else block @ sketch.components
    head = points[:, :HEAD].copy()
    if not coded:
        return head, None
    values = block if sketch.codes_features else points
    values *= sketch.code_scale
    return head, np.clip(np.rint(values, out=values), -LARGEST_CODE, LARGEST_CODE, out=values).astype(np.int8)


def _hold_distances(prepared: tuple[NDArray[np.float32], Any]) -> bool:
    """Return whether the components hold most of the squared distance between near rows, in the median."""
    rows, components = prepared
    if components.shape[0] == components.shape[1]:
        return True
    some = rows[:NEAR_ROWS]
    squares = np.square(rows).sum(axis=1) - 2.0 * some @ rows.T
    squares[np.arange(len(some)), np.arange(len(some))] = np.inf
    gaps = some - rows[squares.argmin(axis=1)]
    held, whole = np.square(gaps @ components).sum(axis=1), np.square(gaps).sum(axis=1)
    return bool(np.median(held / np.maximum(whole, np.finfo(np.float32).tiny)) >= HELD)
