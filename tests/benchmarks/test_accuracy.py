"""The accuracy benchmark: draws that all methods share, results that survive a kill, ranks that mean what they say."""

import json
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.draws import LABELS, draw
from benchmarks.accuracy.ours import HALFMOON, SCIKIT_LEARN, SEARCH
from benchmarks.accuracy.pages import BEGIN, END, replaced, write_pages
from benchmarks.accuracy.problem import Answer, Method, Problem, read_problem, write_arrays
from benchmarks.accuracy.ranks import best_method, critical_difference, mean_ranks, near_best
from benchmarks.accuracy.report import Errors, behind, lost_rows, mean_over, set_tables, summary
from benchmarks.accuracy.run import Plan, TookTooLong, Worker, run
from benchmarks.accuracy.store import Result, Store
from benchmarks.accuracy.tuning import tuned
from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.exceptions import DisconnectedGraphWarning


@dataclass
class Oracle:
    """A worker that says class 0 everywhere, or takes too long with some methods."""

    table: str = "ours"
    slow: tuple[str, ...] = ()
    asked: list = field(default_factory=list)

    def ask(self, task):
        self.asked.append((task["method"], task["labels"]))
        if task["method"] in self.slow:
            raise TookTooLong
        problem = read_problem(Path(task["problem"]), task["labels"], task["seed"])
        zeros = {"train": np.zeros(problem.X.shape[0]), "new": np.zeros(problem.X_new.shape[0])}
        write_arrays(Path(task["answer"]), zeros)
        return {"fit": 1.0, "predict": 0.0}


def plan_of(oracle, **options):
    methods = {Method(name, solve=None): oracle for name in ("one", "two")}
    return Plan(sets=["wine"], methods=methods, labels=[1, 5], draws=2, **options)


