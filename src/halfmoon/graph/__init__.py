"""Graphs on the data: k-NN graphs, edge weights, Laplacians, connected components."""

from halfmoon.graph._adjacency import check_graph
from halfmoon.graph._components import Components, connected_components
from halfmoon.graph._copies import find_copies
from halfmoon.graph._knn import knn_graph
from halfmoon.graph._laplacian import laplacian
from halfmoon.graph._neighbors import NeighborSearch
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._report import GraphReport

__all__ = [
    "Components",
    "GraphReport",
    "NeighborSearch",
    "SearchOptions",
    "check_graph",
    "connected_components",
    "find_copies",
    "knn_graph",
    "laplacian",
]
