"""Errors of the system with the name of the file: a failed read or write does not say by itself whose it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["naming"]


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of a file into errors of the system that come without one.

    Examples
    --------
    >>> import errno
    >>> from halfmoon.runtime.naming import naming
    >>> with naming("model.hm"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    OSError: [Errno 28] No space left on device: 'model.hm'
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise
