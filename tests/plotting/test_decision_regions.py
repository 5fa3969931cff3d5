"""Decision regions: every artist, and every estimator that has them."""

import numpy as np
import pandas as pd
import pytest
from artists import KERNEL, legend_names, scatters
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from halfmoon import DataDependentKernel, KernelKMeans, LapSVC
from halfmoon.model_selection import KernelSearchCV
from halfmoon.plotting import DecisionRegionDisplay


def test_everything_is_drawn(blobs, classifier):
    X, _, few = blobs
    display = DecisionRegionDisplay.from_estimator(classifier, X, edges=True, grid_resolution=30)
    assert display.figure_ is display.ax_.figure
    assert legend_names(display) == ["0", "1", "2", "labelled", "landmark", "graph"]
    (lines,) = [artist for artist in display.ax_.collections if isinstance(artist, LineCollection)]
    assert len(lines.get_segments()) == classifier.kernel_.graph_.nnz // 2
    assert sum(len(artist.get_offsets()) for artist in scatters(display)) == len(X) + (few >= 0).sum() + 20
    assert_array_equal(display.classes[display.predicted], classifier.predict(X))
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert_array_equal(display.scores.argmax(axis=-1).ravel(), classifier.predict(grid))
    assert_allclose(np.sort(display.labeled_points, axis=0), np.sort(X[few >= 0], axis=0))


def test_regions_cover_the_plane_once(blobs, classifier):
    display = DecisionRegionDisplay.from_estimator(classifier, blobs[0], grid_resolution=30, legend=False)
    assert display.ax_.get_legend() is None
    filled = [artist for artist in display.ax_.collections if getattr(artist, "filled", False)]
    assert len(filled) == 3
    faces = {tuple(artist.get_facecolor()[0][:3]) for artist in filled}
    assert len(faces) == 3


def test_two_classes_by_name_in_a_data_frame(blobs):
    X, _, few = blobs
    names = np.array(["left", "right", None], dtype=object)[few]  # blob 2 is unlabelled, and -1 is None
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LapSVC(kernel=KERNEL).fit(frame, names)
    display = DecisionRegionDisplay.from_estimator(model, frame, grid_resolution=20)
    assert legend_names(display)[:2] == ["left", "right"]
    assert display.scores.shape == (20, 20, 2)
    assert_array_equal(np.sort(display.labels), [0, 0, 1, 1])


def test_labels_can_be_given(blobs, kernel):
    X, _, few = blobs
    model = SVC(kernel=kernel).fit(X[few >= 0], few[few >= 0])
    without = DecisionRegionDisplay.from_estimator(model, X, grid_resolution=10)
    assert without.labeled_points is None
    display = DecisionRegionDisplay.from_estimator(model, X, few, grid_resolution=10)
    assert_array_equal(display.labeled_points, X[few >= 0])
    assert display.landmarks.shape == (20, 2)
    with pytest.raises(ValueError, match=r"does not know: 7. It knows \[0, 1, 2\]"):
        DecisionRegionDisplay.from_estimator(model, X, np.where(few == 2, 7, few))


def test_clusters_and_searches(blobs, clusterer, classifier):
    X, _, few = blobs
    display = DecisionRegionDisplay.from_estimator(clusterer, X, grid_resolution=10)
    assert_array_equal(display.predicted, clusterer.predict(X))
    search = KernelSearchCV(classifier, {"alpha": [0.1, 1.0]}).fit(X, few)
    display = DecisionRegionDisplay.from_estimator(search, X, grid_resolution=10)
    assert_array_equal(display.predicted, search.predict(X))
    one = KernelKMeans(1, kernel=KERNEL, n_init=1).fit(X)
    assert DecisionRegionDisplay.from_estimator(one, X, grid_resolution=10).scores.shape[-1] == 1


def test_plain_classifiers_have_no_landmarks(blobs):
    X, y, _ = blobs
    display = DecisionRegionDisplay.from_estimator(SVC().fit(X, y), X, grid_resolution=10)
    assert display.landmarks is None
    with pytest.raises(TypeError, match="no data-dependent kernel in SVC"):
        DecisionRegionDisplay.from_estimator(SVC().fit(X, y), X, edges=True)


def test_errors(blobs, classifier, regressor, kernel):
    X, y, few = blobs
    for wrong in (kernel, regressor):
        with pytest.raises(TypeError, match=r"predicts no classes or clusters\. Pass a fitted classifier"):
            DecisionRegionDisplay.from_estimator(wrong, X)
    with pytest.raises(ValueError, match="in the plane, X has 3 features"):
        DecisionRegionDisplay.from_estimator(classifier, np.ones((5, 3)))
    with pytest.raises(NotFittedError):
        DecisionRegionDisplay.from_estimator(LapSVC(), X)
    with pytest.raises(TypeError, match=r"pipeline\[:-1\].transform"):
        DecisionRegionDisplay.from_estimator(make_pipeline(StandardScaler(), SVC()).fit(X, y), X)
    bare = LapSVC(kernel=DataDependentKernel(regularizer=200 * np.eye(120) - np.ones((120, 120)))).fit(X, few)
    with pytest.raises(ValueError, match="has no graph to draw"):
        DecisionRegionDisplay.from_estimator(bare, X, edges=True)
