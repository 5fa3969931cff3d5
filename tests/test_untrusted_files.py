"""Model files from strangers: nothing in them is executed, and damage is recognised.

Files made by hand have right checksums: only what is in them can give them away.
"""

import contextlib
import functools
import io
import json
import os
import pickle
import shutil
import socket
import subprocess
import zipfile

import hypothesis.strategies as st
import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC, load, save
from halfmoon.exceptions import ModelFileError
from halfmoon.persistence import _files
from model_files import members

X, Y = make_moons(120, noise=0.1, random_state=0)


def small_kernel(n_landmarks=25):
    return DataDependentKernel(n_neighbors=10, n_landmarks=n_landmarks, random_state=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.halfmoon"


def forge(path, contents, compression=zipfile.ZIP_STORED):
    """Write a file with a valid header around these members, or around raw bytes."""
    if isinstance(contents, dict):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        contents = buffer.getvalue()
    path.write_bytes(_files._header(contents) + contents)


@pytest.fixture
def watch(monkeypatch):
    """Whatever is executed on the way shows up here."""
    events = []

    def watched(name):
        def caught(*arguments, **options):
            events.append(name)
            raise AssertionError(f"{name} was called")

        return caught

    names = {os: ["system", "execv"], pickle: ["load", "loads", "Unpickler"], subprocess: ["Popen"]}
    for module, functions in (names | {socket: ["socket"], shutil: ["rmtree"]}).items():
        for name in functions:
            monkeypatch.setattr(module, name, watched(f"{module.__name__}.{name}"))
    yield events
    assert events == []


class Bomb:
    def __reduce__(self):
        return print, ("executed",)  # unpickling is what is watched


def json_node(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def calling_node(module, name, loader, *arguments):
    content = {
        "__class__": "tuple",
        "__module__": "builtins",
        "__loader__": "TupleNode",
        "content": [json_node(argument) | {"__id__": 10 + i} for i, argument in enumerate(arguments)],
        "__id__": 1,
    }
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content, "__id__": 2}


def schema_of(root):
    return {"schema.json": json.dumps(root | {"protocol": skops.io._protocol.PROTOCOL, "_skops_version": "0"})}


def unfolding():
    """A hundred lists, each holding the one before twice: 2^100 nodes to whoever follows the numbers."""
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [], "__id__": 1}
    for number in range(2, 102):
        reference = node | {"content": []}
        node = node | {"content": [node, reference], "__id__": number}
    return schema_of(node)


