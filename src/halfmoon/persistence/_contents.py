"""What goes into a model file, and what may come out of one.

A file holds data only: numbers, text, arrays, and objects of the types named here or known to skops as harmless. There
are three gates. `for_file` and `from_file` leave out what can be computed again and what points to the machine, in the
model that is saved and once more in what was loaded. `audit` reads the table of contents, at saving and before loading,
so that a file that can be written can be read. skops then checks every type by its own list.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.gaussian_process import kernels as gp_kernels
from sklearn.utils import Bunch

from halfmoon.cluster import KernelKMeans
from halfmoon.exceptions import ModelFileError
from halfmoon.geometry import Geometry
from halfmoon.graph import check_graph
from halfmoon.kernels import GraphExtension, WarpedKernel
from halfmoon.model_selection import KernelSearchCV
from halfmoon.persistence._sizes import check_unfolded_size
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.storable import STORABLE
from halfmoon.semi_supervised import LapEstimator
from halfmoon.tables import TableModel

__all__ = ["TRUSTED", "audit", "for_file", "from_file"]

# Classes say themselves that they may be in a file; importing the top of each branch has read all of them.
TOPS = (KernelKMeans, KernelSearchCV, TableModel)
OWN = tuple(STORABLE)
GP_KERNELS = tuple(
    kernel for kernel in vars(gp_kernels).values() if isinstance(kernel, type) and issubclass(kernel, gp_kernels.Kernel)
)
SPARSE = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)

# `known_base` is a shortcut; what makes refits instant can be computed again, and is many times the rest. `memory` is a
# folder of pickles: a file must not say where to read these.
FORGOTTEN: dict[str, Any] = dict.fromkeys(
    ("base_columns", "checkpoint", "known_base", "memory", "progress", "stored_interpolation")
)
FORGOTTEN["instant_refits"] = False
NUMBER = "number_in_file"

# The loaders of skops that make data, and those of what a user would call a function.
LOADERS = {
    "BytesNode",
    "DTypeNode",
    "DictNode",
    "JsonNode",
    "ListNode",
    "MaskedArrayNode",
    "NdArrayNode",
    "ObjectNode",
    "RandomGeneratorNode",
    "RandomStateNode",
    "SetNode",
    "SliceNode",
    "SparseMatrixNode",
    "TupleNode",
    "TypeNode",
}
CALLABLE = {"FunctionNode", "MethodNode", "OperatorFuncNode", "PartialNode", "TypeNode"}


@dataclass(frozen=True)
class Same:
    """Stands in a file for an object that has come before: skops would write it out once more."""

    number: int


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


# Types beyond those that skops trusts, and the one loader that may make each: none of them is ever called.
TRUSTED = (
    {_name(cls): "ObjectNode" for cls in (*OWN, *GP_KERNELS, Same)}
    | {_name(cls): "SparseMatrixNode" for cls in SPARSE}
    | {
        _name(Bunch): "DictNode",
        _name(make_column_selector): "ObjectNode",
        "builtins.object": "TypeNode",
        "numpy.dtype": "DTypeNode",
        "numpy.number": "TypeNode",
        "sklearn.compose._column_transformer._RemainderColsList": "ObjectNode",
    }
)


def for_file(model: Any) -> Any:
    """Return a copy of a model that shares its arrays, without caches and paths; what predictions rest on is computed.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import DataDependentKernel
    >>> from halfmoon.persistence._contents import for_file
    >>> for_file(DataDependentKernel(memory="cache")).memory is None
    True
    """
    return _Packer().copy(model, bare=True)


def from_file(model: Any) -> Any:
    """Return what was saved, given what skops has read: the inverse of `for_file`, and as strict."""
    return _Unpacker().copy(model, bare=True)


class _Copier:
    """Copies estimators and their parts, without what does not belong into a file."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any]] = {}  # by id; with the original, so that its id is not given away

    def copy(self, value: Any, bare: bool) -> Any:
        """Return the copy of any value; `bare` is False within an estimator that keeps values on the training rows."""
        if id(value) in self.known:
            return self.known[id(value)][1]
        if isinstance(value, (BaseEstimator, gp_kernels.Kernel, *OWN)):
            return self._copy_object(value, bare and not isinstance(value, LapEstimator))
        twin = self._copy_data(value, bare)
        self.known[id(value)] = (value, twin)
        return twin

    def _copy_object(self, value: Any, bare: bool) -> Any:
        twin = object.__new__(type(value))
        self.known[id(value)] = (value, twin)
        for name, part in without_caches(value, STORABLE.get(type(value), ())).items():
            vars(twin)[name] = FORGOTTEN[name] if name in FORGOTTEN else self.copy(part, bare)
        if isinstance(value, GraphExtension) and not bare:
            vars(twin).pop("features", None)  # of size n x n_hat, and not what a decision function looks at
        if isinstance(value, WarpedKernel) and value.extension_name == "kernel":
            vars(twin).pop("graph_extension", None)
        if isinstance(value, WarpedKernel) and bare:
            vars(twin).pop("smooth_extension", None)  # only decision functions rest on it
        return twin

    def _copy_data(self, value: Any, bare: bool) -> Any:
        if sparse.issparse(value):
            return _checked_sparse(value)
        if isinstance(value, np.memmap):
            return np.asarray(value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            twin = value.copy()
            cells = np.asarray(twin)  # a view, of masked arrays too
            for index in np.ndindex(cells.shape):
                cells[index] = self.copy(cells[index], bare)
            return twin
        if type(value) in (list, tuple):
            return type(value)(self.copy(part, bare) for part in value)
        if isinstance(value, dict):
            _check_keys(value)
            mapping = type(value)()
            mapping.update((key, self.copy(part, bare)) for key, part in value.items())
            return mapping
        if type(value).__module__.startswith("networkx."):
            return check_graph(value)
        return value


class _Packer(_Copier):
    """Numbers our own objects and writes each one once."""

    def _copy_object(self, value: Any, bare: bool) -> Any:
        if isinstance(value, WarpedKernel):
            _ = value.factor, value.extension
        if isinstance(value, GraphExtension):
            _ = value.features if bare else value.K_SS
        number = len(self.known)
        twin = super()._copy_object(value, bare)
        if isinstance(value, OWN):
            vars(twin)[NUMBER] = number
            self.known[id(value)] = (value, Same(number))
        return twin


class _Unpacker(_Copier):
    """Puts objects back where they are mentioned again."""

    def __init__(self) -> None:
        super().__init__()
        self.numbered: dict[int, Any] = {}

    def copy(self, value: Any, bare: bool) -> Any:
        """Return the copy of any value."""
        return self.numbered[value.number] if isinstance(value, Same) else super().copy(value, bare)

    def _copy_object(self, value: Any, bare: bool) -> Any:
        number = vars(value).pop(NUMBER, None)
        twin = super()._copy_object(value, bare)
        self.numbered[number] = twin
        if isinstance(twin, Geometry):
            twin.index.prepare_queries(
                min(twin.settings.n_neighbors, twin.index.n_points)
            )  # not in the first prediction
        return twin


def _checked_sparse(A: Any) -> Any:
    """Return a matrix in one of two formats; compiled code trusts its indices, so they are checked here."""
    if not isinstance(A, SPARSE):
        A = A.tocsr()
    A.check_format(full_check=True)
    return A


def _check_keys(mapping: dict[Any, Any]) -> None:
    """Refuse keys that the format would change: it writes them as text."""
    for key in mapping:
        if not isinstance(key, str | int | float | np.number) or isinstance(key, bool):
            raise ModelFileError(f"A dict has the key {key!r} of type {type(key).__name__}. Use text or numbers.")


def audit(payload: bytes, refused: Collection[str] = ()) -> None:
    """Check the table of contents of a skops archive: data only, nothing that unfolds to far more than the file.

    Types named in `refused` are refused too, with the place where they were found.
    """
    with ZipFile(io.BytesIO(payload)) as archive:
        if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
            raise ModelFileError("It holds packed members, which halfmoon does not write.")
        schema = json.loads(archive.read("schema.json"))
        contents = _Audit(refused)
        contents.count(schema, str(schema["__class__"]))
        check_unfolded_size(archive, {name: loader for name, (_, loader) in contents.members.items()}, len(payload))


class _Audit:
    """Walks through the nodes that skops would make."""

    def __init__(self, refused: Collection[str]) -> None:
        self.refused = refused
        self.sizes: dict[Any, int] = {}
        self.members: dict[str, tuple[Any, str]] = {}  # by file: number and loader of its node

    def count(self, value: Any, place: str) -> int:
        """Return the number of nodes in a piece of the schema, all of them checked.

        Nodes with one id stand for one object, and skops reads the first only. They must be of one size: otherwise a
        short file could unfold into more nodes than anyone can visit.
        """
        if isinstance(value, list):
            return sum(self.count(part, f"{place}[{number}]") for number, part in enumerate(value))
        if not isinstance(value, dict):
            return 0
        if "__loader__" not in value:
            return self._count_items(value, place)
        self._check(value, place)
        self._note_member(value, place)
        size = 1
        for field, part in value.items():
            # The content of a dict is no node, whatever its keys: a column may be called __loader__.
            is_dict = field == "content" and value["__loader__"] == "DictNode" and isinstance(part, dict)
            size += self._count_items(part, place) if is_dict else self.count(part, place)
        if self.sizes.setdefault(value["__id__"], size) != size:
            raise ModelFileError(f"{place} has the number of another object.")
        return size

    def _note_member(self, node: dict[str, Any], place: str) -> None:
        """Note the file that a node is read from; two objects from one file would be two copies of it."""
        if "file" not in node:
            return
        reader = (node["__id__"], node["__loader__"])
        if self.members.setdefault(node["file"], reader) != reader:
            raise ModelFileError(f"{place} is read from {node['file']}, as another object is.")

    def _count_items(self, mapping: dict[str, Any], place: str) -> int:
        return sum(self.count(part, f"{place}.{key}") for key, part in mapping.items())

    def _check(self, node: dict[str, Any], place: str) -> None:
        name, loader = f"{node['__module__']}.{node['__class__']}", node["__loader__"]
        if loader in LOADERS and name not in self.refused and TRUSTED.get(name, loader) == loader:
            return
        if loader in CALLABLE:
            raise ModelFileError(
                f"{place} is the function or class {name}. A model file holds data only, so that loading it runs no "
                "code: use what can be given by name (base_kernel='rbf', metric='cosine', a Gaussian-process kernel)."
            )
        raise ModelFileError(
            f"{place} is of type {name}. A model file holds types of halfmoon, scikit-learn (without trees), numpy and "
            "scipy only."
        )
