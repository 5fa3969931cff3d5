"""The memory of a fit: predicted before graph and solves, kept below what the user allows, and told."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from scipy import sparse

from halfmoon._validation import check_integer
from halfmoon.exceptions import MemoryLimitError
from halfmoon.kernels import DataDependentKernel
from halfmoon.planning import FitMemory, FitSize, fit_memory
from halfmoon.runtime.execution import current_client
from halfmoon.runtime.executor import thread_count
from halfmoon.runtime.memory import Allowance, allowing
from halfmoon.runtime.progress import tell
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["predicted_memory", "within_memory"]

SMALL = 2_000  # rows up to which a fit is dense algebra, and memory no matter
DEFAULT_LANDMARKS = 500
MEASURED_METRICS = ("euclidean", "cosine")


def predicted_memory(
    kernel: DataDependentKernel, training: TrainingSet, limit: int | None, functions: int = 1
) -> FitMemory | None:
    """Return what a fit takes beyond its rows; None for small ones, and for kernels that were not measured."""
    X = training.X
    if limit is not None:
        check_integer("max_memory", limit, low=1, advice="It counts bytes.")
    measured = (
        kernel.method == "efficient"
        and kernel.graph is None
        and isinstance(kernel.regularizer, str)
        and kernel.regularizer == "power"
        and isinstance(kernel.metric, str)
        and kernel.metric in MEASURED_METRICS
        and not sparse.issparse(X)
        and current_client() is None
    )
    if X.shape[0] <= SMALL or not measured:
        return None
    landmarks = DEFAULT_LANDMARKS if kernel.n_landmarks is None else kernel.n_landmarks
    size = FitSize(
        rows=X.shape[0],
        features=X.shape[1],
        neighbors=check_integer("n_neighbors", kernel.n_neighbors, low=1),
        landmarks=min(check_integer("n_landmarks", landmarks, low=1), X.shape[0]),
        power=check_integer("power", kernel.power, low=1),
        columns=max(training.n_examples, functions + 1),
        threads=thread_count(kernel.n_jobs),
        functions=functions,
        weighted=kernel.weights != "binary",
    )
    return fit_memory(size, limit)


def within_memory(memory: FitMemory | None, limit: int | None) -> AbstractContextManager[None]:
    """Return a block in which a fit stays below the limit; say how much it takes, or refuse what cannot be kept."""
    if memory is None:
        if limit is not None:
            tell("memory is not predicted for a fit of this kind; max_memory bounds instant refits alone")
        return nullcontext()
    if limit is None:
        tell(f"memory up to {memory.peak / 1e6:,.0f} MB beyond the rows, if half of the free memory allows")
        return nullcontext()
    if memory.peak > limit:
        raise MemoryLimitError(
            f"This fit takes up to {memory.peak:,} bytes beyond its rows ({memory.stage}), in the way that takes "
            f"least, and max_memory allows {limit:,}. Raise max_memory to {memory.peak:,}, or use fewer neighbours, "
            "landmarks or rows."
        )
    streamed = "" if memory.columns else ", columns are not kept"
    tell(
        f"memory up to {memory.peak / 1e6:,.0f} of {limit / 1e6:,.0f} MB beyond the rows: solves on {memory.threads} "
        f"threads, {memory.tile_width} columns each{streamed}"
    )
    return allowing(Allowance(memory.threads, memory.tile_width, memory.columns, memory.wide_codes))
