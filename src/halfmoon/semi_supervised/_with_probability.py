"""A method that only estimators with ``probability=True`` have."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

__all__ = ["WithProbability"]


class WithProbability:
    """Decorate a method: without ``probability=True`` it is missing, as scikit-learn expects, and the error says why.

    scikit-learn's `available_if` says why only in the cause of its error, above the last line of a traceback.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method
        if not instance.probability:
            name, estimator = self.method.__name__, type(instance).__name__
            raise AttributeError(
                f"{name} needs {estimator}(probability=True) at the time of fit. Set it and fit again; "
                "predict_set works as it is.",
                name=name,
                obj=instance,
            )
        return MethodType(self.method, instance)
