"""Model files: the same bits come back, and nothing else does."""

import functools
import hashlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from halfmoon import (
    DataDependentKernel,
    KernelKMeans,
    LandmarkFeatures,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    __version__,
    load,
    save,
)
from halfmoon.exceptions import MissingExtraError, ModelFileError
from halfmoon.graph import knn_graph
from halfmoon.model_selection import KernelSearchCV
from halfmoon.persistence import FORMAT_VERSION
from halfmoon.regularizers import (
    AmplifiedResistance,
    HeatRegularizer,
    MatrixRegularizer,
    PowerRegularizer,
    SpectralRegularizer,
)
from model_files import members

X, Y = make_moons(120, noise=0.1, random_state=0)
FEW = np.where(np.arange(120) < 20, Y, -1)
TARGETS = np.where(np.arange(120) < 20, X[:, 0], np.nan)
NEW = X[::3] + 0.03
W = knn_graph(X, n_neighbors=10)
WORDS = [" ".join(np.random.default_rng(i).choice(["memory", "moon", "sun", "night", "day"], 9)) for i in range(120)]
TABLE = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.9, np.nan, X[:, 1]), "c": np.where(Y, "x", "y")})


def kernel(*args, **parameters):
    return DataDependentKernel(*args, **{"n_neighbors": 10, "n_landmarks": 25, "random_state": 0} | parameters)


def table_steps():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    names = make_column_selector(dtype_include=np.number)
    return ColumnTransformer([("numbers", numbers, names), ("words", OneHotEncoder(), ["c"])], remainder="passthrough")


KERNELS = {
    f"{regularizer}, {extension}, {method}": lambda r=regularizer, e=extension, m=method: kernel(
        regularizer=r, extension=e, method=m
    ).fit(X)
    for regularizer in ("power", "heat", "resistance")
    for extension in ("graph", "kernel")
    for method in ("efficient", "full", "budget")
} | {
    "given graph": lambda: kernel(graph=W).fit(X),
    "networkx graph": lambda: kernel(graph=nx.from_scipy_sparse_array(W)).fit(X),
    "lil graph": lambda: kernel(graph=sparse.lil_array(W)).fit(X),
    "PowerRegularizer": lambda: kernel(regularizer=PowerRegularizer(W)).fit(X),
    "HeatRegularizer": lambda: kernel(regularizer=HeatRegularizer(W, t=2.0)).fit(X),
    "AmplifiedResistance": lambda: kernel(regularizer=AmplifiedResistance(W)).fit(X),
    "MatrixRegularizer": lambda: kernel(regularizer=MatrixRegularizer(np.eye(120) + np.diag(np.arange(120.0)))).fit(X),
    "matrix": lambda: kernel(regularizer=sparse.diags_array(1.0 + np.arange(120.0)).tocsr()).fit(X),
    "Gaussian-process base": lambda: kernel(ConstantKernel(2.0) * RBF()).fit(X),
    "polynomial base": lambda: kernel("poly", base_kernel_params={"degree": 2, "coef0": 1.0}).fit(X),
    "cosine": lambda: kernel(metric="cosine").fit(X),
    "duplicates": lambda: kernel(n_landmarks=40).fit(np.repeat(X[:60], 2, axis=0)),
    "RandomState": lambda: kernel(random_state=np.random.RandomState(3)).fit(X),
    "cg": lambda: kernel(solver="cg").fit(X),
    "float32": lambda: kernel().fit(X.astype(np.float32)),
}

