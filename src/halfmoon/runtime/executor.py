"""Executors: run pure tasks on worker threads while the calling thread waits idle.

Compiled functions and BLAS release the GIL, so threads share the work. Items are cut by the data, never by the number
of threads, and results come back in order: what is computed does not depend on how many threads there are.

The calling thread only waits, because Python handles signals in the main thread between two bytecodes: a Ctrl-C would
go unnoticed during a long call. After an interrupt, or any other error, running tasks are asked to stop, and every
thread is joined before the error leaves the executor. Nothing goes on in the background.

State that the caller and the workers share consists of queues, sets and the stop flag, whose operations are atomic: an
interrupt between two of them leaves no lock held and no counter wrong.
"""

from __future__ import annotations

import queue
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from itertools import count
from typing import Any, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_integer
from halfmoon.runtime._blas import forget_holder, limit_blas, limit_openmp_here, release_blas
from halfmoon.runtime._joining import behind, insist, join_ending
from halfmoon.runtime._one_thread import has_one_thread

__all__ = ["AHEAD", "Executor", "Stopped", "ThreadExecutor", "stop_flag", "thread_count"]

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 4  # items per thread that are handed out before the caller takes the first result
POLL = 0.05  # seconds between looks at tasks that were asked to stop
IDLE = 1.0  # seconds after which workers without work, and callers without results, look whether the other is left


