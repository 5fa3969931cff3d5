"""Decision values are sums of shares of the labelled rows, and paths run along the graph."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC, load, save
from halfmoon.semi_supervised._explain import explain

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")

CLASSIFIERS = [LapSVC, LapRLSClassifier]
KERNELS = [{}, {"extension": "graph"}, {"extension": "kernel"}, {"method": "full"}, {"method": "budget"}]


@pytest.fixture(params=[2, 4], ids=["two classes", "four classes"])
def blobs(request, rng):
    X, y = make_blobs(160, centers=request.param, random_state=int(rng.integers(1 << 31)))
    few = np.full(160, -1)
    for c in range(request.param):
        few[rng.choice(np.flatnonzero(y == c), 5, replace=False)] = c
    return X, y, few


def kernel_of(**parameters):
    return DataDependentKernel(n_neighbors=8, n_landmarks=40, random_state=0, **parameters)


def value_of(model, X, classes):
    """The decision value of each row for a class of its own; two classes share a function."""
    values = model.decision_function(X)
    if values.ndim == 1:
        return np.where(classes == model.classes_[1], values, -values)
    return values[np.arange(len(values)), np.searchsorted(model.classes_, classes)]


@pytest.mark.parametrize("parameters", KERNELS, ids=str)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_shares_and_intercept_add_up_to_the_decision_value(estimator, parameters, blobs, rng):
    X, _, few = blobs
    shares = rng.dirichlet(np.full(few.max() + 1, 5.0))
    model = estimator(kernel=kernel_of(**parameters), priors=shares).fit(X, few)
    points = np.concatenate([X[:20], rng.normal(size=(20, 2))])
    why = model.explain(points)
    assert_array_equal(why.of, model.predict(points))
    assert_array_equal(why.predictions, why.of)
    assert_allclose(why.total, value_of(model, points, why.of), rtol=1e-12)
    assert_allclose(why.shares.sum(axis=1) + why.intercept, why.total, atol=1e-6 * np.abs(why.shares).max())


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_a_class_can_be_named(estimator, blobs):
    X, _, few = blobs
    model = estimator(kernel=kernel_of()).fit(X, few)
    for name in model.classes_:
        why = model.explain(X[:9], of=name)
        assert_allclose(why.shares.sum(axis=1) + why.intercept, value_of(model, X[:9], np.full(9, name)), atol=1e-6)
    with pytest.raises(ValueError, match=r"of=9 is not a class of this model. It has \[0, 1"):
        model.explain(X[:9], of=9)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_shares_are_dual_times_kernel_above_the_least_similar_row(estimator, blobs):
    X, _, few = blobs
    model = estimator(kernel=kernel_of(extension="graph")).fit(X, few)
    learned = model.learned_
    K, _ = learned.mixture.cross(learned.choice.weights, X[:30])
    dual = model.dual_coef_[:, -1]  # of the last class
    used = dual != 0.0
    expected = np.where(used, dual * (K - K[:, used].min(axis=1, keepdims=True)), 0.0)
    assert_allclose(model.explain(X[:30], of=few.max()).shares, expected, atol=1e-6 * np.abs(expected).max())


def test_a_point_is_explained_alike_alone_and_among_others(blobs):
    X, _, few = blobs
    model = LapSVC(kernel=kernel_of()).fit(X, few)
    together = model.explain(X[:6])
    for i in range(6):
        assert_allclose(model.explain(X[[i]]).shares[0], together.shares[i], atol=1e-8)


def test_a_prediction_of_a_number_is_a_mean_of_the_targets(rng):
    """Weights h_i(x) sum to 1: a constant added to all targets is added to all predictions, and changes no share."""
    X = rng.normal(size=(120, 2))
    y = np.where(np.arange(120) < 25, X[:, 0] + np.sin(3 * X[:, 1]), np.nan)
    model = LapRLSRegressor(alpha=0.1, kernel=kernel_of(extension="graph")).fit(X, y)
    why = model.explain(X[50:70])
    assert why.of is None
    assert_allclose(why.total, model.predict(X[50:70]))
    assert_allclose(why.shares.sum(axis=1) + why.intercept, why.total, rtol=1e-6)
    weights = why.shares / (why.labels - why.intercept[0])
    assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    assert_allclose(model.refit(y + 7.0).explain(X[50:70]).shares, why.shares, atol=1e-6 * np.abs(why.shares).max())
    with pytest.raises(ValueError, match="a regressor has one function"):
        model.explain(X[:1], of=3)


def test_rows_are_those_of_fit(rng):
    """Copies are one point; an example goes by the first row that has its label, not by an unlabelled copy."""
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    few = np.full(80, -1)
    labeled = np.array([3, 7, 20, 25, 41, 60])  # some are the second of two copies
    few[labeled] = [0, 1, 0, 1, 0, 1]
    for estimator in CLASSIFIERS:
        why = estimator(kernel=kernel_of()).fit(X, few).explain(X[:4])
        assert_array_equal(np.sort(why.rows), labeled)
        assert_array_equal(why.labels, few[why.rows])


def test_rows_of_weight_0_keep_their_numbers(rng):
    X, few = rng.normal(size=(60, 2)), np.full(60, -1)
    few[[10, 20, 30, 40]] = [0, 1, 0, 1]
    weight = np.where(np.arange(60) < 9, 0.0, 1.0)
    why = LapRLSClassifier(kernel=kernel_of()).fit(X, few, weight).explain(X[50:])
    assert set(why.rows) == {10, 20, 30, 40}
    assert [path[-1] for path in why.paths if path is not None] == list(range(50, 60))


def test_paths_run_along_the_graph_from_the_row_with_the_largest_share(blobs, rng):
    X, _, few = blobs
    model = LapRLSClassifier(kernel=kernel_of(graph_params={"connect": True}, weights="heat")).fit(X, few)
    W = model.kernel_.graph_
    new = X[:30] + 0.01 * rng.normal(size=(30, 2))
    nearest = model.kernel_.geometry_.index.query(new, 1)[1][:, 0]
    for point, end in zip(model.explain(new), nearest, strict=True):
        assert point.path[0] == point.rows[point.shares.argmax()]
        assert point.path[-1] == end
        steps = np.array([W[a, b] for a, b in itertools.pairwise(point.path)])
        assert np.all(steps > 0.0)
        assert point.length == pytest.approx(np.sum(1.0 / steps))


def test_no_path_where_the_base_kernel_decides_alone(rng):
    X = rng.normal(size=(60, 2))
    learned = LapRLSClassifier(kernel=kernel_of()).fit(X, np.where(np.arange(60) < 10, np.arange(60) % 2, -1)).learned_
    alone = replace(learned, choice=replace(learned.choice, weights={"base": 1.0}))
    point = explain(alone, X[[20]], np.zeros(1))[0]
    assert point.path is None
    assert "no path: the graph has no weight in this model" in str(point)


def test_no_path_where_there_is_none(rng):
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1e3])
    few = np.full(80, -1)
    few[:6] = [0, 1, 0, 1, 0, 1]
    model = LapSVC(kernel=kernel_of()).fit(X, few)
    here, there = model.explain(X[[20, 60]])
    assert here.path is not None
    assert there.path is None
    assert there.length == np.inf
    assert "no path in the graph" in str(there)
    assert json.loads(json.dumps(there.to_dict()))["path_length"] is None
    given = LapSVC(kernel=DataDependentKernel(regularizer=sparse.eye_array(80), extension="graph")).fit(X, few)
    assert given.explain(X[:2]).paths == (None, None)


def test_text_html_and_json_say_the_same(blobs):
    X, _, few = blobs
    names = np.array(["<a>", "b", "c", "d"])
    y = pd.Series([names[c] if c >= 0 else None for c in few], dtype=object)
    why = LapSVC(kernel=kernel_of()).fit(X, y).explain(X[:12])
    point, told = why[-1], json.loads(json.dumps(why.to_dict()))["points"][-1]
    assert [entry["row"] for entry in told["shares"]] == point.rows.tolist()
    sizes = [abs(entry["share"]) for entry in told["shares"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(entry["share"] for entry in told["shares"]) + told["intercept"] == pytest.approx(told["total"])
    assert sum(share for _, _, share in point.summands()) == pytest.approx(point.total)
    assert str(point).startswith(f"row 11: {point.prediction}, decision value {point.total:+.4g}")
    assert str(why).endswith("... and 2 more points")
    html = why._repr_html_()
    assert "&lt;a&gt;" in html
    assert "<a>" not in html
    assert html.count("<table>") == 10


def test_a_saved_model_explains_the_same(blobs, tmp_path):
    X, _, few = blobs
    model = LapSVC(kernel=kernel_of()).fit(X, few)
    save(model, tmp_path / "model")
    why, again = model.explain(X[:5]), load(tmp_path / "model").explain(X[:5])
    assert_allclose(again.shares, why.shares, atol=1e-9)
    assert_array_equal(again.rows, why.rows)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
@pytest.mark.parametrize("instant", [False, True])
def test_training_rows_have_the_shares_of_points(estimator, instant, rng):
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9.0])  # two components
    few = np.where(np.arange(120) % 10 == 0, np.arange(120) // 40, -1)
    model = estimator(n_neighbors=6, n_landmarks=30, random_state=0, instant_refits=instant).fit(X, few)
    rows = rng.choice(120, 15, replace=False)
    ours, points = model.explain_rows(rows), model.explain(X[rows])
    assert_allclose(ours.shares, points.shares, atol=1e-4)
    assert_allclose(ours.shares.sum(axis=1) + ours.intercept, ours.total, atol=1e-4)
    assert ours[0].path is None
