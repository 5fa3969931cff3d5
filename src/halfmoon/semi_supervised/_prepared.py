"""What an estimator has before it learns, or learns again: distinct points, a fitted kernel, and what refits reuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["Prepared"]


@storable
@dataclass(frozen=True)
class Prepared:
    """Where a refit starts from.

    Attributes
    ----------
    training : TrainingSet
        The distinct points, with the examples of the model before or with none; without weights of classes.
    kernel : DataDependentKernel
        The fitted kernel.
    placed : PlacedRows or None
        Rows of T that are known.
    base_columns : BaseColumns or None
        Columns of the base kernel that are known, where refits are to be instant.
    """

    training: TrainingSet
    kernel: DataDependentKernel
    placed: PlacedRows | None = None
    base_columns: BaseColumns | None = None

    @classmethod
    def of(cls, learned: LearnedModel) -> Prepared:
        """Return what a learnt model leaves to the next one."""
        return cls(learned.problem.unweighted, learned.kernel, learned.placed, learned.base_columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return vars(self) | {"base_columns": None}
