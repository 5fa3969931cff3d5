"""Where a warning points: to the line of the user's code, however deep in the library it arises."""

from __future__ import annotations

import sys

__all__ = ["caller_level"]

BETWEEN = ("halfmoon", "sklearn", "joblib", "contextlib")  # packages that lie between users and a warning


def caller_level() -> int:
    """Return the `stacklevel` at which `warnings.warn`, called beside this function, names the user's line.

    Examples
    --------
    >>> from halfmoon.runtime.callers import caller_level
    >>> caller_level() >= 1
    True
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    return level
