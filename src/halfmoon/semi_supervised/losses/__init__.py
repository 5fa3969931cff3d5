"""Losses on a Gram matrix: ridge regression and the hinge loss, each with leave-one-out."""

from halfmoon.semi_supervised.losses._augmented_ridge import AugmentedRidge
from halfmoon.semi_supervised.losses._base import DualSolution, Loss
from halfmoon.semi_supervised.losses._held_out_machines import HeldOutMachines
from halfmoon.semi_supervised.losses._hinge import HingeLoss, support_vector_machine
from halfmoon.semi_supervised.losses._ridge import RidgeLoss, RidgePath, RidgeSolution

__all__ = [
    "AugmentedRidge",
    "DualSolution",
    "HeldOutMachines",
    "HingeLoss",
    "Loss",
    "RidgeLoss",
    "RidgePath",
    "RidgeSolution",
    "support_vector_machine",
]
