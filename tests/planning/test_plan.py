"""A plan reproduces the runs that it rests on, grows with what it is asked for, and refuses nonsense."""

import pickle

import numpy as np
import pytest

from benchmarks._counting_client import CountingClient
from benchmarks._scaling_data import curved_patches
from halfmoon import DataDependentKernel, LapRLSClassifier, distributed
from halfmoon.planning import FitSize, fit_memory, measured_costs, plan
from halfmoon.planning import _plan as arithmetic
from halfmoon.runtime.lanes import WIDTH

LARGE = {"rows": 1e8, "features": 128, "landmarks": 1000, "workers": 20}


@pytest.mark.parametrize("stage", measured_costs().stages)
def test_laws_reproduce_the_measured_runs_within_their_residuals(stage):
    law = measured_costs().stages[stage]
    runs = [run for run in measured_costs().rows if stage in run]
    off = [abs(law.of(run["rows"], run["features"]) / run[stage] - 1) for run in runs]
    assert len(off) >= 3
    assert max(off) == pytest.approx(law.residual)
    assert min(law.log2, law.feature) >= 0
    assert law.of(measured_costs().smallest, 1) > 0


def test_costs_say_where_they_come_from():
    costs = measured_costs()
    assert costs.command.startswith("python -m benchmarks.scaling")
    assert "cores" in costs.machine
    assert costs.largest == max(run["rows"] for run in costs.rows)


@pytest.mark.parametrize("name", ["rows", "features", "landmarks"])
def test_more_of_anything_is_never_cheaper(name):
    rising = [plan(**LARGE | {name: factor * LARGE[name]}) for factor in (1, 2, 4, 8)]
    for figure in ("seconds", "leader_bytes", "worker_bytes", "sent_bytes"):
        values = [getattr(p, figure) for p in rising]
        assert values == sorted(values), figure


def seconds_of(planned, where):
    return sum(step.seconds for step in planned.steps if step.where == where)


def test_more_workers_are_never_slower_in_the_solve_and_cost_traffic():
    plans = [plan(**LARGE | {"workers": workers}) for workers in range(2, 70)]
    solves = [seconds_of(p, "workers") for p in plans]
    assert solves == sorted(solves, reverse=True)
    assert solves[-1] == solves[-10]  # one tile per thread: more workers find nothing to do
    traffic = [p.sent_bytes for p in plans]
    assert traffic == sorted(traffic)
    assert len({p.worker_bytes for p in plans}) == 1


def test_threads_speed_up_and_take_a_workspace_each():
    one, two = (plan(**LARGE, threads=threads) for threads in (1, 2))
    assert two.seconds < one.seconds
    assert two.worker_bytes - one.worker_bytes == 100_000_000 * WIDTH * (2 * 8 + 4 * 4)
    assert arithmetic.TILE == WIDTH


def test_one_machine_sends_nothing():
    alone = plan(1_000_000, 32)
    assert (alone.sent_bytes, alone.returned_bytes, seconds_of(alone, "network")) == (0, 0, 0)
    assert "sent" not in str(alone)


@pytest.mark.parametrize("threads", [1, 4])
def test_memory_is_what_estimators_predict(threads):
    """A plan, and `max_memory` of the estimators, go by the same bound; the plan adds the rows."""
    size = FitSize(1_000_000, 32, neighbors=10, landmarks=500, power=2, columns=arithmetic.LABELS, threads=threads)
    planned, predicted = plan(1_000_000, 32, threads=threads), fit_memory(size)
    assert planned.leader_bytes - 4 * 1_000_000 * 32 == predicted.peak_without_columns
    assert planned.stored_bytes == predicted.columns
    assert fit_memory(size, predicted.peak_without_columns).peak == predicted.peak_without_columns
    leads = plan(1_000_000, 32, workers=2, threads=threads)
    assert leads.leader_bytes <= planned.leader_bytes
    assert leads.stored_bytes == 0


def test_the_first_worker_sends_the_system_to_all_others():
    assert [arithmetic._hops(workers) for workers in (1, 2, 3, 20)] == [2, 3, 4, 21]


def test_the_plan_says_what_cannot_be_done():
    assert plan(**LARGE).problems == ()
    (problem,) = plan(**LARGE | {"rows": 1e9}).problems
    assert "31 and 32 bits" in problem
    assert f"! {problem}" in str(plan(**LARGE | {"rows": 1e9}))


def test_traffic_is_what_a_cluster_is_sent():
    """Counted on a fit in miniature: calls, and the columns beside the system in each of them."""
    n, landmarks = 12_000, 160
    X, y = curved_patches(n, seed=3)
    labeled = np.random.default_rng(5).choice(n, arithmetic.LABELS, replace=False)
    few = np.full(n, -1)
    few[labeled] = y[labeled]
    client = CountingClient()
    kernel = DataDependentKernel(n_neighbors=10, power=2, n_landmarks=landmarks, random_state=0)
    with distributed(client):
        LapRLSClassifier(kernel=kernel).fit(X, few)
    assert len(client.calls) == 1 + 2 * arithmetic.POWER
    system = client.calls[0].sent
    columns = sum(call.sent - system for call in client.calls[1:])
    planned = 8 * n * arithmetic.POWER * (arithmetic._labels_off_landmarks(landmarks) + arithmetic.FUNCTIONS)
    assert columns == pytest.approx(planned, rel=0.01)
    assert sum(call.returned for call in client.calls[1:]) == pytest.approx(planned, rel=0.01)
    assert client.calls[0].returned == pytest.approx(8 * landmarks**2, rel=0.1)
    assert system / n == pytest.approx(measured_costs().stages["system"].of(n, 32) / n, rel=0.1)


NONSENSE = {
    "rows": (0, -5, 15_999, 2.5, float("nan"), float("inf"), "many"),
    "features": (0, 1.5),
    "landmarks": (0, 2e8),
    "workers": (0, -1, 0.5),
    "threads": (0,),
    "gigabits": (0.0, -1.0, float("nan"), float("inf")),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values])
def test_nonsense_is_refused_with_its_value(name, value):
    with pytest.raises(ValueError, match=r"[Gg]ot|There are") as error:
        plan(**LARGE | {name: value})
    assert name in str(error.value)


def test_plans_are_frozen_and_picklable():
    planned = plan(**LARGE)
    assert pickle.loads(pickle.dumps(planned)) == planned
    with pytest.raises(AttributeError):
        planned.rows = 1
