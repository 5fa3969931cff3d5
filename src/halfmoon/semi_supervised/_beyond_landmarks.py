"""The warning of labels that the graph cannot spread."""

from __future__ import annotations

import warnings

import numpy as np

from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.semi_supervised._learned import LearnedModel, coverage_of

__all__ = ["warn_if_beyond_landmarks"]


def warn_if_beyond_landmarks(learned: LearnedModel) -> None:
    """Warn of labels that the graph cannot spread; the kernel extension rests on the base kernel everywhere."""
    kernel = learned.kernel
    if kernel.extension == "kernel" or not coverage_of(learned.problem, kernel).beyond_landmarks:
        return
    components, landmarks = kernel.geometry_.components, kernel.landmark_indices_
    remains = "the base kernel decides alone" if kernel.extension == "auto" else "only the intercept is learnt"
    warnings.warn(
        f"None of the {len(np.unique(learned.problem.training.rows))} labelled rows shares a component of the graph "
        f"with a landmark: landmarks ({len(landmarks)}) lie in {int((components.covered_by(landmarks) > 0).sum())} of "
        f"{components.count} components. The graph says nothing about the labels, and {remains}. Use "
        "landmarks='random', which prefers labelled rows, raise n_landmarks, or connect the graph with "
        "graph_params={'connect': True}.",
        DisconnectedGraphWarning,
        stacklevel=4,
    )
