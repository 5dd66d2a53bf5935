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


def done(ran: Ran) -> Ran:
    """What a command gave back that ended well."""
    assert ran.status == 0, ran.out + ran.err
    return ran


def assert_refused(ran: Ran, *words: str) -> None:
    assert ran.status == 2, (ran.out, ran.err)
    last = ran.err.strip().splitlines()[-1]
    assert last.startswith("rulekit: ")
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    for word in words:
        assert word in last, last
