"""The Laplacian support vector machine: an SVM in the data-dependent kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_real
from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised._base import LapClassifier
from halfmoon.semi_supervised._losses._hinge import support_vector_machine
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["LapSVC"]

Matrix = NDArray[np.float64]
ROUGH = 1e-5  # tolerance of the many machines of leave-one-out


class LapSVC(LapClassifier):
    """Semi-supervised support vector machine: hinge loss on the labels, smoothness on all the data.

    One SVM a class against the rest (one in all for two classes), in the data-dependent kernel of all rows.

    Parameters
    ----------
    C : float, default=None
        Cost of errors, for a kernel of unit diagonal; None takes 1 / alpha with the ridge alpha that leave-one-out
        finds for a ridge regression.
    kernel : DataDependentKernel, default=None
        The kernel; None means ``DataDependentKernel()``. With its ``extension="auto"`` the labels decide, by
        leave-one-out of a ridge regression, how much of the graph and how much of the base kernel to take.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    priors : array-like of shape (n_classes,), default=None
        Shares of the classes among all rows: decision values are shifted until the training rows agree.
    probability : bool, default=False
        Fit what `predict_proba` needs.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    transduction_ : ndarray of shape (n,)
        Classes of the training rows.
    decision_function_ : ndarray of shape (n,) or (n, n_classes)
        Decision values of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from halfmoon import DataDependentKernel, LapSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 40, y, -1)     # -1 is unlabelled
    >>> kernel = DataDependentKernel(n_neighbors=8, random_state=0)
    >>> LapSVC(kernel=kernel).fit(X, few).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        C: float | None = None,
        *,
        kernel: DataDependentKernel | None = None,
        class_weight: Any = None,
        priors: Any = None,
        probability: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.class_weight = class_weight
        self.priors = priors
        self.probability = probability

    @property
    def _given_alpha(self) -> float | None:
        return None if self.C is None else 1.0 / check_real("C", self.C, strict=True)

    @property
    def _C(self) -> float:
        return 1.0 / self.choice_.alpha if self.C is None else check_real("C", self.C, strict=True)

    def _solve(self, K: Matrix, examples: TrainingSet) -> tuple[Matrix, NDArray[np.float64]]:
        bounds = self._C * examples.weights
        machines = [support_vector_machine(K, signs, bounds) for signs in self._targets(examples).T]
        return np.column_stack([dual for dual, _ in machines]), np.array([offset for _, offset in machines])

    def _leave_one_out(self, K: Matrix, examples: TrainingSet) -> Matrix:
        """Fit without each support vector in turn; any other example can be left out without changing the model."""
        dual, intercept = self._solve(K, examples)
        values = K @ dual + intercept
        signs = self._targets(examples)
        for i, column in np.argwhere(dual != 0.0):
            bounds = self._C * examples.weights
            bounds[i] = 0.0
            coef, offset = support_vector_machine(K, signs[:, column], bounds, ROUGH)
            values[i, column] = K[i] @ coef + offset
        return values
