"""Hostile values for every parameter of every public class and function, on harmless data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmoon import (
    DataDependentKernel,
    Geometry,
    KernelKMeans,
    LandmarkFeatures,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    restrict,
    select_landmarks,
)
from halfmoon.graph import knn_graph
from halfmoon.model_selection import KernelSearchCV, LabeledKFold
from halfmoon.planning import plan
from halfmoon.regularizers import HeatRegularizer, PowerRegularizer
from halfmoon.solvers import solve_sdd
from reliability.hostile_rows import Rows, harmless
from reliability.judge import Result

__all__ = ["PARAMETERS", "PARAMETER_CALLS", "Setting"]


@dataclass(frozen=True)
class Setting:
    """A value and the data to try it on."""

    value: Any
    rows: Rows
    plain: None = None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a call must not change."""
        return self.rows.inputs


VALUES: dict[str, Any] = {
    "None": None,
    "-1": -1,
    "0": 0,
    "1": 1,
    "2": 2,
    "10**9": 10**9,
    "-10**30": -(10**30),
    "10**30": 10**30,
    "0.0": 0.0,
    "0.5": 0.5,
    "2.0": 2.0,
    "2.5": 2.5,
    "1e-300": 1e-300,
    "1e-30": 1e-30,
    "1e30": 1e30,
    "1e300": 1e300,
    "inf": np.inf,
    "-inf": -np.inf,
    "NaN": np.nan,
    "True": True,
    "False": False,
    "empty text": "",
    "text": "x",
    "digits": "3",
    "bytes": b"x",
    "list": [],
    "tuple": (1, 2),
    "dict": {},
    "dict of nonsense": {"x": "y"},
    "array": np.array([1.0, 2.0]),
    "empty array": np.array([]),
    "int64": np.int64(3),
    "uint8": np.uint8(3),
    "float32": np.float32(0.5),
    "array of one number": np.array(3),
    "complex": 1j,
    "function": lambda *arguments: None,
    "object": object(),
}
LEFT_OUT = {
    "verbose",
    "progress",
    "checkpoint",
    "memory",
    "instant_refits",
    "n_jobs",
    "max_memory",
    "self",
    "estimator",
}


def _kernel(rows: Rows, **options: Any) -> DataDependentKernel:
    return DataDependentKernel(**{"n_neighbors": 5, "n_landmarks": 6, "random_state": 0, "n_jobs": 1} | options)


def _try_kernel(rows: Rows, **options: Any) -> Any:
    return _kernel(rows, **options).fit(rows.X)(rows.X)


def _try_geometry(rows: Rows, **options: Any) -> Any:
    options = {"n_neighbors": 5, "n_landmarks": 6, "random_state": 0, "n_jobs": 1} | options
    return Geometry.build(rows.X, **options).landmarks


def _try_classifier(estimator: Any) -> Callable[..., Any]:
    def run(rows: Rows, **options: Any) -> Any:
        return (
            estimator(**{"kernel": _kernel(rows), "random_state": 0} | options)
            .fit(rows.X, rows.y)
            .decision_function(rows.X)
        )

    return run


def _try_regressor(rows: Rows, **options: Any) -> Any:
    return LapRLSRegressor(**{"kernel": _kernel(rows), "random_state": 0} | options).fit(rows.X, rows.t).predict(rows.X)


def _try_kmeans(rows: Rows, **options: Any) -> Any:
    given = {"n_clusters": 2, "kernel": _kernel(rows), "n_init": 1, "random_state": 0}
    return KernelKMeans(**given | options).fit(rows.X).labels_


def _try_features(rows: Rows, **options: Any) -> Any:
    return LandmarkFeatures(**{"kernel": _kernel(rows), "random_state": 0} | options).fit(rows.X).transform(rows.X)


def _try_search(rows: Rows, **options: Any) -> Any:
    given = {"estimator": LapRLSClassifier(kernel=_kernel(rows)), "param_grid": {"alpha": [0.1, 1.0]}, "cv": 2}
    return KernelSearchCV(**given | options).fit(rows.X, rows.y).cv_results_["mean_test_score"]


def _try_folds(rows: Rows, **options: Any) -> Any:
    return [len(test) for _, test in LabeledKFold(**{"n_splits": 2, "random_state": 0} | options).split(rows.X, rows.y)]


def _try_graph(rows: Rows, **options: Any) -> Any:
    W = knn_graph(rows.X, **{"n_jobs": 1, "random_state": 0} | options)
    return W[0] if isinstance(W, tuple) else W


def _try_landmarks(rows: Rows, **options: Any) -> Any:
    return select_landmarks(rows.X, **{"n_landmarks": 5, "random_state": 0} | options)


