"""Properties of the semi-supervised estimators."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
from sklearn.base import clone

from halfmoon import (
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    load,
    save,
)
from reliability.properties._claims import claim
from reliability.properties._data import ESTIMATOR, SEEDS, SIZES, close, sample


@claim("refitting is fitting", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _refit(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    other = np.roll(data.y, 3)
    again = make(data.kernel()).fit(data.X, data.y).refit(other)
    close(again.decision_function(data.Z), make(data.kernel()).fit(data.X, other).decision_function(data.Z), 1e-6)


@claim("fitting twice gives the same model", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _repeatable(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    first = model.decision_function(data.Z)
    assert np.array_equal(clone(model).fit(data.X, data.y).decision_function(data.Z), first)
    assert np.array_equal(model.fit(data.X, data.y).decision_function(data.Z), first)


@claim("predictions do not depend on the number of threads", seed=SEEDS, n=SIZES)
def _threads(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    first, second = (
        LapRLSClassifier(kernel=data.kernel(n_jobs=jobs)).fit(data.X, data.y).decision_function(data.Z)
        for jobs in (1, 2)
    )
    assert np.array_equal(first, second)


@claim("predictions of blocks are those of the whole", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _blocks(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    parts = np.concatenate([model.decision_function(data.Z[i : i + 1]) for i in range(7)])
    close(parts, model.decision_function(data.Z), 1e-11)


@claim("a weight of 2 is a labelled row twice", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _weights(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    weights = np.ones(len(data.X))
    weights[0] = 2.0
    weighted = make(data.kernel()).fit(data.X, data.y, sample_weight=weights)
    X, y = np.vstack([data.X, data.X[:1]]), np.append(data.y, data.y[0])
    twice = make(data.kernel()).fit(X, y)
    close(twice.decision_function(data.Z), weighted.decision_function(data.Z), 1e-5)


@claim("an unlabelled row twice is the row once", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _copies(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    once = make(data.kernel()).fit(data.X, data.y)
    X, y = np.vstack([data.X, data.X[-1:]]), np.append(data.y, -1)
    twice = make(data.kernel()).fit(X, y)
    close(twice.decision_function(data.Z), once.decision_function(data.Z), 1e-6)


@claim("classes under other names keep their decision values", seed=SEEDS, n=SIZES)
def _names(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    names = np.array(["c", "a", "b", None], dtype=object)  # -1 is the last
    model = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, data.y)
    renamed = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, names[data.y])
    close(renamed.decision_function(data.Z), model.decision_function(data.Z)[:, [1, 2, 0]], 1e-8)


@claim("the unit of the features does not matter to a model", seed=SEEDS, n=SIZES, exponent=st.integers(-200, 200))
def _units(seed: int, n: int, exponent: int) -> None:
    data = sample(seed, n)
    first = LapRLSClassifier(kernel=data.kernel()).fit(data.X, data.y).decision_function(data.Z)
    X, Z = np.ldexp(data.X, exponent), np.ldexp(data.Z, exponent)
    close(LapRLSClassifier(kernel=data.kernel()).fit(X, data.y).decision_function(Z), first, 1e-6)


@claim("regression follows the unit and the origin of the targets", seed=SEEDS, n=SIZES, exponent=st.integers(-60, 60))
def _affine(seed: int, n: int, exponent: int) -> None:
    data = sample(seed, n)
    first = LapRLSRegressor(0.1, kernel=data.kernel()).fit(data.X, data.t).predict(data.Z)
    moved = LapRLSRegressor(0.1, kernel=data.kernel()).fit(data.X, np.ldexp(data.t + 3.0, exponent))
    close(np.ldexp(moved.predict(data.Z), -exponent) - 3.0, first, 1e-6)


@claim("training rows are predicted as they were transduced", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _transduction(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    close(model.decision_function(data.X), model.decision_function_, 1e-6)


@claim("probabilities are between 0 and 1 and add up to 1", seed=SEEDS, n=SIZES, classes=st.integers(2, 4))
def _probabilities(seed: int, n: int, classes: int) -> None:
    data = sample(seed, n, classes=classes)
    P = LapSVC(kernel=data.kernel(), probability=True).fit(data.X, data.y).predict_proba(data.Z)
    assert P.min() >= 0.0
    assert P.max() <= 1.0
    close(P.sum(axis=1), np.ones(7), 1e-12)


@claim("prediction sets grow with their level", seed=SEEDS, n=SIZES)
def _levels(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    model = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, data.y)
    sets = [model.predict_set(data.Z, level) for level in (0.3, 0.6, 0.8)]
    assert (sets[0] <= sets[1]).all()
    assert (sets[1] <= sets[2]).all()


@claim("explanations add up to the decision value", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _explanations(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    totals = [point.shares.sum() + point.intercept for point in model.explain(data.Z, of=1)]
    close(totals, model.decision_function(data.Z), 1e-5)


@claim("model files give the same predictions", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _files(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        again = load(Path(folder, "model"))
    assert np.array_equal(again.decision_function(data.Z), model.decision_function(data.Z))


@claim("pickles give the same predictions", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _pickles(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(data.Z), model.decision_function(data.Z))


@claim("a fit that fails leaves the model as it was", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _transaction(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    before = model.decision_function(data.Z)
    try:
        model.fit(np.where(data.X[0, 0] == data.X, np.nan, data.X), data.y)
    except ValueError:
        assert np.array_equal(model.decision_function(data.Z), before)
    else:
        raise AssertionError("NaN was accepted")
