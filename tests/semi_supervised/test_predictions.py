"""Predictions among many points: known rows, blocks, what `fit` leaves for them to do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.semi_supervised import _decision

N = 4500


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(N, 3)) @ rng.normal(size=(3, 10)) + 0.1 * rng.normal(size=(N, 10))
    y = np.where(np.arange(N) < 40, (X[:, 0] > 0).astype(int), -1)
    kernel = DataDependentKernel(extension="graph", n_landmarks=60, graph_params={"connect": True}, random_state=0)
    return LapRLSClassifier(kernel=kernel).fit(X, y), X


def test_training_rows_get_their_own_values(rng, fitted):
    model, X = fitted
    rows = rng.permutation(N)[:300]
    assert_allclose(model.decision_function(X[rows]), model.decision_function_[rows], rtol=1e-9, atol=1e-12)


def test_predictions_do_not_depend_on_blocks(rng, fitted, monkeypatch):
    model, X = fitted
    new = X[rng.integers(N, size=500)] + 0.05 * rng.normal(size=(500, 10))
    values = model.decision_function(new)
    assert_array_equal(np.concatenate([model.decision_function(new[:1]), model.decision_function(new[1:])]), values)
    monkeypatch.setattr(_decision, "ROWS", 77)
    assert_array_equal(model.decision_function(new), values)


def test_queries_are_ready_after_fit(fitted):
    model, X = fitted
    ready = set(vars(model.kernel_.geometry_.index))
    model.predict(X[:5] + 0.01)
    assert set(vars(model.kernel_.geometry_.index)) == ready
