"""
Prediction sets and intervals
=============================

Two noisy moons with 40 labels, and a noisy wave with 60 known values. `predict_set` gives, for each row, the classes
that it may well have, and `predict_interval` an interval for its target. A row with both classes in its set is one on
which the model does not decide.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from halfmoon import LapRLSClassifier, LapRLSRegressor
from halfmoon.plotting.style import GREY, color

rng = np.random.default_rng(1)
X, y = make_moons(600, noise=0.25, random_state=1)
few = np.full(600, -1)
labeled = rng.choice(600, 40, replace=False)
few[labeled] = y[labeled]
classifier = LapRLSClassifier(random_state=0).fit(X, few)

t = np.sort(rng.uniform(0, 10, 400))
target = np.sin(t) + 0.2 * rng.normal(size=400)
known = rng.choice(400, 60, replace=False)
targets = np.full(400, np.nan)
targets[known] = target[known]
regressor = LapRLSRegressor(n_neighbors=15, random_state=0).fit(t[:, None], targets)

# %%
# A higher level means larger sets. Rows where the moons overlap are the first to get both classes; at a low level some
# rows get none, being unlike the labelled rows of either class.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
kinds = {"first class": ([True, False], color(0)), "second class": ([False, True], color(1))}
kinds |= {"both": ([True, True], color(3)), "none": ([False, False], "black")}
for ax, level in zip(axes, (0.8, 0.95), strict=False):
    sets = classifier.predict_set(X, level)
    covered = sets[np.arange(600), y][few < 0].mean()
    for name, (wanted, shade) in kinds.items():
        rows = np.all(sets == wanted, axis=1)
        ax.scatter(*X[rows].T, s=9, color=shade, label=f"{name} ({rows.sum()})")
    ax.scatter(*X[labeled].T, s=40, facecolors="none", edgecolors="black", linewidths=0.8)
    ax.set(title=f"level {level:.0%}: {covered:.1%} covered", xticks=[], yticks=[])
    ax.legend(frameon=False, fontsize=8, loc="upper right")

low, high = regressor.predict_interval(t[:, None], 0.9).T
unknown = np.isnan(targets)
covered = np.mean((low <= target) & (target <= high), where=unknown)
axes[2].fill_between(t, low, high, color=color(0), alpha=0.25, lw=0)
axes[2].plot(t, regressor.predict(t[:, None]), color=color(0), lw=1.2)
axes[2].scatter(t[unknown], target[unknown], s=4, color=GREY)
axes[2].scatter(t[known], target[known], s=24, facecolors="white", edgecolors="black", linewidths=0.8)
axes[2].set(title=f"intervals of level 90 %: {covered:.1%} covered", xlabel="t")
plt.show()

# %%
# The level is kept on average over draws of the labels; one draw can be far off, either way. Here the intervals are too
# wide; with 40 known values in place of 60 they are too narrow and cover 79 %. What is proven, and what stands in the
# way of more:

print(classifier.conformal_guarantee(0.9))
