"""The spectrum of Q_hat, and what it can be read from."""

import numpy as np
import pytest
from artists import KERNEL, legend_names
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from halfmoon import DataDependentKernel, KernelKMeans, LandmarkFeatures, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.plotting import SpectrumDisplay


def test_eigenvalues_of_Q_hat(kernel, classifier, clusterer, blobs):
    display = SpectrumDisplay.from_estimator(kernel)
    assert_allclose(display.eigenvalues, np.linalg.eigvalsh(kernel.restriction_.Q_hat), rtol=1e-6)
    assert_array_equal(display.line_.get_ydata(), display.eigenvalues)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_legend() is None
    for estimator in (classifier, clusterer, LandmarkFeatures(KERNEL).fit(blobs[0])):
        assert len(SpectrumDisplay.from_estimator(estimator).eigenvalues) == 20


def test_several_on_one_axes(kernel):
    first = SpectrumDisplay.from_estimator(kernel, name="one")
    second = SpectrumDisplay.from_estimator(kernel, name="two", ax=first.ax_, linewidth=3)
    assert second.figure_ is first.figure_
    assert legend_names(second) == ["one", "two"]
    for read in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(first.line_, read)() != getattr(second.line_, read)()
    assert second.line_.get_linewidth() == 3


def test_components_and_zeros(rng):
    """Small modes keep their digits, and zeros are counted, not drawn."""
    W = sparse.block_diag([np.ones((10, 10)) - np.eye(10)] * 3)
    X = rng.normal(size=(30, 2))
    options = {"graph": W, "power": 4, "n_landmarks": 12, "landmarks": "farthest"}
    with pytest.warns(DisconnectedGraphWarning):
        tiny = DataDependentKernel(ridge=1e-5, **options).fit(X)
    display = SpectrumDisplay.from_estimator(tiny)
    assert (display.eigenvalues < 1e-18).sum() == display.n_components
    assert [text.get_text() for text in display.ax_.texts] == [f"{display.n_components} components"]
    identity = np.diag([0.0, 0.0, 1.0, 2.0])
    matrix = DataDependentKernel(regularizer=identity, landmarks=np.arange(4), n_neighbors=2)
    with pytest.warns(DisconnectedGraphWarning):
        display = SpectrumDisplay.from_estimator(matrix.fit(X[:4]))
    assert legend_names(display) == ["2 eigenvalues are 0"]
    assert_allclose(display.eigenvalues, [1.0, 2.0])


def test_what_holds_no_kernel(blobs):
    X, y, _ = blobs
    with pytest.raises(TypeError, match="no data-dependent kernel in Ridge"):
        SpectrumDisplay.from_estimator(Ridge().fit(X, y))
    with pytest.raises(TypeError, match="no data-dependent kernel in str"):
        SpectrumDisplay.from_estimator("rbf")
    for unfitted in (LapSVC(), DataDependentKernel(), KernelKMeans()):
        with pytest.raises(NotFittedError):
            SpectrumDisplay.from_estimator(unfitted)
