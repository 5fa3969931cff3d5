"""
Class imbalance and known shares
================================

One row in twenty belongs to the rare class, and you have labelled eight of each. The labels then say nothing about how
rare the class is. ``priors`` does: decision values are shifted until the training rows, labelled and unlabelled, agree
with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.plotting.style import color

X, y = make_classification(
    3000, n_features=10, n_informative=5, weights=[0.95], flip_y=0.0, class_sep=1.2, random_state=4
)
rng = np.random.default_rng(0)
labeled = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:8] for c in (0, 1)])
few = np.full(len(y), -1)
few[labeled] = y[labeled]

# %%
# The same fit with and without ``priors``.

kernel = DataDependentKernel(n_neighbors=8, n_landmarks=200, random_state=0)
models = {
    "no priors": LapRLSClassifier(kernel=kernel).fit(X, few),
    "priors=[0.95, 0.05]": LapRLSClassifier(kernel=kernel, priors=[0.95, 0.05]).fit(X, few),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
bins = np.linspace(-1.5, 1.5, 50)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    values, guess = model.decision_function_, model.transduction_
    for c in (0, 1):
        ax.hist(np.clip(values[y == c], -1.5, 1.5), bins=bins, color=color(c), alpha=0.6, label=f"class {c}")
    ax.axvline(0.0, color="black", lw=1)
    share, f1 = 100 * guess.mean(), f1_score(y, guess)
    ax.set(title=f"{name}: {share:.1f} % called rare, F1 {f1:.2f}", xlabel="decision value", yscale="log")
axes[0].set_ylabel("rows")
axes[0].legend(frameon=False)
plt.show()
