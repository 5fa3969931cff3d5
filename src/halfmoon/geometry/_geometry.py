"""What the data say before any label is looked at (sections 2 to 4 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from halfmoon._validation import check_flag, check_points
from halfmoon.geometry import _stages as stages
from halfmoon.geometry._append import AppendedRows, append_to_graph, check_new_rows
from halfmoon.geometry._averages import shepard_weights, weighted_mean
from halfmoon.geometry._changes import ALL_BUT_LANDMARKS, changes_only_powers, stale_stages
from halfmoon.geometry._first_use import compiling_later_stages
from halfmoon.geometry._interpolator import Interpolator
from halfmoon.geometry._landmarks import check_landmarks
from halfmoon.geometry._restriction import Restriction, restrict_further, warn_about
from halfmoon.geometry._stages import GeometrySettings
from halfmoon.geometry._stored_interpolation import StoredInterpolation
from halfmoon.graph import AppendedIndex, Components, Duplicates, NeighborIndex
from halfmoon.regularizers import PowerRegularizer, Regularizer
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.execution import piece
from halfmoon.runtime.memory import allowance, give_back
from halfmoon.runtime.storable import storable
from halfmoon.solvers import SolveOptions

__all__ = ["Geometry"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

T_ACCURACY = 1e-3  # T = Q^+ E A^-1 amplifies solve errors by the condition of A: solve more accurately than A


@storable
@dataclass(frozen=True)
class Geometry:
    """Neighbours, graph, regulariser and landmarks of all the data, and the regulariser on the landmarks (eq. 7).

    Built once by `build`, asked many times, never changed: `replace` gives a new one that shares what stays the same.
    No label enters, only which rows are labelled, for the choice of landmarks.

    Attributes
    ----------
    index : NeighborIndex
        Nearest neighbours among the distinct points: of the data for the graph, and of new points.
    graph : csr_array or None
        W; None if a regulariser was given.
    regularizer : Regularizer
        Q; of the rows that were there when it was built, where others have been appended.
    landmarks : ndarray of shape (n_hat,)
        S, as rows of the data.
    settings : GeometrySettings
        How it was built.
    stored_interpolation : StoredInterpolation or None
        T, where it is stored (`storing_interpolation`); otherwise `rows` and `extend` solve. Pickles and model files
        leave it out.
    appended : AppendedRows or None
        How rows that came later (`append`) follow from the others; None: every row has been solved for.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import Geometry
    >>> X = np.random.default_rng(2).normal(size=(80, 2))
    >>> geometry = Geometry.build(X, n_neighbors=8, n_landmarks=20, powers=[1, 3], random_state=0)
    >>> geometry.restriction(power=3).bound_kind
    'proven'
    >>> geometry.replace(ridge=1e-3).graph is geometry.graph
    True
    """

    index: NeighborIndex
    graph: sparse.csr_array | None
    regularizer: Regularizer
    landmarks: Indices
    settings: GeometrySettings
    labeled: NDArray[np.bool_] | None = None
    _restrictions: Mapping[int, Restriction] = field(default_factory=dict, repr=False)
    stored_interpolation: StoredInterpolation | None = field(default=None, repr=False)
    appended: AppendedRows | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        X: Any,
        *,
        labeled: ArrayLike | None = None,
        n_neighbors: int = 5,
        weights: str | Callable[[Any], Any] = "binary",
        metric: str | Callable[..., float] = "euclidean",
        graph: Any = None,
        neighbors: Any = None,
        graph_params: Mapping[str, Any] | None = None,
        regularizer: Any = "power",
        powers: Sequence[int] = (3,),
        ridge: float = 1e-2,
        normalized: bool = True,
        n_landmarks: int | None = None,
        landmarks: Any = "random",
        eps: float = 1e-6,
        solver: str = "auto",
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        check_input: bool = True,
    ) -> Geometry:
        """Build graph, regulariser and landmarks, and restrict the regulariser to the landmarks.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (n, d)
            All the data, labelled or not.
        labeled : array-like of bool of shape (n,), default=None
            Which rows are labelled; "random" landmarks prefer these.
        n_neighbors, weights, metric, graph, neighbors, graph_params
            The k-NN graph, see :class:`halfmoon.DataDependentKernel`.
        regularizer, ridge, normalized
            Q, see there.
        powers : sequence of int, default=(3,)
            The powers of the Laplacian that will be asked for; all come out of one chain of solves.
        n_landmarks, landmarks, random_state
            The landmarks, see there.
        eps, solver, memory, n_jobs
            How it is computed, see there.
        check_input : bool, default=True
            Whether X is to be looked at: its type, and whether every number of it is one. Callers that have done so
            say False, so that data on disk are read once for it.

        Returns
        -------
        Geometry
        """
        settings = GeometrySettings(
            n_neighbors=n_neighbors,
            weights=weights,
            metric=metric,
            graph=graph,
            neighbors=neighbors,
            graph_params=graph_params,
            regularizer=regularizer,
            powers=cast("tuple[int, ...]", powers),  # checked there
            ridge=ridge,
            normalized=normalized,
            n_landmarks=n_landmarks,
            landmarks=landmarks,
            eps=eps,
            solver=solver,
            memory=memory,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        X = check_points(X, minimum=2, to_learn=True) if check_flag("check_input", check_input) else X
        mask = None if labeled is None else np.asarray(labeled, dtype=bool)
        with compiling_later_stages(X, settings):
            return _build(X, mask, settings)

    def replace(self, **changes: Any) -> Geometry:
        """Return a geometry with other settings; only what lies downstream of them is computed again.

        A geometry with appended rows is refreshed first.

        Parameters
        ----------
        **changes
            Parameters of `build` other than X, and `labeled`.

        Returns
        -------
        Geometry
        """
        known = {field.name for field in fields(GeometrySettings)} | {"labeled"}
        unknown = changes.keys() - known
        if unknown:
            raise ValueError(f"A geometry has no parameters {sorted(unknown)}. It has {sorted(known)}.")
        if self.appended is not None:
            return self.refresh().replace(**changes)
        labeled = changes.pop("labeled", self.labeled)
        stale = stale_stages(self.settings, changes, other_labels=labeled is not self.labeled)
        mask = None if labeled is None else np.asarray(labeled, dtype=bool)
        return _build(self.X, mask, replace(self.settings, **changes), earlier=self, stale=stale)

    def append(self, X_new: Any) -> Geometry:
        """Return this geometry with further rows, at the price of a neighbour query each: nothing is solved.

        The rows enter the index and the graph, linked to their nearest rows, and can be labelled like all others. Two
        things are approximate until `refresh`. A new row of the interpolation T is the mean of those of the nearest
        earlier rows, with Shepard weights, as for points to be predicted. Landmarks, regulariser and components are
        those of the rows that it was built on: to them the new rows are not there.

        Parameters
        ----------
        X_new : array-like or scipy sparse of shape (m, d)
            Rows, which are numbered after those that are there.

        Returns
        -------
        Geometry

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import Geometry
        >>> X = np.random.default_rng(2).normal(size=(80, 2))
        >>> geometry = Geometry.build(X[:78], n_neighbors=8, n_landmarks=20, random_state=0)
        >>> more = geometry.append(X[78:])
        >>> geometry.n, more.n, more.graph.shape, more.rows(np.array([79])).shape
        (78, 80, (80, 80), (1, 20))
        """
        X_new = check_new_rows(X_new, self.X, self.settings)
        points, weights = self.nearest(X_new)
        appended = self.appended or AppendedRows.none(self.n)
        index = AppendedIndex(self.index, X_new)
        return replace(
            self,
            index=index,
            graph=append_to_graph(self.graph, index, self.settings),
            labeled=None if self.labeled is None else np.pad(self.labeled, (0, X_new.shape[0])),
            appended=appended.followed_by(self.duplicates.first[points], weights, self.components),
        )

    def refresh(self) -> Geometry:
        """Return the exact geometry of all rows, appended ones included, with the same landmarks.

        It equals one that is built on all rows with these landmarks, and takes about as long: index, lists of
        neighbours and solves are made anew, without initial guesses, for which the solvers have no place. A stored
        interpolation is left out.

        Returns
        -------
        Geometry

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import Geometry
        >>> X = np.random.default_rng(2).normal(size=(80, 2))
        >>> exact = Geometry.build(X[:70], n_neighbors=8, n_landmarks=20, random_state=0).append(X[70:]).refresh()
        >>> again = Geometry.build(X, n_neighbors=8, landmarks=exact.landmarks)
        >>> bool(np.array_equal(exact.restriction().greens, again.restriction().greens))
        True
        """
        if self.appended is None:
            return self
        return _build(self.X, self.labeled, self.settings, earlier=self, stale=ALL_BUT_LANDMARKS)

    def fewer_landmarks(self, places: ArrayLike) -> Geometry:
        """Return the geometry with some of the landmarks: blocks of the same matrices, without a solve."""
        kept = check_landmarks(places, len(self.landmarks))
        restrictions = {
            power: restrict_further(self.regularizer_of(power), restriction, kept)
            for power, restriction in self._restrictions.items()
        }
        settings = replace(self.settings, landmarks=self.landmarks[kept], n_landmarks=None)
        return replace(
            self,
            landmarks=self.landmarks[kept],
            settings=settings,
            _restrictions=restrictions,
            stored_interpolation=None,  # of other landmarks
        )

    def storing_interpolation(self, folder: str | Path | None = None, *, max_memory: int | None = None) -> Geometry:
        """Return this geometry with T stored in float32: `rows` and `extend` then need no solve.

        T has n rows and n_hat columns, and one solve per column and power of the Laplacian goes into it. What is read
        from it differs from a solve by float32 rounding, which `rounding` bounds, and by the errors of these solves:
        each column is solved to `eps`, and large powers of a small ridge amplify what is left.

        Parameters
        ----------
        folder : str or Path, default=None
            An existing folder in which to keep T as a memory map, removed with the geometry; None: in memory.
        max_memory : int, default=None
            Bytes that T may take in memory; None: half of the free memory.

        Returns
        -------
        Geometry

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import Geometry
        >>> X = np.random.default_rng(2).normal(size=(80, 2))
        >>> geometry = Geometry.build(X, n_neighbors=8, n_landmarks=20, random_state=0)
        >>> stored = geometry.storing_interpolation()
        >>> h_hat = np.sin(np.arange(20.0))
        >>> bool(np.abs(stored.extend(h_hat) - geometry.extend(h_hat)).max() < 1e-5)
        True
        """
        if self.stored_interpolation is not None or self._interpolator.is_identity:
            return self
        options = replace(self._options, max_memory=max_memory)
        regularizers = {power: self.regularizer_of(power) for power in self._restrictions}
        T = StoredInterpolation.build(regularizers, self._restrictions, options, folder)
        return replace(self, stored_interpolation=T)

    def prepare_queries(self) -> None:
        """Build what queries for new points need, so that the first is as fast as the others."""
        self.index.prepare_queries(min(self.settings.n_neighbors, self.index.n_points))

    @property
    def X(self) -> Any:
        """The data."""
        return self.index.X

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def components(self) -> Components:
        """Connected components of the graph; an appended row belongs to that of its nearest point."""
        components = self.regularizer.components
        return components if self.appended is None else self.appended.join(components)

    @property
    def duplicates(self) -> Duplicates:
        """Which rows are which distinct point."""
        return self.index.duplicates

    @cached_property
    def landmark_points(self) -> Any:
        """The rows of X that are landmarks, in float64."""
        return self.X[self.landmarks].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self) | {"stored_interpolation": None}

    def regularizer_of(self, power: int | None = None) -> Regularizer:
        """Return Q with this power, for powers of the Laplacian; else Q."""
        return self._interpolator.regularizer(self._power(power))

    def restriction(self, power: int | None = None) -> Restriction:
        """Return Q^+ on the landmarks with its certificate (eq. 7).

        Parameters
        ----------
        power : int, default=None
            One of the powers that it was built for; None: the first. Regularisers without a power ignore it.

        Returns
        -------
        Restriction
        """
        return self._restrictions[self._power(power)]

    def _power(self, power: int | None) -> int:
        if power is None or not isinstance(self.regularizer, PowerRegularizer):
            return next(iter(self._restrictions))
        if power not in self._restrictions:
            raise ValueError(
                f"This geometry was built for the powers {sorted(self._restrictions)}. "
                f"Use geometry.replace(powers=[{power}]), or name all powers in Geometry.build(powers=...)."
            )
        return power

    @property
    def _options(self) -> SolveOptions:
        settings = self.settings
        return SolveOptions(eps=T_ACCURACY * settings.eps, solver=settings.solver, n_jobs=settings.n_jobs)

    @property
    def _interpolator(self) -> Interpolator:
        """T."""
        return Interpolator(
            self.regularizer, self._restrictions, self._options, self.stored_interpolation, self.appended
        )

    def rows(self, rows: Indices, power: int | None = None) -> Matrix:
        """Return rows of T, the interpolation from the landmarks to all rows (Theorem 3.2): h*_i = t_i' h_hat."""
        return self._interpolator.rows(rows, self._power(power))

    def rows_of_powers(self, rows: Indices) -> dict[int, Matrix]:
        """Return `rows` for every power that the geometry was built for, from one chain of solves."""
        return self._interpolator.rows_of_powers(rows)

    def extend(self, h_hat: ArrayLike, power: int | None = None) -> Matrix:
        """Return h* = T h_hat, the smoothest function with these values on the landmarks, on all rows (Theorem 3.2)."""
        return self._interpolator.extend(h_hat, self._power(power))

    def rounding(self, h_hat: Matrix, power: int | None = None) -> Matrix:
        """Return a bound on the difference that float32 makes in `extend`, entry by entry; 0 where T is not stored."""
        return self._interpolator.rounding(h_hat, self._power(power))

    def gather(self, masses: NDArray[np.float64], power: int | None = None) -> NDArray[np.float64]:
        """Return T' m, the masses m of all rows gathered at the landmarks: how many rows a landmark stands for."""
        return self._interpolator.gather(masses, self._power(power))

    def on_points(self, h_hat: Matrix, power: int | None = None) -> Matrix:
        """Return T h_hat on the distinct points: duplicates have one value, the mean of theirs or a landmark's."""
        values = self.duplicates.mean(self._interpolator.spread(h_hat, self._power(power)))
        values[self.duplicates.group[self.landmarks]] = (
            h_hat  # T is the identity on S, and equal landmarks have equal values
        )
        return values

    def follow(self, values: Matrix, h_hat: Matrix) -> Matrix:
        """Return T h_hat on the distinct points, given it on those of an earlier state, of which no two rows are equal.

        Rows of the last exact state come first in both; the others follow from these.
        """
        assert self.appended is not None
        values = self.duplicates.mean(self.appended.extend(values[: self.regularizer.n]))
        values[self.duplicates.group[self.landmarks]] = h_hat
        return values

    def place(self, Z: Any) -> Matrix:
        """Return rows of T for new points: the mean of those of their nearest points."""
        return self.average(Z, self.on_points(np.eye(len(self.landmarks))))

    @property
    def has_duplicates(self) -> bool:
        """Whether two rows are equal."""
        return self.index.n_points < self.n

    def knows(self, Z: Any) -> NDArray[np.bool_]:
        """Tell which rows of Z are points of the graph."""
        return self.index.query(Z, 1)[0][:, 0] == 0.0

    def average(self, Z: Any, values: Matrix, *, as_new: bool = False) -> Matrix:
        """Return, at new points, weighted means of values on the distinct points; a known point gets its own value.

        With `as_new` a known point gets the mean of its neighbours' values, as if it were new.
        """
        return weighted_mean(values, *self.nearest(Z, as_new=as_new))

    def nearest(self, Z: Any, *, as_new: bool = False) -> tuple[Indices, Matrix]:
        """Return the nearest distinct points of new points and their Shepard weights, one row per new point.

        With `as_new` a known point is none of its own neighbours.
        """
        k = min(self.settings.n_neighbors, self.index.n_points - as_new)
        distances, points = self.index.query(Z, k + as_new)
        if as_new:
            known = distances[:, :1] == 0.0
            distances, points = (np.where(known, found[:, 1:], found[:, :-1]) for found in (distances, points))
        return points, shepard_weights(distances)