MODELS = {
    "LapSVC": (lambda: LapSVC(kernel=kernel()).fit(X, FEW), "decision_function"),
    "LapSVC, eq. 6": (lambda: LapSVC(kernel=kernel(extension="kernel")).fit(X, FEW), "decision_function"),
    "LapSVC, budget": (lambda: LapSVC(kernel=kernel(method="budget")).fit(X, FEW), "decision_function"),
    "LapSVC, probability": (lambda: LapSVC(kernel=kernel(), probability=True).fit(X, FEW), "predict_proba"),
    "LapSVC, text": (lambda: LapSVC(kernel=kernel()).fit(X, np.array(["no", "yes", None])[FEW]), "predict"),
    "LapSVC, priors": (lambda: LapSVC(kernel=kernel(), priors=[0.5, 0.5]).fit(X, FEW), "decision_function"),
    "LapSVC, weights": (lambda: LapSVC(kernel=kernel(), class_weight={0: 1, 1: 2.5}).fit(X, FEW), "decision_function"),
    "LapRLSClassifier": (lambda: LapRLSClassifier(kernel=kernel()).fit(X, FEW), "decision_function"),
    "LapRLSRegressor": (lambda: LapRLSRegressor(kernel=kernel()).fit(X, TARGETS), "predict"),
    "KernelKMeans": (lambda: KernelKMeans(2, kernel=kernel(), random_state=0).fit(X), "transform"),
    "LandmarkFeatures": (lambda: LandmarkFeatures(kernel()).fit(X), "transform"),
    "LandmarkFeatures, eq. 6": (lambda: LandmarkFeatures(kernel(extension="kernel")).fit(X), "transform"),
    "KernelSearchCV": (
        lambda: KernelSearchCV(
            LapSVC(kernel=kernel()), {"kernel__eta": [0.1, 10.0], "kernel__power": [1, 2], "C": np.array([1.0, 10.0])}
        ).fit(X, FEW),
        "decision_function",
    ),
    "search of targets": (
        lambda: KernelSearchCV(LapRLSRegressor(kernel=kernel()), {"kernel__eta": [0.1, 10.0]}).fit(X, TARGETS),
        "predict",
    ),
    "pipeline": (lambda: make_pipeline(StandardScaler(), LapSVC(kernel=kernel())).fit(X, FEW), "decision_function"),
    "features": (lambda: make_pipeline(LandmarkFeatures(kernel()), LogisticRegression()).fit(X, Y), "predict_proba"),
    "SVC": (lambda: SVC(kernel=kernel().fit(X)).fit(X[:20], Y[:20]), "decision_function"),
    "process": (
        lambda: GaussianProcessRegressor(kernel().fit(X).as_gp_kernel() + WhiteKernel(0.1)).fit(X[:20], X[:20, 0]),
        "predict",
    ),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.halfmoon"


def again(model, path):
    save(model, path)
    return load(path)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.AccuracyWarning")
def test_kernels_give_the_same_bits(name, path):
    fitted = KERNELS[name]()
    restored = again(fitted, path)
    assert type(restored) is DataDependentKernel
    assert np.array_equal(restored(NEW, X), fitted(NEW, X))
    assert np.array_equal(restored.diag(NEW), fitted.diag(NEW))
    values = fitted.interpolate(fitted.restriction_.smooth[0])
    np.testing.assert_allclose(restored.interpolate(fitted.restriction_.smooth[0]), values)  # solved for again


@functools.cache
def fitted_model(name):
    return MODELS[name][0]()


@pytest.mark.parametrize("name", MODELS)
def test_models_give_the_same_bits(name, path):
    model, method = fitted_model(name), MODELS[name][1]
    restored = again(model, path)
    assert type(restored) is type(model)
    assert np.array_equal(getattr(restored, method)(NEW), getattr(model, method)(NEW))


def test_sparse_rows(path):
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.2, X, 0.0))
    model = LapRLSClassifier(kernel=kernel()).fit(rows, FEW)
    restored = again(model, path)
    assert np.array_equal(restored.decision_function(rows), model.decision_function(rows))
    sizes = {name: len(content) for name, content in members(path).items()}
    assert sum(sizes.values()) - sizes["schema.json"] < 50_000  # arrays, each once
    assert sizes["schema.json"] < 200_000
    assert restored.learned_.problem.training.X is restored.kernel_.points_  # one copy, in the file and in memory


def test_tables_and_texts(path):
    model = make_pipeline(table_steps(), LapSVC(kernel=kernel())).fit(TABLE, FEW)
    assert np.array_equal(again(model, path).decision_function(TABLE), model.decision_function(TABLE))
    model = make_pipeline(TfidfVectorizer(), LapRLSClassifier(kernel=kernel())).fit(WORDS, FEW)
    assert np.array_equal(again(model, path).decision_function(WORDS), model.decision_function(WORDS))


def test_keys_that_skops_uses_itself(path):
    """A column may have any name, and keys are no way around the check of what they hold."""
    names = ("__loader__", "__class__", "__module__", "__id__", "content", "key_types")
    columns = {name: dict.fromkeys(names, "number") for name in names}
    assert again(LapSVC(class_weight=columns), path).class_weight == columns
    with pytest.raises(ModelFileError, match=r"class_weight\.__loader__ is the function or class "):
        save(LapSVC(class_weight={"__loader__": np.exp}), path)


def test_memory_maps(tmp_path, path):
    np.save(tmp_path / "X.npy", X)
    fitted = kernel().fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert np.array_equal(again(fitted, path)(NEW), fitted(NEW))


