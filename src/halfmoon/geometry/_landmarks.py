"""Landmarks: the n_hat points at which functions are measured (sections 3 and 5.1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances

from halfmoon._validation import (
    check_choice,
    check_integer,
    check_points,
    check_random_state,
    check_real,
    labeled_mask,
    row_blocks,
)
from halfmoon.exceptions import LandmarkWarning

__all__ = ["check_landmarks", "landmarks_of", "select_landmarks"]

Indices = NDArray[np.intp]

LABEL_SHARE = 0.8  # of the labelled points that are among random landmarks
BLOCK = 1 << 18  # numbers whose distances to a landmark are computed at once


def select_landmarks(
    X: Any,
    n_landmarks: int | None = None,
    *,
    method: Any = "random",
    y: Any = None,
    label_share: float = LABEL_SHARE,
    random_state: Any = None,
) -> Indices:
    """Choose the landmarks S among the rows of X (section 5.1 and footnotes 1 and 5).

    Parameters
    ----------
    X : array-like or scipy sparse of shape (n, d)
        The data.
    n_landmarks : int, default=None
        How many, at most n. Needed unless `method` is an array of indices.
    method : {"random", "kmeans++", "farthest"}, callable or array-like of int, default="random"
        "random": uniform; if `y` is given, with a bias to labelled points. "kmeans++": the seeding of
        k-means, spread out but dense where the data are. "farthest": each landmark is the point farthest
        from those before it, the best cover and the most sensitive to outliers. A rule of your own is called as
        ``rule(X, n_landmarks, labeled, rng)``, with the labelled rows and a RandomState, and returns row indices. An
        array of row indices is checked and returned.
    y : array-like of shape (n,), default=None
        Labels; -1, NaN, None or pandas.NA mark unlabelled rows.
    label_share : float, default=0.8
        Share of the labelled points that "random" puts among the landmarks. At least one labelled point
        stays outside, so that cross-validation sees points off the landmarks (footnote 5); a share of 1
        overrules this, with a warning.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray of shape (n_landmarks,)
        Distinct row indices; sorted, except for "farthest" (in order of choice) and given indices (as
        given).

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import select_landmarks
    >>> X = np.array([[0.0], [0.1], [5.0], [9.0]])
    >>> sorted(select_landmarks(X, 3, method="farthest", random_state=3).tolist())
    [0, 2, 3]
    """
    return landmarks_of(check_points(X, to_learn=True), n_landmarks, method, y, label_share, random_state)


def landmarks_of(
    X: Any, n_landmarks: int | None, method: Any, y: Any, label_share: float = LABEL_SHARE, random_state: Any = None
) -> Indices:
    """Return what `select_landmarks` returns, for rows that have been checked."""
    n = X.shape[0]
    labeled = np.zeros(n, dtype=bool) if y is None else labeled_mask(y, n)
    check_real("label_share", label_share, advice="It is a share between 0 and 1.")
    if label_share > 1.0:
        raise ValueError(f"The 'label_share' parameter must be in [0, 1]. Got {label_share!r} instead.")
    if isinstance(method, str):
        check_choice("method", method, METHODS, advice="Or pass an array of row indices.")
        check_integer("n_landmarks", n_landmarks, low=1, high=n, advice=f"X has {n} rows.")
        assert n_landmarks is not None
        rng = check_random_state(random_state)
        landmarks = METHODS[method](X, n_landmarks, np.flatnonzero(labeled), label_share, rng)
    elif callable(method):
        check_integer("n_landmarks", n_landmarks, low=1, high=n, advice=f"X has {n} rows.")
        rule = method(X, n_landmarks, np.flatnonzero(labeled), check_random_state(random_state))
        landmarks = check_landmarks(rule, n)
    else:
        landmarks = check_landmarks(method, n)
        if n_landmarks is not None and n_landmarks != len(landmarks):
            raise ValueError(
                f"n_landmarks={n_landmarks} does not go with {len(landmarks)} given landmarks. Leave n_landmarks=None."
            )
    _warn_if_all_labeled(landmarks, labeled)
    return landmarks


def check_landmarks(landmarks: Any, n: int) -> Indices:
    """Return distinct row indices in [0, n), or say which is wrong.

    Examples
    --------
    >>> from halfmoon.geometry import check_landmarks
    >>> check_landmarks([4, 1], 5)
    array([4, 1])
    """
    indices = np.asarray(landmarks)
    if indices.ndim != 1 or indices.size == 0 or indices.dtype.kind not in "iu":
        raise ValueError(
            "Landmarks are a non-empty 1-D array of row indices. "
            f"Got dtype {indices.dtype} and shape {indices.shape}; turn a mask into indices with np.flatnonzero."
        )
    outside = indices[(indices < 0) | (indices >= n)]
    if outside.size:
        raise ValueError(f"Landmarks must lie in [0, {n - 1}]: got {outside[0]} ({outside.size} outside).")
    values, counts = np.unique(indices, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"Landmarks must be distinct: {values[counts.argmax()]} occurs {counts.max()} times.")
    return indices.astype(np.intp)


def _random(X: Any, size: int, labeled: Indices, label_share: float, rng: Any) -> Indices:
    """Draw a share of the labelled points, then others; one labelled point comes last of all (footnote 5)."""
    shuffled = rng.permutation(labeled)
    reserved = shuffled[:1] if label_share < 1.0 else shuffled[:0]
    wanted = min(int(label_share * labeled.size), labeled.size - reserved.size)
    if label_share < 1.0 and labeled.size < X.shape[0]:
        size_for_labeled = max(size - 1, 1)  # nor are the landmarks labelled points only
        wanted = min(wanted, size_for_labeled)
    wanted = min(wanted, size)
    chosen = shuffled[reserved.size : reserved.size + wanted]
    others = np.setdiff1d(np.arange(X.shape[0]), np.concatenate([chosen, reserved]))
    if label_share > 0.0:  # fill up from the unlabelled points while these last
        unlabeled = rng.permutation(np.setdiff1d(others, labeled))
        queue = np.concatenate([unlabeled, rng.permutation(np.intersect1d(others, labeled)), reserved])
    else:
        queue = np.concatenate([rng.permutation(others), reserved])
    return np.sort(np.concatenate([chosen, queue[: size - wanted]]).astype(np.intp))


def _kmeans_plusplus(X: Any, size: int, labeled: Indices, label_share: float, rng: Any) -> Indices:
    """Seed as k-means++ does; where the points are fewer than the landmarks, fill up with duplicates."""
    points = X if X.dtype.kind == "f" else X.astype(np.float32)  # scikit-learn would compute in the integers' type
    _, indices = kmeans_plusplus(points, size, random_state=rng)
    indices = np.unique(indices)  # with duplicates a row can be drawn twice
    rest = np.setdiff1d(np.arange(X.shape[0]), indices)
    filled = rng.permutation(rest)[: size - len(indices)]
    return np.sort(np.concatenate([indices, filled]).astype(np.intp))


def _farthest(X: Any, size: int, labeled: Indices, label_share: float, rng: Any) -> Indices:
    """Gonzalez' farthest-first traversal from a random start; ties go to the lowest index."""
    landmarks = np.empty(size, dtype=np.intp)
    landmarks[0] = rng.randint(X.shape[0])
    nearest = np.full(X.shape[0], np.inf)
    for i in range(1, size):
        for rows in row_blocks(X, BLOCK):
            squares = euclidean_distances(X[rows], X[landmarks[[i - 1]]], squared=True).ravel()
            nearest[rows] = np.minimum(nearest[rows], squares)
        nearest[landmarks[:i]] = -1.0  # also where duplicates leave only distance 0
        landmarks[i] = int(np.argmax(nearest))
    return landmarks


def _warn_if_all_labeled(landmarks: Indices, labeled: NDArray[np.bool_]) -> None:
    n_labeled = int(labeled.sum())
    if n_labeled > 0 and labeled[landmarks].sum() == n_labeled and len(landmarks) < len(labeled):
        warnings.warn(
            f"All {n_labeled} labelled points are landmarks. Then cross-validation never sees a point off the "
            "landmarks and learns the transductive problem (footnote 5 of the paper). Leave some out, "
            "with label_share < 1.",
            LandmarkWarning,
            stacklevel=4,
        )


METHODS: dict[str, Callable[[Any, int, Indices, float, Any], Indices]] = {
    "random": _random,
    "kmeans++": _kmeans_plusplus,
    "farthest": _farthest,
}
