"""Defects that the programme has found, each with a small case."""

import errno
import os
import threading
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from starlette.testclient import TestClient
from threadpoolctl import threadpool_info

from halfmoon import DataDependentKernel, Geometry, KernelKMeans, LapRLSClassifier, LapRLSRegressor, LapSVC, restrict
from halfmoon.exceptions import DataFileError, DisconnectedGraphWarning, FloatRangeError, LabelWarning
from halfmoon.experiments._trials import TrialTable
from halfmoon.graph import NeighborIndex, knn_graph, laplacian
from halfmoon.kernels._distances import rbf_kernel
from halfmoon.labeller import ActionError, Labels
from halfmoon.labeller._security import Guard
from halfmoon.labeller._server import Events, make_app
from halfmoon.model_selection import KernelSearchCV, LabeledKFold, labeled_scorer
from halfmoon.planning import plan
from halfmoon.regularizers import MatrixRegularizer, PowerRegularizer
from halfmoon.runtime import executor
from halfmoon.runtime.atomic_write import atomic_write
from halfmoon.runtime.distributed import DaskExecutor
from halfmoon.runtime.spool import write_rows
from halfmoon.solvers import solve_sdd
from halfmoon.tables import read_table, write_columns
from reference import rbf

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
FEW = np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
EDGE = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 3))


def small(**options):
    return DataDependentKernel(**{"n_neighbors": 4, "n_landmarks": 10, "random_state": 0} | options)


# Numbers that were wrong.


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_an_outlier_does_not_spoil_the_rbf_kernel(X, form, far):
    """Squares of distances as |a|^2 + |b|^2 - 2 a'b cancelled beside it: the kernel had negative eigenvalues."""
    beside = np.vstack([X, np.full((1, 3), far)])
    K = small(eta=0.0, gamma=0.5, scale=None, extension="kernel").fit(form(beside))(form(beside))
    np.testing.assert_allclose(K, rbf(beside, beside, 0.5), atol=1e-7 if far <= 1e9 else 1e-3)
    assert np.linalg.eigvalsh(K).min() > -1e-3 * (far > 1e9) - 1e-9


def test_an_outlier_does_not_spoil_the_width_of_the_rbf_kernel(X):
    widths = [small().fit(rows).base_kernel_.params["gamma"] for rows in (X, np.vstack([X[:-1], np.full((1, 3), 1e9)]))]
    assert widths[1] == pytest.approx(widths[0], rel=0.5)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_new_rows_come_in_either_form(rng, X, metric):
    """Sparse rows at a model of dense ones raised an error of numpy."""
    Z = np.vstack([X[:3], rng.normal(size=(4, 3))])
    for form, other in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        index = NeighborIndex(form(X), metric=metric)
        np.testing.assert_allclose(index.query(other(Z), 4)[0], index.query(form(Z), 4)[0], atol=1e-7)
        model = LapSVC(kernel=small(metric=metric)).fit(form(X), FEW)
        np.testing.assert_allclose(model.decision_function(other(Z)), model.decision_function(form(Z)), atol=1e-6)
        assert len(model.partial_fit(other(Z), np.full(7, -1)).transduction_) == 37


@pytest.mark.parametrize("exponent", [-300, 300])
def test_right_hand_sides_of_any_size(exponent):
    scaled = solve_sdd(3.0 * np.eye(3) - np.ones((3, 3)), [10.0**exponent, 0.0, 0.0]).X
    np.testing.assert_allclose(scaled / 10.0**exponent, solve_sdd(3.0 * np.eye(3) - np.ones((3, 3)), [1.0, 0, 0]).X)


def test_solutions_that_float64_does_not_hold():
    with pytest.raises(FloatRangeError, match="beyond what float64 holds"):
        solve_sdd(1e-200 * np.eye(2), [1e200, 0.0])


def test_the_given_matrix_is_not_changed():
    Q = sparse.csr_array((np.array([-1.0, 2.0, 2.0, -1.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])))
    before = Q.indices.copy(), Q.data.copy()
    restrict(MatrixRegularizer(Q), [0])
    assert np.array_equal(Q.indices, before[0])
    assert np.array_equal(Q.data, before[1])


