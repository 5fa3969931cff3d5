"""ExplanationDisplay draws the point, what drove it, and the path."""

import numpy as np
import pytest
from artists import KERNEL, legend_names, scatters
from numpy.testing import assert_allclose

from halfmoon import LapSVC
from halfmoon.plotting import ExplanationDisplay


def test_map_shows_point_path_and_driving_rows(classifier, blobs):
    X, _, few = blobs
    display = ExplanationDisplay.from_estimator(classifier, X, index=100, n_rows=3)
    why = display.explanation
    assert why.number == 100
    assert_allclose(display.point, X[100])
    assert_allclose(display.drivers, X[why.rows[:3]])
    assert_allclose(display.steps, X[why.path])
    assert len(scatters(display)) == 1 + 3 + 1  # training points, driving rows, the point
    drawn = display.ax_.lines[0].get_xydata()
    assert_allclose(drawn[0], X[why.path[0]])
    assert_allclose(drawn[-1], X[100])
    names = legend_names(display)
    assert names[:2] == ["the point", "path"]
    assert {name for name in names if name.startswith("labelled")} == {f"labelled {few[row]}" for row in why.rows[:3]}
    assert display.ax_.get_legend().get_title().get_text() == why.title


def test_map_of_a_regressor(regressor, blobs):
    display = ExplanationDisplay.from_estimator(regressor, blobs[0], index=-1)
    assert display.explanation.number == 119
    assert len(display.figure_.axes) == 2  # with a scale of colours


@pytest.mark.parametrize("shape", [(4, 3), (2, 2, 3)])
def test_images_show_point_drivers_and_path(shape, rng):
    X = np.concatenate([rng.normal(size=(40, 12)), rng.normal(size=(40, 12)) + 2.0])
    few = np.full(80, -1)
    few[:3], few[-3:] = 0, 1
    model = LapSVC(kernel=KERNEL).fit(X, few)
    display = ExplanationDisplay.from_estimator(model, X, index=30, image_shape=shape, n_rows=4)
    steps = min(len(display.explanation.path), 8)
    assert len(display.ax_.images) == 1 + len(display.drivers) + steps
    texts = "\n".join(text.get_text() for text in display.ax_.texts)
    first = display.explanation
    assert f"row {first.rows[0]}\nlabel {first.labels[0]}\n{first.shares[0]:+.3f}" in texts


def test_without_a_path(rng):
    X = np.concatenate([rng.normal(size=(40, 4)), rng.normal(size=(40, 4)) + 1e3])
    few = np.full(80, -1)
    few[:6] = [0, 1, 0, 1, 0, 1]
    kernel = KERNEL.__class__(n_neighbors=5, random_state=0)
    with pytest.warns(match="components"):
        model = LapSVC(kernel=kernel).fit(X, few)
    display = ExplanationDisplay.from_estimator(model, X, index=60, image_shape=(2, 2))
    assert display.steps is None
    assert "no path in the graph" in [text.get_text() for text in display.ax_.texts]


def test_what_cannot_be_drawn_is_refused(classifier, clusterer, blobs):
    X, _, _ = blobs
    with pytest.raises(TypeError, match="KernelKMeans does not explain"):
        ExplanationDisplay.from_estimator(clusterer, X)
    with pytest.raises(ValueError, match=r"image_shape=\(3, 3\) does not fit the 2 features"):
        ExplanationDisplay.from_estimator(classifier, X, image_shape=(3, 3))
    with pytest.raises(ValueError, match="X has 3 features: a map needs two"):
        ExplanationDisplay.from_estimator(classifier, np.ones((2, 3)))


def test_it_is_drawn_again_elsewhere(classifier, blobs):
    from matplotlib import pyplot as plt

    display = ExplanationDisplay.from_estimator(classifier, blobs[0])
    _, ax = plt.subplots()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
