"""Packages that only parts of the library need, and how to install them."""

from __future__ import annotations

from importlib.util import find_spec

from halfmoon.exceptions import MissingExtraError

__all__ = ["need"]


def need(what: str, extra: str, *packages: str) -> None:
    """Refuse to go on without packages of an extra, and say how to install them.

    Parameters
    ----------
    what : str
        What needs them, in the plural.
    extra : str
        Which extra of halfmoon has them.
    *packages : str
        Their names as they are imported.

    Examples
    --------
    >>> from halfmoon._extras import need
    >>> need("Pictures of unicorns", "magic", "unicorns")
    Traceback (most recent call last):
    ...
    halfmoon.exceptions.MissingExtraError: Pictures of unicorns need unicorns: pip install 'halfmoon[magic]'
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} need {', '.join(missing)}: pip install 'halfmoon[{extra}]'")
