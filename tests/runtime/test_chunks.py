"""Fitted objects on Dask collections: lazily, chunk by chunk, the values of one call on all rows."""

import os
import pickle
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from halfmoon import DataDependentKernel, KernelKMeans, LandmarkFeatures, LapRLSRegressor, LapSVC, distributed
from halfmoon.runtime.chunks import by_chunk
from halfmoon.runtime.executor import thread_count


class Threads:
    """Tells how many threads a method may start."""

    n_features_in_ = 1

    @by_chunk
    def count(self, X):
        return np.full(len(X), thread_count(None))


@pytest.fixture
def data(rng):
    X, y = make_blobs(300, n_features=5, centers=3, random_state=int(rng.integers(1 << 31)))
    return X, np.where(np.arange(300) < 60, y, -1)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "predict_set"])
def test_arrays_and_frames(data, method):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LapSVC(probability=True, random_state=0).fit(frame, y)
    expected = getattr(model, method)(frame)
    by_frame = getattr(model, method)(dd.from_pandas(frame, npartitions=4))
    assert isinstance(by_frame, da.Array)
    np.testing.assert_allclose(by_frame.compute(), expected, rtol=1e-9)
    model = LapSVC(probability=True, random_state=0).fit(X, y)
    by_array = getattr(model, method)(da.from_array(X, chunks=(70, 2)))
    assert by_array.shape == expected.shape
    assert by_array.dtype == expected.dtype
    np.testing.assert_allclose(by_array.compute(), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_features_clusters_and_targets(data):
    X, _ = data
    A = da.from_array(X, chunks=(70, 5))
    features = LandmarkFeatures(n_landmarks=30, random_state=0).fit(X)
    np.testing.assert_allclose(features.transform(A).compute(), features.transform(X), rtol=1e-9, atol=1e-12)
    clusters = KernelKMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(clusters.predict(A).compute(), clusters.predict(X))
    model = LapRLSRegressor(random_state=0).fit(X, np.where(np.arange(300) < 50, X[:, 0], np.nan))
    np.testing.assert_allclose(model.predict(A).compute(), model.predict(X), rtol=1e-9)
    with pytest.raises(TypeError, match="predict of a Dask collection returns one array"):
        model.predict(A, return_std=True)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_a_cluster_is_sent_the_model_once(client, data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LapSVC(random_state=0).fit(frame, y)
    values, rows = model.decision_function(frame), dd.from_pandas(frame, npartitions=4)
    with distributed(client):
        lazily = model.decision_function(rows)
        by_array = LapSVC(random_state=0).fit(X, y).decision_function(da.from_array(X, chunks=(70, 2)))
    for result in (lazily, by_array):  # also after the block
        np.testing.assert_allclose(client.compute(result).result(), values, rtol=1e-9)
    assert len(pickle.dumps(dict(lazily.dask))) < len(pickle.dumps(model))


def test_a_chunk_has_one_thread_of_a_worker(client):
    """Workers that share a machine each took all of its cores."""
    rows = da.ones((4, 1), chunks=(2, 1))
    assert client.compute(Threads().count(rows)).result().tolist() == [1] * 4
    assert Threads().count(rows).compute(scheduler="threads").tolist() == [thread_count(None)] * 4


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_predictions_outlive_the_workers_that_had_the_model(client, data):
    """Lost data cannot be sent again by a collection; the task that makes the model can run again."""
    X, y = data
    model = LapSVC(random_state=0).fit(X, y)
    with distributed(client):
        values = model.decision_function(da.from_array(X, chunks=(70, 5)))
    for _ in range(2):
        np.testing.assert_allclose(client.compute(values).result(), model.decision_function(X), rtol=1e-9)
        for worker in client.run(os.getpid, on_error="ignore").values():
            os.kill(worker, signal.SIGKILL)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_angles_and_empty_chunks(data):
    X, y = data
    model = LapSVC(kernel=DataDependentKernel(metric="cosine"), random_state=0).fit(X, y)
    rows = da.from_array(X, chunks=(70, 5))
    expected = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(rows).compute(), expected, rtol=1e-9)
    filtered = model.decision_function(
        rows[da.from_array(np.arange(300) >= 100, chunks=70)]
    )  # the first chunk is empty
    np.testing.assert_allclose(filtered.compute(), expected[100:], rtol=1e-9)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model, parts = LapSVC(random_state=0).fit(frame, y), dd.from_pandas(frame, npartitions=4)
    kept = parts[parts["a"] > frame["a"].max()]
    assert model.predict(kept).compute().shape == (0,)
    with pytest.raises(ValueError, match="Got a Dask array of 1 dimensions"):
        model.predict(rows[:, 0])
