"""A base kernel warped by a geometry: eq. 4 to 7 of the paper, frozen and callable."""

from __future__ import annotations

import copyreg
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon._validation import check_choice, check_features, check_real
from halfmoon.exceptions import AccuracyWarning
from halfmoon.geometry import Geometry, Restriction
from halfmoon.kernels._base import BaseKernel
from halfmoon.kernels._graph_extension import GraphExtension
from halfmoon.kernels._kernel_extension import KernelExtension
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.storable import storable

__all__ = ["LandmarkKernel", "WarpedKernel", "warp"]

Matrix = NDArray[np.float64]

EXTENSIONS = ("graph", "kernel")
OUTWEIGHED = 100.0  # A / eta against K_hat at eta = 1, found by measurement (docs/defaults.md)
MEDIAN_SAMPLE = 1000  # landmarks that the median heuristic of the RBF width looks at
SMOOTH_STRENGTH = 10.0  # times eta: beside a base kernel of its own the smooth extension is graph alone
LARGEST_ROUNDING = 1e-4  # of eq. 6 between the landmarks, without a warning


@storable
@dataclass(frozen=True)
class LandmarkKernel:
    """The base kernel K with its values K_hat on the landmarks: many warped kernels share one."""

    base: BaseKernel
    K_hat: Matrix

    @classmethod
    def resolve(
        cls, geometry: Geometry, base_kernel: Any, gamma: float | None, params: dict[str, Any] | None
    ) -> LandmarkKernel:
        """Return a checked base kernel on the landmarks of a geometry; a width that is not given follows from them."""
        X_S = geometry.landmark_points
        sample = X_S[:: -(-X_S.shape[0] // MEDIAN_SAMPLE)]  # rows may be sorted by class
        base = BaseKernel.resolve(base_kernel, gamma, params, sample)
        base.check_semidefinite(base(sample, sample))
        return cls(base, base(X_S, X_S))


def warp(
    geometry: Geometry,
    *,
    base_kernel: Any = "rbf",
    gamma: float | None = None,
    base_kernel_params: dict[str, Any] | None = None,
    eta: float = 1.0,
    eta_unit: float | None = None,
    power: int | None = None,
    extension: str = "graph",
    scale: str | None = "unit",
) -> WarpedKernel:
    """Return a base kernel warped by a geometry: functions that vary along its graph cost more (eq. 5).

    Parameters
    ----------
    geometry : Geometry
        What the data say.
    base_kernel, gamma, base_kernel_params
        The kernel K to warp, see :class:`halfmoon.DataDependentKernel`; or a `LandmarkKernel` of the same geometry.
    eta : float, default=1.0
        Strength of the regularisation, in units of `eta_unit`.
    eta_unit : float, default=None
        What eta = 1 means in eq. 5; None: 100 times the mean diagonal of Q^+ on the landmarks over that of the base
        kernel.
    power : int, default=None
        Which of the powers of the geometry; None: the first.
    extension : {"graph", "kernel"}, default="graph"
        Off the landmarks: through the interpolant of Theorem 3.2, or through the base kernel as in eq. 6.
    scale : {"unit", None}, default="unit"
        "unit": divided by its mean diagonal on the landmarks. None: the paper's formula.

    Returns
    -------
    WarpedKernel

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import Geometry
    >>> from halfmoon.kernels import warp
    >>> X = np.random.default_rng(2).normal(size=(60, 2))
    >>> geometry = Geometry.build(X, n_neighbors=8, n_landmarks=15, random_state=0)
    >>> weak, strong = (warp(geometry, eta=eta) for eta in (0.1, 10.0))        # no solve between them
    >>> weak(X[:3]).shape, bool(np.isclose(strong.diag(geometry.landmark_points).mean(), 1.0))
    ((3, 3), True)
    """
    check_choice("extension", extension, EXTENSIONS)
    if scale is not None:
        check_choice("scale", scale, ("unit",), advice="Or None for the formulas of the paper.")
    check_real("eta", eta, advice="eta = 0 is the base kernel.")
    known = isinstance(base_kernel, LandmarkKernel)
    on_landmarks = base_kernel if known else LandmarkKernel.resolve(geometry, base_kernel, gamma, base_kernel_params)
    restriction = geometry.restriction(power)
    unit = (
        _eta_unit(restriction, on_landmarks.K_hat)
        if eta_unit is None
        else check_real("eta_unit", eta_unit, strict=True)
    )
    kernel = WarpedKernel(geometry, on_landmarks, eta * unit, power, extension, scale)
    if isinstance(kernel.extension, KernelExtension):
        _warn_if_digits_are_lost(kernel.extension.rounding, eta, kernel)
    return kernel


@storable(kept=("factor", "graph_extension", "smooth_extension"))
@dataclass(frozen=True)
class WarpedKernel:
    """A data-dependent kernel: call it with one or two data matrices.

    Attributes
    ----------
    geometry : Geometry
        What the data say.
    landmark_kernel : LandmarkKernel
        The base kernel and its values on the landmarks.
    eta : float
        The eta of eq. 5.
    power : int or None
        Power of the regulariser.
    extension_name : {"graph", "kernel"}
        How it goes on off the landmarks.
    scale : {"unit", None}
        Whether the mean diagonal on the landmarks is 1.
    """

    geometry: Geometry
    landmark_kernel: LandmarkKernel
    eta: float
    power: int | None = None
    extension_name: str = "graph"
    scale: str | None = "unit"

    @property
    def base(self) -> BaseKernel:
        """K."""
        return self.landmark_kernel.base

    @property
    def K_hat(self) -> Matrix:
        """K on the landmarks."""
        return self.landmark_kernel.K_hat

    @property
    def restriction(self) -> Restriction:
        """Q^+ on the landmarks (eq. 7)."""
        return self.geometry.restriction(self.power)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what can be computed again; model files keep more, see `GraphExtension`."""
        return copyreg.__newobj__, (type(self),), without_caches(self)  # type: ignore[attr-defined]

    def appended(self, geometry: Geometry) -> WarpedKernel:
        """Return the kernel of a geometry with further rows; what is known on landmarks and old rows stays."""
        more = replace(self, geometry=geometry)
        for name in ("graph_extension", "smooth_extension"):
            if name in vars(self):
                vars(more)[name] = vars(self)[name].appended(geometry)
        return more

    @cached_property
    def kernel_extension(self) -> KernelExtension:
        """Eq. 6, whatever the extension of this kernel is."""
        return KernelExtension(self.base, self.geometry.landmark_points, self.K_hat, self.restriction, self.eta)

    @cached_property
    def graph_extension(self) -> GraphExtension:
        """The extension through the graph, whatever the extension of this kernel is."""
        return GraphExtension(self.geometry, self.power, self.K_hat, self.eta)

    @cached_property
    def smooth_extension(self) -> GraphExtension:
        """The graph extension without the modes, for models with an intercept and a base kernel of their own.

        It is warped ten times as strongly: what the base kernel has to add, these models weigh themselves.
        """
        return GraphExtension(self.geometry, self.power, self.K_hat, SMOOTH_STRENGTH * self.eta, with_modes=False)

    @property
    def extension(self) -> GraphExtension | KernelExtension:
        """The extension of this kernel, at the scale of eq. 6."""
        return self.graph_extension if self.extension_name == "graph" else self.kernel_extension

    @cached_property
    def factor(self) -> float:
        """What eq. 6 is multiplied by: 1 over its mean diagonal on the landmarks for scale="unit"."""
        if self.scale is None:
            return 1.0
        if self.extension_name == "graph":
            mean = float(np.mean(np.diagonal(self.graph_extension.K_SS)))
        else:
            mean = float(np.mean(self.kernel_extension.diag(self.geometry.landmark_points)))
        return 1.0 / mean if mean > 0.0 else 1.0

    def __call__(self, A: Any, B: Any = None) -> Matrix:
        """Return the kernel matrix of the rows of A and B; None means A."""
        A = check_features(A)
        if B is None:
            K = self.extension.gram(A, A)
            return self.factor * (K + K.T) / 2
        return self.factor * self.extension.gram(A, check_features(B))

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return K(a, a) for each row of A, without the matrix."""
        return self.factor * np.maximum(self.extension.diag(check_features(A)), 0.0)

    def distance(self, A: Any, B: Any = None) -> Matrix:
        """Return d(a, b) = sqrt(K(a, a) + K(b, b) - 2 K(a, b)), the kernel's metric (section 5.2)."""
        squared = self.diag(A)[:, None] + self.diag(A if B is None else B)[None, :] - 2 * self(A, B)
        if B is None:
            np.fill_diagonal(squared, 0.0)
        return np.sqrt(np.maximum(squared, 0.0))

    def error_bound(self) -> float:
        """Return the bound of Theorem 4.3 on ``|K - K_exact|`` for points with K(x, x) <= that of the landmarks.

        ``eta kappa^2 n_hat |dA| / (lambda (lambda - |dA|))``, with ``|dA|`` the verified spectral error of A, kappa the
        largest base-kernel value K(x, x) on the landmarks and lambda the smallest eigenvalue of A + eta K_hat.
        It holds for eq. 6; infinite where ``|dA| >= lambda``. The paper has kappa in place of its square, which is
        right for kappa = 1: the n_hat entries of k_x are at most kappa each.
        """
        r, K_hat = self.restriction, self.K_hat
        lowest = 1.0 / float(linalg.svdvals(r.inverse_root(self.eta * K_hat)[0])[0]) ** 2
        dA, kappa = r.spectral_error_bound, float(np.diagonal(K_hat).max())
        if dA >= lowest:
            return np.inf
        share = len(r.landmarks) * dA / (lowest - dA)
        return share * (self.eta * kappa / lowest) * (self.factor * kappa)  # kappa^2 may underflow


def _eta_unit(restriction: Restriction, K_hat: Matrix) -> float:
    """Return the eta of eq. 5 that counts as 1: a regulariser that outweighs the base kernel.

    eta Q_hat competes with K_hat^-1, that is A / eta with K_hat: their mean diagonals give the scale.
    """
    A = float(np.trace(restriction.smooth)) / len(restriction.landmarks)
    K = float(np.mean(np.diagonal(K_hat)))
    return OUTWEIGHED * A / K if A > 0.0 and K > 0.0 else 1.0


def _warn_if_digits_are_lost(rounding: float, eta: float, kernel: WarpedKernel) -> None:
    if rounding > LARGEST_ROUNDING:
        warnings.warn(
            f"eta = {eta:.3g} ({kernel.eta:.3g} in eq. 5) leaves so little of the base kernel between the "
            f"{len(kernel.geometry.landmarks)} landmarks that rounding is about {rounding:.1g} of it. Lower eta, use "
            "a narrower base kernel or fewer landmarks, or extension='graph'.",
            AccuracyWarning,
            stacklevel=4,
        )
