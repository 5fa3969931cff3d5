"""The widget of notebooks in a browser: its module, its messages, and the labels in Python."""

import numpy as np
import pytest

import halfmoon
from tests_browser._notebook import Notebook

COUNT = "parseInt(document.querySelector('#hm-count')?.textContent)"


@pytest.fixture
def notebook(browser, digits, tmp_path):
    X = digits[0][:600]
    widget = halfmoon.label(X, images=X.reshape(-1, 8, 8), classes=range(10), n_neighbors=8, n_landmarks=100)
    widget.session.folder = tmp_path
    context = browser.new_context(viewport={"width": 1360, "height": 820})
    complaints = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    notebook = Notebook(page, widget)
    notebook.until("performance.getEntriesByName('halfmoon:first-paint').length > 0")
    yield notebook
    context.close()
    widget.close()
    assert not complaints


def label(notebook, y):
    """Label the item that the cell shows by the key of its class."""
    state = notebook.widget.session.wait(60).state()
    row, count = state["queue"][0]["row"], state["labels"]
    notebook.until(f"document.querySelector('.hm-item-head .hm-name')?.textContent === 'row {row + 1}'")
    notebook.page.evaluate("document.querySelector('.hm').focus()")
    notebook.page.keyboard.press(str(y[row]))
    notebook.until(f"{COUNT} === {count + 1}")


def test_keys_in_a_cell_become_labels_in_python(notebook, digits, tmp_path):
    widget, page, y = notebook.widget, notebook.page, digits[1][:600]
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "n_labels")
    for _ in range(15):
        label(notebook, y)
    labels = widget.labels
    rows = np.flatnonzero(labels != None)  # noqa: E711
    assert labels[rows].tolist() == [str(number) for number in y[rows]]
    assert widget.n_labels == seen[-1] == 15
    widget.session.wait(60)
    assert np.mean(widget.predictions == y.astype(str)) > 0.6
    version = widget.session.predictions.revision
    notebook.until(f"performance.getEntriesByName('halfmoon:painted').some((e) => e.detail.revision === {version})")
    notebook.until("document.querySelector('.hm-picture')?.naturalWidth === 8")

    page.keyboard.press("Backspace")
    notebook.until(f"{COUNT} === 14")
    assert widget.n_labels == 14

    page.locator(".hm-save-model").click()
    notebook.until("document.querySelector('.hm-note').textContent.includes('model.hm')")
    assert np.mean(halfmoon.load(tmp_path / "model.hm").predict(digits[0]) == digits[1]) > 0.6


def test_a_mistake_is_shown_and_a_closed_cell_listens_no_more(notebook):
    page = notebook.page
    page.locator(".hm-save-model").click()
    notebook.until("document.querySelector('.hm-note').textContent.includes('no model yet')")
    assert page.evaluate("window.listening()") == 1
    page.evaluate("window.unmount()")
    assert page.evaluate("window.listening()") == 0
    notebook.widget.session.act({"kind": "label", "rows": [3], "class": 1})
    notebook.carry()
    assert page.evaluate(COUNT) == 0
