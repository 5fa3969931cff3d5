"""The eigenvalues of Q_hat: what the regulariser charges, from the smoothest function on the landmarks on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from halfmoon.plotting._reading import fitted_kernel, unwrap
from halfmoon.plotting.style import GREY, Display, color, draw_legend, line, marker

__all__ = ["SpectrumDisplay"]

MARKED = 20  # eigenvalues with a marker


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumDisplay(Display):
    """Eigenvalues of Q_hat on a logarithmic scale.

    Functions on the landmarks along the first eigenvectors are cheap, along the last ones dear. There is one
    eigenvalue near ridge^power n / n_hat a component of the graph; a wide gap behind further ones speaks for as many
    clusters.

    Parameters
    ----------
    eigenvalues : ndarray of shape (m,)
        Positive eigenvalues, ascending.
    n_components : int
        Components of the graph that hold a landmark.
    n_zero : int, default=0
        Eigenvalues that are 0 and cannot be drawn.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure that holds them.
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel
    >>> from halfmoon.plotting import SpectrumDisplay
    >>> X, _ = make_moons(200, noise=0.1, random_state=0)
    >>> kernel = DataDependentKernel(n_neighbors=8, n_landmarks=40, random_state=0).fit(X)
    >>> display = SpectrumDisplay.from_estimator(kernel)
    >>> len(display.eigenvalues)
    40
    """

    eigenvalues: NDArray[np.float64]
    n_components: int
    n_zero: int = 0
    name: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the spectrum of Q_hat of a fitted kernel or estimator.

        Parameters
        ----------
        estimator : fitted DataDependentKernel, LapSVC, LapRLS, KernelKMeans, LandmarkFeatures or SVC(kernel=kernel)
            Where Q_hat is.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **line_kw
            Passed to matplotlib's `plot`.

        Returns
        -------
        SpectrumDisplay
        """
        restriction = fitted_kernel(unwrap(estimator)).restriction_
        eigenvalues = restriction.Q_hat_eigenvalues
        display = cls(
            eigenvalues=eigenvalues,
            n_components=int((np.abs(restriction.modes).max(axis=0, initial=0.0) > 0.0).sum()),
            n_zero=len(restriction.landmarks) - len(eigenvalues),
            name=name,
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the spectrum; on axes that hold one already, in the next colour and line style.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **line_kw
            Passed to matplotlib's `plot`.

        Returns
        -------
        self
        """
        ax = self._take_axes(ax, (5.5, 3.6))
        number = sum(artist.get_gid() == "spectrum" for artist in ax.get_lines())
        sparsely = (number, max(1, len(self.eigenvalues) // MARKED))  # first and step; more would hide the line style
        look = {"color": color(number), "linestyle": line(number), "linewidth": 1.5}
        look |= {"marker": marker(number), "markersize": 4.5, "markevery": sparsely}
        places = np.arange(1, len(self.eigenvalues) + 1) + self.n_zero
        (self.line_,) = ax.plot(places, self.eigenvalues, gid="spectrum", **look | {"label": self._label} | line_kw)
        if self.n_components > 1:
            ax.axvline(self.n_components + 0.5, color=GREY, linewidth=0.9, linestyle=":")
            ax.annotate(
                f"{self.n_components} components",
                (self.n_components + 0.5, 0.02),
                xytext=(4, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=8,
                color="#4d5358",
            )
        ax.set(yscale="log", xlabel="number of the eigenvalue", ylabel=r"eigenvalue of $\hat{Q}$")
        if self.name is not None or self.n_zero:
            draw_legend(ax, [drawn for drawn in ax.get_lines() if drawn.get_gid() == "spectrum"], loc="lower right")
        return self

    @property
    def _label(self) -> str:
        zeros = f"{self.n_zero} eigenvalues are 0" if self.n_zero else ""
        return ", ".join(part for part in (self.name, zeros) if part) or "_spectrum"
