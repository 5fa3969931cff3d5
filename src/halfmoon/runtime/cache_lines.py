"""Arrays whose rows begin with a cache line.

NumPy begins large arrays 16 bytes after a line, so that every row of 64 bytes would lie in two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE", "rows_of_lines"]

LINE = 64  # bytes of a cache line


def rows_of_lines(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of such rows, which may be longer than asked for: zero there."""
    n, width = shape
    item = np.dtype(dtype).itemsize
    columns = -(-width * item // LINE) * LINE // item
    room = np.empty(n * columns * item + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    rows = room[first : first + n * columns * item].view(dtype).reshape(n, columns)
    rows[:, width:] = 0
    return rows
