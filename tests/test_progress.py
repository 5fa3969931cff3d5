"""Graph, solves and tuning report to whoever listens, and only while someone does."""

import threading

import numpy as np
import pytest

from halfmoon import DataDependentKernel, LapRLSClassifier, progress_callback
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.runtime.progress import report


def make_kernel(**params):
    return DataDependentKernel(
        n_neighbors=8, n_landmarks=40, solver="cg", random_state=0, graph_params={"connect": True}, **params
    )


def test_stages_report_up_to_the_end(rng):
    X = rng.normal(size=(300, 40))
    y = np.where(np.arange(300) < 20, np.arange(300) % 2, -1)
    heard = {}
    with progress_callback(lambda stage, done, total: heard.setdefault(stage, []).append((done, total))):
        KernelSearchCV(LapRLSClassifier(kernel=make_kernel()), {"kernel__eta": [0.1, 1.0]}).fit(X, y)
    report("graph", 1, 1)
    assert heard["tuning"] == [(1, 2), (2, 2)]
    assert heard["graph"][-1] == (300, 300)
    assert heard["solves"][-1] == (40, 40)


def test_fits_in_several_threads_do_not_hear_each_other(rng):
    heard, together = {}, threading.Barrier(3, timeout=60)

    def fit(n):
        X = rng.normal(size=(n, 3))
        with progress_callback(lambda stage, done, total: heard.setdefault(n, set()).add((stage, total))):
            together.wait()
            make_kernel().fit(X)
            together.wait()

    threads = [threading.Thread(target=fit, args=(n,)) for n in (300, 310, 320)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {n: {("graph", n), ("solves", 40)} for n in (300, 310, 320)}


def test_tasks_report_to_the_listeners_of_their_caller():
    heard = []
    with progress_callback(lambda *step: heard.append(step)), ThreadExecutor(2) as executor:
        list(executor.map(_report, 3, range(3)))
    assert sorted(heard) == [("stage", 0, 3), ("stage", 1, 3), ("stage", 2, 3)]


def _report(total, done):
    report("stage", done, total)


def test_an_error_of_the_callback_ends_the_fit(rng):
    def refuse(stage, done, total):
        raise RuntimeError("enough")

    model = make_kernel()
    with progress_callback(refuse), pytest.raises(RuntimeError, match="enough"):
        model.fit(rng.normal(size=(100, 3)))
    assert not hasattr(model, "geometry_")


def test_verbose_prints_every_stage_once_it_is_done(rng, capsys):
    y = np.where(np.arange(100) < 20, np.arange(100) % 2, -1)
    LapRLSClassifier(kernel=make_kernel(), verbose=True).fit(rng.normal(size=(100, 3)), y)
    lines = capsys.readouterr().out.splitlines()
    assert "halfmoon: graph 100 of 100" in lines
    assert "halfmoon: solves 40 of 40" in lines
    LapRLSClassifier(kernel=make_kernel()).fit(rng.normal(size=(100, 3)), y)
    assert not capsys.readouterr().out
