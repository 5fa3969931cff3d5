"""Data-dependent kernels: a base kernel warped by a geometry (eq. 4 to 7)."""

from halfmoon.kernels._base import BaseKernel
from halfmoon.kernels._data_dependent import VARIABLE, DataDependentKernel, fit_small
from halfmoon.kernels._extensions import Extension, GraphExtension, KernelExtension, Measured
from halfmoon.kernels._gaussian_process import DataDependentGPKernel

__all__ = [
    "VARIABLE",
    "BaseKernel",
    "DataDependentGPKernel",
    "DataDependentKernel",
    "Extension",
    "GraphExtension",
    "KernelExtension",
    "Measured",
    "fit_small",
]
