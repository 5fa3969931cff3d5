"""Regularisers Q = r(R) on all n points (sections 2 and 4.1), each knowing Q^+ on a set of landmarks."""

from halfmoon.regularizers._base import GraphRegularizer, Greens, Regularizer, indicators
from halfmoon.regularizers._matrix import MatrixRegularizer
from halfmoon.regularizers._power import PowerRegularizer
from halfmoon.regularizers._resistance import AmplifiedResistance
from halfmoon.regularizers._spectral import HeatRegularizer, SpectralRegularizer

__all__ = [
    "AmplifiedResistance",
    "GraphRegularizer",
    "Greens",
    "HeatRegularizer",
    "MatrixRegularizer",
    "PowerRegularizer",
    "Regularizer",
    "SpectralRegularizer",
    "indicators",
]
