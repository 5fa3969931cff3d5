"""What float32 does to decision values that come from a stored interpolation."""

from __future__ import annotations

import numpy as np

from halfmoon.semi_supervised._decision import bounded_away
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._mixture import OF_GRAPH

__all__ = ["stored_rounding"]


def stored_rounding(learned: LearnedModel) -> float | None:
    """Return a bound on what float32 changes in the decision values of the training points, None if nothing is stored.

    For the dual coefficients that the model has. With v = T h the graph's part is v / s, s = T s_S, and its error is
    (dv + |v / s| ds) / s; that of the base kernel follows from the columns that are kept.
    """
    geometry, decision = learned.kernel.geometry_, learned.decision
    if geometry.stored_interpolation is None:
        return None
    power = learned.kernel.power
    errors = np.zeros((geometry.n, decision.coef.shape[1]))
    for name in learned.choice.weights.keys() & set(OF_GRAPH):  # one at the most
        term = learned.expansion.of_graph(name)
        sizes = term.extension.sizes[:, None]
        s = bounded_away(geometry.extend(sizes, power), term.extension.sizes)
        h = learned.choice.weights[name] * term.share * term.on_landmarks(learned.solution.dual)
        f = geometry.extend(h, power) / s
        errors += (geometry.rounding(h, power) + np.abs(f) * geometry.rounding(sizes, power)) / s
    if learned.base_columns is not None and decision.centers is not None:
        errors += learned.base_columns.rounding(learned.examples.training.rows, decision.coef)
    return float(errors.max())
