"""The methods that run in halfmoon's own environment: halfmoon's, and scikit-learn's at the same version."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks.accuracy.problem import Answer, Method, Problem
from benchmarks.accuracy.tuning import splitter
from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC
from halfmoon.model_selection import KernelSearchCV

Answers = dict[str, Answer]
SEARCH = {"kernel__power": [3, 1, 2, 4], "kernel__n_neighbors": [5, 10]}


def warped(estimator: Any, problem: Problem) -> Answers:
    """Fit one of halfmoon's classifiers; graph and solves are the same when it is told the priors."""
    model = estimator(random_state=problem.seed % 2**32).fit(problem.X, problem.few)
    return with_and_without_priors(model, problem)


def searched(estimator: Any, problem: Problem) -> Answers:
    """Tune one of halfmoon's classifiers by its own search, with as many folds as the others have."""
    folds = splitter(problem)
    if folds is None:
        return warped(estimator, problem)
    search = KernelSearchCV(estimator(random_state=problem.seed % 2**32), SEARCH, cv=folds)
    search.fit(problem.X, problem.few)
    return with_and_without_priors(search.best_estimator_, problem)


def with_and_without_priors(model: Any, problem: Problem) -> Answers:
    """Return what a fitted model says, and what it says when told the shares of the classes."""
    told = copy.copy(model).set_params(priors=problem.priors).refit(problem.few)
    models = {"": model, ", priors": told}
    return {suffix: Answer(m.transduction_, lambda m=m: m.predict(problem.X_new)) for suffix, m in models.items()}


def dense_lapsvm(problem: Problem, **params: Any) -> Answers:
    """Fit the Laplacian SVM as it was published: every row is a landmark, new points through the base kernel."""
    kernel = DataDependentKernel(method="full", extension="kernel", **params)
    model = LapSVC(kernel=kernel).fit(problem.X, problem.few)
    return {"": Answer(model.transduction_, lambda: model.predict(problem.X_new))}


def spreading(problem: Problem, **params: Any) -> Answers:
    """Fit LabelSpreading."""
    model = LabelSpreading(**params).fit(problem.X, problem.few)
    return {"": Answer(model.transduction_, lambda: model.predict(problem.X_new))}


def self_training(problem: Problem, threshold: float = 0.75, C: float = 1.0) -> Answers:
    """Fit a self-training SVC."""
    inner = SVC(C=C, probability=True, random_state=problem.seed % 2**32)
    model = SelfTrainingClassifier(inner, threshold=threshold).fit(problem.X, problem.few)
    return {"": Answer(model.predict(problem.X), lambda: model.predict(problem.X_new))}


def supervised(make: Any, problem: Problem, **params: Any) -> Answers:
    """Fit a classifier to the labelled rows only."""
    model = make().set_params(**params).fit(problem.X[problem.labeled], problem.few[problem.labeled])
    return {"": Answer(model.predict(problem.X), lambda: model.predict(problem.X_new))}


def nystroem(problem: Problem, gamma: float | None = None, C: float = 1.0) -> Answers:
    """Fit a linear SVM on Nystroem features, whose landmarks are drawn from all rows."""
    features = Nystroem(gamma=gamma, n_components=min(100, problem.X.shape[0]), random_state=problem.seed % 2**32)
    features.fit(problem.X)
    model = make_pipeline(features, LinearSVC(C=C))
    model[-1].fit(features.transform(problem.X[problem.labeled]), problem.few[problem.labeled])
    return {"": Answer(model.predict(problem.X), lambda: model.predict(problem.X_new))}


BOTH = ("", ", priors")
HALFMOON = (
    Method("LapSVC", partial(warped, LapSVC), BOTH, tune=partial(searched, LapSVC)),
    Method("LapRLSClassifier", partial(warped, LapRLSClassifier), BOTH, tune=partial(searched, LapRLSClassifier)),
    Method("LapSVM, dense", dense_lapsvm, grid={"eta": [1.0, 0.1, 10.0], "power": [3, 1, 2]}, largest=1_500),
)
SCIKIT_LEARN = (
    Method("SVC", partial(supervised, SVC), grid={"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1, 1.0]}),
    Method(
        "LogisticRegression",
        partial(supervised, LogisticRegression),
        grid={"C": [1.0, 0.01, 0.1, 10.0, 100.0]},
    ),
    Method("Nystroem + linear SVM", nystroem, grid={"gamma": [None, 0.01, 0.1, 1.0], "C": [1.0, 0.1, 10.0]}),
    Method(
        "LabelSpreading (knn)",
        partial(spreading, kernel="knn"),
        grid={"n_neighbors": [7, 5, 10], "alpha": [0.2, 0.9]},
    ),
    Method(
        "LabelSpreading (rbf)",
        partial(spreading, kernel="rbf"),
        grid={"gamma": [20.0, 0.01, 0.1, 1.0], "alpha": [0.2, 0.9]},
        largest=6_000,
    ),
    Method("SelfTraining (SVC)", self_training, grid={"threshold": [0.75, 0.6, 0.9], "C": [1.0, 10.0]}),
)
GROUPS = {"halfmoon": HALFMOON, "scikit-learn": SCIKIT_LEARN}
