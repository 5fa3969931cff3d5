"""The command ``halfmoon``: fit, predict, evaluate, cluster and diagnose data files.

One module a command. Commands import the library when they run: ``halfmoon --help`` must not wait for it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas", "pyarrow", "PIL", "skops")


def main() -> None:
    """Run the command line; without its extra, say which one to install."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"halfmoon: the command line needs {', '.join(missing)}. Install it with: pip install 'halfmoon[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from halfmoon.cli._app import app

    app(prog_name="halfmoon")
