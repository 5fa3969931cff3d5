"""What one row costs in every stage: coefficients fitted to measured runs, kept beside them in costs.json.

A stage costs rows x (constant + log2 x log2(rows) + feature x features), in processor seconds or in bytes. The
logarithm stands for caches that no longer hold the graph, and for iterations and search trees that grow slowly. The
constant may be negative, so the laws hold from the smallest measured size on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log2
from typing import Any

__all__ = ["Costs", "Stage", "measured_costs"]


@dataclass(frozen=True)
class Stage:
    """The law of one stage.

    Attributes
    ----------
    constant, log2, feature : float
        Seconds or bytes per row: always, per doubling of the rows, per feature.
    residual : float
        The largest relative difference between the law and a measured run.
    """

    constant: float
    log2: float
    feature: float
    residual: float

    def of(self, rows: int, features: int) -> float:
        """Return the cost for so many rows."""
        return rows * (self.constant + self.log2 * log2(rows) + self.feature * features)


@dataclass(frozen=True)
class Costs:
    """All stages, and the runs that they were fitted to.

    Attributes
    ----------
    command, machine : str
        What was run, and where.
    rows : tuple of dict
        The measured runs: rows, features and what each stage cost.
    stages : mapping
        Name -> Stage. Processor seconds: graph, setup (ordering, factor, pilot), column (the solves for one landmark),
        rest (everything else in a fit). Bytes: system (what a worker is sent), edges (the graph as CSR).
    """

    command: str
    machine: str
    rows: tuple[Mapping[str, Any], ...]
    stages: Mapping[str, Stage]

    @property
    def smallest(self) -> int:
        """Rows of the smallest measured run: below, the laws mean nothing."""
        return min(int(row["rows"]) for row in self.rows)

    @property
    def largest(self) -> int:
        """Rows of the largest measured run: what is beyond is extrapolated."""
        return max(int(row["rows"]) for row in self.rows)


@cache
def measured_costs() -> Costs:
    """Return the costs that the library was released with."""
    stored = json.loads(files(__package__).joinpath("costs.json").read_text(encoding="utf-8"))
    stages = {name: Stage(**law) for name, law in stored["stages"].items()}
    return Costs(stored["command"], stored["machine"], tuple(stored["rows"]), stages)