@pytest.mark.parametrize(("n_methods", "expected"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_published_constants(n_methods, expected):
    unit = np.sqrt(n_methods * (n_methods + 1) / 6)
    assert critical_difference(n_methods, 1) / unit == pytest.approx(expected, abs=1e-3)  # Demsar 2006, table 5


def test_every_data_set_counts_once_in_mean_ranks():
    errors = np.array([[1.0, 2.0, 2.0]] * 5 + [[3.0, 1.0, 2.0]])
    ranks, n_blocks = mean_ranks(errors, ["large"] * 5 + ["small"])
    np.testing.assert_allclose(ranks, [(1 + 3) / 2, (2.5 + 1) / 2, (2.5 + 2) / 2])
    assert n_blocks == 2


def test_near_the_best_is_judged_by_paired_differences(rng):
    hard = 20 * rng.random(10)  # draws differ by far more than methods
    best = dict(enumerate(hard))
    always_behind = dict(enumerate(hard + 1.0))
    sometimes = dict(enumerate(hard + np.tile([3.0, -2.9], 5)))
    near = near_best({"best": best, "behind": always_behind, "sometimes": sometimes})
    assert near == {"best": True, "behind": False, "sometimes": True}


def test_a_method_that_ran_on_easy_draws_only_is_not_the_best():
    curves = {"all draws": {0: 1.0, 1: 9.0}, "the easy one": {0: 2.0}}
    assert best_method(curves) == "all draws"
    assert near_best(curves) == {"all draws": True, "the easy one": False}


def test_labels_are_nested_and_draws_repeat(seed):
    first, again = (draw("wine", SETS["wine"], None, seed, 3) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    fewer, more = first.few(2), first.few(5)
    assert np.all(more[fewer >= 0] == fewer[fewer >= 0])
    assert np.all(np.bincount(more[more >= 0]) == 5)
    other = draw("wine", SETS["wine"], None, seed, 4)
    assert not np.array_equal(first.X, other.X)


def test_peers_get_the_graph_of_halfmoon_connected_and_no_true_classes(seed, tmp_path):
    drawn = draw("digits", SETS["digits"], None, seed, 0)
    drawn.write(tmp_path / "problem.npz", with_graph=True)
    problem = read_problem(tmp_path / "problem.npz", 2, drawn.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        ours = LapRLSClassifier(random_state=0).fit(problem.X, problem.few).kernel_.graph_
    joints = csr_array(problem.W) - csr_array(ours)
    joints.eliminate_zeros()
    assert joints.nnz == 2 * (connected_components(ours)[0] - 1)
    assert connected_components(problem.W)[0] == 1
    assert set(np.load(tmp_path / "problem.npz").files) == {
        *(f"few{labels}" for labels in LABELS if drawn.allows(labels)),
        *("X", "X_new", "priors", "point"),
        *(f"W.{part}" for part in ("data", "indices", "indptr", "shape")),
    }


def test_a_killed_run_goes_on_where_it_was(seed, tmp_path):
    store, oracle = Store(tmp_path), Oracle()
    plan = plan_of(oracle, seed=seed)
    running = run(plan, store)
    before = [next(running) for _ in range(3)]
    running.close()
    with store.path.open("a") as file:
        file.write('{"set": "wine", "met')  # a line that the kill cut off
    after = list(run(plan, store))
    assert len(oracle.asked) == 8  # 2 methods, 2 numbers of labels, 2 draws: nothing twice
    assert set(store.read()) == {result.key for result in before + after}
    assert list(run(plan, store)) == []


def test_errors_are_those_of_unlabelled_rows_and_new_points(seed, tmp_path):
    drawn = draw("wine", SETS["wine"], None, seed, 0)
    result = next(run(plan_of(Oracle(), seed=seed), Store(tmp_path)))
    rest = drawn.few(1) < 0
    assert result.train == pytest.approx(100 * np.mean(drawn.y[rest] != 0), abs=1e-3)
    assert result.new == pytest.approx(100 * np.mean(drawn.y_new != 0), abs=1e-3)


def test_a_method_that_took_too_long_is_not_asked_again(seed, tmp_path):
    oracle = Oracle(slow=("one",))
    results = list(run(plan_of(oracle, seed=seed, limit=7.0), Store(tmp_path)))
    assert [method for method, _ in oracle.asked].count("one") == 1
    assert {r.reason for r in results if r.method == "one"} == {"not run (> 7 s)"}


def test_no_draw_is_begun_beyond_the_budget(seed, tmp_path):
    results = list(run(plan_of(Oracle(), seed=seed, budget=2.0), Store(tmp_path)))
    assert {result.draw for result in results} == {0}  # two fits of a second each


def test_forgotten_results_are_kept_aside(tmp_path):
    store = Store(tmp_path)
    store.add([Result("wine", method, 1, 0, False, 0, train=1.0) for method in ("ours", "theirs")])
    store.add([Result("wine", "ours", 1, 0, False, 0, train=2.0)])  # the later line counts
    assert store.forget(lambda result: result.method == "ours") == 1
    assert [result.method for result in store.read().values()] == ["theirs"]
    assert json.loads((tmp_path / "results.before.jsonl").read_text())["train"] == 2.0


def test_a_worker_answers_as_a_fit_here_does_and_survives_errors(seed, tmp_path):
    svc = next(method for method in SCIKIT_LEARN if method.name == "SVC")
    worker = Worker(sys.executable, "ours")
    try:
        plan = Plan(sets=["wine"], methods={svc: worker}, labels=[5], draws=1, seed=seed)
        (result,) = run(plan, Store(tmp_path))
        task = {"problem": str(tmp_path / "none.npz"), "answer": "", "method": "SVC", "labels": 5, "seed": 0}
        assert "FileNotFoundError" in worker.ask(task | {"tuned": False, "limit": 60.0})["failed"]
    finally:
        worker.end()
    drawn = draw("wine", SETS["wine"], None, seed, 0)
    few = drawn.few(5)
    model = SVC().fit(drawn.X[few >= 0], few[few >= 0])
    assert result.new == pytest.approx(100 * np.mean(model.predict(drawn.X_new) != drawn.y_new), abs=1e-3)


def test_tuning_finds_the_candidate_that_finds_hidden_labels_again(rng):
    y = rng.permutation(np.repeat([0, 1], 20))

    def solve(problem, flip=True):
        assert np.sum(problem.labeled) in (4, 6)  # two of six are held out, none in the end
        return {"": Answer(1 - y if flip else y)}

    few = np.where(np.isin(np.arange(40), [np.flatnonzero(y == c)[i] for c in (0, 1) for i in range(3)]), y, -1)
    problem = Problem(np.zeros((40, 1)), None, few, None, None, None, seed=0)
    answers = tuned(Method("m", solve, grid={"flip": [True, False]}), problem)
    np.testing.assert_array_equal(answers[""].train, y)


def test_tuning_keeps_the_default_where_labels_cannot_tell():
    few = np.repeat([0, 1, -1], 3)
    problem = Problem(np.zeros((9, 1)), None, few, None, None, None, seed=0)
    used = []

    def solve(problem, C=1.0):
        used.append(C)
        return {"": Answer(np.abs(few))}

    tuned(Method("m", solve, grid={"C": [1.0, 10.0]}), problem)
    assert used[-1] == 1.0


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("method", SCIKIT_LEARN, ids=lambda method: method.name)
def test_grids_begin_with_the_default(method):
    drawn = draw("wine", SETS["wine"], None, 0, 0)
    problem = Problem(drawn.X, drawn.X_new, drawn.few(3), None, None, None, drawn.seed)
    first = next(iter(ParameterGrid(method.grid)))
    default, candidate = method.solve(problem)[""], method.solve(problem, **first)[""]
    np.testing.assert_array_equal(candidate.train, default.train)
    np.testing.assert_array_equal(candidate.new(), default.new())


def test_grids_of_the_kernel_begin_with_the_default():
    default = DataDependentKernel().get_params()
    dense = next(method.grid for method in HALFMOON if method.grid)
    for grid in (SEARCH, dense):
        for name, value in next(iter(ParameterGrid(grid))).items():
            assert default[name.removeprefix("kernel__")] == value


def test_a_tuned_run_alone_makes_tables_but_does_not_replace_the_documentation(tmp_path):
    results = [Result("wine", "LapSVC", 5, 0, True, 0, train=2.0, new=1.0, fit=1.0)]
    write_pages(results, ["LapSVC"], tmp_path, None)
    assert "## Tuned by cross-validation" in (tmp_path / "accuracy.md").read_text()
    with pytest.raises(SystemExit, match="no results of the defaults"):
        write_pages(results, ["LapSVC"], tmp_path, tmp_path)


def test_tables_say_who_is_best_and_who_did_not_run():
    results = [Result("wine", "good", 30, i, False, 0, train=2.0 + i, new=1.0, fit=1.0) for i in range(3)]
    results += [Result("wine", "poor", 30, i, False, 0, train=9.0 + i, new=1.0, fit=1.0) for i in range(2)]
    results += [Result("wine", "slow", 30, i, False, 0, reason="not run (> 60 s)") for i in range(3)]
    results += [Result("digits", "slow", 30, 0, False, 0, train=5.0, fit=1.0)]
    errors = Errors.of(results, "train", ["digits", "wine"], ["good", "poor", "slow"])
    table = "\n".join(set_tables(errors))
    assert "| good | **3.0 ± 0.6** | 1.00 |" in table
    assert "| poor | 9.5 ± 0.5 (2) | 1.00 |" in table  # two draws of three
    assert "| slow | not run (> 60 s) | n/a |" in table
    assert "| good | 1 | 3 | 1 | 1 (100 %) | n/a | n/a | 1.00 |" in list(summary(errors))
    assert list(lost_rows(errors, ["poor"]))[2:-1] == [
        "| digits | 30 | slow | 5.0 | n/a |",
        "| wine | 30 | good | 3.0 | 9.5 |",
    ]
    assert behind(errors, "poor", "good", {"wine": 3, "digits": 10}) == (6.5, ("wine", 30))


def test_methods_are_compared_on_the_draws_that_all_have():
    results = [Result("wine", "all", 1, i, False, 0, train=error, fit=1.0) for i, error in enumerate([2.0, 40.0])]
    results += [Result("wine", "the easy one", 1, 0, False, 0, train=3.0, fit=1.0)]
    errors = Errors.of(results, "train", ["wine"], ["all", "the easy one"])
    assert errors.ranks()[0] == {"all": 1.0, "the easy one": 2.0}
    assert list(mean_over(errors, "wine", [1]))[2:-1] == ["| all | 2.0 |", "| the easy one | 3.0 |"]


def test_pages_are_replaced_between_their_marks_only():
    page = f"head\n{BEGIN}\nold\n{END}\ntail\n"
    assert replaced(page, "new") == f"head\n{BEGIN}\n\nnew\n\n{END}\ntail\n"
    with pytest.raises(ValueError, match="has no marks"):
        replaced("no marks", "new")
