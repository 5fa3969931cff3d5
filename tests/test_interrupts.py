"""Ctrl-C at random moments, in processes of their own: no crash, no damaged file, no thread or process left over."""

import signal

import pytest

from benchmarks.interrupts import CASES, Tally, interrupt, prepare
from halfmoon.runtime.atomic_write import atomic_write, try_writing

pytestmark = pytest.mark.usefixtures("sigint")
SECONDS = 4.0  # in which the cases run to their end on an idle machine; mostly imports


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the cases read; making them compiles the kernels."""
    folder = tmp_path_factory.mktemp("interrupts")
    prepare(folder, rows=600, features=8, seed=0)
    return folder


@pytest.mark.parametrize("case", [*CASES, "fit", "halfmoon fit", "halfmoon predict"])
def test_interrupts_at_random_moments(case, folder, rng):
    delay, group, tally = float(rng.uniform(0.0, SECONDS)), bool(rng.integers(2)), Tally()
    problem = interrupt(case, folder, delay, group=group, tally=tally)
    assert not problem, f"after {delay:.3f} s: {problem}"
    assert tally.damaged == 0


@pytest.mark.parametrize("there", [False, True])
def test_an_interrupt_while_writing_leaves_the_file_as_it_was(there, tmp_path):
    path = tmp_path / "out.txt"
    if there:
        path.write_text("old")

    def write():
        with atomic_write(path) as file:
            file.write(b"half of")
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [child.read_text() for child in tmp_path.iterdir()] == ["old"] * there


def test_an_interrupt_while_a_place_is_tried_leaves_nothing(tmp_path, monkeypatch):
    from pathlib import Path

    opened = Path.open

    def interrupted(path, *mode):
        opened(path, *mode).close()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        try_writing(tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())
