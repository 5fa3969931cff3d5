"""Components of the graph and the labels in them."""

import numpy as np
import pytest
from artists import legend_names

from halfmoon import DataDependentKernel, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.plotting import ComponentSizesDisplay


@pytest.fixture
def apart(rng):
    """Components of 30, 20 and 12 points, shuffled; the second one has no label."""
    part = rng.permutation(np.repeat([0, 1, 2], [30, 20, 12]))
    X = rng.normal(size=(62, 2)) + 100 * part[:, None]
    y = np.full(62, -1)
    y[np.flatnonzero(part == 0)[:3]] = 0
    y[np.flatnonzero(part == 2)[:2]] = 1
    return X, y


def test_sizes_and_labels(apart):
    X, y = apart
    with pytest.warns(DisconnectedGraphWarning):
        model = LapSVC(kernel=DataDependentKernel(n_neighbors=11)).fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    for display in (
        ComponentSizesDisplay.from_estimator(model),
        ComponentSizesDisplay.from_estimator(model, y=np.append(y, y[:5])),  # duplicates of a row are one point
        ComponentSizesDisplay(sizes=np.array([30, 20, 12]), labeled=np.array([3, 0, 2])).plot(),
    ):
        assert display.sizes.tolist() == [30, 20, 12]
        assert display.labeled.tolist() == [3, 0, 2]
        points, labeled = display.bars_
        assert [bar.get_height() for bar in points] == [30, 20, 12]
        assert [bar.get_height() for bar in labeled] == [3, 0, 2]
        assert [bool(bar.get_hatch()) for bar in points] == [False, True, False]
        assert legend_names(display) == ["points", "labelled", "no label"]


def test_kernels_know_no_labels(apart):
    X, y = apart
    with pytest.warns(DisconnectedGraphWarning):
        kernel = DataDependentKernel(n_neighbors=11, n_landmarks=30, random_state=0).fit(X)
    display = ComponentSizesDisplay.from_estimator(kernel, max_components=2)
    assert display.labeled is None
    assert len(display.bars_) == 1
    assert display.ax_.get_xlabel() == "component (1 more, with 12 points)"
    display = ComponentSizesDisplay.from_estimator(kernel, y=y, max_components=1)
    assert display.labeled.tolist() == [3, 0, 2]
    assert display.ax_.get_xlabel() == "component (2 more, with 32 points and 2 labels)"
    with pytest.raises(ValueError, match=r"expected shape \(62,\)"):
        ComponentSizesDisplay.from_estimator(kernel, y=y[:10])


def test_the_budget_graph_sees_landmarks_only(blobs):
    X, _, few = blobs
    options = {"method": "budget", "n_landmarks": 15, "n_neighbors": 5, "random_state": 0}
    kernel = DataDependentKernel(graph_params={"connect": True}, **options).fit(X)
    display = ComponentSizesDisplay.from_estimator(kernel, y=few)
    assert display.sizes.tolist() == [15]
    assert display.labeled.tolist() == [(few[kernel.landmark_indices_] >= 0).sum()]
