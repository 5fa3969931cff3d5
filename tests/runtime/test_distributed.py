"""Tasks on a Dask cluster: the same results in the same order, and a worker that dies costs its tasks alone."""

import gc
import os
import signal
import time
from itertools import chain, repeat
from unittest import mock

import numpy as np
import pytest

from halfmoon import distributed
from halfmoon.runtime.distributed import DaskExecutor
from halfmoon.runtime.execution import executor_for
from halfmoon.runtime.executor import ThreadExecutor, thread_count


def scaled(prepared, item):
    A, factor = prepared
    return factor * item * A.sum()


def failing(prepared, item):
    if item == 3:
        raise ValueError(f"item {item} of {prepared}")
    return item


def dying(prepared, item):
    """Kill the worker at the first try of one item; the file says whether it was tried."""
    marks, A = prepared
    mark = marks / str(item)
    if item % 4 == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * A


def timing_out(prepared, item):
    time.sleep(0.2)
    raise TimeoutError("of the task")


def place_and_threads(prepared, item):
    time.sleep(0.5)
    with ThreadExecutor(1) as executor:
        return os.getpid(), thread_count(item), executor.run(thread_count, item)


def test_results_come_in_order(client, rng):
    A = rng.normal(size=10)
    with DaskExecutor(client) as executor:
        found = list(executor.map(scaled, (A, 2.0), range(40)))
        assert executor.run(np.sum, A) == A.sum()
    np.testing.assert_array_equal(found, [scaled((A, 2.0), item) for item in range(40)])


def test_tasks_are_dealt_out_and_start_no_threads(client):
    """The first ones went to the worker that had what they share; their threads took all cores."""
    with DaskExecutor(client) as executor:
        places, *threads = zip(*executor.map(place_and_threads, np.ones(3), [None, -1]), strict=True)
        assert len(set(places)) == 2
        assert threads == [(1, 1), (1, 1)]
        assert [found[1] for found in executor.map(place_and_threads, np.ones(3), [3])] == [3]  # as asked for


def test_errors_of_tasks_are_raised(client):
    with DaskExecutor(client) as executor, pytest.raises(ValueError, match="item 3 of what was sent"):
        list(executor.map(failing, "what was sent", range(6)))


def test_workers_that_die_cost_their_tasks_alone(client, rng, tmp_path):
    A = rng.normal(size=3)
    with DaskExecutor(client) as executor:
        found = list(executor.map(dying, (tmp_path, A), range(8)))
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(found, [item * A for item in range(8)])
    gc.collect()
    assert not client.futures  # the client keeps no cancelled task


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    """The fit waited for ever for a result."""
    monkeypatch.setattr("halfmoon.runtime.distributed.PATIENCE", 0.05)
    client = mock.Mock()
    client.nthreads.side_effect = chain([{"worker": 1}] * 3, repeat({}))
    task = client.submit.return_value
    task.result.side_effect, task.done.return_value = TimeoutError, False
    with pytest.raises(TimeoutError, match=r"has had no workers for 0.05 s"):
        list(DaskExecutor(client).map(scaled, (np.ones(1), 1.0), range(3)))
    assert task.result.call_count == 2  # it waited on while there was a worker


def test_tasks_that_time_out_are_errors(client, monkeypatch):
    monkeypatch.setattr("halfmoon.runtime.distributed.PATIENCE", 0.05)
    with pytest.raises(TimeoutError, match="of the task"):
        list(DaskExecutor(client).map(timing_out, None, range(3)))


def test_only_the_block_is_distributed(client):
    assert executor_for(1).shares_memory
    with distributed(client):
        assert not executor_for(1).shares_memory
    assert executor_for(1).shares_memory


def test_a_client_is_asked_for():
    with pytest.raises(TypeError, match=r"needs a distributed.Client. Got str"), distributed("localhost:8786"):
        pass
