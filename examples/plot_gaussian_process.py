"""
A Gaussian process that knows where the data are
================================================

``kernel.as_gp_kernel()`` gives the fitted kernel to scikit-learn's Gaussian processes. It can be added to and
multiplied with their kernels. Here it is used in a Gaussian process classifier with eight labels on two moons.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from halfmoon import DataDependentKernel
from halfmoon.plotting.style import color

X, y = make_moons(600, noise=0.12, random_state=1)
labeled = np.concatenate([np.flatnonzero(y == c)[:4] for c in (0, 1)])

# %%
# The data-dependent kernel is fitted on all 600 points, without labels. It has no free parameter for the Gaussian
# process to optimise; its scale is fixed so that prior values have a standard deviation of 3. The RBF process finds
# its width by maximum likelihood.

warped = DataDependentKernel(
    n_neighbors=10, power=2, ridge=1e-3, extension="graph", n_landmarks=150, random_state=0
).fit(X)
scale = 9.0 / warped.diag(X).mean()
processes = {
    "RBF": ConstantKernel(9.0, "fixed") * RBF(0.5),
    "data-dependent": ConstantKernel(scale, "fixed") * warped.as_gp_kernel(),
}
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.2, 1.7, 90)), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
for ax, (name, kernel) in zip(axes, processes.items(), strict=True):
    process = GaussianProcessClassifier(kernel, random_state=0).fit(X[labeled], y[labeled])
    share = process.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    drawn = ax.contourf(grid[..., 0], grid[..., 1], share, levels=np.linspace(0, 1, 21), cmap="RdBu_r")
    ax.contour(grid[..., 0], grid[..., 1], share, levels=[0.5], colors="black", linewidths=1)
    ax.scatter(*X.T, s=4, c=np.where(y == 1, "#7a1f00", "#003b5c"), alpha=0.6)
    ax.scatter(*X[labeled].T, s=130, marker="*", c=np.where(y[labeled] == 1, color(1), color(0)), edgecolors="white")
    ax.set(title=f"{name}: {100 * (1 - process.score(X, y)):.1f} % error", xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes, label="probability of the lower moon", ticks=[0, 0.25, 0.5, 0.75, 1])
plt.show()

# %%
# The RBF process is sure near its eight labels. The data-dependent one is sure along the moons and unsure between
# them.
