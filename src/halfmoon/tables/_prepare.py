"""From columns to features: text is one-hot encoded, missing values are filled in, numbers are standardised.

All of it is a scikit-learn transformer that the model keeps, so that new data goes the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from halfmoon._validation import SMALLEST
from halfmoon.tables._numbers import LARGEST, fault
from halfmoon.tables._table import NUMBER, PROSE, SHOWN, TEXT, Table

__all__ = ["Preparation", "check_scales", "plan_preparation", "typed_features", "unseen_categories"]

MISSING_TEXT = "(missing)"
TOPICS = 100  # features that the words of a column of texts are summed up to
MAX_CATEGORIES = 100  # of a column; rarer texts share one feature
USED = (NUMBER, TEXT, PROSE)  # kinds; any other is the reason why a column is left out
IDENTIFIER_SHARE, IDENTIFIER_ROWS = 0.9, 20  # so many different texts in at least so many rows name the rows


@dataclass(frozen=True)
class Preparation:
    """What is done to the columns of a table.

    Attributes
    ----------
    columns : dict of str to str, or None
        Kind of every column that is used, "number", "text" or "prose"; None for tables that do not name their columns.
    transformer : transformer
        Not fitted yet.
    notes : list of str
        What the reader should know.
    """

    columns: dict[str, str] | None
    transformer: Any
    notes: list[str] = field(default_factory=list)


def plan_preparation(table: Table, *, standardize: bool) -> Preparation:
    """Look at the columns and decide what is done to each."""
    X = table.X
    if sparse.issparse(X):
        return Preparation(None, StandardScaler(with_mean=False) if standardize else FunctionTransformer())
    if isinstance(X, np.ndarray):
        empty = int(np.isnan(X).sum())
        notes = [f"{empty} missing values are replaced by the median of their feature"] if empty else []
        return Preparation(None, _numbers(standardize), notes)
    kinds = _kinds(table)
    columns = {name: kind for name, kind in kinds.items() if kind in USED}
    if not columns:
        raise table.error("there is no column of features besides the target.")
    numbers, texts = ([name for name, kind in columns.items() if kind == wanted] for wanted in (NUMBER, TEXT))
    prose = [name for name, kind in columns.items() if kind == PROSE]
    transformer = _by_kind(table, numbers, texts, prose, standardize) if texts or prose else _numbers(standardize)
    notes = [f"texts are compared by their words: {_listed(prose)}"] if prose else []
    return Preparation(columns, transformer, [*_left_out(kinds), *notes, *_notes(X, numbers, texts)])


def _by_kind(table: Table, numbers: list[str], texts: list[str], prose: list[str], standardize: bool) -> Any:
    parts: list[tuple[str, Any, Any]] = [("numbers", _numbers(standardize), numbers), ("texts", _texts(), texts)]
    parts += [(f"words of {name}", _words(table, name), name) for name in prose]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)


def _numbers(standardize: bool) -> Any:
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(imputer, StandardScaler()) if standardize else imputer


def _texts() -> Any:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    return make_pipeline(SimpleImputer(strategy="constant", fill_value=MISSING_TEXT), encoder)


def _words(table: Table, name: str) -> Any:
    """Return word frequencies, summed up to a few features by their singular vectors."""
    texts = _prose_of(table.X[name])
    try:
        size = len(TfidfVectorizer().fit(texts).vocabulary_)
    except ValueError as error:
        raise table.error(f"column {name!r}: there are no words in it.") from error
    topics = max(1, min(TOPICS, size - 1, len(texts) - 1))
    return make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(topics, random_state=0))


def _prose_of(column: Any) -> Any:
    return column.astype(object).where(column.notna(), "").map(str)


def _kinds(table: Table) -> dict[str, str]:
    """Return for every column "number" or "text", or why it is left out."""
    X = table.X
    filled, ready = X.notna().any(), _ready_numbers(X)
    kinds = {}
    for name, has_cells, is_ready in zip(X.columns, filled, ready, strict=True):
        if not has_cells:
            kinds[name] = "empty"
        elif name in table.categorical:
            kinds[name] = TEXT
        elif name in table.texts:
            kinds[name] = PROSE
        else:
            kinds[name] = NUMBER if is_ready else _kind(table, name)
    return kinds


def _ready_numbers(X: Any) -> NDArray[np.bool_]:
    """Return which columns hold numbers of numpy: they are read all at once, as a call for each of 10,000 is slow."""
    return np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes], dtype=bool)


def _kind(table: Table, name: str) -> str:
    """Return "number" or "text" for a column that is not empty, or why it is left out."""
    import pandas as pd

    column = table.X[name]
    present = column[column.notna()]
    if _is_numeric(column):
        return NUMBER
    numbers = pd.to_numeric(present.astype(str), errors="coerce")
    if numbers.notna().mean() > 0.5:
        # Mostly numbers: a word among them is a slip, and as a text column it would be a silent one.
        _numbers_of(table, name, advice="Correct it, empty the cell, or name the column as categorical.")
        return NUMBER
    different = present.astype(str).nunique()
    if len(present) >= IDENTIFIER_ROWS and different > IDENTIFIER_SHARE * len(present):
        return f"{different} different texts in {len(column)} rows"
    return TEXT


def _is_numeric(column: Any) -> bool:
    import pandas as pd

    kinds = (pd.api.types.is_numeric_dtype, pd.api.types.is_datetime64_any_dtype, pd.api.types.is_timedelta64_dtype)
    # True and False are objects as soon as one is missing, and must not become texts by that.
    return any(kind(column.dtype) for kind in kinds) or pd.api.types.infer_dtype(column, skipna=True) == "boolean"


def _left_out(kinds: dict[str, str]) -> list[str]:
    return [
        f"column {name!r} is left out: it is empty" if kind == "empty" else f"column {name!r} is left out: {kind}"
        for name, kind in kinds.items()
        if kind not in USED
    ]


def _notes(X: Any, numbers: list[str], texts: list[str]) -> list[str]:
    """Return notes on what is encoded and what is filled in."""
    notes = []
    if texts:
        notes.append(f"text is one-hot encoded: {_listed(texts)}")
    empty = X.isna().sum().to_dict()
    holes = [name for name in numbers if empty[name]]
    if holes:
        total = sum(empty[name] for name in holes)
        notes.append(f"{total} missing numbers are replaced by the median of their column: {_listed(holes)}")
    holes = [name for name in texts if empty[name]]
    if holes:
        notes.append(f"missing texts are a category of their own: {_listed(holes)}")
    return notes


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def typed_features(table: Table, columns: dict[str, str] | None, n_features: int | None = None) -> Any:
    """Return the features with the columns and types that a preparation expects.

    Parameters
    ----------
    table : Table
        New data, or the training data.
    columns : dict of str to str, or None
        Kind of each column, see `Preparation`.
    n_features : int, default=None
        How many features a table without names must have.
    """
    X = table.X
    if columns is None:
        return _checked_matrix(table, n_features)
    if not hasattr(X, "columns"):
        raise table.error(f"the model knows columns by name ({_listed(list(columns))}) and this file has no names.")
    missing = [name for name in columns if name not in X.columns]
    if missing:
        why = "the target here" if missing[0] == table.target_name else "missing"
        raise table.error(f"the column {missing[0]!r} that the model was fitted with is {why}.")
    import pandas as pd

    numbers, texts = ([name for name, kind in columns.items() if kind == wanted] for wanted in (NUMBER, TEXT))
    words = {name: _prose_of(X[name]) for name, kind in columns.items() if kind == PROSE}
    cells = {name: _texts_of(X[name]) for name in texts} | words
    parts = [_typed_numbers(table, numbers), pd.DataFrame(cells, index=X.index)]
    return pd.concat(parts, axis=1)[list(columns)]


def _typed_numbers(table: Table, names: list[str]) -> Any:
    """Return columns as a frame of float64, or refuse the first cell that cannot be computed with."""
    import pandas as pd

    X = table.X[names]
    ready = _ready_numbers(X)
    values = np.zeros(X.shape)
    values[:, ready] = X.loc[:, ready].to_numpy(dtype=np.float64)
    for i in np.flatnonzero(~ready | (np.abs(values) > LARGEST).any(axis=0)):
        values[:, i] = _numbers_of(table, names[i], advice="Correct it or empty the cell.")
    return pd.DataFrame(values, columns=names, index=X.index)


def check_scales(table: Table, features: Any) -> None:
    """Refuse columns of numbers so small that their variance vanishes: they would count as constant, in silence."""
    if sparse.issparse(features):
        names, largest = np.arange(features.shape[1]), abs(features).max(axis=0).toarray().ravel()
    elif hasattr(features, "columns"):
        numbers = features.select_dtypes("number")
        names, largest = numbers.columns, numbers.abs().max().to_numpy()
    else:
        names, largest = np.arange(1, features.shape[1] + 1), np.abs(features).max(axis=0)
    small = np.flatnonzero((largest > 0.0) & (largest.astype(np.float64) < SMALLEST))
    if len(small):
        raise table.error(
            f"column {names[small[0]]!s}: the largest number is {largest[small[0]]:.3g}, and squares of such numbers "
            "vanish. Choose a smaller unit."
        )


def _texts_of(column: Any) -> Any:
    return column.astype(object).map(_text_of, na_action="ignore").where(column.notna(), np.nan)


def _text_of(value: Any) -> str:
    """Return a cell as text; 10 is 10.0 only because another cell of its column is missing, and stays "10"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def unseen_categories(table: Table, features: Any, transformer: Any) -> list[str]:
    """Return a note for each column of text with categories that a fitted preparation does not know.

    Parameters
    ----------
    table : Table
        New data.
    features : DataFrame
        What `typed_features` makes of it.
    transformer : transformer
        The preparation.
    """
    if "texts" not in getattr(transformer, "named_transformers_", {}):
        return []
    encoder = transformer.named_transformers_["texts"][-1]
    names = next(columns for part, _, columns in transformer.transformers_ if part == "texts")
    notes = []
    for name, categories in zip(names, encoder.categories_, strict=True):
        cells = features[name].fillna(MISSING_TEXT)
        unseen = np.flatnonzero(~cells.isin(categories))
        if len(unseen):
            notes.append(
                f"column {name!r}: {len(unseen)} of {len(cells)} cells hold categories that the model has not seen, as "
                f"{cells.iloc[unseen[0]]!r} in {table.row(int(unseen[0]))}"
            )
    return notes


