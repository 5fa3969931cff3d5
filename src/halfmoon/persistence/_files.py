"""Model files: what was fitted here predicts the same elsewhere, and loading a file runs none of its code.

A file is one line of JSON (format, versions, size and checksum of the rest) and a skops archive. What may be in the
archive is said by the classes themselves (`halfmoon.runtime.storable`).
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from halfmoon._extras import need
from halfmoon._version import __version__
from halfmoon.exceptions import ModelFileError
from halfmoon.persistence._contents import TRUSTED, audit, for_file, from_file
from halfmoon.runtime.atomic_write import atomic_write
from halfmoon.runtime.naming import naming

__all__ = ["FORMAT_VERSION", "is_model_file", "load", "save"]

FORMAT = "halfmoon model"
FORMAT_VERSION = 5
LONGEST_HEADER = 1024


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, without pickle.

    The file appears under its name when it is complete; a file that was there is replaced, or left as it was if
    anything fails. Of a link, the file that it points to is replaced. It needs skops:
    ``pip install 'halfmoon[files]'``.

    Parameters
    ----------
    model : estimator
        A kernel, classifier, regressor, clusterer, transformer or search of halfmoon, or a scikit-learn Pipeline (or
        any other scikit-learn estimator without trees) around one; fitted or not.
    path : str or path
        Where to.

    Raises
    ------
    ModelFileError
        If the model holds what a file must not hold, such as a function.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import LapRLSClassifier, load, save
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = LapRLSClassifier().fit(X, np.where(np.arange(200) < 20, y, -1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "moons.halfmoon"))
    ...     again = load(os.path.join(folder, "moons.halfmoon"))
    >>> bool(np.array_equal(again.decision_function(X), model.decision_function(X)))
    True
    """
    skops = _skops()
    contents = for_file(model)
    try:
        payload = skops.dumps(contents)
        untrusted = set(skops.get_untrusted_types(data=payload)) - TRUSTED.keys()
    except Exception as error:  # skops meets objects of any kind and lets all their errors through
        raise ModelFileError(
            f"This {type(model).__name__} cannot be written to a model file ({error}). Save the part of it that "
            "predicts: of scikit-learn's GridSearchCV, say, its best_estimator_."
        ) from error
    audit(payload, refused=untrusted)
    with atomic_write(path) as file:
        file.write(_header(payload) + payload)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that `save` has written; nothing in the file is executed.

    Only types of halfmoon, scikit-learn, numpy and scipy are made, and no function is called by name. It needs skops:
    ``pip install 'halfmoon[files]'``.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        With the predictions of the one that was saved, bit for bit. What is left out of files (prepared solvers,
        search trees) is built again when it is needed.

    Raises
    ------
    ModelFileError
        If the file is not a model file, damaged, of another format version, or holds anything but data.

    Examples
    --------
    >>> from halfmoon import load
    >>> load(__file__)
    Traceback (most recent call last):
    ...
    halfmoon.exceptions.ModelFileError: ... is not a halfmoon model file. ...
    """
    skops = _skops()
    payload = _payload(Path(path))
    try:
        audit(payload)
        return from_file(skops.loads(payload, trusted=list(TRUSTED)))
    except Exception as error:  # a file made by hand can go wrong in any way
        raise ModelFileError(
            f"{path} was refused: {error} Its checksum is right: it was made by other means than halfmoon.save, or "
            "with other versions of scikit-learn and skops. Use it only if you know who made it, and how."
        ) from error


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file says in its first line that `save` has written it, in whichever format version.

    Examples
    --------
    >>> from halfmoon.persistence import is_model_file
    >>> is_model_file(__file__)
    False
    """
    with naming(path), Path(path).open("rb") as file:
        line = file.readline(LONGEST_HEADER)
    try:
        return bool(json.loads(line)["format"] == FORMAT)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _skops() -> ModuleType:
    need("Model files", "files", "skops")
    import skops.io

    return skops.io


def _header(payload: bytes) -> bytes:
    fields = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "halfmoon": __version__,
        "size": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    return json.dumps(fields).encode() + b"\n"


def _payload(path: Path) -> bytes:
    """Return what follows the header, if it is what was written."""
    with naming(path), path.open("rb") as file:
        header = _read_header(file.readline(LONGEST_HEADER), path)
        payload = file.read()
    if len(payload) < header["size"]:
        raise ModelFileError(
            f"{path} is cut short: {len(payload)} of {header['size']} bytes are there. Copy it again or save it again."
        )
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Copy it again or save it again.")
    return payload


def _read_header(line: bytes, path: Path) -> dict[str, Any]:
    """Return the fields of the header, or say why this is not a file for this version."""
    try:
        header = json.loads(line)
        known = header["format"] == FORMAT and isinstance(header["size"], int)
        version, writer = header["version"], header["halfmoon"]
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known or "sha256" not in header:
        raise ModelFileError(
            f"{path} is not a halfmoon model file. It was not written by 'halfmoon fit' or halfmoon.save, or its "
            "first line is damaged."
        )
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version!r}, written by halfmoon {writer}; halfmoon {__version__} "
            f"reads version {FORMAT_VERSION}. Load it with the halfmoon that wrote it, or fit and save the model again."
        )
    return header
