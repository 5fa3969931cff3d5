"""What is known about a k-NN graph after it has been built."""

from __future__ import annotations

from dataclasses import dataclass

from halfmoon.graph._components import Components

__all__ = ["GraphReport"]


@dataclass(frozen=True)
class GraphReport:
    """How a k-NN graph was built and what came out.

    Attributes
    ----------
    method : str
        The search that was used.
    recall : float
        Share of the true neighbours among those found: 1 for exact searches, else estimated.
    recall_sample : int
        Rows that the estimate rests on; 0 for exact searches.
    components : Components
        The connected components, before any were joined.
    links : int
        Edges that were added to join components.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import knn_graph
    >>> _, report = knn_graph(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1, return_report=True)
    >>> report.method, report.recall, report.components.count
    ('kdtree', 1.0, 1)
    """

    method: str
    recall: float
    recall_sample: int
    components: Components
    links: int

    def __str__(self) -> str:
        how = f"{self.method} search"
        if self.recall_sample:
            how += f", recall {self.recall:.3f} on {self.recall_sample} rows"
        joined = f", joined by {self.links} links" if self.links else ""
        return f"k-NN graph by {how}; {self.components.describe()}{joined}"
