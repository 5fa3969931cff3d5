"""From columns to features.

Categories are one-hot encoded, words weighed by TF-IDF, dates become days, missing values are filled in, numbers are
standardised. All of it is a scikit-learn transformer that the model keeps, so that new data goes the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from halfmoon._validation import SMALLEST
from halfmoon.runtime.words import counted
from halfmoon.tables._dates import DATE, ISO, as_days, is_date
from halfmoon.tables._kinds import MAX_CATEGORIES, Kinds, find_kinds, ready_numbers
from halfmoon.tables._numbers import LARGEST, fault
from halfmoon.tables._table import NUMBER, SHOWN, TEXT, WORDS, Table, listed
from halfmoon.tables._vectors import CommonScaler, feature_names, stack_vectors, width_of

__all__ = ["Preparation", "check_scales", "plan_preparation", "scaling_notes", "typed_features", "unseen_categories"]

MISSING_TEXT = "(missing)"
MAX_WORDS = 10_000  # of a column, the most frequent ones


@dataclass(frozen=True)
class Preparation:
    """What is done to the columns of a table.

    Attributes
    ----------
    columns : dict of str to str, or None
        Kind of every column that is used; None for tables that do not name their columns.
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
        notes = [f"{counted(empty, 'missing value')} replaced by the median of the feature"] if empty else []
        return Preparation(None, _numbers(standardize), notes + scaling_notes(standardize))
    kinds = find_kinds(table)
    if not kinds.columns:
        raise table.error("there is no column of features besides the target.")
    parts = _Columns.of(kinds.columns)
    for name in parts.words:
        if not X[name].dropna().astype(str).str.contains(r"\w\w").any():
            raise table.error(f"column {name!r} has no words of two letters or more. Leave it out of --text.")
    notes = _notes(X, kinds, parts)
    if standardize and (parts.numbers or parts.dates):
        notes.append("numbers are brought to mean 0 and deviation 1; --no-standardize keeps them as they are")
    return Preparation(kinds.columns, parts.transformer(standardize), notes)


@dataclass(frozen=True)
class _Columns:
    """The columns that are used, by what is done to them."""

    numbers: list[str]
    dates: list[str]
    texts: list[str]
    words: list[str]
    vectors: dict[str, int]  # with their length

    @classmethod
    def of(cls, columns: dict[str, str]) -> _Columns:
        numbers, texts, words = ([name for name, kind in columns.items() if kind == k] for k in (NUMBER, TEXT, WORDS))
        widths = {name: width_of(kind) for name, kind in columns.items()}
        vectors = {name: width for name, width in widths.items() if width is not None}
        return cls(numbers, [name for name, kind in columns.items() if is_date(kind)], texts, words, vectors)

    def transformer(self, standardize: bool) -> Any:
        """Return what makes features of these columns."""
        measured = [*self.numbers, *self.dates]
        if not (self.texts or self.words or self.vectors):
            return _numbers(standardize)
        parts: list[tuple[str, Any, Any]] = [
            ("numbers", _numbers(standardize), measured),
            ("texts", _texts(), self.texts),
        ]
        scaler = CommonScaler() if standardize else "passthrough"
        parts += [(f"vectors of {name}", scaler, feature_names(name, width)) for name, width in self.vectors.items()]
        parts += [(f"words of {name}", _words(), name) for name in self.words]
        # Words are sparse, and so is a table that has them; without them nothing is.
        return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=1.0 if self.words else 0.0)


def _numbers(standardize: bool) -> Any:
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(imputer, StandardScaler()) if standardize else imputer


def scaling_notes(standardize: bool) -> list[str]:
    """Return what is done to features without names, which may be of one kind."""
    if not standardize:
        return []
    return [
        "every feature is brought to mean 0 and deviation 1 by itself; where rows are vectors, such as embeddings, "
        "--no-standardize keeps their directions"
    ]


def _texts() -> Any:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    return make_pipeline(SimpleImputer(strategy="constant", fill_value=MISSING_TEXT), encoder)


def _words() -> Any:
    return TfidfVectorizer(sublinear_tf=True, max_features=MAX_WORDS)


