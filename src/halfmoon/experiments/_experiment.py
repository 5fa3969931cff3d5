"""What the files of the figures have in common: jobs to run, a plot, claims to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halfmoon.experiments._trials import Job

__all__ = ["Claim", "Experiment", "Options", "Rows", "count_of_claims"]

Rows = Mapping[str, list[dict[str, Any]]]  # by job


@dataclass(frozen=True)
class Options:
    """What a run is asked for."""

    data: Path | None = None
    seed: int = 0
    trials: int | None = None  # None: as in the paper
    quick: bool = False

    def count(self, full: int, quick: int) -> int:
        """Return the number of trials of a job."""
        if self.trials is not None:
            return self.trials
        return quick if self.quick else full


@dataclass(frozen=True)
class Claim:
    """A claim of the paper or an aim, what was measured, and whether it holds."""

    text: str
    aim: str
    measured: str
    holds: bool | None  # None: too few trials to tell

    @property
    def verdict(self) -> str:
        """The word for it."""
        return {True: "holds", False: "missed", None: "too few trials"}[self.holds]


def count_of_claims(claims: Sequence[Claim]) -> str:
    """Say how many of the claims hold that could be checked."""
    decided = [claim.holds for claim in claims if claim.holds is not None]
    return f"{sum(decided)} of {len(decided)} claims hold"


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    title: str
    jobs: Sequence[Job]
    plot: Callable[[Rows], Any] | None  # returns a matplotlib Figure
    claims: Callable[[Rows], list[Claim]]
    table: Callable[[Rows], str]  # markdown
