"""instant_refits: equal to solves, without a solve, and never growing."""

import copy
import gc
import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

import halfmoon
from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.kernels import BaseKernel
from halfmoon.model_selection import KernelSearchCV
from halfmoon.regularizers import PowerRegularizer
from halfmoon.runtime.float32_product import combination, combination_rounding, product, product_rounding
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.semi_supervised._stored_rounding import stored_rounding
from halfmoon.semi_supervised.losses import RidgePath

ESTIMATORS = [LapSVC, LapRLSClassifier, LapRLSRegressor]
pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def blobs(rng):
    """Three classes; some rows are there twice."""
    X, y = make_blobs(260, n_features=4, centers=3, cluster_std=2.0, random_state=int(rng.integers(1 << 30)))
    return np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])


def labeled(estimator, y, rows):
    if estimator is LapRLSRegressor:
        return np.where(np.isin(np.arange(len(y)), rows), y + 0.5, np.nan)
    return np.where(np.isin(np.arange(len(y)), rows), y, -1)


def values(model):
    return model.transduction_ if isinstance(model, LapRLSRegressor) else model.decision_function_


def assert_equal(model, other):
    """Equal to float32 rounding: its bound is for products with T, and rows of T in the Gram matrix are rounded too."""
    assert model.choice_ == other.choice_
    rounding = max(1e-6, 10.0 * (stored_rounding(model.learned_) or stored_rounding(other.learned_) or 0.0))
    assert rounding < 1e-2
    assert_allclose(values(model), values(other), rtol=0.0, atol=rounding * max(1.0, np.abs(values(other)).max()))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("extension", ["auto", "graph"])
def test_refits_are_those_by_solves(rng, blobs, estimator, extension):
    X, y = blobs
    kernel = DataDependentKernel(n_landmarks=60, n_neighbors=8, extension=extension, random_state=0)
    rows = rng.permutation(len(y))
    first = labeled(estimator, y, rows[:20])
    model = estimator(kernel=kernel, instant_refits=True).fit(X, first)
    solving = estimator(kernel=kernel).fit(X, first)
    assert_equal(model, solving)
    for chosen in (rows[:21], rows[5:30], rows[:4], rows[:80]):  # one more, others, fewer, many
        if len(np.unique(y[chosen])) < 3:
            continue
        few = labeled(estimator, y, chosen)
        assert_equal(model.refit(few), solving.refit(few))
        assert_allclose(model.predict(X[:50] + 0.1), solving.predict(X[:50] + 0.1), atol=1e-4)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_refits_with_class_priors_and_several_components(rng, estimator):
    X, y = make_moons(200, noise=0.05, random_state=int(rng.integers(1 << 30)))
    X, y = np.concatenate([X, X + 30.0]), np.concatenate([y, y])
    few = np.where(rng.permutation(400) < 40, y, -1)
    model, solving = (
        estimator(priors="balanced", n_landmarks=80, random_state=1, instant_refits=wanted).fit(X, few)
        for wanted in (True, False)
    )
    few[rng.permutation(np.flatnonzero(few < 0))[:3]] = 0
    assert_equal(model.refit(few), solving.refit(few))
    assert model.kernel_.geometry_.components.count > 1


def test_a_refit_is_a_fit(rng, blobs):
    X, y = blobs
    rows = rng.permutation(len(y))
    landmarks = np.arange(0, 240, 4)
    kernel = DataDependentKernel(landmarks=landmarks, n_neighbors=8)
    model = LapRLSClassifier(kernel=kernel, instant_refits=True)
    refitted = copy.deepcopy(model).fit(X, labeled(LapSVC, y, rows[:20])).refit(labeled(LapSVC, y, rows[10:60]))
    assert_equal(refitted, model.fit(X, labeled(LapSVC, y, rows[10:60])))


def test_nothing_is_solved(rng, blobs, monkeypatch):
    X, y = blobs
    rows = rng.permutation(len(y))
    model = LapSVC(n_landmarks=60, n_neighbors=8, instant_refits=True).fit(X, labeled(LapSVC, y, rows[:30]))
    evaluated = []
    columns = BaseKernel.columns
    monkeypatch.setattr(PowerRegularizer, "solve_off_modes", None)
    monkeypatch.setattr(BaseKernel, "columns", lambda self, X, Z, n: evaluated.append(len(Z)) or columns(self, X, Z, n))
    model.refit(labeled(LapSVC, y, rows[:31]))
    assert values(model).shape == (280, 3)
    assert len(model.transduction_) == 280
    assert sum(evaluated) <= 1  # that of the new row, unless its duplicate was labelled before


