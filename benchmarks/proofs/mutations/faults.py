"""A single fault in an exported artifact: where it can be put, and what it may make a difference to.

A site is one place of an artifact and one thing that can go wrong there. Its kind is one of KINDS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

KINDS = (
    "threshold one ulp",
    "operator flipped",
    "columns swapped",
    "rule dropped",
    "level changed",
    "default changed",
    "weight changed",
    "label changed",
    "negation",
)


@dataclass(frozen=True, slots=True)
class Site:
    """One possible fault.

    make gives the changed artifact. numbers: the constants before and after, where these are compared with something;
    texts: texts that mean something else after the change; mixed: a column may now be compared with the thresholds of
    another one; reads_text: how a text becomes a level may be another; mirrored: a column may be compared with minus a
    threshold. These say which rows beyond the cells of the graph must be looked at (benchmarks.proofs.mutations.truth).
    """

    kind: str
    what: str
    make: Callable[[], bytes]
    numbers: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    mixed: bool = False
    reads_text: bool = False
    mirrored: bool = False
