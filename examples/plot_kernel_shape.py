"""
What the unlabelled points do to a kernel
=========================================

A kernel says how alike two points are. Here is how alike every point of the plane is to one point (the star), under an
RBF kernel that is warped more and more by two moons of points. No label is used.

With ``eta=0`` the kernel is the RBF kernel: what is near is alike. As eta grows, functions that change along the graph
become expensive, and what the graph joins to the star becomes alike, whatever the distance.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from halfmoon import DataDependentKernel
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.plotting.style import color

warnings.simplefilter("ignore", DisconnectedGraphWarning)  # the two moons are two components

X, _ = make_moons(400, noise=0.04, random_state=0)
star = X[[np.argmin(np.linalg.norm(X - [-1.0, 0.1], axis=1))]]
grid = np.stack(np.meshgrid(np.linspace(-1.4, 2.4, 130), np.linspace(-0.9, 1.4, 90)), axis=-1)
kernel = DataDependentKernel(
    n_neighbors=8, power=1, ridge=1e-3, gamma=4.0, eta=0.0, eta_unit=1.0, n_landmarks=150, random_state=0
).fit(X)

# %%
# Graph and solves do not depend on eta. :meth:`~halfmoon.DataDependentKernel.rewarp` shares them.

figure, axes = plt.subplots(2, 3, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
for row, extension in zip(axes, ("kernel", "graph"), strict=True):
    for ax, eta in zip(row, (0.0, 100.0, 10_000.0), strict=True):
        warped = kernel.rewarp(eta=eta, extension=extension)
        values = warped(grid.reshape(-1, 2), star).reshape(grid.shape[:2]) / warped(star)[0, 0]
        ax.contourf(
            grid[..., 0], grid[..., 1], values, levels=np.linspace(-0.4, 1.3, 18), cmap="viridis", extend="both"
        )
        ax.scatter(*X.T, s=3, color="white", alpha=0.7)
        ax.scatter(*star.T, s=160, marker="*", color=color(1), edgecolors="white")
        ax.set_title(f'extension="{extension}", eta = {eta:g}', fontsize=10)
        ax.set(xticks=[], yticks=[])
plt.show()

# %%
# The two rows differ off the landmarks only. ``extension="kernel"`` is the paper's equation 6: the base kernel carries
# functions away from the landmarks, and far from all points the kernel falls to 0. ``extension="graph"`` asks the
# nearest training points, so a point off the data is treated like the data next to it. At ``eta=0`` the graph
# extension is the RBF kernel on the landmarks, interpolated elsewhere.
