"""Small dense algebra has one BLAS thread, large keeps what the process has."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from halfmoon import LapRLSClassifier
from halfmoon.runtime.small_algebra import LARGEST, small_algebra
from halfmoon.semi_supervised import _base


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("rows", [2, LARGEST])
def test_small_matrices_have_one_thread(rows):
    before = blas_threads()
    with small_algebra(rows):
        with small_algebra(2):
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_large_matrices_keep_their_threads():
    before = blas_threads()
    with small_algebra(LARGEST + 1):
        assert blas_threads() == before


def test_labels_are_learnt_on_one_thread(rng, monkeypatch):
    learn, seen = _base.learn, []
    monkeypatch.setattr(
        _base, "learn", lambda *args, **more: (seen.append(set(blas_threads())), learn(*args, **more))[1]
    )
    LapRLSClassifier().fit(rng.normal(size=(60, 2)), np.where(np.arange(60) < 10, np.arange(60) % 2, -1))
    assert seen == [{1}]
