"""``halfmoon.label(X)``: the labeller in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmoon._extras import need
from halfmoon.labeller._open import session_of_arrays

if TYPE_CHECKING:
    from halfmoon.labeller._widget import LabelWidget

__all__ = ["label"]


def label(
    X: Any,
    *,
    images: Any = None,
    y: Any = None,
    classes: Iterable[Any] = (),
    journal: str | Path | None = None,
    random_state: int = 0,
    **options: Any,
) -> LabelWidget:
    """Label rows in a notebook and see every prediction change at once.

    Parameters
    ----------
    X : array-like, DataFrame or scipy sparse of shape (n, d)
        All rows, as numbers.
    images : array-like of shape (n, height, width) or (n, height, width, channels), default=None
        Pictures to show; None: the row itself, as a picture where it looks like one.
    y : array-like of shape (n,), default=None
        Labels that are there already; -1, None or NaN elsewhere.
    classes : iterable, default=()
        Classes besides those of `y`; more can be added while labelling.
    journal : str or Path, default=None
        A file in which labels are kept, to go on later; None: they live as long as the notebook.
    random_state : int, default=0
        Seed of landmarks, map and random draws.
    **options
        Parameters of `LapRLSClassifier`: n_neighbors, n_landmarks, kernel and so on.

    Returns
    -------
    LabelWidget
        Shown by the notebook. ``labels`` holds the labels as they come, ``predictions`` the predictions of all rows,
        ``model`` the model.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import halfmoon
    >>> X = load_digits().data[:200]
    >>> widget = halfmoon.label(X, images=X.reshape(-1, 8, 8), classes=range(10), n_neighbors=8)
    >>> len(widget.labels), widget.classes[:3]
    (200, ['0', '1', '2'])
    >>> widget.close()
    """
    need("Notebook pages", "label", "anywidget", "pandas")
    from halfmoon.labeller._widget import LabelWidget

    place = None if journal is None else Path(journal)
    session = session_of_arrays(X, images=images, y=y, classes=classes, journal=place, seed=random_state, **options)
    return LabelWidget(session)
