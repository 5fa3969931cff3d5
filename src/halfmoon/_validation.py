"""Input checks. The only file that touches scikit-learn's private or unstable API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils import check_random_state as _check_random_state
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import check_array as _check_array
from sklearn.utils.validation import validate_data as _validate_data

__all__ = [
    "LARGEST",
    "SMALLEST",
    "UNLABELED",
    "check_choice",
    "check_features",
    "check_flag",
    "check_integer",
    "check_mapping",
    "check_n_features",
    "check_points",
    "check_random_state",
    "check_real",
    "check_sample_weight",
    "check_sparse",
    "labeled_mask",
    "row_blocks",
    "take_rows",
    "validate_data",
    "validate_points",
]

UNLABELED = -1
LARGEST = 1e150  # of a feature: squares of distances must not overflow
SMALLEST = 1e-140  # of the largest feature: squares of distances between neighbours must not vanish
DATES = ("date", "time", "period", "duration")  # how types of dates and times begin in numpy, pandas, arrow and polars
ADVICE = "Turn text and dates into numbers first, for example with OneHotEncoder, or leave them out."
BLOCK = 1 << 20  # numbers converted at once
SCANNED = 1 << 16  # numbers looked at at once, in cache
UNSCANNED = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}


def validate_data(estimator: Any, X: Any, **options: Any) -> Any:
    """Return X as scikit-learn checks it for an estimator, which remembers the features."""
    with _explained(X):
        return _validate_data(estimator, check_sparse("X", X), **options)


def check_array(X: Any, **options: Any) -> Any:
    """Return X as scikit-learn checks it."""
    with _explained(X):
        return _check_array(check_sparse("X", X), **options)


@contextmanager
def _explained(X: Any) -> Iterator[None]:
    """Say what is wrong with columns of one name, of vectors, dates and text: others do in words of their own."""
    repeated = [name for name, count in Counter(_column_names(X)).items() if count > 1]
    if repeated:
        raise ValueError(f"X has several columns called {repeated[0]!r}. Rename them, or give an array without names.")
    _check_no_dates(X)
    try:
        yield
    except (ValueError, TypeError) as error:
        column = _column_of_vectors(X)
        if column is not None:
            raise ValueError(
                f"{column} holds a vector in each row. Give the vectors as the rows of an array: "
                f"np.stack(list({column}))."
            ) from error
        found = _first_without_number(X)
        if found is not None:
            raise ValueError(f"X must hold numbers: column {found[0]!r} holds {found[1]!r}. {ADVICE}") from error
        if isinstance(error, TypeError) or "could not convert string" not in str(error):
            raise
        raise ValueError(f"X must hold numbers: {error}. {ADVICE}") from error


def _column_names(X: Any) -> list[str]:
    """Return the names of the columns of a data frame; of other data, none."""
    return [str(name) for name in getattr(X, "columns", ())]


def _check_no_dates(X: Any) -> None:
    """Refuse dates and times: as numbers they would be nanoseconds, and be all that counts."""
    if hasattr(X, "columns"):
        dtypes = zip((f"Column {name!r} of X" for name in _column_names(X)), X.dtypes, strict=True)
    else:
        dtypes = zip(["X"], [getattr(X, "dtype", "")], strict=True)
    for name, dtype in dtypes:
        if str(dtype).lower().startswith(DATES):
            raise ValueError(
                f"{name} holds dates or times ({dtype}). Turn them into numbers, such as days since a date, or leave "
                "them out."
            )


def _first_without_number(X: Any) -> tuple[str, Any] | None:
    """Return the first column of a data frame with a value that is no number, and that value."""
    for name in getattr(X, "columns", ()):
        values = np.asarray(X[name])
        for value in values.tolist() if values.dtype.kind in "OUS" else ():
            try:
                np.float64(value)
            except (ValueError, TypeError):
                return str(name), value
    return None


def _column_of_vectors(X: Any) -> str | None:
    """Return how to write the first column whose cells are lists or arrays, of a data frame or a single column."""
    columns = {f"X[{name!r}]": X[name] for name in getattr(X, "columns", ())} or {"X": X}
    for written, column in columns.items():
        first = next(iter(column), None) if getattr(column, "ndim", 1) == 1 and hasattr(column, "dtype") else None
        if hasattr(first, "__len__") and not isinstance(first, str | bytes):
            return written
    return None


def row_blocks(X: Any, size: int = BLOCK) -> Iterator[slice]:
    """Yield slices of rows that hold about `size` numbers each."""
    step = max(1, size // max(X.shape[1], 1))
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))


def check_points(X: Any, *, minimum: int = 1, to_learn: bool = False) -> Any:
    """Return X for searches that read it block by block: dense float64, float32, float16 or uint8, or canonical CSR.

    Such dense arrays are not copied and memory maps stay on disk; other types become the smallest float that holds
    all their values. Points `to_learn` from must not be so small that squares of their distances vanish; single new
    points may be.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon._validation import check_points
    >>> check_points(np.array([[1e-200], [0.0]]), to_learn=True)
    Traceback (most recent call last):
    ...
    ValueError: X holds values up to 1e-200 in size; below 1e-140 squares of distances vanish. ...
    >>> check_points(np.array([[1.0, np.nan], [0.0, 2.0]]))
    Traceback (most recent call last):
    ...
    ValueError: Input X contains NaN, first in row 0, column 1. ...
    """
    points = check_array(X, ensure_min_samples=minimum, input_name="X", **UNSCANNED)
    return _as_points(points, to_learn, _column_names(X))


def validate_points(estimator: Any, X: Any, *, reset: bool = True, minimum: int = 1, to_learn: bool = False) -> Any:
    """Return X as `check_points` does, and set or compare the names and the number of features of an estimator."""
    points = validate_data(estimator, X, reset=reset, ensure_min_samples=minimum, **UNSCANNED)
    with _explained(X):
        return _as_points(points, to_learn, _column_names(X))


def _as_points(X: Any, to_learn: bool, names: list[str]) -> Any:
    """Return rows that scikit-learn has looked at, but for their values: these are read once, here."""
    if sparse.issparse(X):
        X = check_features(X)
        return _check_smallest(X, _largest(X.data)) if to_learn else X
    if X.dtype not in (np.float64, np.float32, np.float16, np.uint8):
        X = X.astype(np.float32 if np.can_cast(X.dtype, np.float32) else np.float64)
    X = np.ascontiguousarray(X)
    largest = 0.0 if X.dtype == np.uint8 else _largest_of_rows(X, names)
    _check_largest(X, largest)
    return _check_smallest(X, largest) if to_learn else X


def _largest_of_rows(X: NDArray[Any], names: list[str]) -> float:
    """Return the size of the largest number in one pass over X; a number that is none is named by row and column."""
    largest = 0.0
    for rows in row_blocks(X, SCANNED):
        of_block = _largest(X[rows])
        if not np.isfinite(of_block):
            _refuse(X[rows], rows.start, names)
        largest = max(largest, of_block)
    return largest


def _refuse(block: NDArray[Any], first: int, names: list[str]) -> None:
    row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(block)))
    what = "NaN" if np.isnan(block[row, column]) else "infinity"
    named = f" ({names[column]!r})" if names else ""
    raise ValueError(
        f"Input X contains {what}, first in row {first + row}, column {column}{named}. Fill in such numbers, with "
        "SimpleImputer say, or leave their rows out."
    )


def check_features(X: Any, *, minimum: int = 1) -> Any:
    """Return X as a float64 C-ordered array or a canonical CSR array; never a view that we write to."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=minimum, input_name="X")
    _check_largest(X, _largest(X.data if sparse.issparse(X) else X))
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    index_type = np.int32 if max(X.nnz, X.shape[1]) <= np.iinfo(np.int32).max else np.int64
    indices, indptr = X.indices.astype(index_type), X.indptr.astype(index_type)  # copies: X stays as it is
    X = sparse.csr_array((X.data.copy(), indices, indptr), shape=X.shape)
    X.sum_duplicates()
    return X


