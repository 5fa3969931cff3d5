"""The widget of notebooks asks the session what the page asks the server."""

import numpy as np
import pytest

import halfmoon


@pytest.fixture
def widget(blobs):
    widget = halfmoon.label(blobs[0], classes=("a", "b", "c"), n_neighbors=6, n_landmarks=30)
    widget.session.wait(120)
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers or []))
    yield widget, sent
    widget.close()


def ask(widget, sent, question, data=None):
    widget._handle_custom_msg({"question": question, "data": data, "number": 5, "from": "me"}, [])
    content, buffers = next((c, b) for c, b in reversed(sent) if c.get("to") == "me")
    assert content["number"] == 5
    if "error" in content:
        raise ValueError(content["error"])
    return buffers[0] if buffers else content["answer"]


def test_labels_come_as_they_are_given(widget, blobs):
    widget, sent = widget
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "n_labels")
    for row in np.concatenate([np.flatnonzero(blobs[1] == c)[:2] for c in range(3)]).tolist():
        ask(widget, sent, "act", {"kind": "label", "rows": [row], "class": int(blobs[1][row]), "how": "map"})
    widget.session.wait(60)
    assert seen[-1] == (widget.labels != None).sum() == 6  # noqa: E711
    names = np.array(["a", "b", "c"])[blobs[1]]
    assert np.mean(widget.predictions == names) > 0.95
    assert np.mean(widget.model.predict(blobs[0]) == names) > 0.95


def test_questions_of_the_page_are_answered(widget, tmp_path, monkeypatch):
    widget, sent = widget
    assert ask(widget, sent, "state")["rows"] == 150
    assert len(ask(widget, sent, "positions")) == 150 * 8
    assert len(ask(widget, sent, "predictions")) == 16 + 300
    assert ask(widget, sent, "item", 3)["name"] == "row 4"
    assert ask(widget, sent, "explain", 3)["shares"] == []
    monkeypatch.setattr(widget.session, "folder", tmp_path)
    assert ask(widget, sent, "save", "csv")["path"].endswith("labels.csv")
    for question, data in (("item", 150), ("act", {"kind": "dance"}), ("dance", None), ("item", None), ("save", "x")):
        with pytest.raises(ValueError, match=r"."):
            ask(widget, sent, question, data)


def test_the_widget_is_one_module_with_its_style(widget):
    widget, _ = widget
    assert "export default" in widget._esm
    assert ".hm-map" in widget._css
