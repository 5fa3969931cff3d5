"""Choosing parameters with few labels: a splitter that keeps unlabelled rows, a search that solves once."""

from halfmoon.model_selection._search import KernelSearchCV
from halfmoon.model_selection._split import LabeledKFold

__all__ = ["KernelSearchCV", "LabeledKFold"]