def _check_largest(X: Any, largest: float) -> None:
    if X.dtype == np.float64 and largest > LARGEST:
        raise ValueError(
            f"X holds values up to {largest:.3g} in size; beyond {LARGEST:g} squares of distances overflow. "
            "Rescale the features, with StandardScaler say."
        )


def _check_smallest(X: Any, largest: float) -> Any:
    if X.dtype == np.float64 and 0.0 < largest < SMALLEST:
        raise ValueError(
            f"X holds values up to {largest:.3g} in size; below {SMALLEST:g} squares of distances vanish. "
            "Use a smaller unit: multiply the features by a large number."
        )
    return X


def _largest(values: NDArray[Any]) -> float:
    """Return the size of the largest value, NaN if one is, without a copy."""
    return float(np.maximum(values.max(), -values.min())) if values.size else 0.0


def check_integer(name: str, value: Any, *, low: int, high: int | None = None, advice: str = "") -> int:
    """Return `value` as an int in [low, high], or say what is wrong with it."""
    wanted = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    ok = isinstance(value, Integral) and not isinstance(value, bool)
    if not ok or value < low or (high is not None and value > high):
        raise ValueError(f"The '{name}' parameter must be {wanted}. Got {value!r} instead.{_sentence(advice)}")
    return int(value)


