"""Which executor runs the tasks here: threads or a Dask cluster, with or without a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from halfmoon.runtime.checkpoint import Checkpoint, CheckpointedExecutor
from halfmoon.runtime.distributed import DaskExecutor
from halfmoon.runtime.executor import Executor, ThreadExecutor
from halfmoon.runtime.pieces import digest

__all__ = ["checkpointing", "current_client", "distributed", "executor_for", "piece"]

Result = TypeVar("Result")

# Of the current context: a fit in another thread has its own.
_client: ContextVar[Any] = ContextVar("halfmoon_client", default=None)
_checkpoint: ContextVar[Checkpoint | None] = ContextVar("halfmoon_checkpoint", default=None)


@contextmanager
def distributed(client: Any) -> Iterator[None]:
    """Run solves, searches and large graphs inside the block on the workers of a Dask cluster.

    Estimators, kernels and functions are called as always. Results are those of one process, to the certified bound; a
    graph by approximate search has the same recall, and may differ where it is built in shards.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster. Workers need halfmoon in the same version.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client                                          # doctest: +SKIP
    >>> from halfmoon import LapSVC, distributed
    >>> with Client() as client, distributed(client):                           # doctest: +SKIP
    ...     model = LapSVC().fit(X, y)
    """
    if not callable(getattr(client, "scatter", None)) or not callable(getattr(client, "submit", None)):
        raise TypeError(
            f"distributed() needs a distributed.Client. Got {type(client).__name__}. "
            "Make one with distributed.Client(address), or distributed.Client() for this machine."
        )
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def current_client() -> Any:
    """Return the client of this context's `distributed`, or None."""
    return _client.get()


@contextmanager
def checkpointing(folder: str | os.PathLike[str] | None, fingerprint: Mapping[str, Any]) -> Iterator[None]:
    """Keep the finished pieces of what is computed inside the block in a folder; None: keep nothing.

    `fingerprint` is what the run depends on, by name: a folder that holds the run of something else is refused.
    """
    if folder is None:
        yield
        return
    token = _checkpoint.set(Checkpoint.open(folder, {name: digest(value) for name, value in fingerprint.items()}))
    try:
        yield
    finally:
        _checkpoint.reset(token)


def piece(name: str, compute: Callable[[], Result]) -> Result:
    """Return a piece of this context's checkpoint, or compute it.

    Examples
    --------
    >>> from halfmoon.runtime.execution import piece
    >>> piece("square", lambda: 3**2)
    9
    """
    checkpoint = _checkpoint.get()
    return compute() if checkpoint is None else checkpoint.piece(name, compute)


def executor_for(threads: int) -> Executor:
    """Return the executor of this context: the cluster of `distributed`, else so many threads; with its checkpoint.

    Examples
    --------
    >>> from halfmoon.runtime.execution import executor_for
    >>> executor_for(2).shares_memory
    True
    """
    client, checkpoint = _client.get(), _checkpoint.get()
    executor = ThreadExecutor(threads) if client is None else DaskExecutor(client)
    return executor if checkpoint is None else CheckpointedExecutor(executor, checkpoint)
