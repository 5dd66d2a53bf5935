"""What running the command gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    """Exit status, standard output, standard error."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]
