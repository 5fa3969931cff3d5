"""Splits, scores and searches for partly labelled data."""

from halfmoon.model_selection._scoring import labeled_scorer
from halfmoon.model_selection._search import KernelSearchCV
from halfmoon.model_selection._split import LabeledKFold

__all__ = ["KernelSearchCV", "LabeledKFold", "labeled_scorer"]
