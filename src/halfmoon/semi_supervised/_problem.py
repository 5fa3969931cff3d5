"""What is to be learnt: a training set, targets and weights, as every loss takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["LearningProblem"]

Matrix = NDArray[np.float64]


@storable
@dataclass(frozen=True)
class LearningProblem:
    """Labelled examples with targets for one or several functions.

    Attributes
    ----------
    training : TrainingSet
        The data; its weights include those of the classes.
    classes : ndarray or None
        The classes; None for regression.
    """

    training: TrainingSet
    classes: NDArray[Any] | None
    unweighted: TrainingSet  # without the weights of the classes

    @classmethod
    def of(cls, training: TrainingSet, classes: NDArray[Any] | None, class_weight: Any = None) -> LearningProblem:
        """Weigh the examples by their classes."""
        if classes is None:
            return cls(training, None, training)
        present = np.bincount(training.targets, minlength=len(classes))
        if not present.all():
            raise ValueError(f"The labelled rows of class {classes[present.argmin()]!r} all have weight 0.")
        if class_weight is None:
            return cls(training, classes, training)
        masses = np.bincount(training.targets, weights=training.weights, minlength=len(classes))
        if isinstance(class_weight, str) and class_weight == "balanced":
            factors = masses.sum() / (len(masses) * masses)
        else:
            factors = compute_class_weight(class_weight, classes=classes, y=classes[training.targets])
        return cls(training.scaled(factors[training.targets]), classes, training)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the examples, those of their classes included."""
        return self.training.weights

    @property
    def numbers(self) -> NDArray[np.intp] | None:
        """Class numbers of the examples; None for regression."""
        return None if self.classes is None else self.training.targets

    @property
    def Y(self) -> Matrix:
        """Targets, one column per function: numbers, or +1 for a class and -1 for the others (one for two classes)."""
        if self.classes is None:
            return self.training.targets[:, None].astype(np.float64)
        return signs_of(self.training.targets, len(self.classes))

    @property
    def unit(self) -> float:
        """A unit of the targets in which none exceeds 1."""
        return 1.0 if self.classes is not None else float(np.abs(self.training.targets).max(initial=0.0)) or 1.0

    @property
    def truth(self) -> NDArray[Any]:
        """Labels of the examples, as the user gave them."""
        return self.training.targets if self.classes is None else self.classes[self.training.targets]

    def subset(self, which: NDArray[np.intp]) -> LearningProblem:
        """Return the problem with some of the examples."""
        return replace(self, training=self.training.subset(which), unweighted=self.unweighted.subset(which))

    def extended(
        self, rows: NDArray[np.intp], numbers: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> LearningProblem:
        """Return the problem with further examples, after its own."""
        return replace(self, training=self.training.extended(rows, numbers, weights))

    def decide(self, values: Matrix) -> NDArray[Any]:
        """Return what decision values say: classes, or numbers."""
        if self.classes is None:
            return values[:, 0]
        return self.classes[winners(values)]


def signs_of(numbers: NDArray[np.intp], n_classes: int) -> Matrix:
    """Return +1 for the class of an example and -1 for the others, one column per class (one for two classes)."""
    signs = np.where(numbers[:, None] == np.arange(n_classes), 1.0, -1.0)
    return signs[:, 1:] if n_classes == 2 else signs


def winners(values: Matrix) -> NDArray[np.intp]:
    """Return the class numbers that decision values say."""
    return (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)