def test_intervals_at_a_level_close_to_zero(X):
    model = LapRLSRegressor(0.1, kernel=small(extension="graph")).fit(X, np.where(FEW >= 0, X[:, 0], np.nan))
    narrow, wide = model.predict_interval(X, 1e-30), model.predict_interval(X, 0.5)
    assert (np.diff(narrow) <= np.diff(wide) + 1e-9).all()


# Warnings of numpy.


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        return call()


def test_a_tiny_bandwidth_is_quiet(X):
    assert quiet(lambda: knn_graph(X, weights="heat", bandwidth=1e-200)).data.max() == 1e-12


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_priors_with_weights_of_any_size(X, weight):
    model = LapRLSClassifier(kernel=small(), priors="balanced")
    assert np.isfinite(quiet(lambda: model.fit(X, FEW, np.full(30, weight))).decision_function(X)).all()


def test_priors_where_every_landmark_is_labelled(X):
    model = LapRLSClassifier(kernel=small(), priors="balanced")
    assert np.isfinite(quiet(lambda: model.fit(X, np.arange(30) % 3)).decision_function(X)).all()


def test_costs_that_overflow(X):
    model = quiet(lambda: LapSVC(1e12, kernel=small()).fit(X, FEW, np.full(30, 1e300)))
    assert np.isfinite(model.decision_function(X)).all()


# Clear errors in place of crashes and of words of others.


def damaged(shape):
    A = sparse.csr_array(np.ones(shape) - np.eye(*shape))
    A.indices[-1] = 10**6
    return A


@pytest.mark.parametrize("call", [laplacian, PowerRegularizer, MatrixRegularizer, lambda A: solve_sdd(A, np.ones(4))])
def test_false_indices_end_no_process(call):
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        call(damaged((4, 4)))


def test_false_indices_in_data():
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        knn_graph(damaged((20, 3)))


def test_columns_of_one_name(X):
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    for call in (knn_graph, small().fit, lambda rows: LapSVC().fit(rows, FEW)):
        with pytest.raises(ValueError, match="several columns called 'a'"):
            call(frame)


def test_text_among_the_features(X):
    for call in (knn_graph, small().fit):
        with pytest.raises(ValueError, match=r"X must hold numbers: column 'kind' holds 'a'\. .*OneHotEncoder"):
            call(pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind="a"))


def fitted(X):
    return LapRLSClassifier(kernel=small()).fit(X, FEW)


def search(X, **options):
    given = {"estimator": LapRLSClassifier(kernel=small()), "param_grid": {"alpha": [0.1]}}
    return KernelSearchCV(**given | options).fit(X, FEW)


CLEAR = {
    "weights of a score": (lambda X: fitted(X).score(X, FEW, 2.0), "one weight per row"),
    "classes that are tuples": (
        lambda X: LapSVC().fit(X, pd.Series([(1, i % 2) for i in range(30)]).to_numpy()),
        "number or a text",
    ),
    "targets that are words": (lambda X: LapRLSRegressor().fit(X, np.full(30, "word")), "Targets must be numbers"),
    "R^2 of one target": (
        lambda X: LapRLSRegressor().fit(X, X[:, 0]).score(X[:1], X[:1, 0]),
        r"R\^2 .* at least 2",
    ),
    "folds without labels": (lambda X: list(LabeledKFold(2).split(X)), "one label per row"),
    "no candidates": (lambda X: search(X, param_grid=[]), "holds no candidate"),
    "cv of text": (lambda X: search(X, cv="3"), "'cv' parameter"),
    "scores that are none": (lambda X: search(X, scoring=lambda *arguments: None), "must return a number"),
    "refit": (lambda X: search(X, refit=np.ones(2)), "'refit' parameter"),
    "probability": (lambda X: LapSVC(probability=np.ones(2)).fit(X, FEW), "'probability' parameter"),
    "normalized": (lambda X: PowerRegularizer(EDGE, normalized=np.ones(2)), "'normalized' parameter"),
    "connect": (lambda X: knn_graph(X, connect="yes"), "'connect' parameter"),
    "neighbours": (lambda X: LapSVC(n_neighbors="5").fit(X, FEW), "'n_neighbors' parameter"),
    "neighbours in an array": (lambda X: LapSVC(n_neighbors=np.ones(2)).fit(X, FEW), "'n_neighbors' parameter"),
    "landmarks": (lambda X: LapSVC(n_landmarks="5").fit(X, FEW), "'n_landmarks' parameter"),
    "random_state": (lambda X: knn_graph(X, random_state=-1), "'random_state' parameter"),
    "random_state of clusters": (lambda X: KernelKMeans(2, random_state=-1).fit(X), "'random_state' parameter"),
    "seed of solvers": (lambda X: restrict(PowerRegularizer(EDGE), [0], random_state=[]), "'random_state' parameter"),
    "solver": (lambda X: restrict(PowerRegularizer(EDGE), [0], solver={}), "'solver' parameter"),
    "graph_params": (lambda X: small(graph_params=3).fit(X), "'graph_params' parameter"),
    "unknown graph_params": (lambda X: small(graph_params={"size": 3}).fit(X), "not among"),
    "base_kernel_params": (lambda X: small(base_kernel_params=3.0).fit(X), "'base_kernel_params' parameter"),
    "powers": (lambda X: Geometry.build(X, powers=2.0), "'powers' parameter"),
    "class to explain": (lambda X: fitted(X).explain(X, of=np.array([])), "not a class of this model"),
    "no powers": (lambda X: Geometry.build(X, powers=[]), "'powers' parameter"),
    "more neighbours than points": (
        lambda X: NeighborIndex(np.ones((5, 1))).query(np.ones((1, 1)), 4),
        "'k' parameter",
    ),
    "gigabits": (lambda X: plan(10**6, 3, gigabits={}), "'gigabits' must be"),
    "complex right-hand sides": (lambda X: solve_sdd(np.eye(2), [1j, 0]), "B must hold real numbers"),
    "complex matrices": (lambda X: solve_sdd(1j * np.eye(2), [1, 0]), "matrix of real numbers"),
    "large matrices": (lambda X: MatrixRegularizer(1e308 * np.eye(2)), "squares overflow"),
}


