"""What is to be labelled, as people see it: pictures, rows of a table, texts."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.tables import Table

__all__ = ["ImageArrays", "ImageFiles", "Items", "Rows", "Texts", "items_of", "looks_like_images"]

PICTURE = 512  # pixels of the longer side, at most, that are sent
FEWEST_PIXELS = 36  # of rows that are taken for pictures because they look like them
LONGEST_CELL = 300  # characters of a cell that are shown
MOST_CELLS = 60
LONGEST_TEXT = 20_000


class Items(ABC):
    """Items of a session, one per row of the data.

    Parameters
    ----------
    names : sequence, default=()
        How rows are called; their numbers, counted from 1, unless given.
    """

    kind: str

    def __init__(self, names: Sequence[Any] = ()) -> None:
        self.names = names

    def name(self, row: int) -> str:
        """Return how a row is called."""
        return str(self.names[row]) if len(self.names) else f"row {row + 1}"

    @abstractmethod
    def describe(self, row: int) -> dict[str, Any]:
        """Return what the page shows beside a picture, or in its place."""

    def picture(self, row: int) -> bytes | None:
        """Return a PNG picture; None where there is none."""
        return None


class ImageArrays(Items):
    """Pictures in an array of shape (n, height, width) or (n, height, width, channels)."""

    kind = "image"

    def __init__(self, pixels: NDArray[Any], names: Sequence[Any] = ()) -> None:
        super().__init__(names)
        if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] not in (1, 3, 4)):
            raise ValueError(
                f"Images must have the shape (n, height, width), or (n, height, width, channels) with 1, 3 or 4 "
                f"channels. Got {pixels.shape}."
            )
        self.pixels = pixels
        sample = np.asarray(pixels[:: max(1, len(pixels) // 1000)], dtype=np.float64)
        self._low, self._high = (0.0, 255.0) if pixels.dtype == np.uint8 else (float(sample.min()), float(sample.max()))

    def describe(self, row: int) -> dict[str, Any]:
        """Return the name alone: the picture says the rest."""
        return {"name": self.name(row)}

    def picture(self, row: int) -> bytes:
        """Return a PNG picture, the range of all values brought to that of a screen."""
        from PIL import Image

        values = np.asarray(self.pixels[row], dtype=np.float64)
        scaled = (values - self._low) * (255.0 / max(self._high - self._low, np.finfo(float).tiny))
        pixels = np.clip(np.rint(scaled), 0, 255).astype(np.uint8)
        return _png(Image.fromarray(pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels))


class ImageFiles(Items):
    """Pictures in files."""

    kind = "image"

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__(names)
        self.folder = folder

    def describe(self, row: int) -> dict[str, Any]:
        """Return the name alone."""
        return {"name": self.name(row)}

    def picture(self, row: int) -> bytes:
        """Return a PNG picture of a file, made smaller where it is large."""
        from PIL import Image, ImageOps

        file = self.folder / self.names[row]
        try:
            with Image.open(file) as image:
                if image.mode.startswith("I"):  # 16 bits: conversion to 8 would clip
                    pixels = np.asarray(image, dtype=np.float64) / 257.0
                    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
                small = ImageOps.exif_transpose(image).convert("RGBA")
                small.thumbnail((PICTURE, PICTURE))
                return _png(small)
        except (OSError, SyntaxError, ValueError) as error:
            raise DataFileError(f"{file}: the image cannot be read ({error}).") from error


class Rows(Items):
    """Rows of a table, cell by cell."""

    kind = "row"

    def __init__(self, table: Any, columns: Sequence[str], names: Sequence[Any] = ()) -> None:
        super().__init__(names)
        self.table, self.columns = table, list(columns)[:MOST_CELLS]

    def describe(self, row: int) -> dict[str, Any]:
        """Return the cells, named."""
        cells = _cells(self.table, row)[:MOST_CELLS]
        return {"name": self.name(row), "cells": [[n, _shown(v)] for n, v in zip(self.columns, cells, strict=True)]}


class Texts(Items):
    """Texts, with the other cells of their rows."""

    kind = "text"

    def __init__(self, texts: Sequence[str], others: Rows | None = None, names: Sequence[Any] = ()) -> None:
        super().__init__(names)
        self.texts, self.others = texts, others

    def describe(self, row: int) -> dict[str, Any]:
        """Return the text and the cells."""
        cells = [] if self.others is None else self.others.describe(row)["cells"]
        return {"name": self.name(row), "text": str(self.texts[row])[:LONGEST_TEXT], "cells": cells}


def items_of(table: Table) -> Items:
    """Return the items of a table that was read."""
    if table.unit == "image":
        return ImageFiles(table.path, [str(name) for name in table.rows])
    names = [table.row(i) for i in range(table.X.shape[0])]
    if table.image_shape is not None:
        return ImageArrays(table.X.reshape(-1, *table.image_shape), names)
    if hasattr(table.X, "columns"):
        if not table.text:
            return Rows(table.X, [str(name) for name in table.X.columns], names)
        rest = table.X.drop(columns=table.text[0])
        others = Rows(rest, list(rest.columns)) if len(rest.columns) else None
        return Texts(table.X[table.text[0]].fillna("").tolist(), others, names)
    return Rows(table.X, [f"feature {i + 1}" for i in range(min(table.X.shape[1], MOST_CELLS))], names)


def looks_like_images(X: Any) -> tuple[int, int, int] | None:
    """Return the shape of grey pictures that rows seem to be: squares whose neighbouring pixels are alike."""
    if not isinstance(X, np.ndarray) or X.shape[1] < FEWEST_PIXELS or X.min() < 0.0:
        return None
    side = round(X.shape[1] ** 0.5)
    if side * side != X.shape[1]:
        return None
    sample = np.asarray(X[:: max(1, len(X) // 500)], dtype=np.float64).reshape(-1, side, side)
    across = float(np.abs(np.diff(sample, axis=2)).mean() + np.abs(np.diff(sample, axis=1)).mean()) / 2.0
    shuffled = np.random.default_rng(0).permutation(sample.reshape(len(sample), -1), axis=1)
    apart = float(np.abs(np.diff(shuffled, axis=1)).mean())
    return (side, side, 1) if across < 0.75 * apart else None


def _cells(table: Any, row: int) -> list[Any]:
    if hasattr(table, "iloc"):
        return table.iloc[row].tolist()
    if hasattr(table, "tocsr"):
        return table[[row]].toarray()[0].tolist()
    return table[row].tolist()


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format="PNG", compress_level=1)
    return out.getvalue()
