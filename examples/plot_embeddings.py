"""
From embeddings to a classifier with 20 labels
==============================================

Vectors from any network can be the features. Here they are the hidden layer of a small scikit-learn network that was
trained to tell even digits from odd ones: it knows nothing of the ten classes. They are stored as a Parquet column of
lists, as embeddings often are. Two labels per digit make a classifier of them.
"""

# %%
# A network that has seen other labels than ours, and its hidden layer as a feature of 32 numbers for every image.

import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, LapSVC
from halfmoon.plotting import EmbeddingDisplay

images, digits = load_digits(return_X_y=True)
images = images / 16.0
network = MLPClassifier((32,), max_iter=60, early_stopping=True, random_state=0).fit(images, digits % 2)
embedding = np.maximum(images @ network.coefs_[0] + network.intercepts_[0], 0.0).astype(np.float32)

# %%
# Stored and read again, as they would come from a vector database. The command line reads such a file as it is:
# ``halfmoon fit digits.parquet --target digit --out digits.hm``.

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "digits.parquet"
    pq.write_table(pa.table({"embedding": list(embedding), "digit": digits}), path)
    stored = pq.read_table(path)
X, y = np.stack(stored["embedding"].to_numpy()), stored["digit"].to_numpy()

# %%
# Twenty labels, two per digit. Neighbours that are known already need not be searched for again.

labeled = np.concatenate([np.flatnonzero(y == digit)[:2] for digit in range(10)])
few = np.full(len(y), -1)
few[labeled] = y[labeled]
distances, indices = NearestNeighbors(n_neighbors=9).fit(X).kneighbors(X)
kernel = DataDependentKernel(neighbors=(indices, distances), n_neighbors=8, random_state=0)
model = LapSVC(kernel=kernel).fit(X, few)
plain = SVC().fit(X[labeled], y[labeled])
hidden = few == -1
for name, classifier in (("LapSVC", model), ("SVC on the labels alone", plain)):
    print(f"{name}: {100 * classifier.score(X[hidden], y[hidden]):.1f} % of {hidden.sum()} unlabelled images right")

# %%
# The leading directions of the kernel.

figure, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
EmbeddingDisplay.from_estimator(model, X, max_rows=1000, ax=ax)
plt.show()
