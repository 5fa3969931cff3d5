"""
Decision regions of five kernels
================================

Six labels, 500 points, each data-dependent kernel with the eta of three that errs least on all points (as in section
5.2 of the paper). The base kernel sees the six labelled points only. The
data-dependent kernels also know where the other points lie.

* *budget*: a graph on the 40 landmarks (rings) only.
* *efficient, eq. 6*: functions are measured at the 40 landmarks, the graph knows all points, and the base kernel
  carries functions from the landmarks to the rest of the plane.
* *efficient, graph*: the same, but the graph carries the functions.
* *full*: functions are measured at every point, in cubic time.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.svm import SVC

from halfmoon import DataDependentKernel
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.plotting.style import COLORS

# The two classes are not joined by any edge. That is what we hope for, so we silence the warning.
warnings.simplefilter("ignore", DisconnectedGraphWarning)

CLASS_COLORS = np.array(COLORS[:2])
KERNELS = {
    "base (RBF)": {"eta": 0.0, "extension": "kernel"},
    "budget": {"method": "budget", "extension": "kernel"},
    "efficient, eq. 6": {"extension": "kernel"},
    "efficient, graph": {"extension": "graph"},
    "full": {"method": "full", "extension": "kernel"},
}

# %%
# ``eta_unit=1`` gives the paper's eta. The kernel is fitted on all points, the support vector machine on six. ``y``
# only says which rows are labelled: most of them become landmarks.


def fit(X, y, labeled, **choice):
    """Fit the kernel on all rows."""
    settings = {"n_neighbors": 8, "power": 1, "ridge": 1e-4, "gamma": 20.0, "eta_unit": 1.0}
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    return DataDependentKernel(n_landmarks=40, random_state=0, **settings | choice).fit(X, few)


def classify(X, y, labeled, kernel):
    """Fit a support vector machine on the labelled rows."""
    # A larger eta shrinks the kernel; C counts in units of its scale.
    return SVC(kernel=kernel, C=1e3 / kernel.diag(X[labeled]).mean()).fit(X[labeled], y[labeled])


def draw(ax, X, y, labeled, classifier):
    """Draw regions, points, landmarks and labels."""
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    grid = np.stack(np.meshgrid(*(np.linspace(a, b, 80) for a, b in zip(low, high, strict=True))), axis=-1)
    values = classifier.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(grid[..., 0], grid[..., 1], values > 0, levels=[-0.5, 0.5, 1.5], colors=CLASS_COLORS, alpha=0.18)
    ax.contour(grid[..., 0], grid[..., 1], values, levels=[0.0], colors="black", linewidths=1.0)
    ax.scatter(*X.T, s=3, c=CLASS_COLORS[y], alpha=0.6)
    landmarks = classifier.kernel.landmarks_
    if len(landmarks) < len(X):
        ax.scatter(*landmarks.T, s=24, facecolors="none", edgecolors="black", linewidths=0.7)
    ax.scatter(*X[labeled].T, s=110, marker="*", c=CLASS_COLORS[y[labeled]], edgecolors="black")
    ax.set(xticks=[], yticks=[], aspect="equal")


data_sets = [
    make_circles(500, noise=0.03, factor=0.5, random_state=0),
    make_moons(500, noise=0.05, random_state=0),
]
figure, axes = plt.subplots(2, 5, figsize=(13, 5.2), layout="constrained")
for row, (X, y) in zip(axes, data_sets, strict=True):
    labeled = np.concatenate([np.flatnonzero(y == c)[:3] for c in (0, 1)])
    for ax, (name, choice) in zip(row, KERNELS.items(), strict=True):
        kernel = fit(X, y, labeled, **choice)
        warped = [kernel] if "eta" in choice else [kernel.rewarp(eta=eta) for eta in (1e2, 1e4, 1e6)]
        classifiers = [classify(X, y, labeled, candidate) for candidate in warped]
        classifier = max(classifiers, key=lambda candidate: candidate.score(X, y))
        draw(ax, X, y, labeled, classifier)
        ax.set_title(f"{name}: {100 * (1 - classifier.score(X, y)):.1f} % error", fontsize=10)
plt.show()