@pytest.mark.parametrize("name", CLEAR)
def test_clear_errors(X, name):
    call, message = CLEAR[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call(X)


def test_values_that_float64_does_not_hold(X):
    with pytest.raises(FloatRangeError, match="base kernel 'linear' reaches"):
        small(base_kernel="linear").fit(1e140 * X)
    with pytest.raises(FloatRangeError, match="base kernel 'poly' has values"):
        small(base_kernel="poly").fit(1e140 * X)
    with pytest.raises(FloatRangeError, match="add up to more than float64 holds"):
        laplacian(1e308 * (np.ones((3, 3)) - np.eye(3)))


# Files.


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formulas_in_text_files(tmp_path, suffix):
    """Spreadsheets compute cells that begin with these signs."""
    cells = np.array(["=1+1", "@x", "+cmd|x", "-x", "-5", "+1e3", "a=1", "", "\tx"], dtype=object)
    write_columns({"=name": cells, "value": np.arange(9.0) - 4.0}, tmp_path / f"out{suffix}")
    found = pd.read_csv(
        tmp_path / f"out{suffix}", sep="," if suffix == ".csv" else "\t", dtype=str, keep_default_na=False
    )
    assert found["'=name"].tolist() == ["'=1+1", "'@x", "'+cmd|x", "'-x", "-5", "+1e3", "a=1", "", "'\tx"]
    assert found["value"].tolist() == [str(number - 4.0) for number in range(9)]


def test_other_formats_keep_texts_as_they_are(tmp_path):
    write_columns({"name": np.array(["=1+1"], dtype=object)}, tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["name"].tolist() == ["=1+1"]


def no_room(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named(tmp_path):
    """The error of the system said neither which file nor which disk."""
    with pytest.raises(OSError, match=r"model\.hm"), atomic_write(tmp_path / "model.hm"):
        no_room()
    assert not list(tmp_path.iterdir())


def test_a_full_folder_for_temporary_files_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError, match=tmp_path.name):
        write_rows(map(no_room, [0]), (1, 1), np.float64)


def test_tables_of_trials_that_are_cut_short_are_refused(tmp_path):
    """Rows that were missing, and numbers that had lost digits, were read without a word."""
    whole = TrialTable(tmp_path / "whole.csv")
    for trial in range(3):
        whole.add(trial, [{"method": name, "error": (trial + 1) / 7} for name in ("a", "b")])
    text = (tmp_path / "whole.csv").read_bytes()
    assert TrialTable(tmp_path / "whole.csv").rows == whole.rows
    for length in range(len(text)):
        (tmp_path / "cut.csv").write_bytes(text[:length])
        with pytest.raises(DataFileError, match="cut short"):
            TrialTable(tmp_path / "cut.csv")


# Threads and forks.


def fail(*arguments):
    raise MemoryError("injected")


def fail_with(error):
    raise error


@pytest.mark.parametrize("name", ["_Job.run", "limit_openmp_here", "_Batch.deliver"])
def test_errors_on_the_way_to_a_task_are_raised(monkeypatch, name):
    """They ended the worker, and the caller waited for it for ever."""
    owner, _, attribute = name.rpartition(".")
    place = getattr(executor, owner) if owner else executor
    original, failed = getattr(place, attribute), []

    def failing_once(*arguments):
        if not failed:
            failed.append(True)
            fail()
        return original(*arguments)

    monkeypatch.setattr(place, attribute, failing_once)
    with executor.ThreadExecutor(2) as threads, pytest.raises(MemoryError, match="injected"):
        list(threads.map(pow, 2, range(20)))


def test_threads_that_end_before_their_tasks_are_noticed(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    monkeypatch.setattr(executor, "_work", fail)
    with executor.ThreadExecutor(2) as threads, pytest.raises(RuntimeError, match="All worker threads ended"):
        list(threads.map(pow, 2, range(20)))


def test_a_worker_that_dies_while_it_is_sent_something(monkeypatch):
    """The fit ended with "Stream is closed", or with the address of the worker.

    What goes to all workers at once (broadcast=True) stood still instead: the scheduler called the dead one for ever.
    """
    monkeypatch.setattr("halfmoon.runtime.distributed.PAUSE", 0.0)
    client, broken = mock.Mock(), [OSError("Stream is closed"), KeyError("tcp://127.0.0.1:33657")] * 2
    client.nthreads.return_value = {"worker": 1}
    client.scatter.side_effect = lambda parcel, workers, hash: fail_with(broken.pop()) if broken else parcel
    client.submit = lambda call, task, parcel, item, **place: mock.Mock(result=lambda timeout: call(task, parcel, item))
    assert list(DaskExecutor(client).map(pow, 2, range(5))) == [1, 2, 4, 8, 16]
    broken += [OSError("Stream is closed")] * 9
    with pytest.raises(RuntimeError, match="they keep dying"):
        list(DaskExecutor(client).map(pow, 2, range(5)))


def test_k_means_uses_one_thread_of_openmp(X, monkeypatch):
    """On several, a fork of a process that has clustered waited for ever for threads that it had not got."""
    fitting, seen = KMeans.fit, []

    def watched(self, rows, sample_weight=None):
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp")
        return fitting(self, rows, sample_weight=sample_weight)

    monkeypatch.setattr(KMeans, "fit", watched)
    KernelKMeans(2, kernel=small(), random_state=0).fit(X)
    assert set(seen) == {1}


# The labeller's server: these were answered with a status of 500.


@pytest.mark.parametrize("kind", [[], {}])
def test_actions_with_lists_for_words(kind):
    with pytest.raises(ActionError, match="is not known"):
        Labels(4, ("a", "b")).check({"kind": kind})


@pytest.mark.parametrize("length", [b"\xb2", b"9" * 5000])
def test_lengths_that_are_no_numbers(length):
    guard = Guard(None, port=1, token="t")
    scope = {"path": "/api/act", "method": "POST", "query_string": b""}
    headers = {"host": "localhost:1", "origin": "http://localhost:1", "content-length": length.decode("latin-1")}
    assert guard._refusal(scope, headers)[0] == 413


def test_a_body_of_nested_brackets():
    session = mock.Mock()
    app = make_app(session, Events(session, lambda: True), port=1, token="t")
    client = TestClient(app, base_url="http://localhost:1", raise_server_exceptions=False)
    client.get("/?token=t")
    for path, body in (("act", b"[" * 100_000), ("save", b'{"what": []}')):
        answer = client.post(f"/api/{path}", content=body, headers={"origin": "http://localhost:1"})
        assert answer.status_code == 400


# Errors of numpy that reached the user, and warnings without a class.


def test_folds_of_labels_that_are_sequences():
    y = pd.Series([(i % 2, i % 2) for i in range(8)], dtype=object)
    with pytest.raises(ValueError, match="A class is a number or a text"):
        list(LabeledKFold(2).split(np.zeros((8, 1)), y))


def test_flags_that_are_arrays(X):
    with pytest.raises(ValueError, match="'shuffle' parameter must be True or False"):
        list(LabeledKFold(2, shuffle=np.ones(2)).split(X, FEW))
    with pytest.raises(ValueError, match="'check_input' parameter must be True or False"):
        Geometry.build(X, check_input=np.ones(2))


def test_a_base_kernel_of_rank_zero():
    """All rows are 0, and so is the linear kernel: there was nothing to take the largest entry of."""
    kernel = small(base_kernel="linear").fit(np.zeros((30, 3)))
    assert np.isfinite(kernel(np.zeros((2, 3)))).all()


def test_parameters_that_a_base_kernel_does_not_take(X):
    with pytest.raises(ValueError, match="does not take base_kernel_params"):
        small(base_kernel_params={"x": "y"}).fit(X)


@pytest.mark.parametrize("form", ["bsr", "coo", "dia"])
def test_scores_of_sparse_rows_of_every_format(X, form):
    model = LapRLSClassifier(kernel=small()).fit(X, FEW)
    rows = getattr(sparse, f"{form}_array")(X)
    assert labeled_scorer("accuracy")(model, rows, FEW) == labeled_scorer("accuracy")(model, X, FEW)


def test_minus_one_as_a_text_has_a_warning_of_its_own(X):
    with pytest.warns(LabelWarning, match="class of its own"):
        LapRLSClassifier(kernel=small()).fit(X, FEW.astype(str))


def test_normalised_laplacians_of_tiny_weights():
    """Products of 1 / sqrt(degree) overflowed."""
    tiny = quiet(lambda: laplacian(5e-324 * EDGE, normalized=True))
    np.testing.assert_allclose(tiny.toarray(), [[1.0, -1.0], [-1.0, 1.0]])


def test_a_tiny_bandwidth_is_quiet_for_large_distances(X):
    weights = quiet(lambda: knn_graph(1e148 * X, weights="heat", bandwidth=1e-200)).data
    np.testing.assert_array_equal(weights, 1e-12)


@pytest.mark.parametrize("scale", [1e-139, 1e-100])
def test_bounds_of_linear_kernels_of_tiny_rows(X, scale):
    """The square of the largest value underflowed, and 0 times infinity was no bound."""
    kernel = small(base_kernel="linear").fit(scale * X)
    assert not np.isnan(kernel.kernel_error_bound())


def test_metrics_that_give_no_number(X):
    with pytest.raises(ValueError, match="gives no number"):
        small(metric=lambda a, b: None).fit(X)


def test_plans_of_impossible_size():
    with pytest.raises(ValueError, match="'threads' may be 1,000,000,000,000,000 at most"):
        plan(rows=10**6, features=10, threads=1e300)


def test_a_grid_that_is_an_array(X):
    with pytest.raises(TypeError, match="should be a dict or a list"):
        KernelSearchCV(LapSVC(kernel=small()), np.array(3)).fit(X, FEW)


def test_libsvm_files_with_an_index_of_two_thousand_millions(tmp_path):
    """The mean of so many features took all memory there was."""
    path = tmp_path / "far.libsvm"
    path.write_text("0 2000000000:1\n1 2:1\n")
    with pytest.raises(DataFileError, match="without gaps"):
        read_table(path)


def test_a_huge_gamma_on_huge_rows(X):
    """Infinitely many widths less infinite rounding: nothing is known, and distances are measured by subtraction."""
    rows = 1e148 * X
    K = quiet(lambda: rbf_kernel(rows, rows[::-1].copy(), 1e30))
    np.testing.assert_array_equal(K, np.eye(30)[::-1])


@pytest.mark.parametrize("metric", [np.array([]), np.array(["euclidean", "cosine"])])
def test_a_metric_that_is_an_array(X, metric):
    with pytest.raises(ValueError, match="'metric' parameter must be one of"):
        Geometry.build(X, metric=metric)


@pytest.mark.parametrize("target", [0.1, 5e-324])
def test_equal_targets_have_no_unit_for_a_disagreement(X, target):
    """It was 1e278 or overflowed: rounding over a variance of nearly 0."""
    model = LapRLSRegressor(kernel=small()).fit(X, np.where(FEW >= 0, target, np.nan))
    assert np.isnan(quiet(lambda: model.report_).disagreement)
