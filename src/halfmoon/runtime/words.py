"""Numbers of things, as people say them."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, thing: str, more: str | None = None) -> str:
    """Return a number and what it counts, in the singular or the plural.

    Examples
    --------
    >>> from halfmoon.runtime.words import counted
    >>> counted(1, "row"), counted(2000, "row"), counted(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{number:,} {thing if number == 1 else more or f'{thing}s'}"
