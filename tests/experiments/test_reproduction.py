"""The experiments of section 5 in a tiny version: schema of their tables, one fact of each, and runs that go on."""

import csv
import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from functools import partial

import numpy as np
import psutil
import pytest

from halfmoon.exceptions import DataNotFoundError
from halfmoon.experiments import _data, _processes, _trials, figure1, figure2, figure3, figure4, figure5
from halfmoon.experiments._baselines import BASELINES
from halfmoon.experiments._experiment import Options, count_of_claims
from halfmoon.experiments._kernel_curves import Grid, cross_validated_loss, draw_trial
from halfmoon.experiments._trials import Job, TrialTable, run_trials
from halfmoon.experiments.reproduce import EXPERIMENTS, reproduce
from halfmoon.graph import knn_graph

TINY = Grid(powers=(1, 2), etas=(1e-2, 1.0), widths=(0.7,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder like the one with the data: classes are lines in 6 dimensions, so that neighbours separate them."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(5)
    for source, classes, rows in (("mnist", 10, 1200), ("letter", 26, 2600)):
        y = np.arange(rows) % classes
        ends = rng.uniform(0, 200, size=(2, classes, 6))
        X = ends[0, y] + rng.random((rows, 1)) * (ends[1, y] - ends[0, y]) + rng.normal(scale=2.0, size=(rows, 6))
        np.savez(folder / f"{source}.npz", X=np.clip(X, 0, 255).astype(np.uint8), y=y.astype(np.uint8))
    return folder


@pytest.fixture
def tiny(monkeypatch):
    """Shrink the tasks of Table 1 and the grids."""
    shrink = partial(replace, n=120, n_hat=20, n_test=40, trials=2)
    monkeypatch.setattr(figure2, "SMALL_TASKS", tuple(shrink(task) for task in _data.SMALL_TASKS[:1]))
    monkeypatch.setattr(figure3, "LARGE_TASKS", tuple(shrink(task) for task in figure3.LARGE_TASKS))
    monkeypatch.setattr(figure3, "MANY_LANDMARKS", {"MNIST odd vs even": (10, 40), "MNIST 3 vs 8": (10,)})
    monkeypatch.setattr(figure3, "AIMS", (("efficient, 40 landmarks", 30, 100.0),))
    for module in (figure2, figure3):
        config = module.Config(sizes=(10, 20, 30), grid=TINY)
        monkeypatch.setattr(module, "Config", lambda config=config: config)
    monkeypatch.setattr(figure1, "Config", partial(figure1.Config, trials=3))
    monkeypatch.setattr(figure4, "Config", partial(figure4.Config, n=300, trials=2))
    monkeypatch.setattr(figure5, "Config", partial(figure5.Config, sizes=(200, 400), n_hat=20))


@pytest.fixture
def run(tiny, folder, tmp_path):
    def run(*names, **options):
        return reproduce(names, tmp_path, Options(data=folder, **options), jobs=1)

    return run


def rows_of(folder, job):
    (path,) = (folder / "trials").glob(f"{job}-????????.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_table1_counts_rows(run, tmp_path):
    run("table1")
    rows = rows_of(tmp_path, "sizes")
    assert [row["task"] for row in rows] == [task.name for task in _data.TABLE_1]
    assert int(rows[0]["rows"]) == 200


def test_figure1_circles_are_smooth_on_the_whole_graph_only(run):
    assert all(claim.holds for claim in run("figure1"))


@pytest.mark.parametrize("name", ["figure2", "figure3"])
def test_curves_have_an_error_for_every_method_and_size(run, tmp_path, name):
    run(name, seed=3)
    module = {"figure2": figure2, "figure3": figure3}[name]
    task = {"figure2": figure2.SMALL_TASKS, "figure3": figure3.LARGE_TASKS}[name][0]
    rows = rows_of(tmp_path, task.name.lower().replace(" ", "-"))
    wanted = {(c.label, size, trial) for c in module.curves_of(task) for size in (10, 20, 30) for trial in (0, 1)}
    assert {(row["method"], int(row["n_labeled"]), int(row["trial"])) for row in rows} == wanted
    assert all(0.0 <= float(row["error"]) <= 1.0 for row in rows)
    errors = {m: np.mean([float(r["error"]) for r in rows if r["method"] == m]) for m, _, _ in wanted}
    assert errors["efficient"] < 0.35  # lines are easy
    for suffix in ("png", "svg"):
        assert (tmp_path / f"{name}.{suffix}").stat().st_size > 1000


def test_figure4_the_full_kernel_finds_the_moons(run, tmp_path):
    run("figure4")
    errors = {
        m: [float(r["error"]) for r in rows_of(tmp_path, "moons") if r["method"] == m]
        for m in ("full kernel", "Euclidean")
    }
    assert np.mean(errors["full kernel"]) < np.mean(errors["Euclidean"])


def test_figure5_times_three_methods(run, tmp_path):
    run("figure5")
    rows = rows_of(tmp_path, "seconds")
    assert {(int(row["n"]), row["method"]) for row in rows} == {
        (n, m) for n in (200, 400) for m in (figure5.ITERATIVE, figure5.DIRECT, figure5.STANDARD)
    }
    assert all(float(row["seconds"]) > 0.0 for row in rows)


def test_summary_has_a_verdict_for_every_claim(run, tmp_path):
    claims = run("table1", "figure1", "figure4")
    summary = (tmp_path / "summary.md").read_text()
    assert summary.count("| holds |") + summary.count("| missed |") == len(claims)
    assert f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold" in summary


def test_two_trials_cannot_be_significant(run):
    claims = run("figure3", trials=2)
    assert {claim.verdict for claim in claims if "clearly" in claim.text} == {"too few trials"}
    assert count_of_claims(claims).endswith(f"of {sum('clearly' not in claim.text for claim in claims)} claims hold")


def count_calls(folder, trial):
    with (folder / "calls").open("a") as file:
        file.write(f"{trial}\n")
    return [{"value": trial / 3}]


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    def work(trial):
        if trial == 2 and not (tmp_path / "second").exists():
            raise KeyboardInterrupt
        return count_calls(tmp_path, trial)

    job = Job("job", work, 4, "parameters")
    with pytest.raises(KeyboardInterrupt):
        run_trials(job, tmp_path, jobs=1, resume=True)
    (tmp_path / "second").touch()
    rows = run_trials(job, tmp_path, jobs=1, resume=True)
    assert [row["value"] for row in rows] == [trial / 3 for trial in range(4)]
    assert (tmp_path / "calls").read_text().split() == ["0", "1", "2", "3"]
    run_trials(job, tmp_path, jobs=1, resume=False)
    assert len((tmp_path / "calls").read_text().split()) == 8


def test_other_parameters_are_another_table(tmp_path):
    for fingerprint in ("a", "b"):
        run_trials(Job("job", partial(count_calls, tmp_path), 1, fingerprint), tmp_path, jobs=1, resume=True)
    assert len(list(tmp_path.glob("job-*.csv"))) == 2


def test_processes_give_the_same_table(tiny, folder, tmp_path):
    tables = []
    for jobs in (1, 2):
        (job,) = figure2.experiment(Options(data=folder)).jobs
        tables.append(run_trials(job, tmp_path / str(jobs), jobs=jobs, resume=True))
    assert json.dumps(tables[0]) == json.dumps(tables[1])


def test_a_table_without_its_last_line_is_never_seen(tmp_path):
    table = TrialTable(tmp_path / "t.csv")
    table.add(1, [{"a": 0.1}])
    table.add(0, [{"a": "text"}])
    assert TrialTable(tmp_path / "t.csv").rows == [{"trial": 0, "a": "text"}, {"trial": 1, "a": 0.1}]
    assert not list(tmp_path.glob(".halfmoon.*.tmp"))


def test_missing_data_names_both_ways_out(tmp_path, monkeypatch):
    with pytest.raises(DataNotFoundError, match=r"HALFMOON_DATA.*go online"):
        _data.load("mnist", tmp_path)
    monkeypatch.delenv("HALFMOON_DATA", raising=False)

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(_data, "fetch_openml", offline)
    with pytest.raises(DataNotFoundError, match=r"no network.*--data"):
        _data.load.__wrapped__("letter", None)


def test_openml_letters_become_numbers(monkeypatch):
    fetched = (np.array([[1.0], [2.0]]), np.array(["A", "D"]))
    monkeypatch.setattr(_data, "fetch_openml", lambda *arguments, **options: fetched)
    monkeypatch.delenv("HALFMOON_DATA", raising=False)
    X, y = _data.load.__wrapped__("letter", None)
    assert X.dtype == np.uint8
    assert y.tolist() == [0, 3]


def test_draws_keep_their_promises(rng):
    X, y = rng.normal(size=(90, 2)), np.where(np.arange(90) < 12, 1.0, -1.0)
    drawn = draw_trial(X, y, 60, 20, (10, 30), 0.5, seed=int(rng.integers(1 << 31)))
    assert min(np.sum(drawn.y[drawn.labeled[:10]] == sign) for sign in (-1.0, 1.0)) >= 2
    assert len(np.unique(drawn.landmarks)) == len(drawn.landmarks)
    assert np.isin(drawn.labeled, drawn.landmarks[:20]).sum() == 15


def test_cross_validation_prefers_the_kernel_that_knows(rng):
    signs = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    informative = 0.5 * np.outer(signs, signs) + np.eye(40)
    losses = [cross_validated_loss(lambda held_out, K=K: K, signs, 10.0) for K in (informative, np.eye(40))]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_separate_two_clusters(rng, name):
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(loc=(8.0, 0.0), size=(40, 2))])
    W = knn_graph(X, n_neighbors=6, connect=True)
    f = BASELINES[name](W, np.array([3, 7, 21, 50, 61, 75]), np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]))
    assert np.mean((f > 0.0) == (np.arange(80) >= 40)) > 0.9


