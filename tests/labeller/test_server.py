"""The server answers its own page on this machine, and nobody else."""

import json
import os
import re
import signal
import threading

import numpy as np
import pytest
from starlette.testclient import TestClient

from benchmarks._labelling_kills import count_lost
from halfmoon.labeller._security import MOST_BYTES
from halfmoon.labeller._serve import _Address, _listen, serve
from halfmoon.labeller._server import Events, make_app
from halfmoon.labeller._static import bundle, static_files

PORT, TOKEN = 8123, "a-token-that-nobody-can-guess"
ORIGIN = f"http://127.0.0.1:{PORT}"


def client_of(app, **options):
    return TestClient(app, base_url=ORIGIN, raise_server_exceptions=False, **options)


@pytest.fixture
def app(sessions):
    session = sessions()
    return make_app(session, Events(session, lambda: True), port=PORT, token=TOKEN)


@pytest.fixture
def page(app):
    """A browser that has opened the address."""
    client = client_of(app)
    assert client.get(f"/?token={TOKEN}").status_code == 200
    client.headers["origin"] = ORIGIN
    return client


def test_the_address_opens_the_page_and_sets_a_cookie_that_scripts_cannot_read(app):
    answer = client_of(app).get(f"/?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "main.js" in answer.text


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/static/main.js", "/api/state", "/api/events"])
def test_without_the_token_nothing_is_shown(app, path):
    answer = client_of(app).get(path)
    assert answer.status_code == 401
    assert "digits" not in answer.text
    assert "set-cookie" not in answer.headers


def test_a_wrong_cookie_is_refused(app):
    assert client_of(app, cookies={f"halfmoon-{PORT}": "wrong"}).get("/api/state").status_code == 401
    assert client_of(app, headers={"cookie": "\x01=;;"}).get("/api/state").status_code == 401


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", f"0.0.0.0:{PORT}", ""])
def test_other_hosts_are_refused(page, host):
    assert page.get("/api/state", headers={"host": host}).status_code == 403
    by_name = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    assert page.get("/api/state", headers=by_name).is_success


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_other_origins_are_refused(page, origin):
    for answer in (
        page.get("/api/state", headers={"origin": origin}),
        page.post("/api/act", json={"kind": "class", "name": "x"}, headers={"origin": origin}),
    ):
        assert answer.status_code == 403
    assert len(page.get("/api/state").json()["classes"]) == 3


def test_requests_that_change_something_must_say_where_they_come_from(page):
    del page.headers["origin"]
    assert page.post("/api/act", json={"kind": "class", "name": "x"}).status_code == 403
    assert page.get("/api/state", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert page.get("/api/state", headers={"sec-fetch-site": "same-origin"}).is_success


def test_large_bodies_are_refused_whatever_they_say(page):
    assert page.post("/api/act", content=b"x" * (MOST_BYTES + 1)).status_code == 413
    assert page.post("/api/act", content=iter([b"x" * MOST_BYTES, b"xx"])).status_code >= 400
    assert page.get("/api/state").is_success


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"3", b"\xff"])
def test_bodies_that_are_no_objects_are_refused(page, body):
    assert page.post("/api/act", content=body).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/../_server.py",
        "/static/..%2f_server.py",
        "/static/%2e%2e/_server.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/api/picture/../state.py",
        "/api/item/-1",
        "/api/item/x",
        "/api/item/99999999",
        "/nowhere",
    ],
)
def test_there_is_no_way_to_other_files(page, path):
    answer = page.get(path)
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_every_answer_tells_the_browser_to_trust_nobody_else(page, app):
    for answer in (page.get("/api/state"), page.get("/static/app.js"), client_of(app).get("/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_the_page_asks_nobody_else():
    for name, text in static_files().items():
        assert set(re.findall(r"https?://[^\s\"']+", text)) <= {"http://www.w3.org/2000/svg"}, name


def test_labels_are_acknowledged_with_the_new_state(page):
    row = page.get("/api/state").json()["queue"][0]["row"]
    state = page.post("/api/act", json={"kind": "label", "rows": [row], "class": 1, "how": "queue"}).json()
    assert state["labels"] == 1
    assert row not in [entry["row"] for entry in state["queue"]]
    refused = page.post("/api/act", json={"kind": "label", "rows": [row], "class": 9})
    assert refused.status_code == 400
    assert "no class number 9" in refused.text


def test_positions_and_predictions_are_compact(page):
    assert len(page.get("/api/positions").content) == 150 * 8
    assert len(page.get("/api/predictions").content) == 16 + 2 * 150
    assert page.get("/api/item/3").json()["name"] == "row 4"
    assert page.get("/api/explain/3").json()["shares"] == []
    assert page.get("/api/picture/3").status_code == 404


def test_two_pages_hear_of_each_other(sessions):
    session = sessions()
    ending = []
    app = make_app(session, Events(session, lambda: bool(ending)), port=PORT, token=TOKEN)
    heard = [[], []]

    def listen(client, lines):
        lines += client.get("/api/events").text.split("\n\n")  # the test client returns when the stream ends

    pages = [client_of(app) for _ in heard]
    threads = []
    for client, lines in zip(pages, heard, strict=True):
        client.get(f"/?token={TOKEN}")
        threads.append(threading.Thread(target=listen, args=(client, lines)))
        threads[-1].start()
    while not len(session._listeners):
        pass
    pages[0].headers["origin"] = ORIGIN
    pages[0].post("/api/act", json={"kind": "class", "name": "new one"})
    session.wait(60)
    ending.append(True)
    for thread in threads:
        thread.join(20)
    for lines in heard:
        states = [json.loads(line.split("data: ")[1]) for line in lines if "event: labels" in line]
        assert states[-1]["classes"][-1]["name"] == "new one"


@pytest.mark.parametrize("what", ["csv", "model"])
def test_files_are_saved_beside_the_journal(sessions, label, tmp_path, what):
    session = sessions(folder=tmp_path, title="mine")
    label(session, 8)
    page = client_of(make_app(session, Events(session, lambda: True), port=PORT, token=TOKEN))
    page.get(f"/?token={TOKEN}")
    page.headers["origin"] = ORIGIN
    path = page.post("/api/save", json={"what": what}).json()["path"]
    assert path == str(tmp_path / ("mine.hm" if what == "model" else "mine.labels.csv"))
    assert os.path.getsize(path) > 100
    assert page.post("/api/save", json={"what": "../../x"}).status_code == 400


def test_port_and_token_of_a_journal_are_kept_for_its_owner_alone(tmp_path):
    journal = tmp_path / "labels.jsonl"
    first = _Address(journal)
    first.write(4567, first.token)
    (kept,) = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    again = _Address(journal)
    assert (again.port, again.token) == (4567, first.token)
    kept.chmod(0o644)  # somebody may have read it
    assert _Address(journal).token != first.token
    assert _Address(None).token != _Address(None).token


def test_a_port_that_is_taken_is_named_or_replaced():
    taken = _listen(None, None)
    number = taken.getsockname()[1]
    with pytest.raises(ValueError, match=f"port {number} is taken"):
        _listen(number, None)
    other = _listen(None, number)
    assert other.getsockname() != taken.getsockname()
    assert other.getsockname()[0] == "127.0.0.1"
    taken.close()
    other.close()


def test_data_that_cannot_be_prepared_end_the_server():
    from halfmoon.labeller import session_of_arrays

    session = session_of_arrays(np.ones((9, 2)))
    with pytest.raises(ValueError, match="All rows of X are equal"):
        serve(session, open_browser=False, announce=lambda address: None)


def test_no_acknowledged_label_is_lost_when_the_server_is_killed(seed):
    acknowledged, lost = count_lost(3, seed)
    assert lost == 0
    assert acknowledged > 0


def test_the_modules_of_the_page_are_one_for_notebooks():
    code = bundle("widget.js")
    assert "import {" not in code
    assert code.count("export ") == 1  # the default one
    assert code.index("class Camera") < code.index("class MapView") < code.index("class App")


def test_ctrl_c_ends_the_server_in_peace(sessions):
    from halfmoon.labeller import session_of_arrays

    session = session_of_arrays(np.random.default_rng(0).normal(size=(60, 2)), n_landmarks=10)
    threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(session, open_browser=False, announce=lambda address: None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert session.failure is None
