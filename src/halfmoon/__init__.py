"""Data-dependent kernels in nearly-linear time: kernels that know your unlabelled data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from halfmoon._version import __version__ as __version__

if TYPE_CHECKING:
    from halfmoon.cluster import KernelKMeans
    from halfmoon.features import LandmarkFeatures
    from halfmoon.geometry import Geometry, restrict, select_landmarks
    from halfmoon.kernels import DataDependentKernel
    from halfmoon.labeller import label
    from halfmoon.persistence import load, save
    from halfmoon.runtime.execution import distributed
    from halfmoon.runtime.progress import progress_callback
    from halfmoon.semi_supervised import LapRLSClassifier, LapRLSRegressor, LapSVC
    from halfmoon.tables import open_rows

__all__ = [
    "DataDependentKernel",
    "Geometry",
    "KernelKMeans",
    "LandmarkFeatures",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "distributed",
    "label",
    "load",
    "open_rows",
    "progress_callback",
    "restrict",
    "save",
    "select_landmarks",
]

# Names are loaded when they are first asked for (PEP 562): scikit-learn and numba take seconds to import.
_HOMES = {
    "DataDependentKernel": "halfmoon.kernels",
    "Geometry": "halfmoon.geometry",
    "KernelKMeans": "halfmoon.cluster",
    "LandmarkFeatures": "halfmoon.features",
    "LapRLSClassifier": "halfmoon.semi_supervised",
    "LapRLSRegressor": "halfmoon.semi_supervised",
    "LapSVC": "halfmoon.semi_supervised",
    "distributed": "halfmoon.runtime.execution",
    "label": "halfmoon.labeller",
    "load": "halfmoon.persistence",
    "open_rows": "halfmoon.tables",
    "progress_callback": "halfmoon.runtime.progress",
    "restrict": "halfmoon.geometry",
    "save": "halfmoon.persistence",
    "select_landmarks": "halfmoon.geometry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'halfmoon' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
