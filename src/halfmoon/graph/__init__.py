"""Graphs on the data: k-NN graphs, edge weights, Laplacians, connected components."""

from halfmoon.graph._adjacency import check_graph
from halfmoon.graph._approximate import ApproximateSearch
from halfmoon.graph._components import Components, connected_components
from halfmoon.graph._duplicates import Duplicates, RowLookup, find_duplicates
from halfmoon.graph._knn import graph_of_lists, knn_graph
from halfmoon.graph._laplacian import degrees, laplacian, scaling_degrees
from halfmoon.graph._neighbor_index import METRICS, NeighborIndex, NeighborLists
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._report import GraphReport

__all__ = [
    "METRICS",
    "ApproximateSearch",
    "Components",
    "Duplicates",
    "GraphReport",
    "NeighborIndex",
    "NeighborLists",
    "RowLookup",
    "SearchOptions",
    "check_graph",
    "connected_components",
    "degrees",
    "find_duplicates",
    "graph_of_lists",
    "knn_graph",
    "laplacian",
    "scaling_degrees",
]
