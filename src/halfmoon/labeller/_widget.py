"""The labeller in a notebook: the page's modules as one, and messages in place of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from halfmoon.labeller._session import Session
from halfmoon.labeller._static import bundle, static_files

__all__ = ["LabelWidget"]

SAVED = {"csv": "labels.csv", "parquet": "labels.parquet", "model": "model.hm"}


class LabelWidget(anywidget.AnyWidget):
    """Label rows in a notebook; the labels are here as they come.

    Parameters
    ----------
    session : Session
        What is labelled.

    Attributes
    ----------
    n_labels : int
        Number of labels; ``widget.observe(function, "n_labels")`` calls a function whenever it changes.
    """

    _esm = bundle("widget.js")
    _css = static_files()["labeller.css"]
    n_labels = traitlets.Int(0).tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        session.subscribe(self._on_event)
        self.on_msg(self._on_message)
        session.start()

    @property
    def labels(self) -> NDArray[np.object_]:
        """Name of the class of every row, None where there is no label."""
        return self.session.labels

    @property
    def predictions(self) -> NDArray[np.object_]:
        """Name of the class that is predicted for every row, None where there is no prediction."""
        names = np.full(256, None, dtype=object)
        names[: len(self.session.classes)] = self.session.classes
        return names[self.session.predictions.classes]

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return self.session.classes

    @property
    def model(self) -> Any:
        """The model, with probabilities; it predicts new rows."""
        return self.session.wait().model

    def close(self) -> None:
        """End the session; a journal can be continued elsewhere."""
        self.session.close()
        super().close()

    def _on_event(self, event: str, data: dict[str, Any]) -> None:
        self.send({"event": event, "data": data})
        if event == "labels":
            self.n_labels = data["labels"]

    def _on_message(self, widget: Any, message: Mapping[str, Any], buffers: Any) -> None:
        """Answer a question of a page."""
        about = {"to": message.get("from"), "number": message.get("number")}
        try:
            answer = self._answers()[message["question"]](message.get("data"))
        except (ValueError, OSError, KeyError, TypeError) as error:
            self.send(about | {"error": str(error)})
            return
        if isinstance(answer, bytes):
            self.send(about, [answer])
        else:
            self.send(about | {"answer": answer})

    def _answers(self) -> dict[str, Callable[[Any], Any]]:
        session = self.session
        return {
            "state": lambda _: session.state(),
            "act": session.act,
            "item": session.item,
            "explain": session.explain,
            "picture": session.picture,
            "positions": lambda _: session.positions.astype("<f4").tobytes(),
            "predictions": lambda _: session.predictions.pack(),
            "save": self._save,
        }

    def _save(self, what: str) -> dict[str, str]:
        path = (self.session.folder / SAVED[what]).resolve()
        save: Callable[[Path], None] = self.session.save_model if what == "model" else self.session.save_labels
        save(path)
        return {"path": str(path)}
