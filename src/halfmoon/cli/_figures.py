"""What commands that draw need."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["need_matplotlib"]


def need_matplotlib() -> None:
    """Say what to install before anything is computed for a figure."""
    if find_spec("matplotlib") is None:
        raise ValueError("figures are drawn by matplotlib, which is not installed: pip install 'halfmoon[plot]'.")