def _build(
    X: Any,
    labeled: NDArray[np.bool_] | None,
    settings: GeometrySettings,
    earlier: Geometry | None = None,
    stale: set[str] | None = None,
) -> Geometry:
    """Build a geometry, stage by stage as the paper has it; what is not stale is that of an earlier one."""

    def fresh(stage: str) -> bool:
        return earlier is None or stale is None or stage in stale

    index = stages.index(X, settings) if fresh("index") or earlier is None else earlier.index
    if fresh("regularizer") or earlier is None:
        known = None if earlier is None or fresh("graph") else earlier.graph
        W, Q = stages.regularize(index, settings, known)  # section 2: the graph; sections 2 and 4.1: the regulariser
    else:
        W, Q = earlier.graph, earlier.regularizer
    if fresh("landmarks") or earlier is None:
        S = piece("landmarks", partial(stages.choose_landmarks, X, labeled, settings))  # sections 3 and 5.1
    else:
        S = earlier.landmarks
    kept = {} if earlier is None or stale is None else _kept_restrictions(earlier, settings, stale)
    give_back()
    restrictions = stages.restrict(Q, S, settings, kept)  # eq. 7, Theorem 4.4
    worst = max(restrictions.values(), key=lambda restriction: restriction.error_bound)
    if restrictions.keys() - kept.keys():
        warn_about(Q, worst, settings.eps, labeled)
    give_back()
    geometry = Geometry(index, W, Q, S, settings, labeled, restrictions)
    if allowance() is None:  # otherwise after the labels have been learnt: it would lie beside their columns
        geometry.prepare_queries()
    return geometry


def _kept_restrictions(earlier: Geometry, settings: GeometrySettings, stale: set[str]) -> Mapping[int, Restriction]:
    """Return the blocks of an earlier geometry that still hold."""
    hold = "restrictions" not in stale or (
        stale == {"restrictions"} and changes_only_powers(earlier.settings, settings)
    )
    return earlier._restrictions if hold else {}