def test_every_experiment_is_known_to_the_command_line():
    from halfmoon.cli.reproduce import Name

    assert {name.value for name in Name} == {"all", *EXPERIMENTS}
    assert _trials.trial_seed(0, 1) != _trials.trial_seed(1, 0)


def _signals_held(trial):
    return [{"held": int(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))}]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs POSIX signals")
def test_processes_leave_interrupts_to_the_caller(tmp_path):
    """Ctrl-C in a terminal reaches all processes: those of trials would print tracebacks."""
    rows = run_trials(Job("held", _signals_held, 2, "held"), tmp_path, jobs=2, resume=False)
    assert [row["held"] for row in rows] == [1, 1]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def _process_number(trial):
    return [{"process": os.getpid()}]


def test_processes_end_with_the_trials(tmp_path):
    rows = run_trials(Job("numbers", _process_number, 2, "numbers"), tmp_path, jobs=2, resume=False)
    for row in rows:
        assert row["process"] != os.getpid()
        with pytest.raises(ProcessLookupError):
            os.kill(row["process"], 0)


def _note_and_wait(folder, trial):
    (folder / str(os.getpid())).touch()
    time.sleep(600)


def _run_what_waits(folder):
    run_trials(Job("waiting", partial(_note_and_wait, folder), 2, "waiting"), folder / "out", jobs=2, resume=False)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_processes_end_with_a_caller_that_is_killed(tmp_path):
    """They went on to the end of their trials, and said that nobody read what they had computed."""
    caller = multiprocessing.get_context("spawn").Process(target=_run_what_waits, args=(tmp_path,))
    caller.start()
    while len(names := [path.name for path in tmp_path.iterdir() if path.name.isdigit()]) < 2:
        caller.join(0.1)
        assert caller.exitcode is None
    processes = [psutil.Process(int(name)) for name in names]
    caller.kill()
    caller.join()
    assert not psutil.wait_procs(processes, timeout=60)[1]


