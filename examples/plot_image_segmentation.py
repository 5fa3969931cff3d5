"""
An image, segmented from a few strokes
======================================

Three strokes are drawn into a photograph: two in the background, one in the flower. Every pixel is a row of five
features, its colour and its place. The strokes are the labels, all other pixels are unlabelled.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from halfmoon import DataDependentKernel, LapRLSClassifier

image = load_sample_image("flower.jpg")[::6, ::6] / 255.0
height, width, _ = image.shape
place = np.stack(np.meshgrid(np.linspace(0, 1, height), np.linspace(0, width / height, width), indexing="ij"), axis=-1)
X = np.concatenate([image, 0.5 * place], axis=-1).reshape(-1, 5)

# %%
# The strokes, as rows and columns of pixels. -1 is unlabelled.

strokes = np.full((height, width), -1)
strokes[8, 10:90:2] = 0
strokes[62, 10:50:2] = 0
strokes[38:44:2, 45:70:2] = 1

start = time.perf_counter()
kernel = DataDependentKernel(n_neighbors=10, n_landmarks=200, random_state=0, graph_params={"connect": True})
model = LapRLSClassifier(kernel=kernel, probability=True).fit(X, strokes.ravel())
flower = model.predict_proba(X)[:, 1].reshape(height, width)
print(f"{len(X)} pixels, {np.sum(strokes >= 0)} labelled, {time.perf_counter() - start:.1f} s")

figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
axes[0].imshow(image)
for c, color in ((0, "#56b4e9"), (1, "#f0e442")):
    rows, columns = np.nonzero(strokes == c)
    axes[0].scatter(columns, rows, s=5, color=color)
axes[0].set_title("strokes")
axes[1].imshow(flower, cmap="magma", vmin=0, vmax=1)
axes[1].set_title("probability of flower")
axes[2].imshow(np.where(flower[..., None] > 0.5, image, 1.0))
axes[2].set_title("what is left")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()
