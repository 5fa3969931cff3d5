"""Which numbers can be computed with."""

from __future__ import annotations

import math

from halfmoon._validation import LARGEST

__all__ = ["LARGEST", "fault"]


def fault(number: float | None, advice: str) -> str:
    """Return what is wrong with a cell: it is too large, or else infinite or no number, for which there is advice."""
    if number is not None and LARGEST < abs(number) < math.inf:
        return f"is too large: squares of numbers above {LARGEST:g} overflow. Choose a larger unit."
    return f"is not a finite number. {advice}"
