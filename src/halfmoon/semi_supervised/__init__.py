"""Classifiers and regressors that learn from labelled and unlabelled rows."""

from halfmoon.semi_supervised._base import LapEstimator
from halfmoon.semi_supervised._calibration import Calibration
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._explanation import Explanation, PointExplanation
from halfmoon.semi_supervised._guarantee import ConformalGuarantee
from halfmoon.semi_supervised._label_issues import LabelIssue, LabelIssues
from halfmoon.semi_supervised._laprls import LapRLSClassifier, LapRLSRegressor
from halfmoon.semi_supervised._lapsvc import LapSVC
from halfmoon.semi_supervised._learned import LearnedModel, choose, learn, mixture_of
from halfmoon.semi_supervised._mixture import BaseOnRows, KernelMixture
from halfmoon.semi_supervised._mixture_selection import Choice
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._report import Report, Score
from halfmoon.semi_supervised._scores import labeled_rows, r_squared
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = [
    "BaseOnRows",
    "Calibration",
    "Choice",
    "ConformalGuarantee",
    "DecisionFunction",
    "Explanation",
    "KernelMixture",
    "LabelIssue",
    "LabelIssues",
    "LapEstimator",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LearnedModel",
    "LearningProblem",
    "PlacedRows",
    "PointExplanation",
    "Report",
    "Score",
    "TrainingSet",
    "choose",
    "labeled_rows",
    "learn",
    "mixture_of",
    "r_squared",
]
