"""The executor: results in order, errors at once, and no thread that outlives its block."""

import itertools
import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from halfmoon.runtime import _blas
from halfmoon.runtime.executor import Stopped, ThreadExecutor, stop_flag, thread_count

LIMIT = 20.0  # seconds that no test comes near


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def until_stopped(_, item):
    """A task that only ends when it is asked to."""
    stop, end = stop_flag(), time.monotonic() + LIMIT
    while not stop[0]:
        assert time.monotonic() < end, "was not asked to stop"
        time.sleep(0.001)
    return item


def wait_and_square(pauses, item):
    time.sleep(pauses[item])
    return item**2


def fail_at(bad, item):
    if item == bad:
        raise ValueError(f"item {item}")
    return until_stopped(bad, item)


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_results_come_in_the_order_of_the_items(rng):
    pauses = rng.uniform(0, 0.01, 40)
    for threads in (1, 2, 5):
        with ThreadExecutor(threads) as executor:
            assert list(executor.map(wait_and_square, pauses, range(40))) == [i**2 for i in range(40)]
            assert list(executor.map(wait_and_square, pauses, [])) == []


def test_tasks_run_at_once_and_not_in_the_calling_thread():
    with ThreadExecutor(3) as executor:
        meeting = threading.Barrier(3, timeout=LIMIT)  # broken unless three tasks are there at once
        names = list(executor.map(lambda meeting, _: (meeting.wait(), threading.get_ident())[1], meeting, range(3)))
        assert len(set(names)) == 3
        assert executor.run(lambda _: threading.get_ident(), None) in names
    assert threading.get_ident() not in names


def test_items_are_taken_as_results_are(rng):
    """A caller that assembles slowly does not find all results waiting in memory."""
    taken = []
    with ThreadExecutor(2) as executor:
        results = executor.map(lambda _, item: item, None, (taken.append(i) or i for i in range(1000)))
        next(results)
        assert len(taken) < 50
        assert sum(results) == sum(range(1000))


def test_an_error_stops_the_others_and_keeps_its_traceback(rng):
    bad = int(rng.integers(4))
    with ThreadExecutor(4) as executor:
        with pytest.raises(ValueError, match=f"item {bad}") as caught:  # though others never end by themselves
            list(executor.map(fail_at, bad, range(100)))
        assert "fail_at" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert executor.run(sum, [1, 2]) == 3  # the executor goes on


def test_closing_the_iterator_stops_its_tasks():
    with ThreadExecutor(2) as executor:
        results = executor.map(lambda _, item: item if item == 0 else until_stopped(_, item), None, itertools.count())
        assert next(results) == 0
        results.close()
        assert executor.run(sum, [1, 2]) == 3


def test_an_error_in_the_caller_stops_the_tasks():
    def divide():
        with ThreadExecutor(2) as executor:
            for item in executor.map(lambda _, item: item if item == 0 else until_stopped(_, item), None, range(9)):
                1 / item

    with pytest.raises(ZeroDivisionError):
        divide()


def test_nothing_runs_outside_the_block():
    with ThreadExecutor(1) as executor:
        pass
    with pytest.raises(RuntimeError, match="inside its with block"):
        executor.run(sum, [1])
    with executor:
        assert executor.run(sum, [1]) == 1


def nested(executor, item):
    with ThreadExecutor(2) as own:
        return sum(own.map(pow, 2, range(item))), sum(executor.map(pow, 2, range(item)))


def test_tasks_may_use_executors_their_own_too():
    with ThreadExecutor(2) as executor:
        assert list(executor.map(nested, executor, range(9))) == [(2**i - 1, 2**i - 1) for i in range(9)]


def nested_until_stopped(_, item):
    with ThreadExecutor(2) as own:
        return list(own.map(until_stopped, None, range(4)))


def test_stopping_reaches_nested_tasks():
    with ThreadExecutor(2) as executor:
        results = executor.map(
            lambda _, item: item if item == 0 else nested_until_stopped(_, item), None, itertools.count()
        )
        next(results)
        time.sleep(0.05)
        results.close()


def test_results_of_stopped_tasks_are_dropped():
    """A nested map does not return what its tasks gave up."""
    outcome = queue.SimpleQueue()

    def task(_, item):
        if item == 0:
            return item
        try:
            outcome.put(nested_until_stopped(_, item))
        except BaseException as error:
            outcome.put(error)
            raise

    with ThreadExecutor(2) as executor:
        results = executor.map(task, None, range(2))
        next(results)
        time.sleep(0.05)
        results.close()
    while not outcome.empty():
        assert isinstance(outcome.get(), Stopped)


