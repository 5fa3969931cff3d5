"""Figures of kernels and models, in scikit-learn's conventions: ``XDisplay.from_estimator(...)``, `plot`, `ax_`."""

from halfmoon.plotting._components import ComponentSizesDisplay
from halfmoon.plotting._embedding import EmbeddingDisplay
from halfmoon.plotting._explanation import ExplanationDisplay
from halfmoon.plotting._kernel_matrix import KernelMatrixDisplay
from halfmoon.plotting._label_curve import LabelCurveDisplay
from halfmoon.plotting._regions import DecisionRegionDisplay
from halfmoon.plotting._spectrum import SpectrumDisplay

__all__ = [
    "ComponentSizesDisplay",
    "DecisionRegionDisplay",
    "EmbeddingDisplay",
    "ExplanationDisplay",
    "KernelMatrixDisplay",
    "LabelCurveDisplay",
    "SpectrumDisplay",
]
