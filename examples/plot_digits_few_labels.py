"""
Digits with few labels
======================

1,797 images of digits, and the error on the unlabelled ones against the number of labels per class. All methods have
their defaults except 8 neighbours for both graph methods and 200 landmarks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, LapSVC
from halfmoon.plotting.style import color, marker, method_numbers

X, y = load_digits(return_X_y=True)
model = LapSVC(kernel=DataDependentKernel(n_neighbors=8, n_landmarks=200, random_state=0))


def draw_labels(per_class, seed):
    """Return the rows of a few labels per class, drawn at random."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_class] for c in range(10)])


# %%
# :meth:`~halfmoon.LapSVC.refit` keeps the graph and the landmarks of the first fit, so the fits after it take a
# fraction of its time.

counts, draws = [1, 3, 10], 3
errors = {name: np.zeros((len(counts), draws)) for name in ("LapSVC", "LabelSpreading", "SVC on the labels")}
for i, per_class in enumerate(counts):
    for seed in range(draws):
        labeled = draw_labels(per_class, seed)
        few = np.full(len(y), -1)
        few[labeled] = y[labeled]
        model = model.refit(few) if hasattr(model, "kernel_") else model.fit(X, few)
        spreading = LabelSpreading(kernel="knn", n_neighbors=8).fit(X, few)
        plain = SVC().fit(X[labeled], y[labeled])
        answers = {
            "LapSVC": model.transduction_,
            "LabelSpreading": spreading.transduction_,
            "SVC on the labels": plain.predict(X),
        }
        for name, answer in answers.items():
            errors[name][i, seed] = 100 * np.mean(answer[few == -1] != y[few == -1])

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, number in method_numbers(errors).items():
    mean, spread = errors[name].mean(axis=1), errors[name].std(axis=1)
    ax.errorbar(counts, mean, yerr=spread, marker=marker(number), capsize=3, color=color(number), label=name)
ax.set(xlabel="labels per class", ylabel="error on unlabelled images, %", xticks=counts, ylim=(0, None))
ax.legend(frameon=False)
plt.show()

# %%
for name, table in errors.items():
    print(f"{name:<18}", *(f"{value:5.1f} %" for value in table.mean(axis=1)))
