"""Data-dependent kernels: a base kernel warped by a geometry (eq. 4 to 7)."""

from halfmoon.kernels._base import BaseKernel
from halfmoon.kernels._data_dependent import DataDependentKernel, fit_small
from halfmoon.kernels._gaussian_process import DataDependentGPKernel
from halfmoon.kernels._graph_extension import GraphExtension
from halfmoon.kernels._kernel_extension import KernelExtension, Measured
from halfmoon.kernels._resolve import SHARED, resolve_kernel
from halfmoon.kernels._warped import LandmarkKernel, WarpedKernel, warp

__all__ = [
    "SHARED",
    "BaseKernel",
    "DataDependentGPKernel",
    "DataDependentKernel",
    "GraphExtension",
    "KernelExtension",
    "LandmarkKernel",
    "Measured",
    "WarpedKernel",
    "fit_small",
    "resolve_kernel",
    "warp",
]
