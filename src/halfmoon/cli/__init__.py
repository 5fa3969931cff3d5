"""The command ``halfmoon``: fit, predict, evaluate, cluster and diagnose data files.

One module per command. Commands import the library when they run: ``halfmoon --help`` must not wait for it.
"""

from __future__ import annotations

import io
import signal
import sys
from importlib.util import find_spec

from halfmoon.cli._interrupts import caused_by_interrupt, end_interrupted, interruptible

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas", "pyarrow", "PIL", "skops")


def main() -> None:
    """Run the command line; without its extra, say which one to install."""
    try:
        with interruptible():
            _run()
    except KeyboardInterrupt:
        end_interrupted()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and said: nothing is left to interrupt


def _run() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"halfmoon: the command line needs {', '.join(missing)}. Install it with: pip install 'halfmoon[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    _escape_what_cannot_be_shown()
    try:
        from halfmoon.cli._app import app
    except Exception as error:
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    app(prog_name="halfmoon")


def _escape_what_cannot_be_shown() -> None:
    """Print characters that the terminal's encoding lacks as escapes: names in data may be of any script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # there may be no stream, or one of another kind
            stream.reconfigure(errors="backslashreplace")
