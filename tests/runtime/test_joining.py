"""Interrupts are not lost in errors that follow from them."""

import pytest

from halfmoon.runtime._joining import behind, insist


def test_an_error_that_follows_from_an_interrupt_is_raised_as_the_interrupt():
    tries = []

    def action():
        tries.append(1)
        if len(tries) == 1:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("release unlocked lock")  # as Python's locks do

    with pytest.raises(KeyboardInterrupt):
        insist(action)
    assert len(tries) == 2


def test_other_errors_stay_what_they_are():
    error = ValueError("no")
    assert behind(error) is error
