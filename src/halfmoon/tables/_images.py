"""Read a folder of images: subfolders are classes; images in "unlabeled" or in the folder itself have no label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._extras import need
from halfmoon.exceptions import DataFileError
from halfmoon.tables._table import Table
from halfmoon.tables._wanted import Wanted

__all__ = ["read_images"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
SIDE = 32  # pixels that larger images, and images of several sizes, are brought to
NO_CLASS = ("unlabeled", "unlabelled")  # folders of images without a label
GREY = ("1", "L", "LA", "I", "I;16", "F")


def read_images(folder: Path, shape: tuple[int, int, int] | None, wanted: Wanted) -> Table:
    """Return the pixels of all images as numbers in [0, 1], a row an image, and their classes.

    Parameters
    ----------
    folder : Path
        Images, and subfolders of images.
    shape : tuple of int or None
        Height, width and channels; None: one channel if all images are grey, and 32 x 32 pixels unless all have one
        smaller size.
    wanted : Wanted
        What is asked for; images have neither columns nor a choice of targets.
    """
    need("Images", "cli", "PIL")
    wanted.check_no_separator(folder)
    wanted.check_no_names(folder)
    wanted.check_own_target(folder, "folder", "the subfolders are the classes")
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    images = [file for file in files if file.suffix.lower() in SUFFIXES]
    if not images:
        raise DataFileError(f"{folder}: there are no images ({', '.join(SUFFIXES)}) in this folder.")
    shape = _common_shape(images) if shape is None else shape
    X = np.empty((len(images), shape[0] * shape[1] * shape[2]), dtype=np.float32)
    for pixels, file in zip(X, images, strict=True):
        pixels[:] = _pixels(file, shape)
    names = [file.relative_to(folder) for file in images]
    classes = np.array([_class_of(name) for name in names], dtype=object)
    notes = [f"images are brought to {shape[1]} x {shape[0]} pixels, {'grey' if shape[2] == 1 else 'in colour'}"]
    if len(files) > len(images):
        others = len(files) - len(images)
        notes.append("1 file is left out: no image" if others == 1 else f"{others:,} files are left out: no images")
    return Table(folder, X, classes, "folder", "image", [str(name) for name in names], shape, notes)


def _class_of(name: Path) -> str | None:
    """Return the class of an image: the first folder on its path, unless that says that there is none."""
    folder = name.parts[0] if len(name.parts) > 1 else None
    return None if folder is None or folder.lower() in NO_CLASS else folder


def _common_shape(images: list[Path]) -> tuple[int, int, int]:
    """Return the height, width and channels that suit all images."""
    sizes, pixel_modes = set(), set()
    for file in images:
        with _opened(file) as image:
            sizes.add(image.size)
            pixel_modes.add(image.mode)
    width, height = sizes.pop() if len(sizes) == 1 else (SIDE, SIDE)
    if max(width, height) > SIDE:
        width, height = SIDE, SIDE
    return height, width, 1 if pixel_modes <= set(GREY) else 3


def _opened(file: Path) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(file)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise DataFileError(f"{file}: the image cannot be read.") from error


def _pixels(file: Path, shape: tuple[int, int, int]) -> NDArray[np.float32]:
    from PIL import Image

    height, width, channels = shape
    with _opened(file) as image:
        try:
            if image.mode.startswith("I"):  # 16 bits: conversion to 8 would clip
                image = Image.fromarray((np.asarray(image, dtype=np.float64) / 257.0).clip(0, 255).astype(np.uint8))
            image = image.convert("L" if channels == 1 else "RGB").resize((width, height), Image.Resampling.BOX)
        except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises for damaged images
            raise DataFileError(f"{file}: the image cannot be read ({error}).") from error
    return np.asarray(image, dtype=np.float32).ravel() / 255.0
