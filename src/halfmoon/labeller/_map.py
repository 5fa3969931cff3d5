"""All rows in the plane: landmarks by the kernel's distances, the others by interpolation, then the graph settles both.

Landmarks are laid out by t-SNE on their distances in the data-dependent kernel, at unit diagonal. The interpolation T
(Theorem 3.2) carries their positions to all rows, and a few rounds of a neighbour embedding on the graph bring
neighbours together and everybody else apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from halfmoon.kernels import DataDependentKernel
from halfmoon.labeller._numba.layout import descend
from halfmoon.runtime.progress import report

__all__ = ["lay_out"]

Positions = NDArray[np.float32]
ROUNDS, FEWEST_ROUNDS = 50, 15
PUSHES = 4  # random pairs per edge
EXTENT = 10.0  # half the width in which rounds begin: steps are of order 1
WORK = 2_000_000  # rows in all rounds, but for the fewest: the map stays a matter of seconds
TSNE_STEPS = 350  # of the landmarks, 250 of them with exaggerated attraction


def lay_out(kernel: DataDependentKernel, random_state: int = 0) -> Positions:
    """Return positions of the distinct training points, centred, within [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import DataDependentKernel
    >>> from halfmoon.labeller import lay_out
    >>> X = np.random.default_rng(2).normal(size=(60, 3))
    >>> lay_out(DataDependentKernel(n_neighbors=8, n_landmarks=20, random_state=0).fit(X)).shape
    (60, 2)
    """
    report("map", 0, 1)  # the geometry is built
    geometry = kernel.geometry_
    hat = _landmark_positions(kernel, random_state)
    spread = np.clip(geometry.extend(hat, kernel.warped_.power), -1.5 * EXTENT, 1.5 * EXTENT)
    rng = np.random.default_rng(random_state)
    Y: Positions = (spread + rng.normal(scale=0.005 * EXTENT, size=spread.shape)).astype(np.float32)
    if geometry.graph is not None:
        _settle(geometry.graph, Y, rng)
    return _framed(Y)


def _landmark_positions(kernel: DataDependentKernel, random_state: int) -> NDArray[np.float64]:
    """Return positions of the landmarks by their distances in the kernel."""
    K = kernel.warped_.graph_extension.K_SS
    size = np.sqrt(np.maximum(np.diagonal(K), np.finfo(float).tiny))
    D = np.sqrt(np.maximum(2.0 - 2.0 * K / size[:, None] / size, 0.0))
    np.fill_diagonal(D, 0.0)
    count = len(D)
    if count < 8:
        return EXTENT * np.random.default_rng(random_state).uniform(-1.0, 1.0, size=(count, 2))
    tsne = TSNE(
        2,
        perplexity=min(12.0, (count - 1) / 3.0),
        metric="precomputed",
        init="random",
        max_iter=TSNE_STEPS,
        random_state=random_state,
    )
    with threadpool_limits(1):  # its threads wait for each other by spinning: beside busy processes that takes a minute
        embedding = tsne.fit_transform((D + D.T) / 2.0)
    embedding = embedding.astype(np.float64) - embedding.mean(axis=0)
    return EXTENT * embedding / max(float(np.abs(embedding).max()), np.finfo(float).tiny)


def _settle(W: Any, Y: Positions, rng: np.random.Generator) -> None:
    """Let edges pull and random pairs push, in smaller and smaller steps."""
    rounds = min(max(WORK // len(Y), FEWEST_ROUNDS), ROUNDS)
    state = np.uint64(rng.integers(1, 1 << 62))
    for number in range(rounds):
        rate = np.float32(1.0 - number / rounds)
        state = np.uint64(descend(W.indptr, W.indices, rate, PUSHES, state, Y))
        report("map", number + 1, rounds)


def _framed(Y: Positions) -> Positions:
    """Centre positions and scale them to [-1, 1]; stragglers are brought to the border."""
    low, high = np.quantile(Y, 0.0005, axis=0), np.quantile(Y, 0.9995, axis=0)
    scale = max(float((high - low).max()) / 2.0, 1e-30)
    return np.clip(0.97 * (Y - (low + high) / 2.0) / scale, -1.0, 1.0).astype(np.float32)
