"""The kernel matrix: its order, its scale and its borders."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon.plotting import KernelMatrixDisplay


def test_ordered_by_prediction(blobs, classifier):
    X = blobs[0]
    display = KernelMatrixDisplay.from_estimator(classifier, X)
    assert_array_equal(display.groups, np.sort(classifier.predict(X)))
    assert_array_equal(display.image_.get_array(), display.matrix)
    assert_allclose(np.diagonal(display.matrix), 1.0)
    kernel = classifier.kernel_
    size = np.sqrt(kernel.diag(X))
    assert_allclose(np.sort(display.matrix.sum(axis=1)), np.sort((kernel(X) / np.outer(size, size)).sum(axis=1)))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0", "1", "2"]
    assert len(display.ax_.get_lines()) == 4  # two borders, each way


def test_a_kernel_alone_keeps_the_order(blobs, kernel):
    X, y, _ = blobs
    display = KernelMatrixDisplay.from_estimator(kernel, X)
    assert display.groups is None
    assert display.matrix[3, 5] == pytest.approx(kernel(X[3], X[5]) / np.sqrt(kernel.diag(X[[3, 5]]).prod()))
    display = KernelMatrixDisplay.from_estimator(kernel, X, groups=np.array(["first", "second", "third"])[y])
    assert display.groups[0] == "first"
    assert display.ax_.get_xticklabels()[0].get_rotation() == 90


def test_at_most_so_many_rows(blobs, kernel, regressor, clusterer):
    X, y, _ = blobs
    display = KernelMatrixDisplay.from_estimator(kernel, X, groups=y, max_rows=50)
    assert display.matrix.shape == (50, 50)
    assert KernelMatrixDisplay.from_estimator(clusterer, X.tolist(), max_rows=50).groups.shape == (50,)
    display = KernelMatrixDisplay.from_estimator(regressor, X)
    order = np.argsort(regressor.predict(X))
    assert display.matrix[0, 1] == pytest.approx(
        regressor.kernel_(X)[order[0], order[1]] / np.sqrt(regressor.kernel_.diag(X[order[:2]]).prod())
    )
    with pytest.raises(ValueError, match="'max_rows' parameter must be an integer >= 2"):
        KernelMatrixDisplay.from_estimator(kernel, X, max_rows=0)