MALICIOUS = {
    "pickle": lambda: pickle.dumps(Bomb()),
    "method of a module": lambda: schema_of(calling_node("os", "system", "ConstructorFromReduceNode", "echo executed")),
    "class": lambda: schema_of(calling_node("subprocess", "Popen", "ConstructorFromReduceNode", ["echo", "executed"])),
    "trusted name": lambda: schema_of(
        calling_node("halfmoon.regularizers._matrix", "MatrixRegularizer", "ConstructorFromReduceNode", [[1.0]])
    ),
    "list that is a class": lambda: schema_of(
        calling_node("subprocess", "Popen", "ListNode") | {"content": [json_node("echo") | {"__id__": 5}]}
    ),
    "function": lambda: schema_of(calling_node("os", "system", "FunctionNode")),
    "object": lambda: schema_of(calling_node("subprocess", "Popen", "ObjectNode", "echo executed")),
    "partial": lambda: skops.io.dumps(functools.partial(os.system, "echo executed")),
    "unfolding": unfolding,
    "cycle": lambda: schema_of(
        {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "__id__": 1,
            "content": [
                {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": 1, "content": []}
            ],
        }
    ),
    "deep": lambda: {"schema.json": '{"a":' * 100_000 + "1" + "}" * 100_000},
    "empty": lambda: {"schema.json": "{}"},
    "no schema": lambda: {"other.json": "{}"},
    "newer": lambda: {"schema.json": json.dumps(json_node(1) | {"__id__": 1, "protocol": 10**6})},
}


@pytest.mark.parametrize("name", MALICIOUS)
def test_malicious_files(name, path, watch):
    forge(path, MALICIOUS[name]())
    with pytest.raises(ModelFileError, match="was refused"):
        load(path)


def test_refusals_name_the_type(path, watch):
    forge(path, MALICIOUS["object"]())
    with pytest.raises(ModelFileError, match=r"subprocess\.Popen"):
        load(path)


def test_pickles_within_arrays(path, request):
    save(small_kernel().fit(X), path)
    request.getfixturevalue("watch")  # only now: numba reads its own cache with pickle while the kernel is fitted
    content = members(path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    forge(path, {name: buffer.getvalue() if name.endswith(".npy") else data for name, data in content.items()})
    with pytest.raises(ModelFileError):
        load(path)


def test_packed_members(path):
    save(LapSVC(), path)
    forge(path, members(path), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="packed"):
        load(path)


def test_graphs_with_false_indices(path):
    """Compiled code trusts the indices of sparse matrices."""
    save(small_kernel().fit(X), path)
    content = members(path)
    for name in [name for name in content if name.endswith(".npz")]:
        broken = sparse.load_npz(io.BytesIO(content[name]))
        broken.indices[0] = 10**6
        buffer = io.BytesIO()
        np.savez(
            buffer, indices=broken.indices, indptr=broken.indptr, data=broken.data, shape=broken.shape,
            format=b"csr", _is_array=True,
        )  # fmt: skip
        content[name] = buffer.getvalue()
    forge(path, content)
    with pytest.raises(ModelFileError, match="indices"):
        load(path)


def test_smuggled_paths_and_caches_are_dropped(path, tmp_path):
    """Whatever a file says: no folder of pickles to read from, no foreign search."""
    fitted = small_kernel().fit(X)
    fitted.memory = "MEMORY"
    vars(fitted.geometry_.index)["_search"] = "SEARCH"
    forge(path, skops.io.dumps(make_pipeline(StandardScaler(), fitted, memory="MEMORY")))
    restored = load(path)
    assert restored.memory is restored.steps[1][1].memory is None
    assert vars(restored.steps[1][1].geometry_.index)["_search"] != "SEARCH"


# Fuzzing.

FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "model"
    model = LapRLSClassifier(kernel=small_kernel(8)).fit(X, np.where(np.arange(120) < 20, Y, -1))
    save(model, path)
    return path.read_bytes(), model.decision_function(X)


@st.composite
def damage(draw):
    """One to three cuts, insertions or changes, as functions of the bytes; places are shares of their length."""
    edits = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["change", "cut", "insert", "end"]),
                st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 0.002)),  # the header is short: aim at it too
                st.binary(min_size=1, max_size=8),
            ),
            min_size=1,
            max_size=3,
        )
    )

    def apply(content):
        for kind, share, other in edits:
            at = int(share * len(content))
            rest = {"change": content[at + len(other) :], "cut": content[at + len(other) :], "insert": content[at:]}
            middle = b"" if kind in ("cut", "end") else other
            content = content[:at] + middle + rest.get(kind, b"")
        return content

    return apply


@given(damage=damage())
@FUZZ
def test_damaged_files_are_recognised(damage, saved, path, watch):
    content, values = saved
    path.write_bytes(damage(content))
    try:
        model = load(path)
    except ModelFileError:
        return
    assert np.array_equal(model.decision_function(X), values)  # what was hit does not matter


@given(damage=damage())
@FUZZ
def test_damage_under_a_right_checksum(damage, saved, path, watch):
    """Behind the checksum too: an error of ours or some model, nothing else."""
    forge(path, damage(saved[0].split(b"\n", 1)[1]))
    with contextlib.suppress(ModelFileError):
        load(path)


def nodes_of(value):
    if isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for part in value.values():
            yield from nodes_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from nodes_of(part)


