"""Properties of rows that arrive later."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np

from halfmoon import Geometry
from reliability.properties._claims import claim
from reliability.properties._data import ESTIMATOR, SEEDS, SIZES, close, sample

WEIGHTS = st.sampled_from(["binary", "heat", "self-tuning"])


@claim("appended and refreshed is rebuilt", seed=SEEDS, n=SIZES, weights=WEIGHTS, parts=st.integers(1, 3))
def _rebuilt(seed: int, n: int, weights: str, parts: int) -> None:
    X = sample(seed, n).X
    half = len(X) // 2 + 1
    first, later = X[:half], [rows for rows in np.array_split(X[half:], parts) if len(rows)]
    options = {"n_neighbors": 3, "weights": weights, "powers": (1, 2), "random_state": 0, "n_jobs": 1}
    geometry = Geometry.build(first, n_landmarks=4, **options)
    for rows in later:
        geometry = geometry.append(rows)
    exact = geometry.refresh()
    again = Geometry.build(X, landmarks=exact.landmarks, **options)
    assert abs(exact.graph - again.graph).max() == 0.0
    for power in (1, 2):
        assert np.array_equal(exact.restriction(power).greens, again.restriction(power).greens)
    assert np.array_equal(exact.rows(np.arange(len(X)), 2), again.rows(np.arange(len(X)), 2))


@claim("a copy of a known row is appended where this is", seed=SEEDS, n=SIZES)
def _copies(seed: int, n: int) -> None:
    X = sample(seed, n).X
    geometry = Geometry.build(X, n_neighbors=3, n_landmarks=4, random_state=0, n_jobs=1)
    rows = np.random.default_rng(seed).integers(len(X), size=5)
    more = geometry.append(X[rows])
    close(more.rows(len(X) + np.arange(5)), geometry.rows(rows), 1e-9)


@claim("partial_fit and refresh is fit on the same landmarks", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _partial_fit(seed: int, n: int, make: Any) -> None:
    data = sample(seed, max(n, 16))
    half = len(data.X) * 2 // 3
    landmarks = data.landmarks[data.landmarks < half]
    kernel = data.kernel(landmarks=landmarks)
    model = make(kernel).fit(data.X[:half], data.y[:half])
    model.partial_fit(data.X[half:], data.y[half:]).refresh()
    again = make(data.kernel(landmarks=landmarks)).fit(data.X, data.y)
    close(model.decision_function(data.Z), again.decision_function(data.Z), 1e-6)
    close(model.decision_function_, again.decision_function_, 1e-6)
