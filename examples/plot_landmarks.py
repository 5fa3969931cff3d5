"""
How many landmarks, and which
=============================

Landmarks are the points at which functions are measured. The graph knows all points in any case, so a few landmarks
are enough. Left: three ways to choose 40 of them. Right: the error on
1,000 digits, 40 of them labelled, against the number of landmarks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs

from halfmoon import DataDependentKernel, LapRLSClassifier, select_landmarks
from halfmoon.plotting.style import GREY, color

points, _ = make_blobs([600, 120, 30], random_state=3, cluster_std=[1.5, 0.8, 0.5])
X, y = (array[:1000] for array in load_digits(return_X_y=True))
few = np.where(np.arange(len(y)) < 40, y, -1)
sizes = [10, 30, 100, 300]

figure, axes = plt.subplot_mosaic(
    [["random", "kmeans++", "farthest", "error"]], figsize=(13, 3.2), layout="constrained"
)
for method in ("random", "kmeans++", "farthest"):
    chosen = select_landmarks(points, 40, method=method, random_state=0)
    axes[method].scatter(*points.T, s=3, color=GREY, alpha=0.6)
    axes[method].scatter(*points[chosen].T, s=16, color=color(0))
    axes[method].set(title=method, xticks=[], yticks=[], aspect="equal")
for number, extension in ((4, "graph"), (0, "kernel")):  # the colours of these extensions in all figures
    errors = []
    for size in sizes:
        kernel = DataDependentKernel(n_neighbors=8, n_landmarks=size, extension=extension, random_state=0)
        model = LapRLSClassifier(kernel=kernel).fit(X, few)
        errors.append(100 * np.mean(model.transduction_[40:] != y[40:]))
    axes["error"].plot(sizes, errors, "o-", color=color(number), label=f'extension="{extension}"')
axes["error"].set(xscale="log", xlabel="landmarks", ylabel="error on unlabelled rows, %", title="digits")
axes["error"].legend(frameon=False)
plt.show()

# %%
# "random" follows the density and, inside an estimator, prefers labelled rows. "kmeans++" is spread out more.
# "farthest" covers the data best and runs after outliers. With the graph extension 100 landmarks do on this data what
# 300 do. ``extension="kernel"`` needs all 300 to come as far.
