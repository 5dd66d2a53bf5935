"""Weights on a grid that leave every row of training on its side of a unit: the shortest ones that do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS
from rulekit.learners.ltu.exact.lattice import Lattice, NearRows, fits
from rulekit.learners.ltu.exact.near_rows import SidedRows, gap
from rulekit.learners.ltu.exact.parts import RealUnit
from rulekit.learners.ltu.units import Unit

_TURN = 0.125  # of the length of the weights
_SMALL = 32  # largest whole numbers that are tried one by one, each with some lengths of the weights
_OFFSETS = (0.0, -0.25, 0.25, 0.4)
_MOST_BITS = 44
_FURTHER = 8.0  # how much larger numbers are looked for, that sums may fit a single


def rounded_unit(unit: RealUnit, rows: SidedRows) -> Unit | None:
    """The unit with weights, rounded columns and a bias on a grid; it decides as before on all of the rows.

    Weights are as short as the rows allow, but turn the plane by no more than an eighth of their length, so that a few
    rows do not make it another one. Sums fit the 24 bits of a single where they can, else the 53 of a double. None
    where no such grid parts the rows.
    """
    best: Unit | None = None
    until, near = math.inf, NearRows.of(unit, rows)
    for lattice in _lattices(unit):
        if lattice.most > until:
            break
        while (terms := lattice.coarsest_terms(near)) is not None:
            if best is not None and not fits(Unit(terms, 0.0), SINGLE_BITS):
                break
            sums = rows.rows.sums(Unit(terms, 0.0))
            low, high = gap(sums, rows.fires)
            if low >= high:
                rows = rows.with_crossing(sums)
                near = NearRows.of(unit, rows)
                continue
            found = Unit(terms, -lattice.threshold(low, high))
            if fits(found, SINGLE_BITS):
                return found
            if best is None and fits(found, DOUBLE_BITS):
                best, until = found, lattice.most * _FURTHER
            break
    return best


def nearest_unit(unit: RealUnit) -> Unit:
    """The unit on a grid as fine as sums of a double allow: for planes that are nearer to rows than any grid is."""
    for bits in range(_MOST_BITS, 1, -1):
        lattice = Lattice.of(unit, 2.0**bits)
        found = Unit(lattice.terms(bits), -lattice.near_threshold(2.0**-bits))
        if fits(found, DOUBLE_BITS):
            break
    return found


def _lattices(unit: RealUnit) -> Iterator[Lattice]:
    """Weights to try, the shortest first."""
    small = [size + offset for size in range(1, _SMALL + 1) for offset in _OFFSETS]
    before = None
    for size in (*small, *(2.0**bits for bits in range(6, _MOST_BITS + 1))):
        lattice = Lattice.of(unit, size)
        if lattice.weights != before and lattice.turn <= _TURN:
            before = lattice.weights
            yield lattice