def _wait(trial):
    time.sleep(60)
    return [{"waited": 60}]


@pytest.mark.usefixtures("sigint")
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs POSIX signals")
def test_an_interrupt_while_processes_start_does_not_wait_for_their_trials(tmp_path, monkeypatch):
    started = _processes._started

    def interrupted(*arguments):
        worker = started(*arguments)
        os.kill(os.getpid(), signal.SIGINT)  # held back until the processes have been started, unless a thread sees it
        return worker

    monkeypatch.setattr(_processes, "_started", interrupted)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_trials(Job("waiting", _wait, 2, "waiting"), tmp_path, jobs=2, resume=False)
    assert time.monotonic() - start < 40.0


def _die(trial):
    os.kill(os.getpid(), signal.SIGKILL)


def _fail(trial):
    raise KeyError("no such curve")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_process_that_dies_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"exit code -9.*--jobs"):
        run_trials(Job("dying", _die, 2, "dying"), tmp_path, jobs=2, resume=False)


def test_an_error_of_a_trial_comes_out_as_itself_and_says_where(tmp_path):
    with pytest.raises(KeyError, match="no such curve") as caught:
        run_trials(Job("failing", _fail, 2, "failing"), tmp_path, jobs=2, resume=False)
    assert "in _fail" in caught.value.__notes__[0]