def test_earlier_models_stay_what_they_were(rng, blobs):
    X, y = blobs
    rows = rng.permutation(len(y))
    few = [labeled(LapSVC, y, chosen) for chosen in (rows[:30], rows[:31], rows[[*range(30), 40]])]
    model = LapRLSClassifier(n_landmarks=60, n_neighbors=8, instant_refits=True).fit(X, few[0])
    before = values(model)
    twins = [copy.copy(model).refit(labels) for labels in few[1:]]
    assert_array_equal(values(model), before)
    for twin, labels in zip(twins, few[1:], strict=True):
        assert_array_equal(values(twin), values(copy.copy(model).refit(labels)))


def test_threads_do_not_matter(rng, blobs):
    X, y = blobs
    rows = rng.permutation(len(y))
    one, three = (
        LapRLSClassifier(n_landmarks=60, random_state=0, instant_refits=True, n_jobs=n)
        .fit(X, labeled(LapSVC, y, rows[:30]))
        .refit(labeled(LapSVC, y, rows[:50]))
        for n in (1, 3)
    )
    assert_array_equal(values(one), values(three))


def test_nothing_grows(rng, blobs):
    X, y = blobs
    model = LapRLSClassifier(n_landmarks=60, n_neighbors=8, instant_refits=True)
    model.fit(X, labeled(LapSVC, y, rng.permutation(len(y))[:30]))

    def refit(times):
        for _ in range(times):
            chosen = rng.permutation(len(y))[:30]
            if len(np.unique(y[chosen])) == 3:
                _ = values(model.refit(labeled(LapSVC, y, chosen)))
        gc.collect()
        own = sum(str(type(thing).__module__).startswith("halfmoon.") for thing in gc.get_objects())
        return len(model.learned_.base_columns.columns), own, bytes_of_arrays()

    tracemalloc.start()
    try:
        before, after = refit(20), refit(200)
    finally:
        tracemalloc.stop()
    assert max(before[0], after[0]) <= 30
    assert after[1] < before[1] + 20  # objects of the library
    assert after[2] < before[2] + 200_000


def bytes_of_arrays():
    """Return what arrays take; whatever is compiled or imported meanwhile does not count."""
    arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


def test_the_diagnosis_bounds_the_rounding(rng, blobs):
    X, y = blobs
    few = labeled(LapSVC, y, rng.permutation(len(y))[:30])
    kernel = DataDependentKernel(n_landmarks=60, n_neighbors=8, random_state=0)
    diagnosis = LapRLSClassifier(kernel=kernel, instant_refits=True).fit(X, few).diagnose()
    assert "decision values of the training rows: from the stored interpolation, which float32 changes by" in str(
        diagnosis
    )
    assert 0.0 < diagnosis.interpolation_error < 1e-2
    assert LapRLSClassifier(kernel=kernel).fit(X, few).diagnose().interpolation_error is None


def test_files_and_pickles_are_without_it(rng, blobs, tmp_path):
    X, y = blobs
    rows = rng.permutation(len(y))
    few, more = labeled(LapSVC, y, rows[:30]), labeled(LapSVC, y, rows[:40])
    on_disk = tmp_path / "interpolation"
    on_disk.mkdir()
    model = LapRLSClassifier(n_landmarks=60, n_neighbors=8, instant_refits=str(on_disk)).fit(X, few)
    plain = LapRLSClassifier(n_landmarks=60, n_neighbors=8).fit(X, few)
    assert list(on_disk.iterdir())
    halfmoon.save(model, tmp_path / "model.halfmoon")
    assert len(pickle.dumps(model)) < 1.1 * len(pickle.dumps(plain))
    for restored in (pickle.loads(pickle.dumps(model)), halfmoon.load(tmp_path / "model.halfmoon")):
        assert restored.kernel_.geometry_.stored_interpolation is None
        assert restored.learned_.base_columns is None
        assert_allclose(values(restored), values(model), atol=1e-6 * np.abs(values(model)).max())
        assert_equal(restored.refit(more), copy.copy(model).refit(more))
    assert halfmoon.load(tmp_path / "model.halfmoon").instant_refits is False  # a valid value: it can be fitted again


