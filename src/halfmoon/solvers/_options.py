"""How a solve is to be done: accuracy, solver, threads, memory, progress."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from halfmoon._validation import check_integer, check_real
from halfmoon.runtime.executor import thread_count
from halfmoon.runtime.lanes import WIDTH
from halfmoon.runtime.memory import allowance
from halfmoon.runtime.storable import storable

__all__ = ["Progress", "SolveOptions"]

Progress = Callable[[int, int, float], Any]  # columns done, columns in all, largest residual so far
MEMORY_SHARE = 0.5  # of what is free


@storable
@dataclass(frozen=True)
class SolveOptions:
    """What the caller of a solver decides.

    Attributes
    ----------
    eps : float
        Accuracy asked for.
    solver : str
        Name in the table of solvers, or "auto".
    n_jobs : int or None
        Threads; None means all cores, -1 too. The result does not depend on it.
    max_memory : int or None
        Bytes for arrays of n x n_hat; None means what this context allows (`halfmoon.runtime.memory`), or half of the
        free memory.
    progress : callable or None
        Called as progress(columns_done, columns, residual).
    seed : int
        Of everything that is sampled.
    """

    eps: float = 1e-6
    solver: str = "auto"
    n_jobs: int | None = None
    max_memory: int | None = None
    progress: Progress | None = field(default=None, compare=False)
    seed: int = 0

    def __post_init__(self) -> None:
        check_real("eps", self.eps, strict=True)
        if not isinstance(self.solver, str):
            raise ValueError(f"The 'solver' parameter must be a name. Got {self.solver!r} instead.")
        check_integer("random_state", self.seed, low=0, advice="It seeds what solvers sample.")
        thread_count(self.n_jobs)
        if self.max_memory is not None:
            check_integer("max_memory", self.max_memory, low=1, advice="It counts bytes.")

    @property
    def threads(self) -> int:
        """Number of threads to use: no more than this context allows to hold columns."""
        allowed, count = allowance(), thread_count(self.n_jobs)
        return count if allowed is None else min(count, allowed.threads)

    @property
    def tile_width(self) -> int:
        """Columns that a thread solves for at one time: half of the usual ones where this context has little memory."""
        allowed = allowance()
        return WIDTH if allowed is None else allowed.tile_width

    @property
    def memory(self) -> int:
        """Bytes that arrays of n x n_hat may take."""
        if self.max_memory is not None:
            return self.max_memory
        allowed = allowance()
        return int(MEMORY_SHARE * _free_memory()) if allowed is None else allowed.columns


def _free_memory() -> int:
    """Return the bytes that can be had without swapping, or 4 GiB where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return 4 << 30
