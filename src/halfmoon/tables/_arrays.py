"""Read NPZ files: features are a matrix of any kind of number."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.tables._table import Table, first_line, known_columns, target_cells
from halfmoon.tables._wanted import Wanted

__all__ = ["read_npz"]


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Read arrays: X, or the only one of features, and the target; X of three or four dimensions is images."""
    wanted.check_no_separator(path)
    wanted.check_no_names(path)
    arrays = _load(path)
    matrices = [
        name for name, array in arrays.items() if (_is_matrix(array) or _is_images(array)) and name != wanted.target
    ]
    features = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if features is None:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise DataFileError(
            f"{path}: features are a two-dimensional array of numbers named 'X', or images of shape "
            f"(n, height, width). It has {shapes}."
        )
    X, y, target = arrays[features], None, wanted.target
    if target is not None:
        if target not in arrays:
            raise DataFileError(f"{path}: there is no array {target!r}. {known_columns(target, list(arrays))}")
        y = target_cells(path, target, arrays[target], X.shape[0])
    shape = None if X.ndim == 2 else (X.shape[1], X.shape[2], X.shape[3] if X.ndim == 4 else 1)
    X = X if shape is None else X.reshape(X.shape[0], math.prod(shape))
    return Table(path, _as_floats(X), y, target, image_shape=shape)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):  # a file of one array, by another name
            return {"X": loaded}
        with loaded as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged files
        raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error


def _is_matrix(array: NDArray[Any]) -> bool:
    return array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind in "fiub"


def _is_images(array: NDArray[Any]) -> bool:
    return array.ndim in (3, 4) and all(array.shape[1:]) and array.dtype.kind in "fiub"


def _as_floats(X: NDArray[Any]) -> NDArray[Any]:
    """Return float32 and float64 as they are, float16 as float32 and all else as float64, in native byte order."""
    if X.dtype.kind == "f" and X.dtype.itemsize <= 4:
        return np.asarray(X, dtype=np.float32)
    return np.asarray(X, dtype=np.float64)
