"""Learning curves: draws, means, bands and tables."""

import numpy as np
import pandas as pd
import pytest
from artists import KERNEL, legend_names
from matplotlib import pyplot as plt
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from halfmoon import LapRLSClassifier, LapRLSRegressor
from halfmoon.plotting import LabelCurveDisplay


def test_same_draws_for_all(blobs):
    X, y, _ = blobs
    display = LabelCurveDisplay.from_estimator(
        {"first": SVC(), "second": SVC(), "LapRLS": LapRLSClassifier(kernel=KERNEL)},
        X[:90], y[:90], X[90:], y[90:], sizes=[3, 6], n_draws=3, supervised=["first", "second"], random_state=1,
    )  # fmt: skip
    error = display.table["error"]
    assert len(error) == 18
    assert_array_equal(error[display.table["method"] == "first"], error[display.table["method"] == "second"])
    sizes, means, errors = display.curves["LapRLS"]
    assert_array_equal(sizes, [3, 6])
    own = error[(display.table["method"] == "LapRLS") & (display.table["n_labeled"] == 6)]
    assert means[1] == pytest.approx(own.mean())
    assert errors[1] == pytest.approx(own.std(ddof=1) / np.sqrt(3))
    assert legend_names(display) == ["first", "second", "LapRLS"]
    assert_array_equal(display.lines_[2].get_ydata(), means)
    assert len(display.ax_.collections) == 3  # the bands
    assert len({(curve.get_color(), curve.get_marker(), curve.get_linestyle()) for curve in display.lines_}) == 3
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["3", "6"]


def test_every_class_is_drawn(blobs):
    X, y, _ = blobs
    seen = []

    class Spy(SVC):
        def fit(self, X, y):
            seen.append(np.unique(y))
            return super().fit(X, y)

    names = np.array(["red", "green", "blue"])[y]
    LabelCurveDisplay.from_estimator(
        {"spy": Spy()}, pd.DataFrame(X), names.tolist(), pd.DataFrame(X), names, sizes=[3], supervised=["spy"]
    )
    assert len(seen) == 10
    assert all(classes.tolist() == ["blue", "green", "red"] for classes in seen)


@pytest.mark.parametrize("kind", [str, bool, float, np.uint8])
def test_labels_of_every_kind(blobs, kind):
    X, y, _ = blobs
    labels = np.where(y == 0, "yes", "no") if kind is str else (y == 0).astype(kind)
    display = LabelCurveDisplay.from_estimator(
        {"LapRLS": LapRLSClassifier(kernel=KERNEL)}, X, labels, X, labels, sizes=[6], n_draws=1, random_state=0
    )
    assert display.curves["LapRLS"][1][0] < 0.5
    assert np.isnan(display.curves["LapRLS"][2][0])


def test_regression(blobs):
    X = blobs[0]
    display = LabelCurveDisplay.from_estimator(
        {"LapRLS": LapRLSRegressor(kernel=KERNEL)}, X, X[:, 0], X, X[:, 0], sizes=[10, 40], n_draws=2
    )
    assert "R^2" in display.ax_.get_ylabel()


def test_tables():
    records = [{"method": m, "n_labeled": n, "error": e} for m, n, e in [("a", 5, 0.5), ("a", 9, 0.3), ("b", 9, 1)]]
    frame = pd.DataFrame(records)
    for table in (records, frame, frame.to_dict("list")):
        display = LabelCurveDisplay(table, error_name="loss").plot(ax=plt.figure().add_subplot())
        assert list(display.curves) == ["a", "b"]
        assert display.curves["b"][0].tolist() == [9]
        assert display.ax_.get_ylabel() == "loss"
    with pytest.raises(ValueError, match=r"no column \['error'\]"):
        LabelCurveDisplay(frame[["method", "n_labeled"]])
    with pytest.raises(ValueError, match="empty"):
        LabelCurveDisplay(frame[:0])
    with pytest.raises(ValueError, match="no column"):
        LabelCurveDisplay([])


def test_errors(blobs):
    X, y, few = blobs
    data = (X, y, X, y)
    with pytest.raises(ValueError, match=r"supervised=\['SVM'\] are not among"):
        LabelCurveDisplay.from_estimator({"SVC": SVC()}, *data, sizes=[5], supervised=["SVM"])
    with pytest.raises(ValueError, match="classifiers or regressors but not both"):
        LabelCurveDisplay.from_estimator({"SVC": SVC(), "ridge": Ridge()}, *data, sizes=[5])
    with pytest.raises(ValueError, match=r"in \[3, 120\]. Got 2 instead. Every class is drawn"):
        LabelCurveDisplay.from_estimator({"SVC": SVC()}, *data, sizes=[5, 2])
    with pytest.raises(ValueError, match="114 of 120 rows are unlabelled"):
        LabelCurveDisplay.from_estimator({"SVC": SVC()}, X, few, X, y, sizes=[5])