class Stopped(BaseException):
    """A task was asked to stop; its result is incomplete and is dropped."""


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means: None and -1 are all cores, or the one thread of a task of a cluster."""
    if n_jobs is None or n_jobs == -1:
        return 1 if has_one_thread() else _cores()
    return check_integer("n_jobs", n_jobs, low=1, advice="None or -1 means all cores.")


@cache
def _cores() -> int:
    """Count once: looking at affinities and quotas takes as long as a small task."""
    return int(joblib.cpu_count())


def stop_flag() -> NDArray[np.uint8]:
    """Return the flag of the task that this thread is running: its only entry becomes 1 when the task should stop.

    Compiled functions read ``stop[0]`` in their outer loops and return early; the executor drops what they return.
    Outside a task the flag stays 0.
    """
    batch = _here.batch
    return np.zeros(1, dtype=np.uint8) if batch is None else batch.stop


class Executor(ABC):
    """Runs pure tasks. What is prepared for them is picklable; they change no array that they did not create.

    Attributes
    ----------
    shares_memory : bool
        Whether results stay in this process: if not, tasks should return little.
    """

    shares_memory: bool = True

    @abstractmethod
    def map(
        self, task: Callable[[Prepared, Item], Result], prepared: Prepared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield task(prepared, item) for every item, in order.

        An error in a task stops the others and is raised at once. So does closing the iterator early.
        """

    @abstractmethod
    def run(self, task: Callable[[Prepared], Result], prepared: Prepared) -> Result:
        """Return task(prepared), computed by a worker: for long calls that would keep the caller from its signals."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *error: object) -> None: ...


class ThreadExecutor(Executor):
    """Runs tasks on threads that live for a ``with`` block. Meanwhile BLAS and OpenMP run on one thread per worker.

    Parameters
    ----------
    threads : int
        How many tasks run at once.

    Examples
    --------
    >>> from halfmoon.runtime.executor import ThreadExecutor
    >>> with ThreadExecutor(2) as executor:
    ...     list(executor.map(pow, 2, range(5)))
    [1, 2, 4, 8, 16]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._open = False

    def __enter__(self) -> Self:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # None: the block has ended
        self._workers: list[threading.Thread] = []
        self._busy: set[threading.Thread] = set()  # workers that have begun and not ended
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._batches: set[_Batch] = set()
        self._holder = object()
        # Python may raise an interrupt on the very way into __exit__. Then what was left open is closed here.
        weakref.finalize(self, _abandon, self._jobs, self._holder).atexit = False
        try:
            limit_blas(self._holder)
            self._open = True
        except BaseException:
            insist(self._close)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        insist(self._close)

    def map(
        self, task: Callable[[Prepared, Item], Result], prepared: Prepared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield task(prepared, item) for every item, in order."""
        if _here.batch is not None and _here.batch.belongs_to(self):  # every worker might wait for a free one
            for item in items:
                yield task(prepared, item)
            return
        batch = _Batch(self, _here.batch)
        self._batches.add(batch)
        try:
            jobs = (_Job(batch, index, task, (prepared, item)) for index, item in enumerate(items))
            yield from self._results(batch, jobs)
        finally:  # also after an interrupt, and when the caller closes the generator
            insist(batch.finish)
            self._batches.discard(batch)

    def run(self, task: Callable[[Prepared], Result], prepared: Prepared) -> Result:
        """Return task(prepared), computed by a worker."""
        (result,) = self.map(_call, prepared, [task])
        return result

    def _results(self, batch: _Batch, jobs: Iterator[_Job]) -> Iterator[Any]:
        """Hand out jobs, a few ahead of the result that is due, and yield results in order."""
        results: dict[int, Any] = {}
        submitted = 0
        for due in count():
            while submitted < due + AHEAD * self.threads and (job := next(jobs, None)) is not None:
                self._submit(job)
                submitted += 1
            if due == submitted:
                return
            while due not in results:
                index, result = batch.take()
                results[index] = result
            yield results.pop(due)

    def check_workers(self) -> None:
        """Raise if nobody is left to work: a thread can fail before it begins, where it has nobody to tell."""
        if not any(worker.is_alive() for worker in self._workers):
            raise RuntimeError(
                "All worker threads ended before their tasks, probably for want of memory; Python has printed why. "
                "Free memory, or use fewer threads (n_jobs)."
            )

    def _submit(self, job: _Job) -> None:
        if not self._open:
            raise RuntimeError("A ThreadExecutor runs tasks inside its with block only; this block has ended.")
        if len(self._workers) < self.threads:
            # Not a daemon: Python waits for it before it frees what the thread may be reading.
            worker = threading.Thread(
                target=_work, args=(self._jobs, self._busy, self._ended), name="halfmoon", daemon=False
            )
            self._workers.append(worker)
            try:
                worker.start()
            except RuntimeError as error:
                raise behind(error) from None
        self._jobs.put(job)

    def _close(self) -> None:
        """Stop all tasks and wait for all threads; may be repeated after an interrupt."""
        self._open = False
        for batch in list(self._batches):
            batch.halt()
        self._jobs.put(None)
        while self._busy:  # tasks may take long to stop, and an interrupted join() cannot be repeated
            with suppress(queue.Empty):
                self._ended.get(timeout=POLL)
        for worker in self._workers:
            join_ending(worker)
        release_blas(self._holder)


def _work(jobs: queue.SimpleQueue[_Job | None], busy: set[threading.Thread], ended: queue.SimpleQueue[None]) -> None:
    """Run jobs until the block ends, in a worker."""
    worker = threading.current_thread()
    busy.add(worker)
    limited = False
    try:
        while threading.main_thread().is_alive():  # else nobody is left to end the block
            with suppress(queue.Empty):
                job = jobs.get(timeout=IDLE)
                if job is None:
                    jobs.put(None)  # for the other workers
                    return
                try:
                    if not limited:
                        limit_openmp_here()
                        limited = True
                    job.run()
                except BaseException as error:  # not of the task: memory ran out on the way to it, say
                    job.fail(error)
                del job  # and with it the arrays that it was given
    finally:
        busy.discard(worker)
        ended.put(None)


def _abandon(jobs: queue.SimpleQueue[_Job | None], holder: object) -> None:
    """Let idle workers end when nobody has a reference to the executor any more.

    This may run between any two instructions of any thread, so it neither waits nor takes locks.
    """
    jobs.put(None)
    forget_holder(holder)


class _Batch:
    """The tasks of one call of `map`, and the flag that stops them."""

    def __init__(self, executor: ThreadExecutor, parent: _Batch | None) -> None:
        self.executor, self.parent = executor, parent
        self.context = copy_context()  # of the caller: whom to report to, what to do about floating-point errors
        self.stop = np.zeros(1, dtype=np.uint8)
        self.running: set[_Job] = set()
        self.children: set[_Batch] = set()  # begun by tasks of this batch
        self._outcomes: queue.SimpleQueue[_Outcome | None] = queue.SimpleQueue()  # None: stopped
        if parent is not None:
            parent.children.add(self)
            self.stop[0] = parent.stop[0]

    def belongs_to(self, executor: Executor) -> bool:
        """Return whether an executor runs this batch, or the task that began it."""
        return self.executor is executor or (self.parent is not None and self.parent.belongs_to(executor))

    def deliver(self, outcome: _Outcome) -> None:
        """Hand an outcome to the caller; after an error the other tasks stop at once."""
        self._outcomes.put(outcome)
        if outcome[2] is not None:
            self.halt()

    def take(self) -> tuple[int, Any]:
        """Wait for any outcome and return its index and result, or raise its error."""
        while True:
            try:
                outcome = self._outcomes.get(timeout=IDLE)
                break
            except queue.Empty:
                self.executor.check_workers()
        if outcome is None:
            raise Stopped
        index, result, error = outcome
        if error is None:
            return index, result
        try:
            raise error
        finally:
            del outcome, error  # the traceback holds this frame: no cycle

    def halt(self) -> None:
        """Ask the tasks to stop, and those that they began."""
        self.stop[0] = 1
        self._outcomes.put(None)
        for child in list(self.children):
            child.halt()

    def finish(self) -> None:
        """Ask the tasks to stop and wait for them; may be repeated after an interrupt."""
        self.halt()
        while self.running:
            with suppress(queue.Empty):
                self._outcomes.get(timeout=POLL)
        if self.parent is not None:
            self.parent.children.discard(self)


_Outcome = tuple[int, Any, BaseException | None]  # index, result, error


class _Job:
    """One call of a task."""

    def __init__(self, batch: _Batch, index: int, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.batch, self.index, self.task, self.arguments = batch, index, task, arguments

    def run(self) -> None:
        """Call the task and deliver its outcome, in a worker."""
        batch = _here.batch = self.batch
        batch.running.add(self)  # before the flag is read: `finish` sets it first and then looks who is running
        outcome: _Outcome
        try:
            outcome = (self.index, self._call(), None)
        except BaseException as error:
            outcome = (self.index, None, error)
        _here.batch = None
        batch.running.discard(self)
        batch.deliver(outcome)

    def fail(self, error: BaseException) -> None:
        """Deliver an error that came between tasks, in a worker."""
        _here.batch = None
        self.batch.running.discard(self)
        self.batch.deliver((self.index, None, error))

    def _call(self) -> Any:
        if self.batch.stop[0]:
            raise Stopped
        result = self.batch.context.copy().run(self.task, *self.arguments)  # one context runs in one thread only
        if self.batch.stop[0]:  # it may have returned early
            raise Stopped
        return result


class _Here(threading.local):
    """What the current thread is doing."""

    batch: _Batch | None = None


_here = _Here()


def _call(prepared: Prepared, task: Callable[[Prepared], Result]) -> Result:
    return task(prepared)
