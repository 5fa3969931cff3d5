"""Read libsvm files: ``label index:value ...`` lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from halfmoon.exceptions import DataFileError
from halfmoon.tables._table import Table, first_line
from halfmoon.tables._wanted import Wanted

__all__ = ["read_libsvm"]

MOST_FEATURES = 1 << 27
LARGEST_INDEX = int(np.iinfo(np.int32).max)  # that scikit-learn's reader accepts


def read_libsvm(path: Path, wanted: Wanted) -> Table:
    """Return sparse features and labels; the label nan is an unlabelled row."""
    from sklearn.datasets import load_svmlight_file

    wanted.check_no_separator(path)
    wanted.check_no_names(path)
    wanted.check_own_target(path, "label", "a label begins each line")
    try:
        # Not shifted: whether indices begin at 0 or 1 must not be guessed file by file.
        X, y = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError) as error:
        raise DataFileError(f"{path}: {_bad_line(path) or first_line(error)}") from error
    if X.shape[1] > MOST_FEATURES:
        raise DataFileError(
            f"{path}: indices go up to {X.shape[1] - 1:,}; means of so many features do not fit into memory. Number "
            f"the features without gaps, below {MOST_FEATURES:,}."
        )
    return Table(path, sparse.csr_array(X), y.astype(object), "label")


def _bad_line(path: Path) -> str | None:
    """Return what is wrong with the first line that is not ``label index:value ...``."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            label, *pairs = line.split("#")[0].split() or ["0"]
            for word, parts in [(label, [label]), *((pair, pair.split(":")) for pair in pairs if pair[:4] != "qid:")]:
                try:
                    numbers = [float(part) for part in parts]
                except ValueError:
                    return f"line {number}: {word!r} is not a number."
                if word is not label and len(numbers) != 2:
                    return f"line {number}: {word!r} is not of the form index:value."
                if word is not label and not 0 <= numbers[0] <= LARGEST_INDEX:
                    return f"line {number}: the index of {word!r} is not between 0 and {LARGEST_INDEX}."
    return None
