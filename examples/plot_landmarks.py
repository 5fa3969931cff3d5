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

points, _ = make_blobs([600, 120, 30], random_state=3, cluster_std=[1.5, 0.8, 0.5])
X, y = (array[:1000] for array in load_digits(return_X_y=True))
few = np.where(np.arange(len(y)) < 40, y, -1)
sizes = [10, 30, 100, 300]

figure, axes = plt.subplot_mosaic(
    [["random", "kmeans++", "farthest", "error"]], figsize=(13, 3.2), layout="constrained"
)
for method in ("random", "kmeans++", "farthest"):
    chosen = select_landmarks(points, 40, method=method, random_state=0)
    axes[method].scatter(*points.T, s=3, color="#b0b7bf")
    axes[method].scatter(*points[chosen].T, s=16, color="#0072b2")
    axes[method].set(title=method, xticks=[], yticks=[], aspect="equal")
for extension, color in (("graph", "#0072b2"), ("kernel", "#d55e00")):
    errors = []
    for size in sizes:
        kernel = DataDependentKernel(n_neighbors=8, n_landmarks=size, extension=extension, random_state=0)
        model = LapRLSClassifier(kernel=kernel).fit(X, few)
        errors.append(100 * np.mean(model.transduction_[40:] != y[40:]))
    axes["error"].plot(sizes, errors, "o-", color=color, label=f'extension="{extension}"')
axes["error"].set(xscale="log", xlabel="landmarks", ylabel="error on unlabelled rows, %", title="digits")
axes["error"].legend(frameon=False)
plt.show()

# %%
# "random" follows the density and, inside an estimator, prefers labelled rows. "kmeans++" is spread out more.
# "farthest" covers the data best and runs after outliers. With the graph extension 100 landmarks do on this data what
# 300 do. ``extension="kernel"`` needs all 300 to come as far.
