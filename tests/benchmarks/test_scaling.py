"""The scaling benchmark: laws that are there are found, what is measured is kept, patches are what they say."""

import numpy as np
import pytest

from benchmarks._scaling_data import curved_patches
from benchmarks._scaling_report import Row, exponents, markdown, read_rows, write_rows
from benchmarks.cost_model import fitted, residuals

LAW = {"constant": -3e-6, "log2": 1e-6, "feature": 2e-8}


def row(n, features, **rest):
    cost = n * (LAW["constant"] + LAW["log2"] * np.log2(n) + LAW["feature"] * features)
    counts = {"edges": 6.0 * n, "sent": 400 * n}
    return Row("patches", n, features, graph=[cost, cost], setup_cpu=1e-5 * n, column_cpu=1e-7 * n, **counts, **rest)


def test_a_law_is_recovered_from_runs_that_obey_it():
    law = fitted("graph", [row(n, d) for n in (16_000, 64_000, 250_000) for d in (32, 128)])
    assert vars(law) == pytest.approx(LAW | {"residual": 0.0}, abs=1e-9)


def test_stages_that_were_not_measured_are_left_out():
    whole = row(
        64_000, 32, solve=[1.0, 2.0], fit=[9.0, 10.0], predict=[1.0, 1.0], refit=[1.0, 1.0], memory=1.0, error=2.0
    )
    rows = [whole, row(256_000, 32)]
    assert fitted("rest", rows).of(64_000, 32) == pytest.approx(10.0 - 2.0 - whole.graph[1])
    (*_, last) = residuals({"rest": fitted("rest", rows)}, rows)
    assert last == "| patches | 256,000 | 32 |  |"
    assert set(exponents(rows)) == {"graph"}
    assert "| patches | 256,000 | 32 |" in markdown(rows, [], 20_000)


def test_rows_come_back_from_disk(tmp_path):
    rows = [row(16_000, 32), row(64_000, 128)]
    assert read_rows(tmp_path / "scaling.json") == []
    write_rows(rows, tmp_path / "scaling.json")
    assert read_rows(tmp_path / "scaling.json") == rows


def test_two_draws_of_patches_are_other_points_of_the_same_patches():
    (X, y), (Z, truth) = (curved_patches(2_000, seed=4, draw=draw, features=48) for draw in (0, 1))
    assert X.shape == Z.shape == (2_000, 48)
    assert not np.isin(X[:, 0], Z[:, 0]).any()
    nearest = ((Z[:200, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(y[nearest] == truth[:200]) > 0.8
