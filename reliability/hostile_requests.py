"""Hostile requests to the labeller's server: bodies field by field, paths, headers, sizes; one session meets them all.

A request is answered or refused in words, never with a status of 500; files are not shown, and afterwards the session
still tells its state, in JSON that every browser reads.
"""

from __future__ import annotations

import atexit
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from halfmoon.labeller import Session, session_of_arrays
from halfmoon.labeller._security import MOST_BYTES
from halfmoon.labeller._server import Events, make_app
from reliability.judge import Verdict

__all__ = ["REQUESTS", "REQUEST_CALLS", "Sent"]

PORT, TOKEN, ROWS = 8123, "token-of-the-programme", 60
ORIGIN = f"http://127.0.0.1:{PORT}"
REFUSALS = (400, 401, 403, 404, 405, 413)
SECRET = "root:"  # of /etc/passwd


@dataclass(frozen=True)
class Sent:
    """A value for a field of a body, a whole body, a path, or headers."""

    value: Any
    headers: dict[str, str | bytes] = field(default_factory=dict)
    plain: None = None

    @property
    def inputs(self) -> Any:
        """What a call must not change."""
        return self.value


@cache
def _session() -> Session:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)) + 6.0 * (np.arange(ROWS) % 2)[:, None]
    folder = tempfile.mkdtemp()  # in the folder of the process, which is gone with it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = session_of_arrays(
            X, classes=("a", "b"), journal=Path(folder, "given.labels.jsonl"), n_neighbors=5, n_landmarks=10
        )
        session.start().wait(120)
    atexit.register(session.close)
    return session


@cache
def _browser() -> TestClient:
    """Return a browser that has opened the address of the server."""
    session = _session()
    app = make_app(session, Events(session, lambda: True), port=PORT, token=TOKEN)
    browser = TestClient(app, base_url=ORIGIN, raise_server_exceptions=False)
    assert browser.get(f"/?token={TOKEN}").status_code == 200
    browser.headers["origin"] = ORIGIN
    return browser


