"""Properties that hold for all inputs: one function each, run by hypothesis on generated data and graphs."""

from reliability.properties import (  # they enter their properties
    appended,
    cluster,
    estimators,
    graphs,
    kernels,
    labeller,
    solvers,
    tools,
)
from reliability.properties._claims import PROPERTIES, run_property

__all__ = [
    "PROPERTIES",
    "appended",
    "cluster",
    "estimators",
    "graphs",
    "kernels",
    "labeller",
    "run_property",
    "solvers",
    "tools",
]
