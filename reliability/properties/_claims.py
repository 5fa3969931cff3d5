"""The table of properties, and how one is run by hypothesis."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded

__all__ = ["PROPERTIES", "claim", "run_property"]

ALWAYS = settings(derandomize=False, database=None, deadline=None, suppress_health_check=list(HealthCheck))
PROPERTIES: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {}


def claim(text: str, **strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a property in the table."""

    def enter(function: Callable[..., None]) -> Callable[..., None]:
        PROPERTIES[text] = (function, strategies)
        return function

    return enter


def run_property(text: str, examples: int, seed: int) -> int:
    """Run one property on so many examples, and return how many there were; the first that fails raises."""
    function, strategies = PROPERTIES[text]
    count = 0

    def counted(**drawn: Any) -> None:
        nonlocal count
        count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            function(**drawn)

    seeded(seed)(settings(ALWAYS, max_examples=examples)(given(**strategies)(counted)))()
    return count
