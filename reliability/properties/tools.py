"""Properties of clustering, feature maps, folds and tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np

from halfmoon import (
    KernelKMeans,
    LandmarkFeatures,
)
from halfmoon.model_selection import LabeledKFold
from halfmoon.tables import read_table, write_columns
from reliability.properties._claims import claim
from reliability.properties._data import SEEDS, SIZES, close, sample


@claim("k-means predicts the clusters of its rows", seed=SEEDS, n=SIZES, k=st.integers(1, 4))
def _kmeans(seed: int, n: int, k: int) -> None:
    data = sample(seed, n)
    model = KernelKMeans(k, kernel=data.kernel(), n_init=2, random_state=0).fit(data.X)
    distances = model.transform(data.X)
    chosen = distances[np.arange(len(data.X)), model.labels_]
    assert (chosen <= distances.min(axis=1) + 1e-6 * distances.max()).all()


@claim("inner products of landmark features are the kernel", seed=SEEDS, n=SIZES)
def _features(seed: int, n: int) -> None:
    data = sample(seed, n)
    features = LandmarkFeatures(data.kernel(extension="graph")).fit(data.X)
    F = features.transform(data.Z)
    close(F @ F.T, features.kernel_(data.Z), 1e-5)


@claim("folds part the labelled rows and train on all others", seed=SEEDS, n=SIZES, folds=st.integers(2, 4))
def _folds(seed: int, n: int, folds: int) -> None:
    data = sample(seed, n)
    splits = list(LabeledKFold(folds, random_state=seed).split(data.X, data.y))
    tests = np.concatenate([test for _, test in splits])
    assert sorted(tests.tolist()) == np.flatnonzero(data.y != -1).tolist()
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(data.X)))


@claim(
    "tables are read as they were written",
    seed=SEEDS,
    n=SIZES,
    suffix=st.sampled_from([".csv", ".tsv", ".parquet", ".feather"]),
)
def _tables(seed: int, n: int, suffix: str) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 10.0 ** rng.uniform(-30, 30, n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        write_columns({"a": values, "kind": np.array([f"k{i % 3}" for i in range(n)])}, path)
        table = read_table(path, target="kind")
    assert np.array_equal(table.X["a"].to_numpy(), values)
    assert table.target.tolist() == [f"k{i % 3}" for i in range(n)]
