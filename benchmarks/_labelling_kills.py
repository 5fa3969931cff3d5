"""Kill the labelling server with SIGKILL while labels are sent, and look for those that it had acknowledged."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

N = 400  # rows
LONGEST = 0.6  # seconds of sending before a kill


def serve_journal(journal: str, answer: Any) -> None:
    """Serve a session on made-up rows until killed; `answer` gets the address."""
    from halfmoon.labeller import serve, session_of_arrays

    X = np.random.default_rng(0).normal(size=(N, 3))
    path = Path(journal)
    session = session_of_arrays(X, classes=("a", "b"), journal=path, n_landmarks=20)
    serve(session, journal=path, open_browser=False, announce=answer.send)


class Client:
    """Somebody who labels as fast as the server answers."""

    def __init__(self, address: str) -> None:
        url = urlsplit(address)
        token = parse_qs(url.query)["token"][0]
        self.connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=60)
        self.headers = {"Cookie": f"halfmoon-{url.port}={token}", "Origin": f"http://127.0.0.1:{url.port}"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return the answer, or raise OSError or HTTPException if nobody gives one."""
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, self.headers)
        response = self.connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise ValueError(data.decode())
        return json.loads(data)

    def wait(self) -> None:
        """Wait until labels are accepted."""
        while self.ask("GET", "/api/state")["phase"] != "ready":
            time.sleep(0.02)


def count_lost(kills: int, seed: int = 0) -> tuple[int, int]:
    """Kill a server so many times; return how many labels it acknowledged, and how many of these are not there."""
    rng = np.random.default_rng(seed)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["halfmoon.labeller", "halfmoon.labeller._server", "uvicorn", __name__])
    expected = np.full(N, -1)
    acknowledged = 0
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "labels.jsonl"
        for _ in range(kills):
            ours, theirs = processes.Pipe()
            server = processes.Process(target=serve_journal, args=(str(journal), theirs), daemon=True)
            server.start()
            client = Client(ours.recv())
            client.wait()
            killer = threading.Timer(rng.uniform(0.0, LONGEST), server.kill)
            answered, doubtful = label_until_killed(client, killer, rng, expected)
            acknowledged += answered
            killer.join()
            server.join()
            client.connection.close()
            found = labels_in(journal)
            expected[doubtful] = found[doubtful]  # sent and not acknowledged: it may be there or not
            lost = int((found != expected).sum())
            if lost:
                return acknowledged, lost
    return acknowledged, 0


def label_until_killed(
    client: Client, killer: threading.Timer, rng: np.random.Generator, expected: np.ndarray
) -> tuple[int, int]:
    """Send labels, note those that are acknowledged; return their number, and the row of the one that was not.

    The clock of the killer runs from the first acknowledgement on, so that there is something to lose.
    """
    answered = 0
    while True:
        row, number = int(rng.integers(N)), int(rng.integers(2))
        try:
            client.ask("POST", "/api/act", {"kind": "label", "rows": [row], "class": number, "how": "map"})
        except (OSError, http.client.HTTPException):
            return answered, row
        if not answered:
            killer.start()
        expected[row] = number
        answered += 1


def labels_in(journal: Path) -> np.ndarray:
    """Return the labels that a journal holds, read as a new session reads it."""
    from halfmoon.labeller import Journal, Labels

    header = json.loads(journal.read_bytes().split(b"\n")[0])
    opened = Journal(journal, header)
    labels = Labels(N, ("a", "b"))
    for record in opened.records:
        if record["kind"] != "score":
            labels.apply(record)
    opened.close()
    return labels.of_row
