"""Processes that compute trials and end with their caller: no thread and no queue stands between the two.

Each process has a pipe of its own. Killing it, at any moment, needs no word with it. A process whose caller was killed
ends at once, in the middle of a trial too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

__all__ = ["computed_in_processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def computed_in_processes(
    task: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Generator[Result, None, None]:
    """Yield task(item) for all items, each as soon as it is there; the processes end with the generator."""
    waiting = iter(items)
    busy: dict[Connection, BaseProcess] = {}
    with ExitStack() as stack:
        with _processes_without_interrupts():
            for item in islice(waiting, count):
                connection, process = _started(stack, task, max(cpu_count() // count, 1))
                busy[connection] = process
                connection.send(item)
        while busy:
            ready = wait(list(busy))
            for connection in [connection for connection in busy if connection in ready]:
                result: Result = _received(connection, busy[connection])
                try:
                    connection.send(next(waiting))
                except StopIteration:
                    del busy[connection]
                yield result


def _started(stack: ExitStack, task: Callable[[Item], Result], threads: int) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    connection, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, task, threads), daemon=True)
    stack.callback(_end, process, connection)
    process.start()
    theirs.close()  # the process holds the only other end: when it dies, we read the end of the pipe
    return connection, process


def _serve(connection: Connection, task: Callable[[Item], Result], threads: int) -> None:
    """Compute what the caller sends, until it sends no more or is gone."""
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    with threadpool_limits(threads), suppress(EOFError, BrokenPipeError):
        while True:
            item = connection.recv()
            try:
                answer: tuple[bool, Any] = (True, task(item))
            except Exception as error:
                error.add_note("In another process:\n" + traceback.format_exc())
                answer = (False, error)
            connection.send(answer)


def _end_with_the_caller() -> None:
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


def _received(connection: Connection, process: BaseProcess) -> Any:
    try:
        succeeded, answer = connection.recv()
    except (EOFError, ConnectionResetError):
        process.join()
        raise RuntimeError(
            f"A process that computed a trial ended with exit code {process.exitcode}, probably for want of memory. "
            "Run with fewer processes (--jobs); finished trials are kept."
        ) from None
    if not succeeded:
        raise answer
    return answer


def _end(process: BaseProcess, connection: Connection) -> None:
    """Kill a process, whatever it computes: an idle one would hold up the end of an interrupted program."""
    connection.close()
    if process.pid is not None:  # None: an interrupt came before it was started
        process.kill()
        process.join()
        process.close()


@contextmanager
def _processes_without_interrupts() -> Iterator[None]:
    """Start processes that do not see Ctrl-C: it is for this process, which then ends the others."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let signals through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit this; for us it waits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
