"""What a change of settings makes stale: everything downstream of the first stage that it decides."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from halfmoon.geometry._stages import GeometrySettings

__all__ = ["ALL_BUT_LANDMARKS", "changes_only_powers", "stale_stages"]

# What a setting decides first; everything downstream of it is computed again when it changes.
STAGES = {
    "metric": "index",
    "graph_params": "index",
    "n_neighbors": "graph",
    "weights": "graph",
    "graph": "graph",
    "neighbors": "graph",
    "regularizer": "regularizer",
    "ridge": "regularizer",
    "normalized": "regularizer",
    "n_landmarks": "landmarks",
    "landmarks": "landmarks",
    "random_state": "landmarks",
    "powers": "restrictions",
    "eps": "restrictions",
    "solver": "restrictions",
    "memory": None,
    "n_jobs": None,
}
DOWNSTREAM = {
    "index": {"index", "graph", "regularizer", "restrictions"},
    "graph": {"graph", "regularizer", "restrictions"},
    "regularizer": {"regularizer", "restrictions"},
    "landmarks": {"landmarks", "restrictions"},
    "restrictions": {"restrictions"},
    None: set(),
}
ALL_BUT_LANDMARKS = DOWNSTREAM["index"]


def stale_stages(settings: GeometrySettings, changes: dict[str, Any], *, other_labels: bool) -> set[str]:
    """Return the stages that have to be computed again."""
    changed = {STAGES[name] for name, value in changes.items() if getattr(settings, name) is not value}
    changed |= {"landmarks"} if other_labels else set()
    return set().union(*(DOWNSTREAM[stage] for stage in changed))


def changes_only_powers(before: GeometrySettings, after: GeometrySettings) -> bool:
    """Return whether nothing but the wanted powers has changed: old blocks still hold."""
    return _comparable(after) and replace(after, powers=before.powers) == before


def _comparable(settings: GeometrySettings) -> bool:
    """Return whether settings can be compared by value: arrays and graphs cannot."""
    values = [getattr(settings, field.name) for field in fields(settings)]
    arrays = any(isinstance(value, np.ndarray) or sparse.issparse(value) for value in values)
    return settings.neighbors is None and not arrays
