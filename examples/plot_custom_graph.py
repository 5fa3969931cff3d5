"""
A graph of your own: rooms and walls
====================================

The k-NN graph links points that are near each other. Here you know more: there are walls, and one cannot walk through
them. ``graph=`` accepts any symmetric matrix of weights on the rows of X (or a ``networkx.Graph``).

Three labels are given, each the number of a fire exit. Where does everybody else walk to?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.graph import knn_graph
from halfmoon.plotting.style import COLORS

CLASS_COLORS = np.array(COLORS[:3])
WALLS = np.array([[[1, 0], [1, 1.6]], [[2, 0.4], [2, 2]], [[3, 0], [3, 1.6]]], dtype=float)
X = np.random.default_rng(0).uniform([0, 0], [4, 2], size=(1500, 2))


def crosses(a, b, wall):
    """Return which segments from a to b cross an upright wall."""
    x, (low, high) = wall[0, 0], np.sort(wall[:, 1])
    sides = (a[:, 0] - x) * (b[:, 0] - x) < 0
    run = np.where(sides, b[:, 0] - a[:, 0], 1.0)
    height = a[:, 1] + (x - a[:, 0]) / run * (b[:, 1] - a[:, 1])
    return sides & (height > low) & (height < high)


# %%
# Start from the k-NN graph and take away the edges that cross a wall.

edges = sparse.coo_array(knn_graph(X, n_neighbors=8))
blocked = np.any([crosses(X[edges.row], X[edges.col], wall) for wall in WALLS], axis=0)
walkable = sparse.coo_array((edges.data[~blocked], (edges.row[~blocked], edges.col[~blocked])), shape=edges.shape)
print(f"{edges.nnz // 2} edges, {blocked.sum() // 2} of them through walls")

exits = np.array([[0.1, 0.1], [1.9, 1.9], [3.9, 0.1]])
few = np.full(len(X), -1)
few[[np.argmin(np.linalg.norm(X - place, axis=1)) for place in exits]] = [0, 1, 2]
figure, axes = plt.subplots(1, 2, figsize=(11, 3), layout="constrained")
for ax, (title, graph) in zip(axes, {"k-NN graph": None, "graph without walls' edges": walkable}.items(), strict=True):
    kernel = DataDependentKernel(
        graph=graph, n_neighbors=8, ridge=1e-3, power=1, extension="graph", n_landmarks=300, random_state=0
    )
    model = LapRLSClassifier(alpha=1e-3, kernel=kernel).fit(X, few)
    ax.scatter(*X.T, s=8, c=CLASS_COLORS[model.transduction_])
    ax.scatter(*X[few >= 0].T, s=220, marker="*", c=CLASS_COLORS[few[few >= 0]], edgecolors="black")
    for wall in WALLS:
        ax.plot(*wall.T, color="black", lw=3)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
plt.show()
