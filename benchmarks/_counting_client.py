"""A cluster of one worker inside this process: it counts what would travel, and the seconds of the tasks."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "CountingClient"]


@dataclass
class Call:
    """What was sent for the tasks of one call of `map`, and what came back."""

    sent: int  # bytes for each worker
    returned: int = 0  # bytes of all results
    seconds: float = 0.0  # of the processor, in tasks


class CountingClient:
    """Stands in for a `distributed.Client`: tasks run at once, in this thread, after a journey through pickle."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def nthreads(self) -> dict[str, int]:
        """Return the one worker and its one thread."""
        return {"here": 1}

    def scatter(self, parcel: Any, *, workers: list[str] | None, hash: bool) -> Any:
        """Count the bytes of what every worker gets."""
        self.calls.append(Call(sent=len(pickle.dumps(parcel, protocol=5))))
        return parcel

    def submit(self, function: Callable[..., Any], *args: Any, **place: Any) -> _Done:
        """Run a task, here wherever it is for."""
        start = time.process_time()
        result = function(*args)
        self.calls[-1].seconds += time.process_time() - start
        self.calls[-1].returned += len(pickle.dumps(result, protocol=5))
        return _Done(result)

    def cancel(self, futures: list[Any], force: bool) -> None:
        """Return: nothing is pending."""


@dataclass(frozen=True)
class _Done:
    """A future that has arrived."""

    value: Any

    def result(self, timeout: float) -> Any:
        return self.value
