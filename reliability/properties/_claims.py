"""The table of properties, and how one is run by hypothesis."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded

__all__ = ["PROFILES", "PROPERTIES", "claim", "run_property"]

PROFILES = {"short": 6, "quick": 25, "long": 300, "nightly": 10_000}
for profile, examples in PROFILES.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
PROPERTIES: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {}


def claim(text: str, **strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a property in the table."""

    def enter(function: Callable[..., None]) -> Callable[..., None]:
        PROPERTIES[text] = (function, strategies)
        return function

    return enter


def run_property(text: str, profile: str, seed: int) -> int:
    """Run one property and return the number of examples; the first that fails raises."""
    function, strategies = PROPERTIES[text]
    count = 0

    def counted(**drawn: Any) -> None:
        nonlocal count
        count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            function(**drawn)

    seeded(seed)(settings(settings.get_profile(profile))(given(**strategies)(counted)))()
    return count