NAMES = [
    ("os", "system"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("numpy", "load"),
    ("joblib", "load"),
    ("joblib.memory", "Memory"),
    ("sklearn.utils._testing", "assert_run_python_script_without_output"),
    ("halfmoon.persistence", "load"),
    ("halfmoon.kernels", "DataDependentKernel"),
    ("builtins", "list"),
]
VALID_LOADERS = sorted({loader for loader, _ in skops.io._audit.NODE_TYPE_MAPPING})


@given(data=st.data())
@FUZZ
def test_rewritten_schemas(data, saved, path, watch):
    """Nodes with other types, loaders, numbers and contents are refused or harmless."""
    with zipfile.ZipFile(io.BytesIO(saved[0].split(b"\n", 1)[1])) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(content["schema.json"])
    nodes = list(nodes_of(schema))
    for _ in range(data.draw(st.integers(1, 3))):
        node = nodes[data.draw(st.integers(0, len(nodes) - 1))]
        other = nodes[data.draw(st.integers(0, len(nodes) - 1))]
        module, name = data.draw(st.sampled_from(NAMES))
        change = data.draw(
            st.sampled_from(
                [
                    {"__module__": module, "__class__": name},
                    {"__loader__": data.draw(st.sampled_from(VALID_LOADERS))},
                    {"__module__": module, "__class__": name, "__loader__": data.draw(st.sampled_from(VALID_LOADERS))},
                    {"__id__": other["__id__"]},
                    {"content": data.draw(st.sampled_from(["null", "[]", 3, None, []]))},
                    {"file": data.draw(st.sampled_from(["schema.json", "../x", other.get("file", "")]))},
                ]
            )
        )
        node.update(change)
    forge(path, content | {"schema.json": json.dumps(schema)})
    with contextlib.suppress(ModelFileError):
        load(path)


def array_node(file, number):
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    return node | {"file": file, "__id__": number}


def sparse_node(file, number):
    node = {"__class__": "csr_array", "__module__": "scipy.sparse._csr", "__loader__": "SparseMatrixNode"}
    return node | {"type": "scipy", "file": file, "__id__": number}


def list_node(content, number):
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": content,
        "__id__": number,
    }


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def declared(shape, descr="<f8"):
    """An array in numpy's format that says it is large, and is not."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + b"0" * 8


def npz(matrix):
    buffer = io.BytesIO()
    sparse.save_npz(buffer, matrix)
    return buffer.getvalue()


def repeated():
    return schema_of(list_node([array_node("a.npy", 2 + i) for i in range(100)], 1)) | {"a.npy": npy(np.ones(1000))}


def repeated_below():
    below = [list_node([array_node("a.npy", 100 * i + j) for j in range(2, 12)], 100 * i + 1) for i in range(1, 11)]
    return schema_of(list_node(below, 1)) | {"a.npy": npy(np.ones(1000))}


def packed_matrix():
    matrix = sparse.csr_array((1, 1 << 22), dtype=np.float64)
    matrix.indices, matrix.data = np.zeros(1 << 24, dtype=np.int32), np.zeros(1 << 24)
    matrix.indptr = np.array([0, 1 << 24], dtype=np.int32)
    return schema_of(sparse_node("a.npz", 1)) | {"a.npz": npz(matrix)}


UNFOLDING = {
    "repeated": (repeated, "as another object is"),
    "repeated below": (repeated_below, "as another object is"),
    "packed matrix": (packed_matrix, r"unfolds to \d+ bytes and more, from a file of"),
    "declared shape": (lambda: schema_of(array_node("a.npy", 1)) | {"a.npy": declared((10**9,))}, "says that it has"),
    "no bytes an entry": (
        lambda: schema_of(array_node("a.npy", 1)) | {"a.npy": declared((10**12,), "|V0")[:-8]},
        "unfolds to",
    ),
    "shape of a matrix": (
        lambda: schema_of(sparse_node("a.npz", 1)) | {"a.npz": npz(sparse.coo_array((10**9, 1)))},
        "not in one of the formats csr, csc",
    ),
}


@pytest.mark.parametrize("kind", UNFOLDING)
def test_files_that_unfold_are_refused_before_they_do(path, monkeypatch, kind):
    contents, message = UNFOLDING[kind]
    forge(path, contents())
    monkeypatch.setattr(skops.io, "loads", lambda *arguments, **options: pytest.fail("it was unfolded"))
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_a_graph_that_packs_well_is_saved_and_loaded(path):
    """Weights of 1 and regular indices: the most that a model of ours is packed."""
    n = 200_000
    ring = sparse.csr_array(sparse.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[-1, 1, 1 - n, n - 1], shape=(n, n)))
    save(DataDependentKernel(graph=ring), path)
    assert load(path).graph.nnz == ring.nnz
