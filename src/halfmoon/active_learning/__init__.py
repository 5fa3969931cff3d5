"""Which rows to label next."""

from halfmoon.active_learning._strategies import STRATEGIES
from halfmoon.active_learning._suggest import suggest

__all__ = ["STRATEGIES", "suggest"]
