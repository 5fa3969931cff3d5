"""Graphs on the data: k-NN graphs, edge weights, Laplacians, connected components."""

from halfmoon.graph._adjacency import check_graph
from halfmoon.graph._appended_index import (
    AppendedIndex as AppendedIndex,
)  # for the packages above, as all "import X as X"
from halfmoon.graph._appended_index import append_links as append_links
from halfmoon.graph._appended_index import stacked as stacked
from halfmoon.graph._components import Components, connected_components
from halfmoon.graph._duplicates import Duplicates as Duplicates
from halfmoon.graph._duplicates import RowLookup as RowLookup
from halfmoon.graph._duplicates import find_duplicates
from halfmoon.graph._first_use import compile_queries as compile_queries
from halfmoon.graph._first_use import queries_are_compiled as queries_are_compiled
from halfmoon.graph._given_lists import check_neighbors as check_neighbors
from halfmoon.graph._knn import graph_of_lists, knn_graph
from halfmoon.graph._laplacian import degrees as degrees
from halfmoon.graph._laplacian import laplacian
from halfmoon.graph._laplacian import scaling_degrees as scaling_degrees
from halfmoon.graph._neighbor_index import METRICS as METRICS
from halfmoon.graph._neighbor_index import NeighborIndex
from halfmoon.graph._neighbor_index import NeighborLists as NeighborLists
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._paths import Path as Path
from halfmoon.graph._paths import shortest_paths as shortest_paths
from halfmoon.graph._report import GraphReport

__all__ = [
    "Components",
    "GraphReport",
    "NeighborIndex",
    "SearchOptions",
    "check_graph",
    "connected_components",
    "find_duplicates",
    "graph_of_lists",
    "knn_graph",
    "laplacian",
]
