"""Run the server on this machine: a socket, a token, a browser."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from halfmoon.labeller._session import Session

__all__ = ["serve"]

HOST = "127.0.0.1"
SHUTDOWN = 1  # seconds that open streams get to end


def serve(
    session: Session,
    *,
    port: int | None = None,
    journal: Path | None = None,
    open_browser: bool = True,
    announce: Callable[[str], Any] = print,
) -> None:
    """Serve a session to browsers on this machine until Ctrl-C.

    Parameters
    ----------
    session : Session
        Not started yet.
    port : int, default=None
        Port; None: the one that the journal had before, if it is free, or any.
    journal : Path, default=None
        The journal of the session. Beside it port and token are kept, readable by nobody else, so that open pages find
        the server again when it has been started again.
    open_browser : bool, default=True
        Open the page.
    announce : callable, default=print
        Called with the address.
    """
    import uvicorn

    from halfmoon.labeller._server import Events, make_app

    kept = _Address(journal)
    listening = _listen(port, kept.port)
    number = listening.getsockname()[1]
    token = kept.token
    kept.write(number, token)
    events = Events(session, lambda: server.should_exit)
    app = make_app(session, events, port=number, token=token)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN,
        server_header=False,
        lifespan="off",
    )
    server = uvicorn.Server(config)

    def watch(event: str, data: dict[str, Any]) -> None:
        if data.get("phase") == "failed":
            server.should_exit = True

    session.subscribe(watch)
    session.start()
    address = f"http://{HOST}:{number}/?token={token}"
    announce(address)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        session.close()
    if session.failure is not None:
        raise session.failure


def _listen(wanted: int | None, before: int | None) -> socket.socket:
    """Return a socket on this machine alone."""
    for number in (wanted,) if wanted is not None else (before, 0):
        if number is None:
            continue
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
        except OSError as error:
            listening.close()
            if wanted is not None:
                raise ValueError(f"The port {number} is taken ({error.strerror}). Name another --port.") from error
            continue
        listening.listen(128)  # from here on browsers may come: they wait until there is an answer
        return listening
    raise AssertionError("Port 0 is any free one.")


class _Address:
    """Port and token of a journal's server, kept in a file for the user alone."""

    def __init__(self, journal: Path | None) -> None:
        self._path = None if journal is None else journal.with_name(f".{journal.name}.address")
        self.port: int | None = None
        self.token = secrets.token_urlsafe(24)
        if self._path is None:
            return
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self._path.read_text())
            if len(kept["token"]) >= 32 and self._path.stat().st_mode & 0o077 == 0:
                self.port, self.token = int(kept["port"]), str(kept["token"])

    def write(self, port: int, token: str) -> None:
        """Keep port and token."""
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as file:
                json.dump({"port": port, "token": token}, file)
