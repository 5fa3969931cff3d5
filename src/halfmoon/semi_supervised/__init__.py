"""Classifiers and regressors that learn from labelled and unlabelled rows."""

from halfmoon.semi_supervised._laprls import LapRLSClassifier, LapRLSRegressor
from halfmoon.semi_supervised._lapsvc import LapSVC

__all__ = ["LapRLSClassifier", "LapRLSRegressor", "LapSVC"]
