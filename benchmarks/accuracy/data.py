"""The data sets: all come with scikit-learn, are made up, or lie in a folder as letter.npz and mnist.npz."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class DataSet:
    """How rows are made, scaled and split.

    Attributes
    ----------
    load : callable
        Maps a folder and a generator to rows and classes.
    scaling : callable
        Returns a transformer that is fitted to the training rows, without labels.
    n_train, n_new : int or None
        Rows in the graph and new points; None: three quarters and a quarter.
    draws : int
        Draws at most: fewer where a fit takes seconds.
    in_folder : bool
        Whether the rows come from a folder.
    """

    load: Callable[[Path | None, np.random.Generator], Rows]
    scaling: Callable[[], Any] = FunctionTransformer
    n_train: int | None = None
    n_new: int | None = None
    draws: int = 10
    in_folder: bool = False

    def sizes(self, n: int) -> tuple[int, int]:
        """Return the numbers of training rows and of new points among n rows."""
        n_train = self.n_train or 3 * n // 4
        return n_train, self.n_new or n - n_train


def archive(name: str, largest: float, classes: tuple[int, ...] | None = None, of: int | None = None) -> Any:
    """Return a loader of NAME.npz, divided by its largest value: all rows, or some classes among `of` drawn rows."""

    def load(folder: Path | None, rng: np.random.Generator) -> Rows:
        if folder is None:
            raise ValueError(f"{name}.npz lies in a folder that was not given. Say where with --data DIR.")
        stored = np.load(folder / f"{name}.npz", allow_pickle=False)
        y = stored["y"].astype(np.int64)
        rows = rng.permutation(len(y))[:of]
        if classes is not None:
            rows = rows[np.isin(y[rows], classes)]
        return np.asarray(stored["X"][rows] / largest, dtype=np.float32), y[rows]

    return load


def gaussians(folder: Path | None, rng: np.random.Generator) -> Rows:
    """Two overlapping Gaussians in 200 dimensions, Bayes error 3 %: no graph knows much about them."""
    y = np.repeat([0, 1], 1500)
    return rng.normal(size=(3000, 200)) + np.where(y, 1, -1)[:, None] * 1.88 / np.sqrt(200), y


TOPICS = ("interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats")
PASSAGE = 60  # words
PASSAGES = 300  # per class at most


def docstrings(topic: str) -> Iterator[str]:
    """Yield the docstrings of what a package of scipy exports, and of its classes' methods."""
    module = importlib.import_module(f"scipy.{topic}")
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            continue
        methods = [value for key, value in vars(thing).items() if key[0] != "_"] if inspect.isclass(thing) else []
        yield from (part.__doc__ for part in [thing, *methods] if callable(part) and isinstance(part.__doc__, str))


def passages(folder: Path | None, rng: np.random.Generator) -> Rows:
    """Passages of 60 words from docstrings of scipy; the class is the package. Names of packages are taken out."""
    texts, y = [], []
    for number, topic in enumerate(TOPICS):
        found = set()
        for text in docstrings(topic):
            plain = re.sub(r"\S*\.\S*\w|\S*_\S*", " ", text.lower())  # dotted and private names give the package away
            words = [word for word in re.findall(r"[a-z]{3,}", plain) if word not in (*TOPICS, "scipy")]
            found |= {" ".join(words[i : i + PASSAGE]) for i in range(0, len(words) - PASSAGE + 1, PASSAGE)}
        chosen = rng.permutation(sorted(found))[:PASSAGES]
        texts += list(chosen)
        y += [number] * len(chosen)
    return np.array(texts, dtype=object), np.array(y)


def bundled(loader: Any, largest: float = 1.0) -> Any:
    """Return a loader of a set that comes with scikit-learn."""

    def load(folder: Path | None, rng: np.random.Generator) -> Rows:
        X, y = loader(return_X_y=True)
        return X / largest, y

    return load


SETS = {
    "digits": DataSet(bundled(load_digits, 16.0)),
    "wine": DataSet(bundled(load_wine), StandardScaler),
    "breast cancer": DataSet(bundled(load_breast_cancer), StandardScaler),
    "Gaussians, 200-d": DataSet(gaussians),
    "docstrings": DataSet(passages, lambda: TfidfVectorizer(min_df=2, sublinear_tf=True)),
    "letter D/O": DataSet(archive("letter", 15.0, (3, 14)), in_folder=True),
    "letter O/Q": DataSet(archive("letter", 15.0, (14, 16)), in_folder=True),
    "letter": DataSet(archive("letter", 15.0), n_train=16_000, n_new=4_000, draws=5, in_folder=True),
    "MNIST 3/8": DataSet(archive("mnist", 255.0, (3, 8), of=25_000), draws=5, in_folder=True),
    "MNIST 4/9": DataSet(archive("mnist", 255.0, (4, 9), of=25_000), draws=5, in_folder=True),
    "MNIST": DataSet(archive("mnist", 255.0, of=22_000), n_train=20_000, n_new=2_000, draws=5, in_folder=True),
}
