"""
A feature map for linear models at scale
========================================

:class:`~halfmoon.LandmarkFeatures` maps points to features whose inner products are the kernel. The kernel is learnt
once from a sample without labels. After that a linear model can read any number of rows, block by block, and learn
from those that have a label.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from halfmoon import DataDependentKernel, LandmarkFeatures
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.plotting.style import color, marker, method_numbers


def spirals(n, rng):
    """Draw n points on three arms of a spiral."""
    arm, r = rng.integers(3, size=n), np.sqrt(rng.uniform(0.02, 1.0, size=n))
    angle = 2 * np.pi * arm / 3 + 5.0 * r
    return np.c_[r * np.cos(angle), r * np.sin(angle)] + rng.normal(scale=0.03, size=(n, 2)), arm


rng = np.random.default_rng(0)
sample, _ = spirals(10_000, rng)
# The three arms are three components. ``connect=True`` would join them; here that is not wanted.
warnings.simplefilter("ignore", DisconnectedGraphWarning)
warped = DataDependentKernel(n_neighbors=10, power=1, ridge=1e-3, eta=100.0, n_landmarks=100, random_state=0)
maps = {
    "Nystroem (RBF)": Nystroem(gamma=20.0, n_components=100, random_state=0),
    "LandmarkFeatures": LandmarkFeatures(warped),
}
for name, features in maps.items():
    start = time.perf_counter()
    maps[name] = make_pipeline(features, Normalizer()).fit(sample)
    print(f"{name}: fitted on {len(sample)} points without labels in {time.perf_counter() - start:.1f} s")

# %%
# ``Normalizer`` gives every row of features the length 1, that is, the kernel a unit diagonal. Do not standardise the
# features one by one: their sizes are what makes smooth functions cheap.
#
# Blocks arrive with few labels each. ``partial_fit`` takes them one after the other. Every block is also the test set
# of the model before it.

models = {name: SGDClassifier(loss="log_loss", alpha=1e-3, random_state=0) for name in maps}
errors = {name: [] for name in maps}
rows, labels_seen = 0, []
start = time.perf_counter()
for block in range(20):
    X, y = spirals(5_000, rng)
    for name, features in maps.items():
        Phi = features.transform(X)
        if block:
            errors[name].append(100 * np.mean(models[name].predict(Phi) != y))
        for _ in range(5):
            models[name].partial_fit(Phi[:3], y[:3], classes=[0, 1, 2])
    rows += len(X)
    if block:
        labels_seen.append(3 * block)
print(f"{rows} rows through both maps and models in {time.perf_counter() - start:.1f} s")

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
numbers = method_numbers(errors)
for name, values in errors.items():
    look = {"color": color(numbers[name]), "marker": marker(numbers[name])}
    ax.plot(labels_seen, values, ms=4, label=name, **look)
ax.set(xlabel="labels seen", ylabel="error on the next 5,000 rows, %", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
