"""The public names, silent imports, and docstrings that run."""

import importlib
import inspect
import subprocess
import sys

import pytest

MODULES = ["halfmoon", "halfmoon.graph", "halfmoon.geometry", "halfmoon.regularizers", "halfmoon.solvers",
           "halfmoon.kernels", "halfmoon.model_selection", "halfmoon.plotting"]  # fmt: skip


def test_contract_of_names():
    from halfmoon import DataDependentKernel, load, restrict, save, select_landmarks
    from halfmoon.graph import knn_graph, laplacian
    from halfmoon.regularizers import (
        AmplifiedResistance,
        HeatRegularizer,
        MatrixRegularizer,
        PowerRegularizer,
        SpectralRegularizer,
    )
    from halfmoon.solvers import solve_sdd

    assert all(callable(name) for name in (restrict, select_landmarks, knn_graph, laplacian, solve_sdd, save, load))
    classes = (AmplifiedResistance, HeatRegularizer, MatrixRegularizer, PowerRegularizer, SpectralRegularizer)
    assert all(inspect.isclass(name) for name in (*classes, DataDependentKernel))


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented_with_an_example(module):
    names = importlib.import_module(module).__all__
    for name in names:
        thing = getattr(importlib.import_module(module), name)
        if not callable(thing):
            continue
        assert thing.__doc__, name
        abstract = (
            inspect.isabstract(thing)
            or thing.__module__.endswith("_base")
            or name in ("Components", "Restriction", "SolveOptions", "System")
        )
        assert abstract or ">>>" in thing.__doc__, f"{name} has no example"


def test_unknown_names_and_dir():
    import halfmoon

    name = "svm"
    assert set(halfmoon.__all__) <= set(dir(halfmoon))
    with pytest.raises(AttributeError, match="has no attribute 'svm'"):
        getattr(halfmoon, name)


def test_import_is_silent():
    """Importing compiles nothing, prints nothing and loads no plotting library."""
    code = (
        "import sys, halfmoon; assert 'numba' not in sys.modules and 'sklearn' not in sys.modules; "
        "from halfmoon import DataDependentKernel; "
        "assert 'matplotlib' not in sys.modules and 'networkx' not in sys.modules; "
        "from halfmoon.graph._numba.duplicates import expand_duplicates; assert not expand_duplicates.signatures; "
        "from halfmoon.solvers._numba.cg import conjugate_gradients; assert not conjugate_gradients.signatures"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == result.stderr == ""
