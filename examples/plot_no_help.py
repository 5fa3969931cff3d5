"""
When unlabelled data do not help
================================

Two overlapping Gaussians in 100 dimensions. Points of both classes are each other's neighbours, so the graph knows
little of the classes. The labels choose the base kernel alone, and the report of the model says that the unlabelled
rows do not help. On the digits data they do, and 150 labels show it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from halfmoon import DataDependentKernel, LapRLSClassifier

rng = np.random.default_rng(0)
y = rng.integers(2, size=1500)
X = rng.normal(size=(1500, 100)) + np.where(y == 1, 0.2, -0.2)[:, None]
few = np.where(np.arange(1500) < 100, y, -1)
gaussians = LapRLSClassifier(kernel=DataDependentKernel(n_landmarks=200, random_state=0)).fit(X, few)
print(gaussians.report_)

# %%
X_digits, y_digits = load_digits(return_X_y=True)
few_digits = np.where(rng.permutation(len(y_digits)) < 150, y_digits, -1)
kernel = DataDependentKernel(n_neighbors=8, n_landmarks=200, random_state=0)
digits = LapRLSClassifier(kernel=kernel).fit(X_digits, few_digits)
print(digits.report_)

# %%
# The readout can be drawn as well.

figure, axes = plt.subplots(2, 1, figsize=(6, 4.4), layout="constrained")
for ax, name, model in zip(axes, ("Gaussians", "digits"), (gaussians, digits), strict=True):
    model.diagnose().plot(ax).set_title(name)
plt.show()
