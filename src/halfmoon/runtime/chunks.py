"""Methods of fitted objects on Dask arrays and dataframes: lazily, chunk by chunk, nothing gathered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime._one_thread import one_thread
from halfmoon.runtime.execution import current_client

__all__ = ["by_chunk"]

Method = TypeVar("Method", bound=Callable[..., Any])


def by_chunk(method: Method) -> Method:
    """Let a method of rows, ``method(self, X, ...)``, accept Dask arrays and dataframes: the result is a Dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.chunks import by_chunk
    >>> class Doubler:
    ...     n_features_in_ = 2
    ...     @by_chunk
    ...     def transform(self, X):
    ...         return 2 * X
    >>> import dask.array as da
    >>> Doubler().transform(da.ones((6, 2), chunks=(4, 1)))
    dask.array<transform, shape=(6, 2), dtype=float64, chunksize=(4, 2), chunktype=numpy.ndarray>
    >>> Doubler().transform(np.ones((1, 2)))
    array([[2., 2.]])
    """

    @wraps(method)
    def of_any(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_dask(X):
            return method(self, X, *args, **kwargs)
        return _mapped(method, self, X, args, kwargs)

    return cast(Method, of_any)


def _is_dask(X: Any) -> bool:
    """Tell a Dask collection without importing Dask."""
    return "dask" in sys.modules and callable(getattr(X, "__dask_graph__", None))


def _mapped(method: Callable[..., Any], model: Any, X: Any, args: Any, kwargs: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"Expected rows and columns. Got a Dask array of {X.ndim} dimensions. Use X.reshape(-1, 1).")
    # One row of ones stands for all: no metric refuses it.
    row = np.ones((1, X.shape[1]), X.dtype) if hasattr(X, "chunks") else X._meta_nonempty[:1]
    sample = _sample(method, model, row, args, kwargs)
    call = (method.__name__, _once(model), args, kwargs, sample[:0])
    if not hasattr(X, "chunks"):
        return _of_partitions(call, X, sample)
    X = X.rechunk({1: -1})  # whole rows
    shape = {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (X.chunks[0], (sample.shape[1],))}
    return X.map_blocks(_call, *call, dtype=sample.dtype, meta=sample[:0], token=method.__name__, **shape)


def _once(model: Any) -> Any:
    """Return the model as one node, however many chunks there are: sent ahead inside `distributed`, else in the graph.

    What is sent ahead is a task whose argument the scheduler keeps: if every worker that has the model dies, another
    gets it again. Workers prepare it for queries once.
    """
    import dask

    client = current_client()
    if client is None:
        return dask.delayed(model, pure=False)
    from distributed.protocol.pickle import dumps, loads

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize}):
        return client.submit(loads, dumps(model), pure=False)


def _of_partitions(call: tuple[Any, ...], frame: Any, sample: NDArray[Any]) -> Any:
    """Return the rows of all partitions, whose numbers are known only when they are computed; column names stay."""
    import dask
    import dask.array as da

    shape = (np.nan, *sample.shape[1:])
    parts = [dask.delayed(_call)(part, *call) for part in frame.to_delayed()]
    arrays = [da.from_delayed(part, shape, meta=sample[:0]) for part in parts]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _sample(method: Callable[..., Any], model: Any, row: Any, args: Any, kwargs: Any) -> NDArray[Any]:
    """Return what the method makes of one row, which shows the type and the columns of its results."""
    made = method(model, row, *args, **kwargs)
    if isinstance(made, tuple):
        raise TypeError(
            f"{method.__name__} of a Dask collection returns one array, and these arguments ask for {len(made)}: "
            f"{kwargs or args}. Leave them out, or map the method over the chunks yourself."
        )
    return np.asarray(made)


def _call(rows: Any, name: str, model: Any, args: Any, kwargs: Any, nothing: NDArray[Any]) -> Any:
    """Return the values of a chunk; a chunk that a filter has left empty has none."""
    if not len(rows):
        return nothing
    with one_thread() if _in_worker() else nullcontext():
        return getattr(model, name)(rows, *args, **kwargs)


def _in_worker() -> bool:
    """Tell whether this is a task of a worker, which has a thread for each; Dask's own threads have none to spare."""
    if "distributed" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
