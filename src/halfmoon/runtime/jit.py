"""The decorators of compiled functions, so that caching, the GIL and what is compiled are decided in one place.

Wrappers for callers that do not exist would take a quarter of the time of compilation: no compiled function is called
from C, and `inner` ones are called by other compiled functions only.
"""

from functools import partial

import numba

__all__ = ["fast_inner_njit", "fast_njit", "inner_njit", "njit"]

# Compiled functions trust their callers, hold no Python objects and are compiled at first use, never at import.
# Division by zero gives infinity or NaN, as in numpy: callers look at their results anyway.
njit = partial(numba.njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
inner_njit = partial(njit, no_cpython_wrapper=True)

SUMS_IN_ANY_ORDER = {"reassoc", "contract", "nsz"}  # inf and nan stay what they are
fast_njit = partial(njit, fastmath=SUMS_IN_ANY_ORDER)
fast_inner_njit = partial(inner_njit, fastmath=SUMS_IN_ANY_ORDER)
