"""The checkpoint of a fit: what graph and solves depend on, by name."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from halfmoon.exceptions import CheckpointError
from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.execution import checkpointing
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["checkpointed"]

KEPT_BY_NAME = ("metric", "landmarks")  # neighbours and landmarks are kept under a name; all else by its content
WITHOUT_EFFECT = ("memory", "n_jobs", "progress")  # on the result


def checkpointed(
    folder: str | os.PathLike[str] | None, kernel: DataDependentKernel, training: TrainingSet
) -> AbstractContextManager[None]:
    """Return a block that keeps finished pieces of a fit in a folder, or a plain one for None."""
    if folder is None:
        return nullcontext()
    parameters = kernel.get_params()
    for name in KEPT_BY_NAME:
        if callable(parameters[name]):
            raise CheckpointError(
                f"The '{name}' parameter is a function, and a checkpoint cannot tell whether a later run has the same "
                "one. Use a name, or fit without checkpoint."
            )
    return checkpointing(
        folder, {"rows": training.X, "labelled rows": training.rows, **_described_parameters(parameters)}
    )


def _described_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe parameters in the same way in every process."""
    return {name: _described(value) for name, value in parameters.items() if name not in WITHOUT_EFFECT}


def _described(value: Any) -> Any:
    if isinstance(value, dict):
        return _described_parameters(value)
    if isinstance(value, np.ndarray | sparse.csr_array):
        return value
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__  # what it drew is in the checkpoint
    return str(getattr(value, "__qualname__", None) or repr(value))
