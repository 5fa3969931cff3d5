"""
Clustering: k-means along the graph
===================================

K-means looks for round clusters. In the metric of the data-dependent kernel, points that the graph joins are near each
other, so k-means finds clusters of any shape. New points are assigned as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from halfmoon import KernelKMeans
from halfmoon.plotting.style import COLORS

data_sets = {
    "moons": make_moons(600, noise=0.06, random_state=0),
    "circles": make_circles(600, noise=0.04, factor=0.45, random_state=0),
}
figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
for row, (name, (X, y)) in zip(axes, data_sets.items(), strict=True):
    models = {
        "KMeans": KMeans(2, n_init=10, random_state=0),
        "KernelKMeans": KernelKMeans(2, random_state=0),
    }
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    grid = np.stack(np.meshgrid(*(np.linspace(a, b, 90) for a, b in zip(low, high, strict=True))), axis=-1)
    for ax, (title, model) in zip(row, models.items(), strict=True):
        labels = model.fit_predict(X)
        regions = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        ax.contourf(grid[..., 0], grid[..., 1], regions, levels=[-0.5, 0.5, 1.5], colors=COLORS[:2], alpha=0.2)
        ax.scatter(*X.T, s=4, c=np.array(COLORS)[labels])
        ax.set(title=f"{name}, {title}: Rand index {adjusted_rand_score(y, labels):.2f}", xticks=[], yticks=[])
plt.show()

# %%
# The default kernel sees far along a connected graph, so that long shapes are one piece.
