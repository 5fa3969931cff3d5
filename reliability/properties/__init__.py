"""Properties that hold for all inputs: one function each, run by hypothesis on generated data and graphs."""

from reliability.properties import estimators, graphs, kernels, solvers, tools  # they enter their properties
from reliability.properties._claims import PROPERTIES, run_property

__all__ = ["PROPERTIES", "estimators", "graphs", "kernels", "run_property", "solvers", "tools"]
