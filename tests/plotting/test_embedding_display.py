"""Embeddings: places, colours, sizes and labelled points."""

import numpy as np
import pytest
from artists import KERNEL, legend_names, scatters
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVR

from halfmoon import LapRLSClassifier, LapSVC
from halfmoon.plotting import EmbeddingDisplay


def test_classes_and_confidence(blobs, classifier):
    X, _, few = blobs
    display = EmbeddingDisplay.from_estimator(classifier, X)
    assert display.embedding.shape == (120, 2)
    assert_array_equal(display.classes[display.values], classifier.predict(X))
    assert display.confidence.min() >= 0.0
    assert display.confidence.max() == 1.0
    assert display.labeled_embedding.shape == (6, 2)
    assert_array_equal(np.sort(display.labels), np.sort(few[few >= 0]))
    assert legend_names(display) == ["0", "1", "2", "sure", "unsure", "labelled"]
    assert sum(len(artist.get_offsets()) for artist in scatters(display)) == 126
    first = scatters(display)[0]  # larger and more opaque where it is sure
    sure = display.confidence[display.values == 0]
    assert np.corrcoef(first.get_sizes(), sure)[0, 1] == pytest.approx(1.0)
    assert np.corrcoef(first.get_alpha(), sure)[0, 1] == pytest.approx(1.0)


def test_labelled_points_lie_where_they_are(blobs, classifier):
    """The labelled points are rows of X, and embedded at the same places."""
    display = EmbeddingDisplay.from_estimator(classifier, blobs[0], legend=False)
    assert display.ax_.get_legend() is None
    gaps = np.linalg.norm(display.labeled_embedding[:, None] - display.embedding[None], axis=2).min(axis=1)
    assert_allclose(gaps, 0.0, atol=1e-6 * np.ptp(display.embedding))


def test_probabilities_are_confidence(blobs):
    X, _, few = blobs
    model = LapRLSClassifier(kernel=KERNEL, probability=True).fit(X, few)
    display = EmbeddingDisplay.from_estimator(model, X, max_rows=60)
    assert display.embedding.shape == (60, 2)
    assert (display.confidence <= (model.predict_proba(X).max() - 1 / 3) * 1.5 + 1e-12).all()


def test_targets(blobs, regressor):
    display = EmbeddingDisplay.from_estimator(regressor, blobs[0])
    assert display.classes is None
    assert_allclose(display.values, regressor.predict(blobs[0]))
    assert [ax.get_ylabel() for ax in display.figure_.axes] == ["second kernel component", "predicted target"]
    deviation = regressor.predict(blobs[0], return_std=True)[1]
    assert display.confidence[deviation.argmin()] == 1.0
    assert display.confidence[deviation.argmax()] == 0.0


def test_kernels_and_groups(blobs, kernel, clusterer):
    X, y, _ = blobs
    display = EmbeddingDisplay.from_estimator(kernel, X)
    assert display.values is None
    assert display.ax_.get_legend() is None
    display = EmbeddingDisplay.from_estimator(kernel, X, groups=np.array(["a", "b", "c"])[y], max_rows=70)
    assert legend_names(display) == ["a", "b", "c"]
    assert legend_names(EmbeddingDisplay.from_estimator(clusterer, X)) == ["0", "1", "2", "sure", "unsure"]


def test_sparse_rows(rng):
    X = sparse.random_array((80, 30), density=0.2, format="csr", rng=rng)
    few = np.full(80, -1)
    few[:4] = [0, 1, 0, 1]
    display = EmbeddingDisplay.from_estimator(LapSVC(kernel=KERNEL).fit(X, few), X)
    assert display.embedding.shape == (80, 2)
    assert display.labeled_embedding.shape == (4, 2)


def test_other_regressors_are_equally_sure(blobs, kernel):
    X = blobs[0]
    display = EmbeddingDisplay.from_estimator(SVR(kernel=kernel).fit(X, X[:, 0]), X)
    assert (display.confidence == 1.0).all()
