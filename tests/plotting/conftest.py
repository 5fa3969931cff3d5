"""Three blobs with six labels, and one fitted estimator of each kind."""

import matplotlib as mpl
import numpy as np
import pytest
from artists import KERNEL
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.datasets import make_blobs

from halfmoon import KernelKMeans, LapRLSClassifier, LapRLSRegressor


@pytest.fixture(autouse=True)
def _figures():
    """Draw without a screen, begin without figures and leave none open."""
    plt.close("all")
    with mpl.rc_context({"backend": "Agg"}):
        yield
    plt.close("all")


@pytest.fixture
def blobs(seed):
    """Points, their classes, and labels of which 114 are hidden."""
    X, y = make_blobs(120, centers=[[-3, 0], [3, 0], [0, 4]], cluster_std=1.0, random_state=seed)
    few = np.full(120, -1)
    for c in range(3):
        few[np.flatnonzero(y == c)[:2]] = c
    return X, y, few


@pytest.fixture
def classifier(blobs):
    X, _, few = blobs
    return LapRLSClassifier(kernel=KERNEL).fit(X, few)


@pytest.fixture
def regressor(blobs):
    X, _, few = blobs
    return LapRLSRegressor(kernel=KERNEL).fit(X, np.where(few >= 0, X[:, 0], np.nan))


@pytest.fixture
def clusterer(blobs):
    return KernelKMeans(3, kernel=KERNEL, n_init=1, random_state=0).fit(blobs[0])


@pytest.fixture
def kernel(blobs):
    return clone(KERNEL).fit(blobs[0])
