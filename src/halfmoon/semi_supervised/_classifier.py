"""What the semi-supervised classifiers share: one function per class, priors, probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_flag, labeled_mask, validate_points
from halfmoon.runtime.chunks import by_chunk
from halfmoon.semi_supervised._assessment import Comparison, compare_classes
from halfmoon.semi_supervised._base import LapEstimator
from halfmoon.semi_supervised._calibration import Calibration
from halfmoon.semi_supervised._class_priors import AssumedClasses, class_shares, offsets_for_shares
from halfmoon.semi_supervised._conformal import ROUNDING, check_level
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._problem import LearningProblem, winners
from halfmoon.semi_supervised._scores import labeled_rows
from halfmoon.semi_supervised._training_set import check_allowed, class_labels
from halfmoon.semi_supervised._with_probability import WithProbability

__all__ = ["LapClassifier"]

Matrix = NDArray[np.float64]


class LapClassifier(ClassifierMixin, LapEstimator):
    """A semi-supervised classifier: one function per class (one in all for two classes)."""

    class_weight: Any
    priors: Any
    probability: bool

    def read(self, y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]:
        """Return which of the n rows are labelled, the class numbers of all rows, and the classes."""
        labeled, classes, numbers = class_labels(y, n)
        return labeled, numbers, classes

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Append rows that have arrived after `fit`, with or without labels, and learn from all labels there are.

        Graph, landmarks and solves are kept; the new rows are placed by their neighbours (`Geometry.append`). After
        many of them, `refresh` gives the exact model. The first call on an estimator that is not fitted is `fit`.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (m, d)
            New rows, numbered after those that are there.
        y : array-like of shape (m,)
            Their labels; -1, None, NaN or pandas.NA for unlabelled rows. New classes may be among them, if they are of
            the kind of the others: texts, numbers or truth values.
        classes : array-like, default=None
            Labels that are allowed in `y`; None: any. Classes need not be announced.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from halfmoon import LapSVC
        >>> X, y = make_moons(220, noise=0.1, random_state=0)
        >>> few = np.where(np.arange(220) % 20 == 0, y, -1)
        >>> model = LapSVC(n_neighbors=8, random_state=0).fit(X[:200], few[:200])
        >>> model.partial_fit(X[200:], few[200:]).transduction_.shape
        (220,)
        """
        if classes is not None:
            check_allowed(y, classes)
        return super().partial_fit(X, y)

    def adopt(self, learned: LearnedModel) -> Self:
        """Become the model that was learnt elsewhere, in a search say, from a problem of this estimator."""
        problem, shares = learned.problem, self.shares(learned.problem)
        probability = check_flag("probability", self.probability)
        assert problem.classes is not None
        offsets = np.zeros(len(learned.solution.intercept))
        if shares is not None:
            copies = problem.training.copies.astype(np.float64)
            offsets = offsets_for_shares(learned.training_values, shares, copies)
        super().adopt(learned)
        self.classes_, self._offsets = problem.classes, offsets
        if probability:
            self.calibration_ = Calibration.fit(self.held_out_values(), problem.training.targets, problem.weights)
        return self

    @property
    def _added(self) -> Matrix:
        """The offsets of the classes."""
        return self._offsets

    def shares(self, problem: LearningProblem) -> NDArray[np.float64] | None:
        """Return the shares of the classes that the user knows."""
        if self.priors is None or problem.classes is None:
            return None
        return class_shares(self.priors, problem.classes)

    def held_out_values(self, extension: str | None = None) -> Matrix:
        """Return decision values on the labelled examples, each of a model that was chosen and fitted without it.

        Parameters
        ----------
        extension : str, default=None
            "base" for models that know nothing of the unlabelled rows; None: as this model was fitted.

        Returns
        -------
        ndarray of shape (l, c)
        """
        learned = self.learned_
        shares = self.shares(learned.problem)
        if extension is not None or shares is None:
            return super().held_out_values(extension)
        landmarks = learned.kernel.landmark_indices_
        return AssumedClasses.of(learned.mixture, learned.problem, landmarks, shares).held_out(learned.choice)

    def _compare(self, names: tuple[str, str], of_model: Matrix, of_base: Matrix) -> Comparison:
        problem = self.learned_.problem
        held_out, shares = self.held_out_values("base"), self.shares(problem)
        if shares is not None and len(of_base):  # the base kernel knows the shares too
            held_out = held_out + offsets_for_shares(of_base, shares)
        differ = self._differ(of_model, of_base)
        return compare_classes(problem, self.held_out_values(), held_out, names, differ, problem.training.n_unlabeled)

    def _disagreement(self, of_model: Matrix, of_base: Matrix) -> float:
        differ = self._differ(of_model, of_base)
        return float(differ.mean()) if differ.size else 0.0

    def _differ(self, of_model: Matrix, of_base: Matrix) -> NDArray[np.bool_]:
        shares = self.shares(self.learned_.problem)
        shift = 0.0 if shares is None or not len(of_base) else offsets_for_shares(of_base, shares)
        return winners(of_model + self._offsets) != winners(of_base + shift)

    @by_chunk
    def decision_function(self, X: Any) -> Matrix:
        """Return the decision values of new points, one column per class; 1-D for two classes.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        values = self._decide(X)
        return _shaped(values + self._offsets)

    @by_chunk
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of new points.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,)
        """
        values = self._decide(X)
        return self.classes_[winners(values + self._offsets)]

    @WithProbability
    @by_chunk
    def predict_proba(self, X: Any) -> Matrix:
        """Return class probabilities of new points, calibrated on values held out from the labelled rows.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        values = self._decide(X)
        return self.calibration_.probabilities(values + self._offsets)

    @by_chunk
    def predict_set(self, X: Any, level: float = 0.9) -> NDArray[np.bool_]:
        """Return, for each point, the classes that it may well have: conformal prediction sets.

        The true class is in the set of about a share `level` of the points; `conformal_guarantee` says what is proven.
        A set of one class is an answer, a set of several or of none says that the model cannot tell.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        level : float, default=0.9
            Share of the points whose class is to be in their sets, between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (m, n_classes)
            One column per class of `classes_`.
        """
        level = check_level(level)
        check_is_fitted(self, "decision_")
        A = validate_points(self, X, reset=False)
        return self._p_values(A) > 1.0 - level + ROUNDING

    @abstractmethod
    def _p_values(self, A: Any) -> Matrix:
        """Return, for each row of A and each class, the share of examples at least as odd as the row."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labelled rows; unlabelled ones (-1, None, NaN) are skipped.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        y : array-like of shape (m,)
            True classes.
        sample_weight : array-like of shape (m,), default=None
            Weights of the points.

        Returns
        -------
        float
        """
        check_is_fitted(self, "decision_")
        X, y, sample_weight = labeled_rows(X, y, sample_weight, labeled_mask(y, len(y)))
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    @property
    def decision_function_(self) -> Matrix:
        """Decision values of the training rows."""
        return _shaped(self._decide_training() + self._offsets)

    @property
    def transduction_(self) -> NDArray[Any]:
        """Classes of the training rows."""
        return self.classes_[winners(self._decide_training() + self._offsets)]


def _shaped(values: Matrix) -> Matrix:
    return values[:, 0] if values.shape[1] == 1 else values
