"""Data-dependent kernels in nearly-linear time: kernels that know your unlabelled data."""

from halfmoon.kernels import DataDependentKernel
from halfmoon.landmarks import select_landmarks
from halfmoon.restriction import restrict

__all__ = ["DataDependentKernel", "restrict", "select_landmarks"]
__version__ = "0.1.0"
