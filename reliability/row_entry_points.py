"""Every public entry point that reads rows, as a function of a data set: name -> what it reads, and the call.

A call returns arrays with the shapes they must have. Calls that begin with "new rows" fit to harmless data and meet the
hostile rows afterwards.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

import halfmoon
from halfmoon import (
    DataDependentKernel,
    Geometry,
    KernelKMeans,
    LandmarkFeatures,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    select_landmarks,
)
from halfmoon.graph import find_duplicates, knn_graph
from halfmoon.kernels import warp
from halfmoon.model_selection import KernelSearchCV, LabeledKFold, labeled_scorer
from reliability.hostile_rows import Rows
from reliability.judge import Result

__all__ = ["DISCONTINUOUS", "ROW_CALLS"]

Call = Callable[[Rows], dict[str, Result]]
ROW_CALLS: dict[str, tuple[tuple[str, ...], Call]] = {}


def entry(name: str, *reads: str) -> Callable[[Call], Call]:
    """Enter a call in the table; `reads` are the tables of hostile inputs that it is tried on."""

    def enter(call: Call) -> Call:
        ROW_CALLS[name] = (reads, call)
        return call

    return enter


def kernel_of(rows: Rows, **options: Any) -> DataDependentKernel:
    """Return a small kernel."""
    return DataDependentKernel(
        **{"n_neighbors": rows.n_neighbors, "n_landmarks": rows.n_landmarks, "random_state": 0, "n_jobs": 1} | options
    )


# Graphs and landmarks.


def _graph_call(**options: Any) -> Call:
    def call(rows: Rows) -> dict[str, Result]:
        W = knn_graph(rows.X, n_neighbors=rows.n_neighbors, random_state=0, n_jobs=1, **options)
        return {"W": Result(W, (rows.n, rows.n)), "asymmetry": Result(abs(W - W.T).max())}

    return call


GRAPHS: dict[str, dict[str, Any]] = {
    "auto": {},
    "kdtree": {"method": "kdtree"},
    "exact": {"method": "exact"},
    "approximate": {"method": "approximate"},
    "manhattan": {"metric": "manhattan"},
    "cosine": {"metric": "cosine"},
    "heat": {"weights": "heat"},
    "heat, bandwidth 1e-200": {"weights": "heat", "bandwidth": 1e-200},
    "self-tuning": {"weights": "self-tuning"},
    "mutual": {"symmetrize": "mutual"},
    "connected": {"connect": True},
    "connected cosine": {"connect": True, "metric": "cosine", "weights": "self-tuning"},
}
for name, options in GRAPHS.items():
    entry(f"knn_graph {name}", "X", "sizes")(_graph_call(**options))


@entry("knn_graph precomputed", "X")
def _precomputed(rows: Rows) -> dict[str, Result]:
    X, shape = rows.X, getattr(rows.X, "shape", ())
    n = min(shape) if len(shape) == 2 else 0
    can_be_cut = isinstance(X, np.ndarray) or getattr(X, "format", None) in ("csr", "csc", "lil", "dok")
    square = X[:n, :n] if n and can_be_cut else X
    W = knn_graph(square, n_neighbors=2, metric="precomputed", random_state=0)
    return {"W": Result(W, (n, n) if square is not X else (rows.n, rows.n))}


@entry("knn_graph callable metric", "X")
def _callable_metric(rows: Rows) -> dict[str, Result]:
    W = knn_graph(rows.X, n_neighbors=rows.n_neighbors, metric=_chebyshev, random_state=0)
    return {"W": Result(W, (rows.n, rows.n))}


def _chebyshev(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max())


@entry("find_duplicates", "X")
def _duplicates(rows: Rows) -> dict[str, Result]:
    if not isinstance(rows.X, np.ndarray):
        return {}
    from halfmoon._validation import check_points

    found = find_duplicates(check_points(rows.X))
    return {"point": Result(found.point, (rows.n,))} if hasattr(found, "point") else {}


for method in ("random", "kmeans++", "farthest"):

    @entry(f"select_landmarks {method}", "X", "y", "sizes")
    def _landmarks(rows: Rows, method: str = method) -> dict[str, Result]:
        S = select_landmarks(rows.X, rows.n_landmarks, method=method, y=rows.y, random_state=0)
        distinct = len(np.unique(S)) == len(S)
        return {"S": Result(S, (rows.n_landmarks,)), "distinct": Result(np.ones(1 if distinct else 2), (1,))}


# Geometry and kernels.


def _kernel_call(**options: Any) -> Call:
    def call(rows: Rows) -> dict[str, Result]:
        kernel = kernel_of(rows, **options).fit(rows.X, rows.y)
        K = kernel(rows.X)
        return {
            "K": Result(K, (rows.n, rows.n)),
            "diag": Result(kernel.diag(rows.X), (rows.n,)),
            "distance": Result(kernel.distance(rows.X), (rows.n, rows.n)),
            "error bound": Result(kernel.kernel_error_bound(), (), infinite=True),
        }

    return call


KERNELS: dict[str, dict[str, Any]] = {
    "default": {},
    "kernel extension": {"extension": "kernel"},
    "graph extension": {"extension": "graph"},
    "full": {"method": "full"},
    "budget": {"method": "budget"},
    "power 1": {"power": 1},
    "ridge 0": {"ridge": 0.0},
    "not normalized": {"normalized": False},
    "heat regularizer": {"regularizer": "heat"},
    "resistance": {"regularizer": "resistance"},
    "self-tuning": {"weights": "self-tuning"},
    "heat weights": {"weights": "heat"},
    "eta 0": {"eta": 0.0},
    "eta 1e12": {"eta": 1e12},
    "eta 1e-12": {"eta": 1e-12},
    "linear": {"base_kernel": "linear"},
    "polynomial": {"base_kernel": "polynomial"},
    "laplacian": {"base_kernel": "laplacian"},
    "gamma 1e-30": {"gamma": 1e-30},
    "gamma 1e30": {"gamma": 1e30},
    "unscaled": {"scale": None},
    "kmeans++": {"landmarks": "kmeans++"},
    "farthest": {"landmarks": "farthest"},
    "cosine": {"metric": "cosine"},
    "direct": {"solver": "direct"},
    "cg": {"solver": "cg"},
    "approx_cholesky": {"solver": "approx_cholesky"},
    "eigen": {"solver": "eigen"},
}
for name, options in KERNELS.items():
    fields = ("X", "y", "sizes") if name in ("default", "budget") else ("X", "sizes")
    entry(f"DataDependentKernel {name}", *fields)(_kernel_call(**options))


@entry("DataDependentKernel interpolate", "X", "sizes")
def _interpolate(rows: Rows) -> dict[str, Result]:
    kernel = kernel_of(rows).fit(rows.X)
    h_hat = np.linspace(-1.0, 1.0, len(kernel.landmark_indices_))
    return {"h": Result(kernel.interpolate(h_hat), (rows.n,))}


@entry("Geometry and warp", "X", "sizes")
def _geometry(rows: Rows) -> dict[str, Result]:
    geometry = Geometry.build(
        rows.X, n_neighbors=rows.n_neighbors, n_landmarks=rows.n_landmarks, powers=(1, 2), random_state=0, n_jobs=1
    )
    warped = warp(geometry, power=2)
    return {
        "rows": Result(geometry.rows(np.arange(min(3, rows.n)), 1), (min(3, rows.n), rows.n_landmarks)),
        "diag": Result(warped.diag(geometry.X), (geometry.X.shape[0],)),
    }


@entry("DataDependentKernel in SVC", "X")
def _svc(rows: Rows) -> dict[str, Result]:
    kernel = kernel_of(rows).fit(rows.X)
    model = SVC(kernel="precomputed", random_state=0).fit(kernel(rows.X), np.arange(rows.n) % 2)
    return {"values": Result(model.decision_function(kernel(rows.X)), (rows.n,))}


# Estimators.


def _classifier_call(make: Callable[[Rows], Any]) -> Call:
    def call(rows: Rows) -> dict[str, Result]:
        model = make(rows).fit(rows.X, rows.y, sample_weight=rows.weights)
        c = len(model.classes_)
        shape = (rows.n,) if c == 2 else (rows.n, c)
        return {
            "decision_function": Result(model.decision_function(rows.X), shape),
            "decision_function_": Result(model.decision_function_, shape),
            "transduction_": Result(_numbers(model, model.transduction_), (rows.n,), compared=False),
            "predict": Result(_numbers(model, model.predict(rows.X)), (rows.n,), compared=False),
        }

    return call


def _numbers(model: Any, predicted: Any) -> Any:
    """Return predicted classes as places in `classes_`, which do not depend on their names."""
    places = {label: place for place, label in enumerate(model.classes_.tolist())}
    return np.array([places[label] for label in np.asarray(predicted).tolist()])


CLASSIFIERS: dict[str, Callable[[Rows], Any]] = {
    "LapSVC": lambda rows: LapSVC(kernel=kernel_of(rows)),
    "LapSVC C=1e12": lambda rows: LapSVC(1e12, kernel=kernel_of(rows)),
    "LapSVC C=1e-12": lambda rows: LapSVC(1e-12, kernel=kernel_of(rows)),
    "LapSVC graph": lambda rows: LapSVC(kernel=kernel_of(rows, extension="graph")),
    "LapSVC kernel": lambda rows: LapSVC(kernel=kernel_of(rows, extension="kernel")),
    "LapSVC balanced": lambda rows: LapSVC(kernel=kernel_of(rows), class_weight="balanced", priors="balanced"),
    "LapRLSClassifier": lambda rows: LapRLSClassifier(kernel=kernel_of(rows)),
    "LapRLSClassifier alpha=1e-12": lambda rows: LapRLSClassifier(1e-12, kernel=kernel_of(rows)),
    "LapRLSClassifier alpha=1e12": lambda rows: LapRLSClassifier(1e12, kernel=kernel_of(rows)),
    "LapRLSClassifier budget": lambda rows: LapRLSClassifier(kernel=kernel_of(rows, method="budget")),
    "LapRLSClassifier priors": lambda rows: LapRLSClassifier(kernel=kernel_of(rows), priors="balanced"),
    "LapRLSClassifier instant": lambda rows: LapRLSClassifier(kernel=kernel_of(rows), instant_refits=True),
    "LapRLSClassifier of defaults": lambda rows: LapRLSClassifier(random_state=0, n_jobs=1),
    "LapSVC of defaults": lambda rows: LapSVC(random_state=0, n_jobs=1),
}
for name, make in CLASSIFIERS.items():
    entry(f"{name} fit", "X", "y", "weights", "sizes")(_classifier_call(make))
DISCONTINUOUS = (
    "1e-12",
    "1e12",
    "priors",
    "balanced",
    "connected cosine",
    "kmeans++",  # two candidates that are nearest to each other, and to nothing else, are equally good landmarks
)  # rounding decides: no two forms of the data agree


@entry("LapSVC probability", "X", "y", "weights")
def _probability(rows: Rows) -> dict[str, Result]:
    model = LapSVC(kernel=kernel_of(rows), probability=True).fit(rows.X, rows.y, sample_weight=rows.weights)
    P = model.predict_proba(rows.X)
    return {"P": Result(P, (rows.n, len(model.classes_))), "sum": Result(P.sum(axis=1), (rows.n,))}


@entry("LapSVC refit", "y", "weights")
def _refit(rows: Rows) -> dict[str, Result]:
    assert rows.clean is not None
    model = LapSVC(kernel=kernel_of(rows)).fit(rows.X, rows.clean.y)
    model.refit(rows.y, sample_weight=rows.weights)
    return {"values": Result(model.decision_function_)}


@entry("LapRLSClassifier label_issues", "X", "y", "weights")
def _issues(rows: Rows) -> dict[str, Result]:
    model = LapRLSClassifier(kernel=kernel_of(rows)).fit(rows.X, rows.y, sample_weight=rows.weights)
    return {"doubts": Result(len(model.label_issues()))}


for name in ("LapSVC", "LapRLSClassifier"):

    @entry(f"{name} report", "X", "y", "weights")
    def _report(rows: Rows, name: str = name) -> dict[str, Result]:
        model = CLASSIFIERS[name](rows).fit(rows.X, rows.y, sample_weight=rows.weights)
        report = model.report_
        counted = {"counted": Result(report.n_counted, ())}
        if not report.n_counted:  # then there is no score
            return counted
        scores = {"model": report.model, "base": report.base}  # count classes that rounding may decide between
        return counted | {of: Result(score.value, (), compared=False) for of, score in scores.items()}


@entry("LapSVC diagnose", "X", "y")
def _diagnose(rows: Rows) -> dict[str, Result]:
    assert str(LapSVC(kernel=kernel_of(rows)).fit(rows.X, rows.y).diagnose())
    return {}


@entry("LapRLSClassifier score", "X", "y", "weights")
def _score(rows: Rows) -> dict[str, Result]:
    model = LapRLSClassifier(kernel=kernel_of(rows)).fit(rows.X, rows.y, sample_weight=rows.weights)
    return {"score": Result(model.score(rows.X, rows.y, rows.weights), ())}


@entry("LapRLSClassifier pickled and cloned", "X", "y")
def _pickled(rows: Rows) -> dict[str, Result]:
    model = LapRLSClassifier(kernel=kernel_of(rows)).fit(rows.X, rows.y)
    again = pickle.load(io.BytesIO(pickle.dumps(model)))
    clone(model).fit(rows.X, rows.y)
    return {"values": Result(again.decision_function(rows.X))}


@entry("LapRLSClassifier saved", "X", "y")
def _saved(rows: Rows) -> dict[str, Result]:
    model = LapRLSClassifier(kernel=kernel_of(rows)).fit(rows.X, rows.y)
    with TemporaryDirectory() as folder:
        halfmoon.save(model, Path(folder) / "model")
        again = halfmoon.load(Path(folder) / "model")
    return {"values": Result(again.decision_function(rows.X)), "classes": Result(np.arange(len(again.classes_)))}


@entry("KernelSearchCV", "X", "y", "weights")
def _search(rows: Rows) -> dict[str, Result]:
    grid = {"kernel__eta": [0.1, 10.0], "alpha": [1e-3, 1.0]}
    search = KernelSearchCV(LapRLSClassifier(kernel=kernel_of(rows)), grid).fit(rows.X, rows.y, rows.weights)
    return {
        "scores": Result(search.cv_results_["mean_test_score"], (4,)),
        "values": Result(search.best_estimator_.decision_function(rows.X)),
    }


@entry("LabeledKFold", "y")
def _folds(rows: Rows) -> dict[str, Result]:
    splits = list(LabeledKFold(2, random_state=0).split(rows.X, rows.y))
    y = np.asarray(rows.y)
    are_targets = y.dtype.kind == "f" and bool((y[np.isfinite(y)] % 1.0).any())  # these are not stratified
    return {f"test {i}": Result(test, compared=not are_targets) for i, (_, test) in enumerate(splits)}


@entry("labeled_scorer", "X", "y")
def _scorer(rows: Rows) -> dict[str, Result]:
    model = LapRLSClassifier(kernel=kernel_of(rows)).fit(rows.X, rows.y)
    return {"score": Result(labeled_scorer("balanced_accuracy")(model, rows.X, rows.y), ())}


AMPLIFIED = 1e-3  # where a kernel is nearly singular, held-out values at a ridge of 1e-5 hold 1e5 times its rounding


def _regressor_call(make: Callable[[Rows], Any]) -> Call:
    def call(rows: Rows) -> dict[str, Result]:
        model = make(rows).fit(rows.X, rows.t, sample_weight=rows.weights)
        mean, std = model.predict(rows.X, return_std=True)
        return {
            "mean": Result(mean, (rows.n,)),
            "std": Result(std, (rows.n,), rtol=AMPLIFIED),
            "transduction_": Result(model.transduction_, (rows.n,)),
            "interval": Result(model.predict_interval(rows.X), (rows.n, 2), infinite=True, rtol=AMPLIFIED),
        }

    return call


REGRESSORS: dict[str, Callable[[Rows], Any]] = {
    "LapRLSRegressor": lambda rows: LapRLSRegressor(kernel=kernel_of(rows)),
    "LapRLSRegressor alpha=1e-12": lambda rows: LapRLSRegressor(1e-12, kernel=kernel_of(rows)),
    "LapRLSRegressor alpha=1e12": lambda rows: LapRLSRegressor(1e12, kernel=kernel_of(rows)),
    "LapRLSRegressor graph": lambda rows: LapRLSRegressor(0.1, kernel=kernel_of(rows, extension="graph")),
    "LapRLSRegressor of defaults": lambda rows: LapRLSRegressor(random_state=0, n_jobs=1),
}
for name, make in REGRESSORS.items():
    entry(f"{name} fit", "X", "t", "weights", "sizes")(_regressor_call(make))


@entry("LapRLSRegressor report", "X", "t", "weights")
def _regressor_report(rows: Rows) -> dict[str, Result]:
    model = LapRLSRegressor(kernel=kernel_of(rows)).fit(rows.X, rows.t, sample_weight=rows.weights)
    assert model.report_.to_json()  # of equal targets nothing can be explained: scores are NaN and JSON says null
    return {"rows": Result(model.report_.n_rows, ())}


@entry("LapRLSRegressor score", "X", "t", "weights")
def _regressor_score(rows: Rows) -> dict[str, Result]:
    model = LapRLSRegressor(kernel=kernel_of(rows)).fit(rows.X, rows.t, sample_weight=rows.weights)
    return {"score": Result(model.score(rows.X, rows.t, rows.weights), ())}


@entry("LapRLSRegressor label_issues", "X", "t")
def _regressor_issues(rows: Rows) -> dict[str, Result]:
    model = LapRLSRegressor(kernel=kernel_of(rows)).fit(rows.X, rows.t)
    return {"doubts": Result(len(model.label_issues()))}


@entry("KernelKMeans", "X", "sizes")
def _kmeans(rows: Rows) -> dict[str, Result]:
    model = KernelKMeans(2, kernel=kernel_of(rows), n_init=2, random_state=0).fit(rows.X)
    return {
        "labels_": Result(model.labels_, (rows.n,)),
        "predict": Result(model.predict(rows.X), (rows.n,)),
        "transform": Result(model.transform(rows.X), (rows.n, 2)),
    }


@entry("LandmarkFeatures", "X", "y", "sizes")
def _features(rows: Rows) -> dict[str, Result]:
    Z = LandmarkFeatures(kernel_of(rows)).fit(rows.X, rows.y).transform(rows.X)
    return {"rows": Result(np.zeros(Z.shape[0]), (rows.n,)), "inner products": Result(np.asarray(Z) @ np.asarray(Z).T)}


# Hostile rows at a model of harmless ones.


def _training(rows: Rows) -> Rows:
    assert rows.clean is not None
    return rows.clean


@lru_cache(maxsize=8)
def _fitted(name: str, features: int) -> Any:
    from reliability.hostile_rows import harmless

    clean = harmless(np.random.default_rng(features), n=30, d=features)
    kernel = kernel_of(clean)
    models: dict[str, Callable[[], Any]] = {
        "svc": lambda: LapSVC(kernel=kernel, probability=True).fit(clean.X, clean.y),
        "rls": lambda: LapRLSClassifier(kernel=kernel).fit(clean.X, clean.y),
        "regressor": lambda: LapRLSRegressor(kernel=kernel).fit(clean.X, clean.t),
        "kernel": lambda: kernel.fit(clean.X),
        "kmeans": lambda: KernelKMeans(2, kernel=kernel, n_init=2, random_state=0).fit(clean.X),
        "features": lambda: LandmarkFeatures(kernel).fit(clean.X),
    }
    return models[name]()


def _new(name: str, use: Callable[[Any, Any], Any], *, rowwise: bool = True, infinite: bool = False) -> None:
    @entry(f"new rows, {name}", "X")
    def call(rows: Rows) -> dict[str, Result]:
        value = np.asarray(use(_fitted(name.split()[0], _training(rows).X.shape[1]), rows.X))
        return {name: Result(value, (rows.n, *value.shape[1:]) if rowwise else None, infinite)}


_new("svc predict", lambda model, Z: model.predict(Z))
_new("svc decision_function", lambda model, Z: model.decision_function(Z))
_new("svc predict_proba", lambda model, Z: model.predict_proba(Z))
_new("svc predict_set", lambda model, Z: model.predict_set(Z))
_new("svc explain", lambda model, Z: [point.total for point in model.explain(Z)])
_new("rls decision_function", lambda model, Z: model.decision_function(Z))
_new("rls predict_set", lambda model, Z: model.predict_set(Z, level=0.5))
_new("rls explain", lambda model, Z: [point.shares.sum() for point in model.explain(Z)])
_new("regressor predict", lambda model, Z: np.column_stack(model.predict(Z, return_std=True)))
_new("regressor predict_interval", lambda model, Z: model.predict_interval(Z, 0.5), infinite=True)
_new("kernel call", lambda model, Z: model(Z))
_new("kernel cross", lambda model, Z: model(Z, model.points_))
_new("kernel diag", lambda model, Z: model.diag(Z))
_new("kernel distance", lambda model, Z: model.distance(Z))
_new("kernel append", lambda model, Z: model.append(Z).points_[-model.append(Z).n_samples_fit_ + 30 :])
_new("kernel gp", lambda model, Z: model.as_gp_kernel()(Z))
_new("kmeans predict", lambda model, Z: model.predict(Z))
_new("kmeans transform", lambda model, Z: model.transform(Z))
_new("features transform", lambda model, Z: model.transform(Z))


@entry("LapRLSClassifier partial_fit", "X")
def _partial_fit(rows: Rows) -> dict[str, Result]:
    first = _training(rows)
    model = LapRLSClassifier(kernel=kernel_of(first)).fit(first.X, first.y)
    model.partial_fit(rows.X, first.y[np.arange(rows.n) % first.n])
    return {"values": Result(model.decision_function_[first.n :])}
