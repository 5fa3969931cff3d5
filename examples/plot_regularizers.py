"""
Regularisers: power, ridge, diffusion
=====================================

A regulariser Q says what a smooth function on the graph is. Its inverse, the Green's function, shows how far a label
at one vertex reaches. Here the graph is a chain of 200 vertices and the label sits in the middle, so that the whole
function can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from halfmoon import restrict
from halfmoon.plotting.style import color, line
from halfmoon.regularizers import HeatRegularizer, PowerRegularizer

n = 200
chain = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n))


def reach(Q):
    """Return the Green's function of Q between the middle and every vertex, scaled to 1 at its peak."""
    column = restrict(Q, np.arange(n)).greens[n // 2]
    return column / column.max()


figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained", sharey=True)
for number, power in enumerate((1, 2, 3)):
    axes[0].plot(
        reach(PowerRegularizer(chain, power=power, ridge=1e-2)),
        color=color(number),
        linestyle=line(number),
        label=f"p = {power}",
    )
axes[0].set_title("(L_norm + 0.01 I)^p")
for number, ridge in enumerate((1e-1, 1e-2, 1e-3)):
    axes[1].plot(
        reach(PowerRegularizer(chain, power=2, ridge=ridge)),
        color=color(number),
        linestyle=line(number),
        label=f"ridge = {ridge:g}",
    )
axes[1].set_title("(L_norm + ridge I)^2")
for number, t in enumerate((10.0, 100.0, 1000.0)):
    axes[2].plot(reach(HeatRegularizer(chain, t=t)), color=color(number), linestyle=line(number), label=f"t = {t:g}")
axes[2].set_title("exp(t L_norm)")
for ax in axes:
    ax.set_xlabel("vertex")
    ax.legend(frameon=False)
plt.show()

# %%
# * A higher power is smoother at the label: the peak loses its kink.
# * A lower ridge reaches farther: on a chain about ``1 / sqrt(2 ridge)`` steps for p = 1, which is 7 for 1e-2.
# * Diffusion spreads like a Gaussian of ``sqrt(t)`` steps and forgets everything beyond.
