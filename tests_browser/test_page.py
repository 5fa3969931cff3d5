"""The labelling page as people use it: keys, undo, lasso, reload, restart, two tabs, many points."""

import io
import signal

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import make_blobs

from benchmarks._browser import serving, until

STATE = "fetch('/api/state').then((r) => r.json())"
LABELS = "parseInt(document.querySelector('#hm-count').textContent.replace(/\\u2009/g, ''))"


def state_of(page):
    return page.evaluate(STATE)


def wait_for_labels(page, count):
    until(page, f"{LABELS} === {count}")


def wait_for_report(page):
    until(page, f"{STATE}.then((s) => s.report.fresh)")
    return state_of(page)


def press_truth(page, y):
    """Label the next item by the key of its class; return its row."""
    state = wait_for_report(page)
    row = state["queue"][0]["row"]
    page.keyboard.press(str(y[row]))
    wait_for_labels(page, state["labels"] + 1)
    return row


def error_of(page, y):
    """Return the share of wrong predictions, as the page gets them."""
    wait_for_report(page)
    data = page.evaluate("fetch('/api/predictions').then((r) => r.arrayBuffer()).then((b) => [...new Uint8Array(b)])")
    labels = int.from_bytes(bytes(data[12:16]), "little")
    classes = np.array(data[16 + 4 * labels : 16 + 4 * labels + len(y)])
    return float(np.mean(classes != y))


def drag(page, points, shift=True):
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=4)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def around_everything(page):
    box = page.locator(".hm-map").bounding_box()
    left, top = box["x"] + 4, box["y"] + 4
    right, bottom = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def test_twenty_labels_by_keyboard_then_undo_reload_and_restart(server, tabs, digits):
    y = digits[1]
    page = tabs(server.address)
    assert "%" not in page.locator("#hm-error").inner_text()
    for _ in range(8):
        press_truth(page, y)
    early, shown = error_of(page, y), state_of(page)["expected_error"]
    for _ in range(12):
        press_truth(page, y)
    late = error_of(page, y)
    assert late < early
    assert late < 0.2
    assert state_of(page)["expected_error"] < max(shown, 0.2)
    assert "random draws right" in page.locator("#hm-held-out").inner_text()
    assert page.locator(".hm-curve svg").count() == 1

    page.keyboard.press("Backspace")
    wait_for_labels(page, 19)
    assert wait_for_report(page)["labels"] == 19

    page.reload()
    wait_for_labels(page, 19)

    before = state_of(page)
    server.stop(signal.SIGKILL)
    until(page, "document.querySelector('.hm').classList.contains('hm-offline')")
    page.keyboard.press(str(y[before["queue"][0]["row"]]))  # nobody is there to take it: it is sent again
    server.start()
    wait_for_labels(page, 20)
    until(page, "!document.querySelector('.hm').classList.contains('hm-offline')")
    assert wait_for_report(page)["labels"] == 20
    press_truth(page, y)
    assert server.stop() == 0


def test_lasso_new_class_rename_skip_and_saving(server, tabs, digits, tmp_path):
    page = tabs(server.address)
    drag(page, around_everything(page))
    selected = page.locator(".hm-selected").inner_text()
    count = int("".join(c for c in selected.split("rows")[0] if c.isdigit()))
    assert count > 1700  # a few lie at the border
    page.keyboard.press("3")
    wait_for_labels(page, count)
    page.keyboard.press("Backspace")
    wait_for_labels(page, 0)

    page.keyboard.press("+")
    page.keyboard.type("strange")
    page.keyboard.press("Enter")
    wait_for_labels(page, 1)
    assert state_of(page)["classes"][10] == {"name": "strange", "labels": 1, "predicted": 0}
    page.locator(".hm-class").nth(10).focus()
    page.keyboard.press("F2")
    page.keyboard.type("odd")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.hm-class-name')[10].textContent === 'odd'")

    page.locator(".hm-map").focus()
    first = state_of(page)["queue"][0]["row"]
    page.keyboard.press(" ")
    until(page, f"{STATE}.then((s) => s.queue[0].row !== {first})")

    page.locator(".hm-save-model").click()
    until(page, "document.querySelector('.hm-note').textContent.includes('no model yet')")
    for _ in range(5):
        press_truth(page, digits[1])
    wait_for_report(page)
    page.locator(".hm-save-model").click()
    until(page, "document.querySelector('.hm-note').textContent.includes('digits.hm')")
    page.locator(".hm-save-csv").click()
    until(page, "document.querySelector('.hm-note').textContent.includes('digits.labels.csv')")
    assert (tmp_path / "digits.hm").stat().st_size > 1000


def test_the_map_works_by_keyboard_and_explains_what_is_pointed_at(server, tabs, digits):
    page = tabs(server.address)
    for _ in range(8):
        press_truth(page, digits[1])
    wait_for_report(page)
    page.locator(".hm-map").focus()
    for key in ("+", "+", "ArrowLeft", "ArrowUp", "-", "Home"):
        page.keyboard.press(key)
    drag(page, around_everything(page)[:1] + around_everything(page)[2:3], shift=False)  # pan and back
    page.mouse.dblclick(*around_everything(page)[0])
    page.evaluate("document.querySelector('.hm-map').focus()")
    box = page.locator(".hm-map").bounding_box()
    found = False
    for x in np.linspace(0.15, 0.85, 9):
        for place in np.linspace(0.15, 0.85, 9):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + place * box["height"])
            page.wait_for_timeout(150)
            found = found or page.evaluate("!document.querySelector('.hm-hover').hidden")
        if found:
            break
    page.wait_for_timeout(200)
    assert found
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    until(page, "document.querySelectorAll('.hm-tools [aria-pressed=true]')[0].textContent === 'Confidence'")


def test_two_tabs_stay_consistent(server, tabs, digits):
    y = digits[1]
    one = tabs(server.address)
    two = tabs(server.address, context=one.context)
    for page in (one, two, one):
        row = press_truth(page, y)
        for other in (one, two):
            until(other, f"{STATE}.then((s) => s.queue.every((entry) => entry.row !== {row}))")
    wait_for_labels(one, 3)
    wait_for_labels(two, 3)
    two.keyboard.press("Backspace")
    wait_for_labels(one, 2)
    names = [page.locator(".hm-item-head .hm-name").inner_text() for page in (one, two)]
    until(one, f"document.querySelector('.hm-item-head .hm-name').textContent === {names[1]!r}")


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_wrong_token_shows_nothing(server, browser, token):
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(server.address.split("?")[0] + f"?token={token}")
    assert answer.status == 401
    assert page.locator(".hm").count() == 0
    context.close()


def test_sixty_four_thousand_points(tmp_path, tabs):
    X, y = make_blobs(64_000, centers=10, n_features=8, random_state=1)
    np.savez(tmp_path / "many.npz", X=X.astype(np.float32))
    classes = [word for number in range(10) for word in ("--class", str(number))]
    with serving(tmp_path, "many.npz", "--landmarks", "100", *classes) as server:
        page = tabs(server.address)
        for _ in range(6):
            press_truth(page, y)
        assert sum(entry["predicted"] for entry in wait_for_report(page)["classes"]) == 64_000
        picture = np.asarray(Image.open(io.BytesIO(page.locator(".hm-map").screenshot())).convert("RGB"))
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
