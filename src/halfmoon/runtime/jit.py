"""One `njit` for the whole package, so that caching and the GIL are decided in one place."""

from functools import partial

import numba

# Compiled functions trust their callers, hold no Python objects and are compiled at first use, never at import.
# Division by zero gives infinity or NaN, as in numpy: callers look at their results anyway.
njit = partial(numba.njit, cache=True, nogil=True, error_model="numpy")
fast_njit = partial(njit, fastmath={"reassoc", "contract", "nsz"})  # sums in any order; inf and nan stay what they are
