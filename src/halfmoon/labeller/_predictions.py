"""What the page paints: a class and a confidence for every row, one byte each, and the labels."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._labels import NO_CLASS

__all__ = ["Predictions"]

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Predictions:
    """Classes and confidences of all rows, as of a revision of the labels.

    Attributes
    ----------
    version : int
        Which predictions of the session they are.
    revision : int
        The revision of the labels that they rest on.
    classes : ndarray of uint8
        Class numbers; 255 where nothing is predicted.
    confidence : ndarray of uint8
        Probabilities of these classes, times 255.
    rows, labels : ndarray
        The labelled rows and their class numbers.
    """

    version: int
    revision: int
    classes: Bytes
    confidence: Bytes
    rows: NDArray[np.intp]
    labels: NDArray[np.intp]

    @classmethod
    def nothing(cls, n: int) -> Predictions:
        """Return the predictions before there is any label."""
        nobody = np.empty(0, dtype=np.intp)
        return cls(0, 0, np.full(n, NO_CLASS, dtype=np.uint8), np.zeros(n, dtype=np.uint8), nobody, nobody)

    @property
    def expected_error(self) -> float | None:
        """Share of wrong predictions that the confidences amount to; None where nothing is predicted."""
        if not len(self.classes) or self.classes[0] == NO_CLASS:
            return None
        return 1.0 - float(self.confidence.mean(dtype=np.float64)) / 255.0

    def counts(self, n_classes: int) -> list[int]:
        """Return how many rows each class is predicted for."""
        return np.bincount(self.classes, minlength=NO_CLASS + 1)[:n_classes].tolist()

    def pack(self) -> bytes:
        """Return version, revision, numbers of rows and labels (uint32, little-endian), then the four arrays.

        Labelled rows are uint32 and come first, so that they are aligned; all else is bytes.
        """
        return b"".join(
            [
                struct.pack("<4I", self.version, self.revision, len(self.classes), len(self.rows)),
                self.rows.astype("<u4").tobytes(),
                self.classes.tobytes(),
                self.confidence.tobytes(),
                self.labels.astype(np.uint8).tobytes(),
            ]
        )