def _strict(text: str) -> Any:
    """Read JSON as browsers do: without NaN and infinite numbers."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def _judged(method: str, path: str, body: bytes | None, headers: dict[str, str | bytes]) -> Verdict:
    browser = _browser()
    answer = browser.request(method, path, content=body, headers=headers)
    status = answer.status_code
    state = browser.get("/api/state")
    if not state.is_success or len(_strict(state.text)["classes"]) < 2:
        return Verdict("changed state", f"after {status}: the state is {state.status_code} {state.text[:100]}")
    if SECRET in answer.text or "import annotations" in answer.text:
        return Verdict("raw error", f"{path}: a file was shown")
    if status in REFUSALS:
        told = method == "HEAD" or len(answer.text) > 8
        return Verdict("refused" if told else "raw error", f"{status}: {answer.text[:200]}")
    if not answer.is_success:
        return Verdict("raw error", f"status {status}: {answer.text[:200]}")
    if method != "HEAD" and answer.headers.get("content-type") == "application/json":
        _strict(answer.text)
    return Verdict("finite")


ACTIONS: dict[str, dict[str, Any]] = {
    "label": {"kind": "label", "rows": [1, 2], "class": 0, "how": "map", "op": "x"},
    "skip": {"kind": "skip", "rows": [3], "how": "queue", "op": "y"},
    "class": {"kind": "class", "name": "c"},
    "rename": {"kind": "rename", "class": 1, "name": "d"},
    "undo": {"kind": "undo", "op": "z"},
}
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "-1": -1,
    "0": 0,
    "last row": ROWS - 1,
    "one row too far": ROWS,
    "2**63": 2**63,
    "-(10**30)": -(10**30),
    "0.5": 0.5,
    "1e300": 1e300,
    "NaN": float("nan"),
    "inf": float("inf"),
    "empty text": "",
    "blanks": "  \t",
    "text": "queue",
    "digits": "1",
    "known class": "a",
    "long text": "x" * 10_000,
    "line breaks": "a\nb\r\nc",
    "zero byte": "a\x00b",
    "half a character": "\ud800",
    "from right to left": "\u202eabc",
    "markup": "<script>alert(1)</script>",
    "formula": "=1+1",
    "path": "../../x",
    "list": [],
    "rows": [0, 1],
    "rows twice": [4, 4, 4],
    "rows of texts": ["1"],
    "rows of floats": [1.0],
    "rows of truth values": [True],
    "row below 0": [-1],
    "rows and null": [1, None],
    "many rows": list(range(ROWS)) * 50,
    "nested lists": [[1]],
    "object": {},
    "object in itself": {"kind": {"kind": "label"}},
}
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "list": b"[]",
    "number": b"3",
    "null": b"null",
    "cut": b'{"kind": "lab',
    "no UTF-8": b"\xff\xfe{}",
    "UTF-16": '{"kind": "undo"}'.encode("utf-16"),
    "two objects": b'{"kind": "undo"}{"kind": "undo"}',
    "a key twice": b'{"kind": "undo", "kind": "nothing"}',
    "other keys": b'{"kind": "class", "name": "e", "__proto__": {"x": 1}, "constructor": 1}',
    "deeply nested": b"[" * 100_000,
    "deeply nested object": b'{"kind":' * 50_000 + b"1" + b"}" * 50_000,
    "a very long number": b'{"kind": "label", "rows": [' + b"9" * 5_000 + b'], "class": 0}',
    "as large as allowed": b'{"kind": "' + b"x" * (MOST_BYTES - 20) + b'"}',
    "larger than allowed": b"x" * (MOST_BYTES + 1),
    "form": b"kind=undo",
    "zero bytes": bytes(100),
}
PATHS = (
    "/static/../_server.py", "/static/..%2f_server.py", "/static/%2e%2e/_server.py", "/static//etc/passwd",
    "/static/%2fetc%2fpasswd", "/static/....//....//etc/passwd", "/static/%c0%ae%c0%ae/passwd",
    "/static/main.js%00.png", "/static/", "/static", "//", "/%00", "/..",
    "/api", "/api/", "/api/item/", "/api/item/-1", "/api/item/x",
    "/api/item/1e3", "/api/item/99999999", f"/api/item/{ROWS}", "/api/item/" + "9" * 400, "/api/item/1/../../state",
    "/api/explain/0", f"/api/explain/{ROWS}", "/api/explain/" + "9" * 30, "/api/picture/0", "/api/picture/../state.py",
    f"/api/picture/{ROWS}", "/api/state?token=x", "/api/positions", "/api/predictions", "/" + "a" * 60_000, "/?token=",
    "/api/item/%F0%9F%98%80", "/api/item/\u0665",
)  # fmt: skip
HEADERS: dict[str, dict[str, str | bytes]] = {
    "foreign origin": {"origin": "http://evil.example"},
    "origin null": {"origin": "null"},
    "origin of another port": {"origin": "http://127.0.0.1:1"},
    "origin by https": {"origin": ORIGIN.replace("http", "https")},
    "foreign host": {"host": "evil.example"},
    "host of another port": {"host": "127.0.0.1:1"},
    "no host": {"host": ""},
    "from another site": {"sec-fetch-site": "cross-site"},
    "no cookie": {"cookie": ""},
    "wrong cookie": {"cookie": f"halfmoon-{PORT}=wrong"},
    "broken cookie": {"cookie": "\x01=;;"},
    "cookie twice": {"cookie": f"halfmoon-{PORT}=wrong; halfmoon-{PORT}=wrong"},
    "length below 0": {"content-length": "-1"},
    "length in words": {"content-length": "ten"},
    "length in other digits": {"content-length": b"\xb2"},
    "length of 2**80": {"content-length": str(2**80)},
    "length of 5,000 digits": {"content-length": "9" * 5_000},
}


def _sent(value: Any, headers: dict[str, str | bytes] | None = None) -> Callable[[np.random.Generator], Sent]:
    return lambda rng: Sent(value, headers or {})


REQUESTS: dict[str, dict[str, Callable[[np.random.Generator], Sent]]] = {
    "field": {name: _sent(value) for name, value in VALUES.items()},
    "body": {name: _sent(value) for name, value in BODIES.items()},
    "path": {path[:60]: _sent(path) for path in PATHS},
    "headers": {name: _sent(None, headers) for name, headers in HEADERS.items()},
}


def _with_field(path: str, body: dict[str, Any], name: str) -> Callable[[Sent], Verdict]:
    def call(sent: Sent) -> Verdict:
        return _judged("POST", path, json.dumps(body | {name: sent.value}).encode(), {})

    return call


def _with_headers(method: str, path: str, body: bytes | None) -> Callable[[Sent], Verdict]:
    def call(sent: Sent) -> Verdict:
        before = _session().state()["revision"]
        verdict = _judged(method, path, body, sent.headers)
        if verdict.status != "refused" or _session().state()["revision"] != before:
            return Verdict("raw error", f"{sent.headers} was let through: {verdict.message}")
        return verdict

    return call


REQUEST_CALLS: dict[str, tuple[tuple[str, ...], Callable[[Sent], Verdict]]] = {
    f"POST /api/act, {kind}: {name}": (("field",), _with_field("/api/act", body, name))
    for kind, body in ACTIONS.items()
    for name in body
}
REQUEST_CALLS |= {
    "POST /api/save: what": (("field",), _with_field("/api/save", {}, "what")),
    "POST /api/act": (("body",), lambda sent: _judged("POST", "/api/act", sent.value, {})),
    "POST /api/save": (("body",), lambda sent: _judged("POST", "/api/save", sent.value, {})),
    "GET with headers": (("headers",), _with_headers("GET", "/api/state", None)),
    "POST with headers": (("headers",), _with_headers("POST", "/api/act", b'{"kind": "class", "name": "no"}')),
}
REQUEST_CALLS |= {
    method: (("path",), lambda sent, method=method: _judged(method, sent.value, None, {}))
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW")
}
