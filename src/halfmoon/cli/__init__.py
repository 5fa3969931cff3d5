"""The command ``halfmoon``: fit, predict, evaluate, cluster and diagnose data files.

One module per command. Commands import the library when they run: ``halfmoon --help`` must not wait for it.
"""

from __future__ import annotations

import io
import signal
import sys

from halfmoon._extras import need
from halfmoon.cli._interrupts import caused_by_interrupt, end_interrupted, interruptible
from halfmoon.exceptions import MissingExtraError

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
    try:
        need("Commands", "cli", *NEEDED)
    except MissingExtraError as error:
        print(f"halfmoon: {error}", file=sys.stderr)
        raise SystemExit(2) from error
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