def check_real(name: str, value: Any, *, low: float = 0.0, strict: bool = False, advice: str = "") -> float:
    """Return `value` as a finite float >= low (> low if strict), or say what is wrong with it."""
    ok = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not ok or value < low or (strict and value == low):
        sign = ">" if strict else ">="
        raise ValueError(
            f"The '{name}' parameter must be a finite number {sign} {low:g}. Got {value!r} instead." + _sentence(advice)
        )
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False, or say what is wrong with it."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"The '{name}' parameter must be True or False. Got {value!r} instead.")
    return bool(value)


def check_mapping(name: str, value: Any) -> dict[str, Any]:
    """Return `value` as a dict with names for keys, {} for None, or say what is wrong with it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"The '{name}' parameter must be a dict of names and values, or None. Got {value!r} instead.")
    return dict(value)


def check_random_state(seed: Any) -> np.random.RandomState:
    """Return the generator that a `random_state` stands for, or say what is wrong with it."""
    try:
        return _check_random_state(seed)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"The 'random_state' parameter must be None, an integer in [0, {2**32 - 1}] or a RandomState. "
            f"Got {seed!r} instead."
        ) from error


def check_sparse(name: str, A: Any) -> Any:
    """Return a sparse matrix whose indices lie within its shape: compiled code trusts them."""
    try:
        if hasattr(A, "check_format"):
            A.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} is a damaged sparse matrix: {error}. Build it again from its entries.") from error
    return A


def check_choice(name: str, value: Any, choices: Any, *, advice: str = "") -> Any:
    """Return `value` if it is a key of the table `choices`; otherwise print the table's keys."""
    if not isinstance(value, str) or value not in choices:
        keys = ", ".join(repr(key) for key in choices)
        raise ValueError(f"The '{name}' parameter must be one of {keys}. Got {value!r} instead.{_sentence(advice)}")
    return value


def labeled_mask(y: Any, n_samples: int) -> NDArray[np.bool_]:
    """Return the mask of labelled rows: unlabelled is -1, NaN, None or pandas.NA."""
    if isinstance(y, list) and any(isinstance(label, str) or label is None for label in y):
        y = np.array(y, dtype=object)  # numpy would turn -1 among strings into "-1"
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(
            f"y must hold one label per row of X: expected shape ({n_samples},), got {y.shape}. "
            "Mark unlabelled rows with -1 (classes) or NaN (targets)."
        )
    if y.dtype.kind in "OUS":
        return np.array([not _is_missing(value) for value in y.tolist()], dtype=bool)
    if y.dtype.kind == "f":
        return ~np.isnan(y) & (y != UNLABELED)
    return np.asarray(y != UNLABELED)


def _is_missing(label: Any) -> bool:
    """Return whether one label stands for 'unlabelled'; a missing value is the one not equal to itself."""
    if label is None:
        return True
    if isinstance(label, str):
        return False
    try:
        return not bool(label == label) or bool(label == UNLABELED)
    except TypeError:  # pandas.NA refuses to be true or false
        return True


def _sentence(advice: str) -> str:
    return f" {advice}" if advice else ""