def test_the_flag_stays_down_outside_tasks():
    assert stop_flag().dtype == np.uint8
    assert stop_flag().shape == (1,)
    stop_flag()[0] = 1
    assert stop_flag()[0] == 0


@pytest.mark.parametrize("once_more", [False, True])  # the second time, another thread has set the limit before
def test_blocks_that_cross_in_two_threads_restore_blas(once_more):
    before = blas_threads()
    inside, left = threading.Event(), threading.Event()

    def first():
        with ThreadExecutor(1):
            inside.set()
            assert left.wait(LIMIT)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(LIMIT)
    second = ThreadExecutor(1).__enter__()
    assert set(blas_threads()) == {1}
    left.set()
    thread.join()
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_is_restored_after_errors():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), ThreadExecutor(2) as executor:
        executor.run(lambda _: 1 / 0, None)
    assert blas_threads() == before


def stubborn(seconds, item):
    """A task that takes its time to notice that it should stop."""
    until_stopped(None, item)
    time.sleep(seconds)


@pytest.mark.usefixtures("sigint")
def test_second_interrupts_do_not_cut_the_joining_short():
    """Ctrl-C again and again, while threads are being joined: all have ended when KeyboardInterrupt arrives."""

    def interrupt():
        for _ in range(8):
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    before = set(threading.enumerate())
    interrupts = 0
    interrupter.start()
    try:
        with ThreadExecutor(2) as executor:
            list(executor.map(stubborn, 0.5, range(9)))
    except KeyboardInterrupt:
        interrupts += 1
        assert set(threading.enumerate()) - {interrupter} == before
        assert not executor._busy
    while interrupter.is_alive():  # the rest of the signals
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts > 0


@pytest.mark.usefixtures("sigint")
def test_an_interrupt_while_blas_is_limited_leaves_no_thread(monkeypatch):
    change = _blas._set_or_restore
    monkeypatch.setattr(_blas, "_set_or_restore", lambda: (time.sleep(0.3), change()))
    interrupter = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    before = {*threading.enumerate(), interrupter}
    interrupter.start()
    with pytest.raises(KeyboardInterrupt), ThreadExecutor(1):
        pass
    assert set(threading.enumerate()) <= before
    assert not _blas._holders
    assert not _blas._originals


@pytest.mark.usefixtures("sigint")
def test_interrupts_at_random_moments(rng, tmp_path):
    """Many short blocks under a rain of signals: never a hang, a crash or a thread left over."""
    script = tmp_path / "rain.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import faulthandler, gc, os, random, signal, threading, time
            import numpy as np
            from halfmoon.runtime import _blas
            from halfmoon.runtime.executor import ThreadExecutor, stop_flag

            def task(data, item):
                stop = stop_flag()
                for _ in range(200):
                    if stop[0]:
                        return None
                    data.sum()
                return item

            faulthandler.dump_traceback_later(40, exit=True)
            random.seed({int(rng.integers(1 << 31))})
            data, end = np.ones(1000), time.monotonic() + 5.0

            def rain():
                time.sleep(0.3)  # until the loop below is under way
                while time.monotonic() < end:
                    time.sleep(random.uniform(0.0, 0.01))
                    os.kill(os.getpid(), signal.SIGINT)

            rainer = threading.Thread(target=rain)
            rainer.start()
            stopped = finished = 0
            while rainer.is_alive():
                try:
                    try:
                        with ThreadExecutor(3) as executor:
                            assert list(executor.map(task, data, range(9))) == list(range(9))
                        finished += 1
                    except KeyboardInterrupt:
                        stopped += 1
                except KeyboardInterrupt:
                    stopped += 1
            executor = None
            gc.collect()  # closes what an interrupt on the way into __exit__ has left open
            end = time.monotonic() + 3.0
            while threading.active_count() > 1 and time.monotonic() < end:
                time.sleep(0.01)
            print(stopped, finished, threading.active_count(), len(_blas._holders))
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    stopped, _, alive, holders = map(int, done.stdout.split())
    assert stopped > 10
    assert alive == 1
    assert holders == 0


def test_number_of_threads():
    assert thread_count(3) == 3
    assert thread_count(None) == thread_count(-1) >= 1
    with pytest.raises(ValueError, match="'n_jobs' parameter must be an integer >= 1"):
        thread_count(0)
