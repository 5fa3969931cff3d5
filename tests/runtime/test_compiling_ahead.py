"""A second process compiles ahead: whoever needs a stage waits for it, and the process ends with the block."""

import sys
import time

import pytest

from halfmoon.runtime import compiling_ahead as ahead
from halfmoon.runtime.compiling_ahead import await_compiled, compiling_ahead, is_cached
from halfmoon.runtime.jit import njit

SOON = 20.0  # seconds: far less than what the programs here would sleep


@pytest.fixture
def processes(monkeypatch):
    """Return the processes that are started."""
    started, popen = [], ahead.subprocess.Popen

    def recorded(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(ahead.subprocess, "Popen", recorded)
    return started


def test_a_stage_is_awaited_and_the_process_ends_with_the_block(processes, tmp_path):
    program = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); print('one', flush=True); time.sleep(600)"
    start = time.monotonic()
    with compiling_ahead(program, [str(tmp_path / "touched")]):
        await_compiled("one")
        assert (tmp_path / "touched").exists()
        await_compiled("one")  # known
        assert processes[0].poll() is None
    assert processes[0].poll() is not None
    assert time.monotonic() - start < SOON
    await_compiled("one")  # nobody to wait for


def test_the_process_ends_with_an_error_in_the_block(processes):
    with pytest.raises(KeyboardInterrupt), compiling_ahead("import time; time.sleep(600)"):
        raise KeyboardInterrupt
    assert processes[0].poll() is not None


@pytest.mark.parametrize("program", ["raise ValueError", "not Python", "import os; os.abort()", "print('other')"])
def test_nobody_waits_for_a_process_that_fails_and_nothing_is_said(processes, program, capfd):
    with compiling_ahead(program):
        await_compiled("one")
    assert processes[0].poll() is not None
    assert capfd.readouterr() == ("", "")


def test_no_process_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with compiling_ahead("print('one')"):
        await_compiled("one")


def test_what_has_been_called_is_cached():
    @njit(cache=False)
    def doubled(x):
        return 2 * x

    assert is_cached(doubled)  # there is no cache that a second process could fill