def _numbers_of(table: Table, name: str, *, advice: str) -> Any:
    """Return a column as float64; an error names the row of a text, of an infinite value or of one too large."""
    import pandas as pd

    column = table.X[name]
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = (column - pd.Timestamp(0, tz=column.dt.tz)).dt.total_seconds()
    elif pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column.dt.total_seconds()
    numbers = pd.to_numeric(column.astype(object), errors="coerce").astype(np.float64).to_numpy()
    wrong = np.flatnonzero((np.isnan(numbers) & column.notna().to_numpy()) | (np.abs(numbers) > LARGEST))
    if len(wrong):
        i, value = int(wrong[0]), column.iloc[wrong[0]]
        shown = repr(value) if isinstance(value, str) else value
        raise table.error(f"{table.row(i)}, column {name!r}: {shown} {fault(numbers[i], advice)}")
    return numbers


def _checked_matrix(table: Table, n_features: int | None) -> Any:
    """Return a matrix of finite numbers that are not too large, with the number of features that is wanted."""
    X = table.X
    if hasattr(X, "columns"):
        raise table.error(f"the model knows {n_features} features without names and this file names its columns.")
    wrong = _first_wrong_entry(X) if sparse.issparse(X) else _first_wrong_cell(X)
    if wrong is not None:
        i, place, value = wrong
        raise table.error(f"{table.row(i)}, {place}: {value} {fault(value, 'Correct it or leave the row out.')}")
    if sparse.issparse(X) and n_features is not None and X.shape[1] < n_features:
        # Trailing features that are zero in every row.
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    if n_features is not None and X.shape[1] != n_features:
        raise table.error(f"there are {X.shape[1]} features and the model was fitted with {n_features}.")
    return X


def _first_wrong_cell(X: Any) -> tuple[int, str, float] | None:
    """Return row, name and value of the first number that is infinite or too large; NaN is a missing one."""
    limit = _largest_of(X.dtype)
    rows = np.flatnonzero((np.abs(X) > limit).any(axis=1))
    if not len(rows):
        return None
    row = X[rows[0]]
    column = int(np.flatnonzero(np.abs(row) > limit)[0])
    return int(rows[0]), f"feature {column + 1}", float(row[column])


def _first_wrong_entry(X: Any) -> tuple[int, str, float] | None:
    """Return the same of sparse rows, where nothing can be missing."""
    wrong = np.flatnonzero(~(np.abs(X.data) <= _largest_of(X.dtype)))
    if not len(wrong):
        return None
    row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
    return row, f"index {X.indices[wrong[0]]}", float(X.data[wrong[0]])


def _largest_of(dtype: np.dtype[Any]) -> float:
    """Return the limit as a number of this type: what float32 cannot hold cannot be compared with in float32."""
    return min(LARGEST, float(np.finfo(dtype).max)) if dtype.kind == "f" else LARGEST
