"""
Regression with uncertainty
===========================

800 points on a spiral. The target is a wave along the spiral, known at 16 points and ``NaN`` elsewhere. In the plane
the arms of the spiral lie close to each other; along the graph they are far apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from halfmoon import DataDependentKernel, LapRLSRegressor
from halfmoon.plotting.style import color

rng = np.random.default_rng(0)
angle = np.sort(np.sqrt(rng.uniform((1.5 * np.pi) ** 2, (7.5 * np.pi) ** 2, 800)))
X = np.c_[angle * np.cos(angle), angle * np.sin(angle)] + rng.normal(scale=0.25, size=(800, 2))
target = np.sin(0.8 * angle)
known = np.linspace(8, 791, 16).astype(int)
few = np.full(len(target), np.nan)
few[known] = target[known]

# %%
# Power 1 lets the function follow the known values closely. ``connect=True`` joins the spiral where the k-NN graph has
# a gap. The plain kernel for comparison is the same estimator with ``eta=0``.

settings = {"n_landmarks": 200, "random_state": 0, "graph_params": {"connect": True}}
warped = DataDependentKernel(power=1, ridge=1e-3, extension="graph", **settings)
models = {
    "RBF kernel": LapRLSRegressor(kernel=DataDependentKernel(eta=0.0, extension="kernel", **settings)),
    "data-dependent kernel": LapRLSRegressor(kernel=warped),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", width_ratios=[1, 1.6])
for row, (name, model) in zip(axes, models.items(), strict=True):
    mean, deviation = model.fit(X, few).predict(X, return_std=True)
    row[0].scatter(*X.T, c=mean, s=6, cmap="coolwarm", vmin=-1.2, vmax=1.2)
    row[0].scatter(*X[known].T, s=60, marker="*", color="white", edgecolors="black")
    row[0].set(title=name, xticks=[], yticks=[], aspect="equal")
    row[1].fill_between(angle, mean - 2 * deviation, mean + 2 * deviation, color=color(0), alpha=0.2)
    row[1].plot(angle, mean, color=color(0), lw=1.2, label="mean, two deviations")
    row[1].plot(angle, target, color="black", lw=1, ls="--", label="truth")
    row[1].plot(angle[known], target[known], "*", ms=9, color="white", mec="black")
    row[1].set(title=f"R^2 = {model.score(X, target):.2f}", xlabel="angle", ylim=(-3, 3))
axes[0, 1].legend(frameon=False, fontsize=8)
plt.show()

# %%
# The deviation is that of the Gaussian process with the same kernel, its scale taken from the known targets. It
# shrinks to the noise at a known point and grows along the graph.
print(models["data-dependent kernel"].diagnose())

# %%
# The more values are known, the less the graph has to add: put 24 in place of 16 and R^2 is 0.91 with the RBF kernel
# and 0.94 with the data-dependent one.
