"""Products of matrices on one thread, so that what is computed does not depend on how many the machine has.

How many threads a library of linear algebra takes decides in which order it adds. Where matrices are small, threads
only wait for each other besides.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """While it lasts, numpy and scipy compute products on one thread."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limit


@cache
def _libraries() -> Any:
    """The libraries that numpy and scipy compute with, which must be loaded to be found."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
