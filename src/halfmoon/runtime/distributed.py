"""Tasks on the workers of a Dask cluster: the same tasks as on threads, with what they share sent once.

A task gets what was prepared for all of them, one item, and returns its result, so a worker
that dies costs the tasks it was running: they run again elsewhere, with the same result.

What tasks share goes to one worker, and the others fetch it from there and from each other when their first task needs
it. Dask's own way to send to all, `scatter(broadcast=True)`, is not used: if a worker dies meanwhile, the scheduler
tries for ever to reach it (dask/distributed, issue 5704), and the cluster stands still. Nor is
`client.wait_for_workers`, which renews the list of workers that a `LocalCluster` keeps: if the cluster then hears of a
death that is in the list already, it stops watching its workers, and its end raises KeyError.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from itertools import chain, repeat
from typing import Any, Self, TypeVar
from uuid import uuid4

from halfmoon.runtime._one_thread import one_thread
from halfmoon.runtime.executor import AHEAD, Executor, ThreadExecutor

__all__ = ["DaskExecutor"]

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 300  # seconds until a cluster without workers counts as broken
LARGE = 1 << 20  # bytes from which on an item goes to a worker directly, not through the scheduler
PAUSE = 0.5  # seconds in which the scheduler notices that a worker is gone
LOSSES = 5  # times that all copies of what was sent may be lost before the cluster counts as broken


class DaskExecutor(Executor):
    """Runs tasks on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    """

    shares_memory = False

    def __init__(self, client: Any) -> None:
        self.client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left to end: every `map` has taken back what it had sent."""

    def map(
        self, task: Callable[[Prepared, Item], Result], prepared: Prepared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield task(prepared, item) for every item, in order."""
        batch = _Batch(self.client, task, prepared)
        try:
            yield from batch.results(items)
        finally:
            batch.cancel()

    def run(self, task: Callable[[Prepared], Result], prepared: Prepared) -> Result:
        """Return task(prepared), computed on a thread of this process: one task is not worth a journey."""
        with ThreadExecutor(1) as executor:
            return executor.run(task, prepared)


class _Batch:
    """The tasks of one call of `map`, of which a few are ahead of the result that is due."""

    def __init__(self, client: Any, task: Callable[..., Any], prepared: Any) -> None:
        self.client, self.task, self.prepared = client, task, prepared
        self.pending: deque[tuple[Any, Any]] = deque()  # items and their futures
        self.losses = 0
        self.places: Iterator[str | None] = repeat(None)  # workers that the next tasks are for; None: any
        self.sent = self._send(prepared)

    def _send(self, content: Any, worker: str | None = None) -> Any:
        """Send something to a worker, and to another if it dies on the way."""
        while True:
            self._wait_for_workers()
            try:
                return self.client.scatter(_Parcel(content), workers=worker and [worker], hash=False)
            except (OSError, KeyError) as error:  # the connection ended; the scheduler has forgotten the worker
                worker = None
                self._count_loss(error)
                time.sleep(PAUSE)

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in order.

        The first tasks are dealt out. The scheduler would give them to the worker that has what they share, and let the
        others idle until it has seen how long a task takes.
        """
        threads = [worker for worker, count in self.client.nthreads().items() for _ in range(count)]
        ahead = AHEAD * max(1, len(threads))
        self.places = chain(threads * AHEAD, repeat(None))
        for item in items:
            self.pending.append((item, self._submit(item)))
            if len(self.pending) > ahead:
                yield self._next()
        while self.pending:
            yield self._next()

    def _submit(self, item: Any) -> Any:
        from dask.sizeof import sizeof

        worker = next(self.places)
        if sizeof(vars(item) if is_dataclass(item) else item) > LARGE:
            item = self._send(item, worker)
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        key = f"{self.task.__name__.strip('_')}-{uuid4().hex}"  # the scheduler learns by its name how long a task takes
        return self.client.submit(_call, self.task, self.sent, item, key=key, **place)

    def _next(self) -> Any:
        from distributed.client import FutureCancelledError

        while True:
            try:
                result = self._wait_for(self.pending[0][1])
            except FutureCancelledError as error:  # every worker that held what was sent has died
                self._send_again(error)
                continue
            self.pending.popleft()
            return result

    def _wait_for_workers(self) -> None:
        """Wait until the scheduler knows a worker; a cluster without workers is broken."""
        until = time.monotonic() + PATIENCE
        while not self.client.nthreads():
            if time.monotonic() > until:
                raise TimeoutError(
                    f"The Dask cluster has had no workers for {PATIENCE} s. Look at their logs, and start some."
                )
            time.sleep(PAUSE)

    def _wait_for(self, future: Any) -> Any:
        """Return the result of a task, however long it takes, as long as there are workers."""
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if future.done():  # the task itself has timed out
                    raise
                self._wait_for_workers()

    def _count_loss(self, error: Exception) -> None:
        self.losses, self.places = self.losses + 1, repeat(None)
        if self.losses > LOSSES:
            raise RuntimeError(
                f"The workers of the Dask cluster lost what was sent to them {self.losses} times: they keep dying. "
                "Look at their logs; most often they need more memory (memory_limit)."
            ) from error

    def _send_again(self, error: Exception) -> None:
        self._count_loss(error)
        self.cancel()  # else the client keeps cancelled tasks, by the tracebacks of their errors
        self.sent = self._send(self.prepared)
        self.pending = deque((item, self._submit(item)) for item, _ in self.pending)

    def cancel(self) -> None:
        """Take back what has not been computed yet, and what was sent."""
        self.client.cancel([future for _, future in self.pending], force=True)
        self.client.cancel([self.sent], force=True)


class _Parcel:
    """Hides a tuple or list from `scatter`, which would send its members one by one."""

    def __init__(self, content: Any) -> None:
        self.content = content


def _call(task: Callable[[Any, Any], Any], parcel: _Parcel, item: Any) -> Any:
    """Run one task on its thread of a worker."""
    with one_thread():
        return task(parcel.content, item.content if isinstance(item, _Parcel) else item)
