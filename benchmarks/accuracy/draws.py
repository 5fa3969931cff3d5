"""A draw: rows in the graph, new points, and nested sets of labelled rows, the same for every method."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.data import DataSet
from benchmarks.accuracy.problem import UNLABELED, write_arrays
from halfmoon import DataDependentKernel, LapRLSClassifier

LABELS = (1, 2, 3, 5, 10, 30)  # per class


@dataclass(frozen=True)
class Draw:
    """One draw of a data set; classes are numbered from 0.

    Attributes
    ----------
    X, X_new : ndarray or csr_matrix
        Rows in the graph and new points.
    y, y_new : ndarray of int
        Their classes.
    seed : int
        For methods that draw.
    """

    X: Any
    X_new: Any
    y: np.ndarray
    y_new: np.ndarray
    seed: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    def allows(self, labels: int) -> bool:
        """Tell whether at least a third of every class would remain unlabelled."""
        return 3 * labels <= 2 * int(np.bincount(self.y).min())

    def few(self, labels: int) -> np.ndarray:
        """Return the classes of the first rows of each class, and -1 elsewhere: more labels contain fewer."""
        few = np.full(len(self.y), UNLABELED)
        for c in range(self.n_classes):
            rows = np.flatnonzero(self.y == c)[:labels]
            few[rows] = c
        return few

    def write(self, path: Path, *, with_graph: bool) -> None:
        """Write everything but the true classes to an .npz file, with halfmoon's graph if somebody needs it."""
        arrays = {f"few{labels}": self.few(labels) for labels in LABELS if self.allows(labels)}
        arrays |= {"X": self.X, "X_new": self.X_new, "priors": np.bincount(self.y) / len(self.y)}
        write_arrays(path, arrays | (self.graph() if with_graph else {}))

    def graph(self) -> dict[str, Any]:
        """Return the graph that halfmoon's classifiers use by default, connected, and the vertex of each row.

        Where it has several components, links between them are added: Poisson learning is not defined without, and
        GraphLearning's solver diverges (89 % error on digits with 10 labels per class).
        """
        kernel = DataDependentKernel(graph_params={"connect": True}, random_state=self.seed % 2**32)
        model = LapRLSClassifier(kernel=kernel).fit(self.X, self.few(1))
        W = model.kernel_.graph_.tocsr()
        W.sort_indices()
        return {"W": W, "point": model.learned_.problem.training.point}


def draw(name: str, data: DataSet, folder: Path | None, seed: int, number: int) -> Draw:
    """Draw rows, new points and the order in which rows are labelled."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(name.encode()), number])
    rng = np.random.default_rng(sequence)
    rows, y = data.load(folder, rng)
    n_train, n_new = data.sizes(len(y))
    order = rng.permutation(len(y))
    train, new = order[:n_train], order[n_train : n_train + n_new]
    scaling = data.scaling().fit(rows[train])
    X, X_new = (scaling.transform(rows[part]) for part in (train, new))
    y = np.unique(y, return_inverse=True)[1]
    return Draw(X, X_new, y[train], y[new], int(sequence.generate_state(1)[0]))
