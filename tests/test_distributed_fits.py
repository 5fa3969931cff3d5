"""Fits on a cluster and fits with a checkpoint: the results of one process, whoever dies."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from halfmoon import DataDependentKernel, LapRLSClassifier, distributed
from halfmoon.exceptions import CheckpointError
from halfmoon.model_selection import KernelSearchCV

KERNEL = {"n_neighbors": 8, "n_landmarks": 60, "random_state": 0}


@pytest.fixture
def roll(rng):
    X, t = make_swiss_roll(2500, random_state=int(rng.integers(1 << 31)))
    classes = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))
    return X, np.where(np.arange(2500) < 40, classes, -1)


@pytest.mark.parametrize("power", [1, 3])
def test_a_cluster_gives_the_certified_result(client, roll, power):
    X, y = roll
    kernel = DataDependentKernel(**KERNEL, power=power, solver="approx_cholesky")
    alone = LapRLSClassifier(kernel=kernel).fit(X, y)
    with distributed(client):
        spread = LapRLSClassifier(kernel=kernel).fit(X, y)
    one, other = alone.kernel_.geometry_.restriction(), spread.kernel_.geometry_.restriction()
    assert "streamed" in other.reason  # landmark rows alone came back
    largest = np.abs(one.smooth).max()
    assert np.abs(one.smooth - other.smooth).max() <= (one.error_bound + other.error_bound) * largest
    assert other.error_bound <= 1e-6
    assert np.mean(alone.transduction_ == spread.transduction_) > 0.999


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_a_search_on_a_cluster_has_the_same_scores(client, roll):
    X, y = (part[::5] for part in roll)
    grid = {"kernel__eta": [0.1, 10.0], "alpha": [0.01, 1.0]}
    search = KernelSearchCV(LapRLSClassifier(kernel=DataDependentKernel(**KERNEL, extension="graph")), grid, cv=2)
    alone = search.fit(X, y).cv_results_["mean_test_score"]
    with distributed(client):
        np.testing.assert_array_equal(search.fit(X, y).cv_results_["mean_test_score"], alone)


RUN = """
import sys
import numpy as np
from halfmoon import DataDependentKernel, LapRLSClassifier
folder, data, out = sys.argv[1:]
X, y = np.load(data)["X"], np.load(data)["y"]
kernel = DataDependentKernel(n_neighbors=8, n_landmarks=60, solver="approx_cholesky")
model = LapRLSClassifier(kernel=kernel, checkpoint=folder).fit(X, y)
np.savez(out, values=model.decision_function_, landmarks=model.kernel_.landmark_indices_)
"""


def test_a_killed_run_goes_on_with_the_same_bits(roll, rng, tmp_path):
    X, y = roll
    np.savez(tmp_path / "data.npz", X=X, y=y)
    folder, results = tmp_path / "run", []

    def start(out):
        arguments = [str(folder), str(tmp_path / "data.npz"), str(tmp_path / out)]
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(RUN), *arguments])

    for _ in range(3):
        run = start("killed.npz")
        pieces = int(rng.integers(1, 9))
        while run.poll() is None and len(list(folder.glob("*.piece"))) < pieces:
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    for out in ("first.npz", "second.npz"):  # the second reads everything
        assert start(out).wait() == 0
        results.append(np.load(tmp_path / out))
    kernel = DataDependentKernel(n_neighbors=8, landmarks=results[0]["landmarks"], solver="approx_cholesky")
    alone = LapRLSClassifier(kernel=kernel).fit(X, y)
    for result in results:
        np.testing.assert_array_equal(result["values"], alone.decision_function_)
    assert not list(folder.glob("*.tmp"))


def test_a_checkpoint_of_other_data_is_refused(roll, tmp_path):
    X, y = (part[:400] for part in roll)
    model = LapRLSClassifier(n_landmarks=30, random_state=0, checkpoint=tmp_path / "run").fit(X, y)
    values = model.decision_function_
    np.testing.assert_array_equal(model.fit(X, y).decision_function_, values)
    with pytest.raises(CheckpointError, match="differs in n_neighbors"):
        model.set_params(n_neighbors=9).fit(X, y)
    with pytest.raises(CheckpointError, match="differs in rows"):
        model.set_params(n_neighbors=None).fit(X[::-1], y)


@pytest.mark.parametrize(("name", "function"), [("metric", np.linalg.norm), ("landmarks", np.arange)])
def test_a_checkpoint_refuses_functions(roll, tmp_path, name, function):
    """Another function of the same name would get the neighbours or the landmarks of the first."""
    X, y = (part[:300] for part in roll)
    model = LapRLSClassifier(kernel=DataDependentKernel(**{name: function}), checkpoint=tmp_path / "run")
    with pytest.raises(CheckpointError, match=f"The '{name}' parameter is a function"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_functions_need_no_checkpoint(roll):
    X, y = (part[:60] for part in roll)
    named, own = (
        LapRLSClassifier(kernel=DataDependentKernel(metric=metric, n_landmarks=20, random_state=0)).fit(X, y)
        for metric in ("manhattan", lambda a, b: np.abs(a - b).sum())
    )
    np.testing.assert_allclose(own.decision_function_, named.decision_function_, rtol=1e-6, atol=1e-9)


def test_who_listens_does_not_matter_to_a_checkpoint(roll, tmp_path):
    X, y = (part[:300] for part in roll)
    for _ in range(2):  # another function each time
        kernel = DataDependentKernel(n_landmarks=20, random_state=0, graph_params={"progress": lambda *step: None})
        LapRLSClassifier(kernel=kernel, checkpoint=tmp_path / "run").fit(X, y)
