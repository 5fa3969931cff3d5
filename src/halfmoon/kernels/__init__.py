"""Data-dependent kernels: a base kernel warped by a geometry (eq. 4 to 7)."""

from halfmoon.kernels._base import BaseKernel as BaseKernel  # for the packages above, as all "import X as X"
from halfmoon.kernels._data_dependent import DataDependentKernel
from halfmoon.kernels._data_dependent import fit_small as fit_small
from halfmoon.kernels._gaussian_process import DataDependentGPKernel
from halfmoon.kernels._graph_extension import GraphExtension as GraphExtension
from halfmoon.kernels._kernel_extension import KernelExtension as KernelExtension
from halfmoon.kernels._kernel_extension import Measured as Measured
from halfmoon.kernels._resolve import SHARED as SHARED
from halfmoon.kernels._resolve import resolve_kernel
from halfmoon.kernels._warped import LandmarkKernel as LandmarkKernel
from halfmoon.kernels._warped import WarpedKernel as WarpedKernel
from halfmoon.kernels._warped import warp

__all__ = ["DataDependentGPKernel", "DataDependentKernel", "resolve_kernel", "warp"]
