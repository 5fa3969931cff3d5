"""What a fit will cost before it is begun: time, memory and traffic, from measured runs."""

from __future__ import annotations

from halfmoon.planning._costs import Costs, Stage, measured_costs
from halfmoon.planning._memory import FitMemory, FitSize, fit_memory
from halfmoon.planning._plan import Plan, Step, plan

__all__ = [
    "Costs",
    "FitMemory",
    "FitSize",
    "Plan",
    "Stage",
    "Step",
    "fit_memory",
    "measured_costs",
    "plan",
]
