"""The memory of a fit before it is begun: an upper bound by the sizes of what is held together.

It is what `plan` prints, what `max_memory` of the estimators keeps to and what `benchmarks.memory` compares with runs.
The numbers of bytes are bounds on measured runs (``python -m benchmarks.memory`` compares them): what a fit holds
beyond the rows themselves, which may lie on disk. Compiling is part of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

__all__ = ["TILE", "WORKSPACE", "FitMemory", "FitSize", "fit_memory", "leader_memory"]

START = 70_000_000  # code, its compilation, and the blocks that one pass over the rows holds, but for threads
PER_THREAD = 6_000_000  # blocks of a thread
ROW = 400  # bytes per row while neighbours are searched: sketch, codes, digests, numbers of duplicates
LISTS = 62  # per row and neighbour meanwhile: lists and what becomes of them
UNION = 1.4  # edges, as each end has them, per neighbour
FILL = 1.2, 0.067, 1 << 14  # entries of a factor per edge: of so many rows, and what doubling the rows adds
SETUP = 220, 24, 28  # per row, edge and entry while the factor is made: graph, half-edges, factor twice
HELD = 190, 16, 16  # afterwards: graph, its edges in the order of the tiles, factor by rows and by columns
WEIGHTS = 20  # per row and neighbour where edges have different weights
TILE = 16  # columns of a tile; half as many where memory is short
TILE_ENTRY = 2 * 8 + 4 * 4  # per row, thread and column of a tile: two arrays in float64, four in float32
WORKSPACE = TILE * TILE_ENTRY
COLUMN = 2 * 8  # per row and column that is solved for: right-hand side and solution
VALUES = 3 * 8  # per row and function, when all are solved for
TOUCHED = 1 << 21  # bytes that the entries of a sparse right-hand side make a page of
KRYLOV = 45, 400  # per row and neighbour, and per row: powers of few columns in one run, among fewer rows than
FEW_ROWS = 1 << 21
LEFT_OVER = 4  # columns more than a tile per thread that are solved for at one time, at most
QUERY = 100  # per row: digests and cells
SKETCH = 4.4  # per row and entry of a sketch in panels, which are not quite full
PANELS = 2 * SKETCH  # the same while they are made
LANDMARKS, EARLIER = 160, 40  # per pair of landmarks: twenty matrices, and five before the labels are looked at
SAMPLED = 6  # per number of the sample that components are found on
SAMPLE, LEAST_SAMPLE, MOST_SAMPLE = 1 << 22, 1024, 4096  # numbers, and rows at least and at most
GRAM = 20, 2048  # per pair of features, up to so many
HEAD, NARROW, MOST_COMPONENTS = 32, 256, 128  # features that are their own sketch; up to so many may be; components
TREE = 24, 12  # bytes per number in a KD-tree, up to so many features


@dataclass(frozen=True)
class FitSize:
    """What the memory of a fit depends on.

    Attributes
    ----------
    rows, features, neighbors, landmarks : int
        Sizes.
    power : int
        Of the Laplacian.
    columns : int
        Systems that are solved after the restriction: for labelled rows off the landmarks, or for functions.
    threads : int
        Of the search, and at most of the solves.
    functions : int, default=10
        Of which there are values on all rows: classes, or targets.
    weighted : bool, default=False
        Whether edges have different weights.
    """

    rows: int
    features: int
    neighbors: int
    landmarks: int
    power: int
    columns: int
    threads: int
    functions: int = 10
    weighted: bool = False


@dataclass(frozen=True)
class FitMemory:
    """The memory of a fit, done in one way.

    Attributes
    ----------
    stages : dict
        Name of a stage -> bytes held at most meanwhile.
    threads : int
        Of the solves.
    tile_width : int
        Columns of a tile.
    columns : int
        Bytes for columns of all landmarks, which are kept if they fit: otherwise they are solved for twice.
    wide_codes : bool
        Whether the search may keep a byte per feature.
    """

    stages: dict[str, int]
    threads: int
    tile_width: int
    columns: int
    wide_codes: bool

    @property
    def peak(self) -> int:
        """The most that is held at one time."""
        return max(self.stages.values())

    @property
    def peak_without_columns(self) -> int:
        """The most that is held at one time where columns are not kept."""
        return max(size - (self.columns if name == "solves" else 0) for name, size in self.stages.items())

    @property
    def stage(self) -> str:
        """The stage that holds the most."""
        return max(self.stages, key=self.stages.__getitem__)


def fit_memory(size: FitSize, limit: int | None = None) -> FitMemory:
    """Return the memory of a fit, done in the fastest way that stays below a limit, or in the leanest.

    Parameters
    ----------
    size : FitSize
        What is fitted.
    limit : int, default=None
        Bytes; None: no limit.

    Returns
    -------
    FitMemory
        Its peak exceeds the limit where even the leanest way does.

    Examples
    --------
    >>> from halfmoon.planning import FitSize, fit_memory
    >>> size = FitSize(rows=100_000, features=784, neighbors=5, landmarks=500, power=3, columns=20, threads=8)
    >>> [(way.threads, way.tile_width) for way in (fit_memory(size), fit_memory(size, 600_000_000))]
    [(8, 16), (8, 8)]
    """
    # Half the columns take less than twice the time per column: they come before half the threads, which hold as much.
    tiles = [(size.threads, TILE), *((threads, TILE // 2) for threads in _halved(size.threads))]
    ways = [(size.threads, TILE, True, True), *((*tile, wide, False) for tile in tiles for wide in (True, False))]
    for threads, width, wide, roomy in ways:
        stages = _stages(size, threads, width, wide, roomy)
        if limit is None or max(stages.values()) <= limit:
            wanted = _column_bytes(size)
            columns = wanted if limit is None or stages["solves"] + wanted <= limit else 0
            return FitMemory(stages | {"solves": stages["solves"] + columns}, threads, width, columns, wide)
    return FitMemory(stages, threads, width, 0, wide)


def leader_memory(size: FitSize) -> FitMemory:
    """Return the memory of the machine that leads a cluster: it solves pilots on one thread, workers do the rest."""
    return FitMemory(_stages(size, 1, TILE, True, True), 1, TILE, 0, True)


def _halved(threads: int) -> list[int]:
    """Return numbers of threads to try: all, half of them, and so on down to one."""
    tried = [threads]
    while tried[-1] > 1:
        tried.append(tried[-1] // 2)
    return tried


def _stages(size: FitSize, threads: int, width: int, wide: bool, roomy: bool) -> dict[str, int]:
    """Return the bytes of each stage; `roomy` is a fit that keeps its search and has no limit to keep to."""
    n, d, m, k = size.rows, size.features, size.landmarks, size.neighbors
    base = START + PER_THREAD * size.threads + (TREE[0] * n * d if d <= TREE[1] else 0)
    sample = SAMPLED * d * max(min(MOST_SAMPLE, SAMPLE // d), LEAST_SAMPLE) + (GRAM[0] * d**2 if d <= GRAM[1] else 0)
    codes = 2 * d if wide and HEAD < d <= GRAM[1] else 0
    sketch = d if d <= NARROW else MOST_COMPONENTS
    search, weights = (ROW + codes // 2 if roomy else 0), (WEIGHTS * k if size.weighted else 0)
    held = search + _of_graph(size, HELD) + weights
    return {
        "search": base + sample + n * (ROW + codes + LISTS * k),
        "setup": base + n * (search + _of_graph(size, SETUP) + weights),
        "solves": base + n * (held + TILE_ENTRY * width * threads + 8 * width) + EARLIER * m**2,
        "labels": base
        + LANDMARKS * m**2
        + n * held
        + _labels(size, threads, width, size.columns if roomy else width * threads + LEFT_OVER)
        + (round(n * (QUERY + SKETCH * sketch)) if roomy else 0),
        "queries": base
        + sample
        + LANDMARKS * m**2
        + round(n * (held + QUERY + PANELS * sketch + 2 * 8 * size.functions)),
    }


def _of_graph(size: FitSize, costs: tuple[int, int, int]) -> int:
    """Return bytes per row, from those per row, edge and entry of the factor."""
    row, edge, entry = costs
    fill = FILL[0] + FILL[1] * max(0.0, log2(size.rows / FILL[2]))
    return round(row + UNION * size.neighbors * (edge + entry * fill))


def _labels(size: FitSize, threads: int, width: int, at_once: int) -> int:
    """Return the bytes of solves for labelled rows, and for the values of all rows, so many columns at once."""
    n, tiles = size.rows, threads * width * (TILE_ENTRY + 8)
    columns, functions = min(size.columns, at_once), min(size.functions, at_once)
    of_rows = n * (tiles + COLUMN * columns) + min(8 * n, TOUCHED) * columns
    of_functions = n * max(tiles + VALUES * functions + 8 * size.functions, VALUES * size.functions)
    krylov = n * (KRYLOV[0] * size.neighbors + KRYLOV[1]) if n <= FEW_ROWS else 0
    return max(of_rows, of_functions, krylov)


def _column_bytes(size: FitSize) -> int:
    """Return the bytes of all columns and their residuals; those of p = 1 and 2 are kept in float32."""
    return size.rows * size.landmarks * {1: 8, 2: 4}.get(size.power, 12 * -(-size.power // 2))
