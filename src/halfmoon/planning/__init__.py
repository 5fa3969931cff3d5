"""What a fit will cost before it is begun: time, memory and traffic, from measured runs."""

from __future__ import annotations

from halfmoon.planning._costs import Costs, Stage, measured_costs
from halfmoon.planning._plan import Plan, Step, plan

__all__ = ["Costs", "Plan", "Stage", "Step", "measured_costs", "plan"]
