"""The benchmark of suggestions counts labels and areas rightly, and notices claims that do not hold."""

import json

import numpy as np
import pytest

from benchmarks.active_learning import STORED, TASKS, Curves, area, broken_claims, labels_needed
from halfmoon.active_learning import STRATEGIES

MNIST = "MNIST odd, even"


def written(path, name, curves):
    """Curves of two runs that differ a little, in a file."""
    shifted = {run: {s: (np.array(e) + 1e-4 * run).tolist() for s, e in curves.items()} for run in range(2)}
    path.write_text(json.dumps({name: shifted}))
    return Curves(path)


def falling(counts, labels):
    """Errors that come down to 5 % after so many labels."""
    return (0.05 * labels / np.array(counts)).tolist()


def test_labels_are_counted_on_the_mean_curve():
    assert labels_needed((10, 20, 30), np.array([[0.3, 0.08, 0.02], [0.3, 0.06, 0.04]])) == pytest.approx(25.0)
    assert labels_needed((10, 20), np.array([[0.3, 0.2]])) is None
    assert labels_needed((10, 20), np.array([[0.03, 0.2]])) == 10.0


def test_area_is_the_mean_error_over_label_counts():
    assert area((0, 10, 40), np.array([[0.4, 0.2, 0.0]])).tolist() == [pytest.approx(100 * (3.0 + 3.0) / 40)]


@pytest.mark.parametrize(("labels", "broken"), [(60, 0), (120, 1)])
def test_auto_must_need_half_the_labels_on_mnist(tmp_path, labels, broken):
    counts = STORED[MNIST].counts
    curves = written(tmp_path / "c.json", MNIST, {"auto": falling(counts, labels), "random": falling(counts, 180)})
    assert len(list(broken_claims(curves, {MNIST: STORED[MNIST]}, range(2)))) == broken


def test_auto_must_not_have_more_area_than_random_choice(tmp_path):
    counts = TASKS["wine"].counts
    curves = written(tmp_path / "c.json", "wine", {"auto": falling(counts, 9), "random": falling(counts, 8)})
    (claim,) = broken_claims(curves, {"wine": TASKS["wine"]}, range(2))
    assert "wine: the area under the curve of auto" in claim


def test_runs_are_measured_once(tmp_path):
    path = tmp_path / "c.json"
    curves = Curves(path)
    task = TASKS["wine"].__class__(TASKS["wine"].draw, (2, 4, 8))
    curves.measure("wine", task, None, range(1), list(STRATEGIES))
    before = path.read_bytes()
    again = Curves(path)
    again.measure("wine", task, None, range(1), list(STRATEGIES))
    assert path.read_bytes() == before
    assert again.errors("wine", "auto", range(1)).shape == (1, 3)
    assert (again.errors("wine", "random", range(1)) < 0.7).all()
