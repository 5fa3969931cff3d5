"""Data files: read them, prepare their columns, fit a model that keeps both, write predictions."""

from halfmoon.tables._fit import PreparedTable, Recipe, fit_table, prepare_table
from halfmoon.tables._model import TableModel
from halfmoon.tables._open_rows import open_rows
from halfmoon.tables._read import IN_SUFFIXES, read_columns, read_table
from halfmoon.tables._read_rows import lies_on_disk, read_rows
from halfmoon.tables._table import Table, known_columns
from halfmoon.tables._targets import class_names, class_texts, given_labels, guess_task, labeled_rows, regression_values
from halfmoon.tables._write import OUT_SUFFIXES, check_writable, write_columns

__all__ = [
    "IN_SUFFIXES",
    "OUT_SUFFIXES",
    "PreparedTable",
    "Recipe",
    "Table",
    "TableModel",
    "check_writable",
    "class_names",
    "class_texts",
    "fit_table",
    "given_labels",
    "guess_task",
    "known_columns",
    "labeled_rows",
    "lies_on_disk",
    "open_rows",
    "prepare_table",
    "read_columns",
    "read_rows",
    "read_table",
    "regression_values",
    "write_columns",
]
