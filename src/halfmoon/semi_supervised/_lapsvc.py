"""The Laplacian support vector machine: an SVM in the data-dependent kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_real
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._classifier import LapClassifier
from halfmoon.semi_supervised._conformal import jackknife_p_values
from halfmoon.semi_supervised._jackknife import JackknifeHinge
from halfmoon.semi_supervised.losses import HingeLoss

__all__ = ["LapSVC"]


@storable
class LapSVC(LapClassifier):
    """Semi-supervised support vector machine: hinge loss on the labels, smoothness on all the data.

    One SVM per class against the rest (one in all for two classes), in the data-dependent kernel of all rows.

    Parameters
    ----------
    C : float, default=None
        Cost of errors, for a kernel of unit diagonal; None uses 1 / alpha with the ridge alpha that leave-one-out
        finds for a ridge regression.
    kernel : DataDependentKernel, str or callable, default=None
        The kernel; None means ``DataDependentKernel()``, and a name or function is its base kernel.
        With its ``extension="auto"`` the labels decide, by
        leave-one-out of a ridge regression, how much of the graph and how much of the base kernel to use.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    priors : array-like of shape (n_classes,), dict, "balanced" or None, default=None
        Shares of the classes among all rows, in the order of `classes_`; whole numbers are counts, a dict names the
        classes, "balanced" means equal shares. The landmarks get classes that agree with labels and shares and become
        examples; then the decision values are shifted until the training rows agree.
    probability : bool, default=False
        Fit what `predict_proba` needs.
    n_neighbors, n_landmarks, random_state, n_jobs : default=None
        Parameters of the kernel that can be set here; None means the kernel's value.
    instant_refits : bool, str or Path, default=False
        Store the interpolation from the landmarks to all rows in `fit`, n x n_landmarks in float32: `refit` then solves
        nothing. True: in memory. A folder: there, removed with the model. Pickles and model files leave it out.
    max_memory : int, default=None
        Bytes that `fit` may take beyond the rows themselves, what is kept for instant refits included. The peak is
        predicted before graph and solves, work is done so that it stays below, and a fit that cannot is refused. Up to
        2,000 rows, and for kernels other than powers of the Laplacian of a Euclidean or cosine graph of dense rows, it
        bounds instant refits alone. None: columns, and what is kept for instant refits, may each take half of the free
        memory.
    checkpoint : str or Path, default=None
        A folder for the finished pieces of a long `fit`: neighbours, landmarks, factor, columns. A run that was killed
        goes on from there when it is called again with the same data and parameters. Delete the folder afterwards.
    verbose : bool, default=False
        Print what takes time while it is done.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    report_ : Report
        How good the model is on labels it has not seen, and whether the unlabelled rows help.
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
        kernel: Any = None,
        class_weight: Any = None,
        priors: Any = None,
        probability: bool = False,
        n_neighbors: int | None = None,
        n_landmarks: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        instant_refits: bool | str | Path = False,
        max_memory: int | None = None,
        checkpoint: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.class_weight = class_weight
        self.priors = priors
        self.probability = probability
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.instant_refits = instant_refits
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.verbose = verbose

    @property
    def given_alpha(self) -> float | None:
        """1 / C, or None."""
        return None if self.C is None else 1.0 / check_real("C", self.C, strict=True)

    def loss(self, alpha: float) -> HingeLoss:
        """Return the hinge loss with C = 1 / alpha."""
        return HingeLoss(1.0 / alpha if self.C is None else self.C)

    def _p_values(self, A: Any) -> NDArray[np.float64]:
        learned = self._fitted
        jackknife = JackknifeHinge.fit(learned, self.loss, self.given_alpha)
        return jackknife_p_values(learned, jackknife, self._offsets, A)
