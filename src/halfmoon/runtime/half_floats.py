"""Rows in float16 inside compiled functions, which have no such type: they are given the bits, and decode them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

__all__ = ["as_bits", "number"]

SIGN, SIZE = np.uint32(0x8000), np.uint32(0x7FFF)
WIDER = np.uint32(13)  # bits by which the fraction of float32 is longer
REBASE = np.float32(2.0**112)  # exponents of float16 count from 15, those of float32 from 127; right for tiny ones too


def as_bits(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows as compiled functions read them: float16 as uint16, which no other rows are; no copy.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.half_floats import as_bits
    >>> as_bits(np.ones((1, 2), np.float16)).dtype, as_bits(np.ones((1, 2))).dtype
    (dtype('uint16'), dtype('float64'))
    """
    return X.view(np.uint16) if X.dtype == np.float16 else X


def number(value):
    """Return the float32 that bits of a float16 stand for, other values as they are; compiled only, by the overload."""


@overload(number)
def _number(value):
    if value is not types.uint16:
        return lambda value: value

    def decoded(value):
        bits = np.uint32(value)
        size = np.uint32((bits & SIZE) << WIDER).view(np.float32) * REBASE
        return np.float32(-size if bits & SIGN else size)

    return decoded
