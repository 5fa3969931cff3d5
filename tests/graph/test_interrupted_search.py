"""Ctrl-C during a neighbour search: it is noticed soon, and nothing goes on in the background."""

import os
import signal
import threading
import time

import pytest

from halfmoon.graph import find_duplicates, knn_graph

SIZES = {"kdtree": (40_000, 10), "exact": (16_000, 60), "approximate": (250_000, 40)}  # seconds of work each


def search_again_and_again(X, method):
    """Make the graph until the interrupt comes: fast machines are done before it."""
    while True:
        knn_graph(X, n_neighbors=10, method=method)


@pytest.mark.usefixtures("sigint")
@pytest.mark.parametrize("method", SIZES)
def test_no_thread_goes_on_after_an_interrupt(method, rng):
    X = rng.normal(size=SIZES[method])
    knn_graph(X[:500], method=method)  # compiled, and so is what
    find_duplicates(X)  # large data need
    before, sent = set(threading.enumerate()), []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(float(rng.uniform(0.1, 0.8)), interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search_again_and_again(X, method)
    assert time.monotonic() - sent[0] < 10.0  # a fraction of a second on an idle machine
    assert set(threading.enumerate()) - {timer} == before