def _notes(X: Any, kinds: Kinds, parts: _Columns) -> list[str]:
    """Return notes on what is left out, encoded and filled in."""
    notes = [f"column {name!r} is left out: {reason}" for name, reason in kinds.left_out.items()]
    notes += [f"column {name!r} counts the rows; --ignore {name} if that says nothing" for name in kinds.counters]
    if parts.texts:
        notes.append(f"text is one-hot encoded: {_listed(parts.texts)}")
    if parts.words:
        notes.append(f"words become TF-IDF features: {_listed(parts.words)}")
    if parts.vectors:
        lengths = [f"{name} ({width} numbers)" for name, width in parts.vectors.items()]
        notes.append(f"vectors are scaled as a whole: {_listed(lengths)}")
    if parts.dates:
        forms = [_as_example(name, kinds.columns[name]) for name in parts.dates]
        notes.append(f"dates become days, a number: {_listed(forms)}")
    empty = X.isna().sum().to_dict()
    for names, what in (
        ([*parts.numbers, *parts.dates], "missing numbers become the median of their column"),
        (parts.texts, "missing texts are a category of their own"),
        (parts.words, "missing texts have no words"),
    ):
        holes = [name for name in names if empty[name]]
        if holes:
            notes.append(f"{what}: {_listed([f'{name} ({empty[name]:,})' for name in holes])}")
    return notes


def _as_example(name: str, kind: str) -> str:
    """Return the name of a column of dates, and how 31 December 2024 is written in it."""
    import datetime

    form = kind.removeprefix(DATE)
    day = datetime.datetime(2024, 12, 31)
    return name if form == ISO else f"{name} (31 December is {day.strftime(form)})"


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
    _check_columns(table, columns)
    import pandas as pd

    parts = _Columns.of(columns)
    frames = [_typed_numbers(table, parts.numbers)]
    for name, width in parts.vectors.items():
        frames.append(pd.DataFrame(stack_vectors(table, name, width), columns=feature_names(name, width)))
    others = {name: _days_of(table, name, columns[name]) for name in parts.dates}
    others |= {name: _texts_of(X[name]).to_numpy(dtype=object) for name in parts.texts}
    others |= {name: _texts_of(X[name]).fillna("").to_numpy(dtype=object) for name in parts.words}
    frames.append(pd.DataFrame(others, index=range(len(X))))
    order = [part for name in columns for part in _features_of(name, parts)]
    return pd.concat([frame.set_index(X.index) for frame in frames], axis=1)[order]


def _features_of(name: str, parts: _Columns) -> list[str]:
    return feature_names(name, parts.vectors[name]) if name in parts.vectors else [name]


def _check_columns(table: Table, columns: dict[str, str]) -> None:
    """Refuse a table without some of the columns that a model was fitted with."""
    missing = [name for name in columns if name not in table.X.columns]
    if table.target_name in missing:
        raise table.error(f"the column {table.target_name!r} that the model was fitted with is the target here.")
    if missing:
        what = "column" if len(missing) == 1 else f"{len(missing)} columns"
        verb = "is" if len(missing) == 1 else "are"
        raise table.error(f"the {what} {listed(missing)} that the model was fitted with {verb} missing.")


def _typed_numbers(table: Table, names: list[str]) -> Any:
    """Return columns as a frame of float64, or refuse the first cell that cannot be computed with."""
    import pandas as pd

    X = table.X[names]
    ready = ready_numbers(X)
    values = np.zeros(X.shape)
    values[:, ready] = X.loc[:, ready].to_numpy(dtype=np.float64)
    for i in np.flatnonzero(~ready | (np.abs(values) > LARGEST).any(axis=0)):
        values[:, i] = _numbers_of(table, names[i])
    return pd.DataFrame(values, columns=names)


def _days_of(table: Table, name: str, kind: str) -> Any:
    """Return a column of dates as days; an error names the row of a cell that is no date of this format."""
    column = table.X[name]
    days = as_days(column, kind)
    wrong = np.flatnonzero(np.isnan(days) & column.notna().to_numpy())
    if len(wrong):
        raise table.error(
            f"{table.row(int(wrong[0]))}, column {name!r}: {_shown(column.iloc[wrong[0]])} is no date of the format "
            f"{kind.removeprefix(DATE)} that the column has. Correct it or empty the cell."
        )
    return days


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


def _numbers_of(table: Table, name: str) -> Any:
    """Return a column as float64; an error names the row of a text, of an infinite value or of one too large."""
    import pandas as pd

    column = table.X[name]
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column.dt.total_seconds()
    numbers = pd.to_numeric(column.astype(object), errors="coerce").astype(np.float64).to_numpy()
    wrong = np.flatnonzero((np.isnan(numbers) & column.notna().to_numpy()) | (np.abs(numbers) > LARGEST))
    if len(wrong):
        i, value = int(wrong[0]), column.iloc[wrong[0]]
        advice = f"Correct it or empty the cell; if {name!r} holds names, fit it with --categorical."
        raise table.error(f"{table.row(i)}, column {name!r}: {_shown(value)} {fault(numbers[i], advice)}")
    return numbers


def _shown(value: Any) -> str:
    """Return a cell as it is shown in messages: texts in quotes, numbers as they are written."""
    return repr(value) if isinstance(value, str) else str(value)


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