def test_searches_keep_to_it(rng, blobs):
    X, y = blobs
    few = labeled(LapSVC, y, rng.permutation(len(y))[:40])
    search = KernelSearchCV(LapRLSClassifier(n_landmarks=60, instant_refits=True), {"kernel__power": [1, 3]}).fit(
        X, few
    )
    model = search.best_estimator_
    assert set(model.kernel_.geometry_.stored_interpolation.T) == {1, 3}
    assert model.learned_.base_columns is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"instant_refits": 3}, "must be True, False or a folder. Got 3"),
        ({"instant_refits": "no such folder", "n_landmarks": 60}, "no folder 'no such folder'"),
        ({"kernel": DataDependentKernel(extension="kernel")}, "extension='kernel' does not use"),
        ({"kernel": DataDependentKernel(method="budget")}, "method='budget' does not use"),
        ({"n_landmarks": 60, "max_memory": 1000}, "60 landmarks to 260 points takes 62,400 bytes"),
        ({"n_landmarks": 60, "max_memory": 62_400}, "max_memory leaves 0 for it"),
    ],
)
def test_what_cannot_be_is_refused(rng, blobs, settings, message):
    X, y = blobs
    few = labeled(LapSVC, y, rng.permutation(len(y))[:30])
    with pytest.raises(ValueError, match=message):
        LapSVC(**({"instant_refits": True} | settings)).fit(X, few)


def test_a_refit_beyond_the_memory_leaves_the_model(rng, blobs):
    X, y = blobs
    rows = rng.permutation(260)
    model = LapRLSClassifier(n_landmarks=60, instant_refits=True, max_memory=62_400 + 4 * 260 * 30)
    before = values(model.fit(X, labeled(LapSVC, y, rows[:30])))
    with pytest.raises(ValueError, match="between 31 labelled points and all 260 takes 32,240 bytes"):
        model.refit(labeled(LapSVC, y, rows[:31]))
    assert_array_equal(values(model), before)


@pytest.mark.parametrize("kind", ["float64", "float32", "uint8", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_columns_are_those_of_the_base_kernel(rng, kind, kernel):
    X = rng.integers(9, size=(2100, 5))
    X = sparse.csr_array(X.astype(float)) if kind == "sparse" else X.astype(kind)
    base = BaseKernel.resolve(kernel, None, None, X[:50].astype(np.float64))
    Z = X[rng.integers(2100, size=3)].astype(np.float64)
    assert_allclose(base.columns(X, Z), base(X.astype(np.float64), Z), rtol=1e-6)


def test_columns_are_shared_and_dropped(rng):
    X = rng.normal(size=(50, 3))
    base = BaseKernel("rbf", {"gamma": 0.1})
    columns = BaseColumns(base, X, 10**9, 1).of_rows(np.arange(10))
    others = columns.of_rows(np.array([3, 12, 3, 9]))
    assert set(others.columns) == {3, 9, 12}
    assert others.columns[3] is columns.columns[3]
    assert set(columns.columns) == set(range(10))  # as it was
    rows, coef = np.array([9, 12, 9]), rng.normal(size=(3, 2))  # one point, two labels
    assert_allclose(others.expansion(rows, coef), base(X, X[rows]) @ coef, atol=1e-6)


@pytest.mark.parametrize("functions", [1, 4])
def test_products_of_float32_matrices(rng, functions):
    """Several tasks: only the rounding of the matrix is left, however it is stored."""
    A = rng.normal(size=(5000, 70)) * 10.0 ** rng.integers(-5, 5, size=(5000, 1))
    h, rounded = rng.normal(size=(70, functions)), A.astype(np.float32)
    columns = [np.ascontiguousarray(column) for column in rounded.T]
    for times, rounding, stored in [(product, product_rounding, rounded), (combination, combination_rounding, columns)]:
        found = times(stored, h, 2)
        assert_allclose(found, rounded.astype(np.float64) @ h, rtol=1e-9, atol=1e-9)
        assert np.all(np.abs(found - A @ h) <= rounding(stored, h, 2))
        assert_array_equal(found, times(stored, h, 1))


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_residuals_of_all_ridges_at_once(rng, spread):
    """Leave-one-out in closed form, from one eigendecomposition or one factorisation per ridge, is that of `at`."""
    F = rng.normal(size=(30, 12))
    path = RidgePath(F @ F.T / 12, rng.normal(size=(30, 3)), 10.0 ** rng.uniform(-spread, spread, size=30))
    alphas = [1e-3, 0.1, 3.0]
    expected = [path.at(alpha).residuals for alpha in alphas]
    assert_allclose(path.residuals(alphas), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
