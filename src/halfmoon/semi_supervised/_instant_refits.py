"""What makes refits instant: the interpolation of the graph, stored, and columns of the base kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.solvers import SolveOptions

__all__ = ["store_for_refits"]


def store_for_refits(
    kernel: DataDependentKernel, wanted: Any, max_memory: int | None
) -> tuple[DataDependentKernel, BaseColumns | None]:
    """Return a fitted kernel with its interpolation stored, and an empty cache of the base kernel.

    The base kernel has a say on all rows only where the labels decide about it. `wanted` is True or a folder.
    """
    folder = _folder(wanted, kernel)
    geometry = kernel.geometry_.storing_interpolation(folder, max_memory=max_memory)
    kernel = kernel.rewarp(geometry=geometry, landmark_kernel=kernel.warped_.landmark_kernel)
    if kernel.extension != "auto":
        return kernel, None
    left = SolveOptions(max_memory=max_memory).memory
    if max_memory is not None and folder is None and geometry.stored_interpolation is not None:
        left -= geometry.stored_interpolation.size
    return kernel, BaseColumns(kernel.base_kernel_, geometry.X, left, geometry.settings.n_jobs)


def _folder(wanted: Any, kernel: DataDependentKernel) -> str | Path | None:
    """Return the folder for the interpolation, or None for memory; say so where there is nothing to store."""
    if wanted is not True and not isinstance(wanted, str | Path):
        raise ValueError(f"The 'instant_refits' parameter must be True, False or a folder. Got {wanted!r} instead.")
    if kernel.method == "budget" or kernel.extension == "kernel":
        name, value = ("method", "budget") if kernel.method == "budget" else ("extension", "kernel")
        raise ValueError(
            f"instant_refits={wanted!r} stores the interpolation of the graph, which a kernel with {name}={value!r} "
            f"does not use. Use instant_refits=False, or another {name}."
        )
    return None if wanted is True else wanted
