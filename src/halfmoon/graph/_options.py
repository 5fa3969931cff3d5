"""How a search is to be done: recall, threads, seed, progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from halfmoon._validation import check_real
from halfmoon.runtime.executor import thread_count
from halfmoon.runtime.progress import report
from halfmoon.runtime.storable import storable

__all__ = ["SearchOptions", "SearchProgress"]

SearchProgress = Callable[[int, int, str], Any]  # rows done, rows in all, what is being done


@storable
@dataclass(frozen=True)
class SearchOptions:
    """What the caller of a search decides.

    Attributes
    ----------
    recall : float
        Share of the true neighbours that an approximate search has to find; estimated on a sample.
    query_recall : float
        The same for new rows; 1 means exact search.
    n_jobs : int or None
        Threads; None means all cores, -1 too. The result does not depend on it.
    seed : int
        Of sketches, trees, cells and samples.
    progress : callable or None
        Called as progress(rows_done, rows, step).

    Examples
    --------
    >>> from halfmoon.graph import SearchOptions
    >>> SearchOptions(n_jobs=2).threads
    2
    """

    recall: float = 0.95
    n_jobs: int | None = None
    seed: int = 0
    progress: SearchProgress | None = field(default=None, compare=False)
    query_recall: float = 0.99

    def __post_init__(self) -> None:
        for name, value in (("recall", self.recall), ("query_recall", self.query_recall)):
            check_real(name, value, strict=True)
            if value > 1.0:
                raise ValueError(f"The '{name}' parameter must be in (0, 1]. Got {value!r} instead.")
        thread_count(self.n_jobs)

    @property
    def threads(self) -> int:
        """Number of threads to use."""
        return thread_count(self.n_jobs)

    def report_step(self, done: int, total: int, step: str) -> None:
        """Report progress to whoever listens."""
        report("graph", done, total)
        if self.progress is not None:
            self.progress(done, total, step)
