"""State without what can be computed again."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

__all__ = ["without_caches"]


def without_caches(thing: Any, kept: Collection[str] = ()) -> dict[str, Any]:
    """Return the attributes of an object, without the values of its cached properties other than those `kept`.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.caches import without_caches
    >>> from halfmoon.regularizers import AmplifiedResistance
    >>> Q = AmplifiedResistance(np.ones((3, 3)) - np.eye(3))
    >>> Q.components.count, sorted(without_caches(Q))
    (1, ['W', 'n'])
    """
    cached = {
        name for cls in type(thing).__mro__ for name, value in vars(cls).items() if isinstance(value, cached_property)
    }
    return {name: value for name, value in vars(thing).items() if name not in cached or name in kept}
