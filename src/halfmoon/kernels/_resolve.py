"""From what a user gives an estimator as `kernel` to a kernel that can be fitted."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from halfmoon.kernels._data_dependent import DataDependentKernel

__all__ = ["SHARED", "resolve_kernel"]

SHARED = ("n_neighbors", "n_landmarks", "random_state", "n_jobs")  # parameters that estimators repeat
DEFAULTS = {name: p.default for name, p in inspect.signature(DataDependentKernel).parameters.items()}


def resolve_kernel(kernel: Any, **shared: Any) -> DataDependentKernel:
    """Return an unfitted kernel: the given one, the default, or one with the given base kernel.

    Parameters
    ----------
    kernel : DataDependentKernel, str, callable or None
        A base kernel means ``DataDependentKernel(base_kernel=...)``.
    **shared
        Parameters that the estimator has too; None means the kernel's value. Two different values raise.

    Examples
    --------
    >>> from halfmoon.kernels import resolve_kernel
    >>> resolve_kernel("laplacian", n_neighbors=8, n_jobs=None)
    DataDependentKernel(base_kernel='laplacian', n_neighbors=8)
    """
    if kernel is None:
        template = DataDependentKernel()
    elif isinstance(kernel, DataDependentKernel):
        template = clone(kernel)
    else:
        template = DataDependentKernel(base_kernel=kernel)
    for name, value in shared.items():
        if value is None:
            continue
        own = getattr(template, name)
        if own is not DEFAULTS[name] and own is not value and not np.array_equal(own, value):
            raise ValueError(f"{name}={value!r} contradicts {name}={own!r} of the kernel. Set one of them.")
        template.set_params(**{name: value})
    return template
