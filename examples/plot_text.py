"""
Text with sparse features
=========================

Short notes on four subjects, 8 of them labelled. The notes are written on the spot from small vocabularies that
overlap, so that nothing is downloaded. TF-IDF gives a sparse matrix, and it stays sparse: the graph uses the cosine
metric, the base kernel is linear.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from halfmoon import DataDependentKernel, LapRLSClassifier

SUBJECTS = {
    "cooking": "oven flour butter salt onion garlic simmer recipe knife pan boil dough sauce pepper taste sugar",
    "sailing": "wind hull mast harbour anchor tide rope sail deck crew keel storm chart buoy knot compass wave",
    "astronomy": "star orbit planet comet lens galaxy dust light mass moon telescope sky nebula eclipse motion sun",
    "gardening": "soil seed prune leaf root compost water bloom hedge weed spade shade petal bulb moss frost sun",
}
COMMON = "the a of and with into over after before small large old new first slow warm cold long good under day hand"


def write_notes(n, rng):
    """Write n notes: five words on the subject, two on another one, seven common ones."""
    names = list(SUBJECTS)
    notes, subjects = [], rng.integers(len(names), size=n)
    for subject in subjects:
        other = rng.integers(len(names))
        words = [*rng.choice(SUBJECTS[names[subject]].split(), 5), *rng.choice(SUBJECTS[names[other]].split(), 2)]
        notes.append(" ".join(rng.permutation([*words, *rng.choice(COMMON.split(), 7)])))
    return notes, subjects


notes, subjects = write_notes(2000, np.random.default_rng(0))
X = TfidfVectorizer(token_pattern=r"\w+").fit_transform(notes)
print(notes[0])
print(f"{X.shape[0]} notes, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} nonzeros a row, {type(X).__name__}")

# %%
# Two labels a subject.

labeled = np.concatenate([np.flatnonzero(subjects == c)[:2] for c in range(4)])
few = np.full(len(subjects), -1)
few[labeled] = subjects[labeled]
kernel = DataDependentKernel("linear", metric="cosine", n_neighbors=10, n_landmarks=200, random_state=0)
model = LapRLSClassifier(kernel=kernel).fit(X, few)
plain = LinearSVC().fit(X[labeled], subjects[labeled])
print(model.diagnose())

# %%
# With 8 labels most words have never been seen with a label. The graph links notes that share words with notes that
# share words with a labelled one.

figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
hidden = few == -1
for ax, (name, guess) in zip(
    axes, {"LinearSVC on 8 labels": plain.predict(X), "LapRLSClassifier": model.transduction_}.items(), strict=True
):
    table = np.array([[np.sum(hidden & (subjects == a) & (guess == b)) for b in range(4)] for a in range(4)])
    ax.imshow(table, cmap="Blues")
    for (a, b), count in np.ndenumerate(table):
        ax.text(b, a, count, ha="center", va="center", color="white" if count > table.max() / 2 else "black")
    error = 100 * np.mean(guess[hidden] != subjects[hidden])
    ax.set(title=f"{name}: {error:.1f} % error", xticks=range(4), yticks=range(4), xlabel="answer", ylabel="subject")
    ax.set_xticklabels(SUBJECTS, fontsize=8)
    ax.set_yticklabels(SUBJECTS, fontsize=8)
plt.show()