def _try_power(rows: Rows, **options: Any) -> Any:
    return restrict(PowerRegularizer(knn_graph(rows.X, random_state=0), **options), [0, 1]).smooth


def _try_heat(rows: Rows, **options: Any) -> Any:
    return restrict(HeatRegularizer(knn_graph(rows.X, random_state=0), **options), [0, 1]).smooth


def _try_restrict(rows: Rows, **options: Any) -> Any:
    return restrict(
        PowerRegularizer(knn_graph(rows.X, random_state=0)), **{"landmarks": [0, 1], "n_jobs": 1} | options
    ).smooth


def _try_solve(rows: Rows, **options: Any) -> Any:
    A = 3.0 * np.eye(4) - np.ones((4, 4)) / 2
    return solve_sdd(A, np.arange(4.0), **options).X


def _try_plan(_: Rows, /, **options: Any) -> Any:
    return plan(**{"rows": 10**6, "features": 10} | options).seconds


def _try_prediction(method: str) -> Callable[..., Any]:
    def run(rows: Rows, **options: Any) -> Any:
        model = LapRLSClassifier(kernel=_kernel(rows)).fit(rows.X, rows.y)
        found = getattr(model, method)(*([] if method == "conformal_guarantee" else [rows.X]), **options)
        return found.proven if method == "conformal_guarantee" else len(found)

    return run


def _try_interval(rows: Rows, **options: Any) -> Any:
    return len(LapRLSRegressor(kernel=_kernel(rows)).fit(rows.X, rows.t).predict_interval(rows.X, **options))


TRIED: dict[str, tuple[Any, Callable[..., Any]]] = {
    "DataDependentKernel": (DataDependentKernel, _try_kernel),
    "Geometry.build": (Geometry.build, _try_geometry),
    "LapSVC": (LapSVC, _try_classifier(LapSVC)),
    "LapRLSClassifier": (LapRLSClassifier, _try_classifier(LapRLSClassifier)),
    "LapRLSRegressor": (LapRLSRegressor, _try_regressor),
    "KernelKMeans": (KernelKMeans, _try_kmeans),
    "LandmarkFeatures": (LandmarkFeatures, _try_features),
    "KernelSearchCV": (KernelSearchCV, _try_search),
    "LabeledKFold": (LabeledKFold, _try_folds),
    "knn_graph": (knn_graph, _try_graph),
    "select_landmarks": (select_landmarks, _try_landmarks),
    "PowerRegularizer": (PowerRegularizer, _try_power),
    "HeatRegularizer": (HeatRegularizer, _try_heat),
    "restrict": (restrict, _try_restrict),
    "solve_sdd": (solve_sdd, _try_solve),
    "plan": (plan, _try_plan),
    "predict_set": (LapSVC.predict_set, _try_prediction("predict_set")),
    "explain": (LapSVC.explain, _try_prediction("explain")),
    "conformal_guarantee": (LapSVC.conformal_guarantee, _try_prediction("conformal_guarantee")),
    "predict_interval": (LapRLSRegressor.predict_interval, _try_interval),
}


def _maker(value: Any) -> Callable[[np.random.Generator], Setting]:
    return lambda rng: Setting(value, harmless(rng))


def _call(run: Callable[..., Any], parameter: str) -> Callable[[Setting], dict[str, Result]]:
    return lambda setting: {"result": Result(run(setting.rows, **{parameter: setting.value}))}


def _parameters(target: Any) -> list[str]:
    names = list(inspect.signature(target).parameters)
    return [
        name for name in names if name not in LEFT_OUT | {"X", "W", "Q", "A", "B", "y"} and not name.startswith("_")
    ]


PARAMETERS: dict[str, dict[str, Callable[[np.random.Generator], Setting]]] = {
    "value": {name: _maker(value) for name, value in VALUES.items()},
    "seed": {name: _maker(value) for name, value in VALUES.items() if name != "None"},  # None: numpy's global state
    "value within reason": {
        name: _maker(value) for name, value in VALUES.items() if name not in ("10**9", "10**30", "1e30", "1e300", "inf")
    },
}
AS_LARGE_AS_ASKED = ("n_init", "max_iter")  # work that is asked for is not an error
PARAMETER_CALLS: dict[str, tuple[tuple[str, ...], Callable[[Setting], dict[str, Result]]]] = {
    f"{name}({parameter}=)": (
        (
            "value within reason"
            if parameter in AS_LARGE_AS_ASKED
            else "seed"
            if parameter == "random_state"
            else "value",
        ),
        _call(run, parameter),
    )
    for name, (target, run) in TRIED.items()
    for parameter in _parameters(target)
}
