"""
Why is this a 4?
================

A decision value is a sum over the labelled rows. :meth:`~halfmoon.LapSVC.explain` returns the summands, and the
shortest path in the graph from the labelled row with the largest one. Leave-one-out says which labels look wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from halfmoon import DataDependentKernel, LapSVC
from halfmoon.plotting import ExplanationDisplay

X, y = load_digits(return_X_y=True)
few = np.where(np.arange(len(y)) < 40, y, -1)
kernel = DataDependentKernel(n_neighbors=8, graph_params={"connect": True}, random_state=0)
model = LapSVC(kernel=kernel).fit(X, few)

# %%
# Above, the image and the labelled images that drove its prediction, with their shares; below, the path.

ExplanationDisplay.from_estimator(model, X, index=1001, image_shape=(8, 8))
plt.show()

# %%
# The shares and the intercept are the decision value.

why = model.explain(X[[1001]])[0]
print(why)
print("sum:", why.shares.sum() + why.intercept, "decision value:", why.total)

# %%
# In the plane it is a map: the label reaches the far end of the moon along the graph.

Z, moon = make_moons(300, noise=0.07, random_state=0)
labels = np.where(np.arange(300) < 6, moon, -1)
moons = LapSVC(kernel=DataDependentKernel(n_neighbors=8, ridge=1e-3, random_state=0)).fit(Z, labels)
end = int(np.argmin(np.abs(Z - [2.0, 0.5]).sum(axis=1)))
ExplanationDisplay.from_estimator(moons, Z, index=end)
plt.show()

# %%
# A wrong label among 100: the others contradict it.

many = np.where(np.arange(len(y)) < 100, y, -1)
many[17] = 3
print(model.refit(many).label_issues())
