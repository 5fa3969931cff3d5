"""What may be in a model file: classes say so themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

__all__ = ["STORABLE", "storable"]

Class = TypeVar("Class", bound=type)
STORABLE: dict[type, tuple[str, ...]] = {}  # class -> the cached properties that go into files


@overload
def storable(cls: Class) -> Class: ...
@overload
def storable(*, kept: tuple[str, ...]) -> Callable[[Class], Class]: ...
def storable(cls: Class | None = None, *, kept: tuple[str, ...] = ()) -> Class | Callable[[Class], Class]:
    """Declare that instances of a class may be in model files: data that can be read without running code.

    Cached properties stay out, unless they are `kept`: predictions rest on these, and computed again elsewhere they
    would differ in the last bits. The name of the class is in the files: to move or rename it, or to change what it
    keeps, is a new format version.

    Examples
    --------
    >>> from halfmoon.runtime.storable import STORABLE, storable
    >>> @storable(kept=("inverse",))
    ... class Model: ...
    >>> STORABLE.pop(Model)
    ('inverse',)
    """

    def declare(declared: Class) -> Class:
        STORABLE[declared] = kept
        return declared

    return declare if cls is None else declare(cls)