def test_the_same_bits_in_another_process(tmp_path):
    methods = {"kernel": "__call__"}
    save(fitted := kernel().fit(X), tmp_path / "kernel")  # before its first call: what that needs must be there
    np.save(tmp_path / "kernel.npy", fitted(NEW))
    for number, (name, (_, method)) in enumerate(MODELS.items()):
        save(fitted_model(name), tmp_path / str(number))
        np.save(tmp_path / f"{number}.npy", getattr(fitted_model(name), method)(NEW))
        methods[str(number)] = method
    np.save(tmp_path / "new.npy", NEW)
    code = (
        "import sys, json, numpy as np, halfmoon\n"
        "for name, method in json.loads(sys.argv[1]).items():\n"
        "    values = getattr(halfmoon.load(name), method)(np.load('new.npy'))\n"
        "    assert np.array_equal(values, np.load(name + '.npy')), (name, method)\n"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps(methods)], cwd=tmp_path, check=True)


def test_a_loaded_estimator_can_do_all_that_it_could(path):
    model = LapRLSRegressor(kernel=kernel()).fit(X, TARGETS)
    restored = again(model, path)
    assert np.array_equal(restored.transduction_, model.transduction_)
    np.testing.assert_allclose(restored.predict(NEW, return_std=True), model.predict(NEW, return_std=True))
    np.testing.assert_allclose(restored.loo_residuals_, model.loo_residuals_)
    assert str(restored.diagnose()) == str(model.diagnose())
    np.testing.assert_allclose(restored.kernel_(NEW), model.kernel_(NEW))
    other = np.where(np.arange(120) < 30, X[:, 1], np.nan)
    np.testing.assert_allclose(restored.refit(other).predict(NEW), model.refit(other).predict(NEW))
    restored = pickle.loads(pickle.dumps(restored))
    np.testing.assert_allclose(clone(restored).fit(X, TARGETS).predict(NEW), model.refit(TARGETS).predict(NEW))


def test_a_search_keeps_its_results_and_scorer(path):
    search = KernelSearchCV(LapSVC(kernel=kernel()), {"kernel__eta": [0.1, 10.0]}, scoring="balanced_accuracy")
    restored = again(search.fit(X, FEW), path)
    assert restored.best_params_ == search.best_params_
    assert restored.score(X, Y) == search.score(X, Y)
    assert restored.cv_results_["param_kernel__eta"].tolist() == [0.1, 10.0]
    plain = again(search.set_params(scoring=None).fit(X, FEW), path)
    assert plain.score(X, Y) == plain.best_estimator_.score(X, Y)


def test_the_example_of_the_docs(tmp_path, monkeypatch):
    text = (Path(__file__).parents[1] / "docs" / "model-files.md").read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert np.mean(names["labels"] == names["y"]) > 0.8


def test_unfitted_models(path):
    assert again(LapSVC(kernel=kernel(eta=3.0)), path).get_params()["kernel__eta"] == 3.0


def test_no_caches_and_no_paths(path, tmp_path):
    fitted = kernel(memory=str(tmp_path)).fit(X)
    model = LapSVC(kernel=fitted).fit(X, FEW)
    before = {name: id(value) for name, value in vars(model).items()}
    model.kernel_(NEW)  # computes features, of size n x n_hat
    restored = again(model, path)
    assert restored.decision_.graph is restored.kernel_.warped_.smooth_extension  # what was shared is shared
    assert restored.kernel.memory is restored.kernel_.memory is None
    assert str(tmp_path).encode() not in path.read_bytes()
    assert model.kernel_.memory == str(tmp_path)
    assert {name: id(value) for name, value in vars(model).items()} == before
    assert "features" not in vars(restored.kernel_.warped_.smooth_extension)
    shapes = [np.load(io.BytesIO(array)).shape for name, array in members(path).items() if name.endswith(".npy")]
    assert (120, 25) not in shapes
    assert shapes.count((120, 2)) == 1  # X once


FUNCTIONS = {
    "LapSVC.kernel.base_kernel": lambda: LapSVC(kernel=kernel(lambda A, B: A @ B.T)),
    "DataDependentKernel.weights": lambda: kernel(weights=np.exp),
    "DataDependentKernel.metric": lambda: kernel(metric=lambda a, b: 1.0),
    "DataDependentKernel.regularizer": lambda: kernel(regularizer=PowerRegularizer),
    "DataDependentKernel.regularizer.r": lambda: kernel(regularizer=SpectralRegularizer(W, np.exp)),
    "Pipeline.steps[0][1].func": lambda: make_pipeline(FunctionTransformer(np.log1p), LapSVC()),
}


class Stranger(LapSVC):
    pass


OTHERS = {
    "Stranger": lambda: make_pipeline(StandardScaler(), Stranger()),
    "tree._tree.Tree": lambda: make_pipeline(LandmarkFeatures(kernel()), RandomForestClassifier(2)).fit(X, Y),
    "StratifiedKFold": lambda: GridSearchCV(SVC(kernel=kernel().fit(X)), {"C": [1.0, 2.0]}).fit(X, Y),
    "True of type bool": lambda: LapSVC(class_weight={True: 1.0, False: 2.0}),
}


@pytest.mark.parametrize("place", FUNCTIONS)
def test_functions_are_refused_when_saving(place, path):
    with pytest.raises(ModelFileError, match=re.escape(f"{place} is the function or class ")):
        save(FUNCTIONS[place](), path)
    assert not path.exists()


@pytest.mark.parametrize("name", OTHERS)
def test_other_types_are_refused_when_saving(name, path):
    with pytest.raises(ModelFileError, match=name):
        save(OTHERS[name](), path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(step, path, monkeypatch):
    save(LapSVC(C=1.0), path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        save(LapSVC(C=2.0), path)
    assert load(path).C == 1.0
    assert os.listdir(path.parent) == [path.name]


def test_long_names(tmp_path):
    """The longest name that a folder takes is not too long while the file is written."""
    path = tmp_path / (255 * "m")
    assert again(LapSVC(C=3.0), path).C == 3.0
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_written(there, path, tmp_path):
    link = tmp_path / "folder" / "link.halfmoon"
    link.parent.mkdir()
    link.symlink_to(path)
    if there:
        path.write_text("old")
    save(LapSVC(C=3.0), link)
    assert link.is_symlink()
    assert not path.is_symlink()
    assert load(path).C == load(link).C == 3.0
    assert os.listdir(link.parent) == [link.name]


def test_what_is_not_a_file_stays(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        save(LapSVC(), path)
    assert path.is_fifo()
    with pytest.raises(OSError, match="not a regular file"):
        save(LapSVC(), path.parent)
    assert os.listdir(path.parent) == [path.name]


def test_header(path):
    save(LapSVC(), path)
    line, payload = path.read_bytes().split(b"\n", 1)
    header = json.loads(line)
    assert (header["format"], header["version"], header["size"]) == ("halfmoon model", FORMAT_VERSION, len(payload))
    assert header["sha256"] == hashlib.sha256(payload).hexdigest()
    assert header["halfmoon"]


BROKEN = {
    "not a halfmoon model file": lambda content: b"",
    "not a halfmoon model": lambda content: b"a,b\n1,2\n",
    "not a halfmoon": lambda content: b"[" * 100_000,
    "not a": lambda content: content.split(b"\n", 1)[1],
    "format version 99, written by halfmoon 9.9": lambda content: content.replace(
        f'"version": {FORMAT_VERSION}, "halfmoon": "{__version__}"'.encode(), b'"version": 99, "halfmoon": "9.9"'
    ),
    "cut short: .* bytes": lambda content: content[:-1],
    "damaged: its checksum": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "damaged": lambda content: content + b"x",
}


@pytest.mark.parametrize("message", BROKEN)
def test_broken_files(message, path):
    save(LapSVC(), path)
    path.write_bytes(BROKEN[message](path.read_bytes()))
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(LapSVC(), tmp_path / "none" / "model")


def test_without_skops(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    for use in (lambda: save(LapSVC(), path), lambda: load(path)):
        with pytest.raises(MissingExtraError, match=r"Model files need skops: pip install 'halfmoon\[files\]'"):
            use()


@pytest.mark.parametrize("extension", ["auto", "graph", "kernel"])
def test_sizes_do_not_depend_on_what_was_called_before(tmp_path, rng, extension):
    X = rng.normal(size=(400, 2))
    few = np.where(np.arange(400) < 40, X[:, 0], np.nan)
    kernel = DataDependentKernel(n_landmarks=50, extension=extension, random_state=0)
    model = LapRLSRegressor(kernel=kernel).fit(X, few)

    def sizes():
        save(model, tmp_path / "model")
        return len(pickle.dumps(model)), (tmp_path / "model").stat().st_size

    before = sizes()
    for call in (
        lambda: model.predict(X[:5], return_std=True),
        lambda: model.transduction_,
        model.diagnose,
        lambda: model.kernel_(X[:5]),
        lambda: model.kernel_.diag(X[:5]),
        model.kernel_.kernel_error_bound,
        lambda: (model.kernel_.restriction_.Q_hat, model.kernel_.restriction_.greens),
        lambda: model.refit(few),
    ):
        call()
        assert sizes() == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_the_pickle_of_a_kernel_does_not_grow(rng):
    X = rng.normal(size=(400, 2))
    kernel = DataDependentKernel(n_landmarks=50, random_state=0).fit(X)
    before = len(pickle.dumps(kernel))
    K = kernel(X[:5])
    assert len(pickle.dumps(kernel)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X[:5]), K)
