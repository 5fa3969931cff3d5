"""``info`` and ``diagnose`` read every file that ``save`` writes, and fit nothing."""

import json
import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import halfmoon as library
from halfmoon import DataDependentKernel, KernelKMeans, LandmarkFeatures, LapRLSRegressor, LapSVC
from halfmoon.model_selection import KernelSearchCV

SMALL = {"n_neighbors": 6, "n_landmarks": 20, "random_state": 0}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 3))
    return X, np.where(np.arange(60) < 20, np.arange(60) % 2, -1)


MODELS = {
    "LapSVC": lambda X, y: LapSVC(**SMALL).fit(X, y),
    "LapRLSRegressor": lambda X, y: LapRLSRegressor(**SMALL).fit(X, np.where(y < 0, np.nan, X[:, 0])),
    "KernelKMeans": lambda X, y: KernelKMeans(2, kernel=DataDependentKernel(**SMALL), random_state=0).fit(X),
    "DataDependentKernel": lambda X, y: DataDependentKernel(**SMALL).fit(X),
    "LandmarkFeatures": lambda X, y: LandmarkFeatures(kernel=DataDependentKernel(**SMALL)).fit(X),
    "Pipeline": lambda X, y: make_pipeline(StandardScaler(), LapSVC(**SMALL)).fit(X, y),
    "KernelSearchCV": lambda X, y: KernelSearchCV(LapSVC(**SMALL), {"kernel__eta": [0.1, 1.0]}, cv=2).fit(X, y),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_python(halfmoon, data, tmp_path, monkeypatch, name):
    path = tmp_path / "m.hm"
    library.save(MODELS[name](*data), path)
    for estimator in (LapSVC, LapRLSRegressor, KernelKMeans, DataDependentKernel, LandmarkFeatures, KernelSearchCV):
        monkeypatch.setattr(estimator, "fit", lambda *_, **__: pytest.fail("fitted"))
    facts = json.loads(halfmoon(f"info {path} --json").stdout)
    assert (facts["estimator"], facts["rows"], facts["landmarks"]) == (name, 60, 20)
    text = halfmoon(f"info {path}").stdout
    assert re.search(rf"^estimator +{name}$", text, flags=re.M)
    result = halfmoon(f"diagnose {path}")
    assert result.exit_code == 0
    assert re.search(r"graph: \d+ components?[ ,]", result.stdout)
    assert sum(json.loads(halfmoon(f"diagnose {path} --json").stdout)["component_sizes"]) == 60


def test_a_model_of_fit(files, halfmoon, flowers_model):
    saved = halfmoon("diagnose once.hm").stdout.splitlines()
    fitted = halfmoon("diagnose flowers.csv --target species").stdout.splitlines()
    assert saved[:-1] == fitted[:-1]


def test_what_is_not_fitted_has_no_diagnosis(halfmoon, tmp_path):
    library.save(LapSVC(n_neighbors=7), tmp_path / "m.hm")
    facts = json.loads(halfmoon(f"info {tmp_path / 'm.hm'} --json").stdout)
    assert facts["fitted"] is False
    assert facts["parameters"] == {"n_neighbors": "7"}
    result = halfmoon(f"diagnose {tmp_path / 'm.hm'}")
    assert result.exit_code == 2
    assert "There is no fitted kernel of halfmoon in this LapSVC" in result.stderr


@pytest.mark.parametrize("command", ["diagnose", "check-labels"])
def test_options_of_fits_do_not_go_with_models(files, halfmoon, flowers_model, command):
    result = halfmoon(f"{command} once.hm --neighbors 3")
    assert result.exit_code == 2
    assert "this is a model, which is not fitted again. Leave --neighbors out, or name data." in result.stderr
