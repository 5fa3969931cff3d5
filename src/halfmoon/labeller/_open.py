"""From a data file, or arrays, to a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._items import ImageArrays, Items, Rows, items_of, looks_like_images
from halfmoon.labeller._session import Session
from halfmoon.tables import Table, class_names, given_labels, guess_task, prepare_table, read_table

__all__ = ["session_of_arrays", "session_of_file"]


def session_of_file(
    path: Path,
    *,
    target: str | None = None,
    classes: Iterable[str] = (),
    journal: Path | None = None,
    text: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    day_first: bool | None = None,
    separator: str | None = None,
    image_shape: tuple[int, int, int] | None = None,
    standardize: bool | None = None,
    unlabeled: str | None = None,
    notify: Callable[[str], Any] = lambda note: None,
    **options: Any,
) -> Session:
    """Return a session on a data file or a folder of images, see `halfmoon.tables.read_table`.

    Parameters
    ----------
    path : Path
        The data.
    target : str, default=None
        Column of labels that are there already.
    classes : iterable of str, default=()
        Classes besides those of the labels that are there.
    journal : Path, default=None
        Where labels are kept.
    text : str, default=None
        Column of texts to label, compared by their words.
    ignore, categorical, day_first, separator, standardize, unlabeled
        As for ``halfmoon fit``.
    image_shape : tuple of int, default=None
        Height, width and channels of rows that are pictures.
    notify : callable, default=None
        Called with each message on what is done to the data.
    **options
        `seed`, and parameters of the model.
    """
    table = read_table(
        path,
        target=target,
        ignore=ignore,
        categorical=categorical,
        text=() if text is None else (text,),
        day_first=day_first,
        separator=separator,
    )
    shape = image_shape or looks_like_images(table.X)
    if shape is not None and table.image_shape is None:
        table = _as_images(table, shape)
        if image_shape is None:
            notify(f"rows look like pictures of {shape[1]} x {shape[0]} pixels, and are shown and used as such")
    if not classes:
        _check_classes(table, unlabeled)
    prepared = prepare_table(table, standardize, notify)
    names, given = _given(table, tuple(classes), unlabeled)
    return Session(
        prepared.features,
        items_of(table),
        title=path.resolve().stem,
        classes=names,
        given=given,
        journal=journal,
        prepared=prepared,
        folder=Path(),
        **options,
    )


def session_of_arrays(
    X: Any,
    *,
    images: Any = None,
    y: Any = None,
    classes: Iterable[Any] = (),
    journal: Path | None = None,
    **options: Any,
) -> Session:
    """Return a session on arrays; `y` holds labels that are there already, None, NaN or -1 elsewhere."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    items: Items
    if images is not None:
        items = ImageArrays(np.asarray(images))
        if len(items.pixels) != X.shape[0]:
            raise ValueError(f"There are {len(items.pixels)} images and {X.shape[0]} rows. Give one image per row.")
    elif hasattr(X, "columns"):
        items = Rows(X, [str(name) for name in X.columns])
    else:
        items = items_of(Table(Path("data"), X, image_shape=looks_like_images(X)))
    known: tuple[str, ...] = tuple(str(name) for name in classes)
    given = None
    if y is not None:
        cells = np.empty(X.shape[0], dtype=object)
        cells[:] = list(y)
        known, given = _given(Table(Path("data"), X, cells, "y"), known, "-1")
    return Session(X, items, classes=known, given=given, journal=journal, **options)


def _check_classes(table: Table, unlabeled: str | None) -> None:
    """Refuse a target of quantities: the page labels classes."""
    labeled = given_labels(table, unlabeled)
    if table.target is None or table.unit == "image" or guess_task(table.target[labeled]) == "classify":
        return
    first, name = table.target[np.flatnonzero(labeled)[0]], table.target_name
    raise table.error(
        f"{name!r} holds quantities, such as {first!r}, and the page labels classes. Name a column of classes, or fit "
        f"a regression: halfmoon fit {table.path} --target {name} --task regress --out MODEL. If each number is a "
        "class, name the classes with --class."
    )


def _given(table: Table, classes: tuple[str, ...], unlabeled: str | None) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the names of all classes, and the labels that the data brings along."""
    labeled = given_labels(table, unlabeled)
    given = np.full(len(labeled), -1, dtype=np.intp)
    if not labeled.any():
        return classes, given
    assert table.target is not None
    found, codes = np.unique(class_names(table.target[labeled]), return_inverse=True)
    texts = [str(name) for name in found]
    names = tuple(dict.fromkeys([*texts, *classes]))
    given[labeled] = codes
    return names, given


def _as_images(table: Table, shape: tuple[int, int, int]) -> Table:
    size = shape[0] * shape[1] * shape[2]
    if hasattr(table.X, "columns") or table.X.shape[1] != size:
        raise table.error(
            f"images of {shape[1]} x {shape[0]} pixels and {shape[2]} channels have {size} numbers, and rows have "
            f"{table.X.shape[1]} columns."
        )
    return replace(table, image_shape=shape)
