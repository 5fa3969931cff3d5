"""
When the graph falls apart
==========================

A k-NN graph need not be connected. Labels spread along edges, so a component without a label hears nothing from the
graph. halfmoon says so, and always gives a defined answer. This example shows what the answer is and how to change it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.graph import knn_graph
from halfmoon.plotting.style import COLORS

CLASS_COLORS = np.array(COLORS[:2])
centers = [[0, 0], [0, 4], [6, 0], [6, 4]]
X, blob = make_blobs(400, centers=centers, cluster_std=0.45, random_state=0)
y = (blob >= 2).astype(int)

# %%
# Four groups of points, two classes, and labels in two of the groups only. The report of the graph names the
# components.

_, report = knn_graph(X, n_neighbors=6, return_report=True)
print(report)
few = np.full(len(y), -1)
few[np.flatnonzero(blob == 0)[:2]] = 0
few[np.flatnonzero(blob == 2)[:2]] = 1

# %%
# The same model three times: the graph alone, the default (the base kernel decides where the graph is silent), and a
# graph that has been joined.

settings = {
    'extension="graph"': {"extension": "graph"},
    'extension="auto", the default': {},
    'graph_params={"connect": True}': {"graph_params": {"connect": True}},
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (name, choice) in zip(axes, settings.items(), strict=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DisconnectedGraphWarning)
        kernel = DataDependentKernel(n_neighbors=6, n_landmarks=100, random_state=0, **choice)
        model = LapRLSClassifier(kernel=kernel).fit(X, few)
    for warning in caught:
        print(f"{name}: {warning.category.__name__}: {warning.message}")
    values = model.decision_function_
    drawn = ax.scatter(*X.T, c=values, s=8, cmap="coolwarm", vmin=-1, vmax=1)
    ax.scatter(*X[few >= 0].T, s=140, marker="*", c=CLASS_COLORS[few[few >= 0]], edgecolors="black")
    error = 100 * np.mean(model.transduction_ != y)
    ax.set(title=f"{name}\n{error:.1f} % error", xticks=[], yticks=[], aspect="equal")
figure.colorbar(drawn, ax=axes, label="decision value")
plt.show()

# %%
print(model.diagnose())
