"""The exact units of a tree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS
from rulekit.learners.data.codes import Codes
from rulekit.learners.ltu.exact.lattice import ComingRows, Lattice, NearRows, SidedRows, fits, gap
from rulekit.learners.ltu.exact.parts import NumberPart, RealUnit, Seen, real_unit
from rulekit.learners.ltu.inputs import Condition, Inputs
from rulekit.learners.ltu.shape import NONE
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.units import ConditionTerm, NumberTerm, Unit
from rulekit.learners.sums_of_rows.histograms import Bools, Ints
from rulekit.schema import MISSING_CODE

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


_DOUBT = 16.0  # times what doubles tell apart


def exact_units(
    tree: LTUTree, inputs: Inputs, codes: Codes, n_rows: int, grid: bool = True, before: Seen | None = None
) -> tuple[Unit, ...]:
    """The units [m] of a tree over inputs as they are, as they decide: like the real ones on these n rows of codes.

    A unit over one column is a condition. One over few conditions has whole weights of the least total, with the same
    truth on all combinations that can occur. Any other is rounded so that all rows that come to it stay on their sides.
    grid: columns are rounded too, so that sums are exact; else weights are the doubles that they are where there is a
    number. before: what other rows had, that were learned from before these.
    """
    seen = Seen.of(inputs, codes)
    seen = seen if before is None else seen.joined(before)
    found = list[Unit]()
    coming = {0: ComingRows(codes, n_rows)}
    for k in range(tree.size):
        real, rows = real_unit(tree.weights[k], float(tree.biases[k]), inputs, seen), coming.pop(k)
        unit = _ordered(exact_unit(real, seen, rows, grid))
        found.append(unit)
        children = (int(tree.shape.left[k]), int(tree.shape.right[k]))
        if children == (NONE, NONE):
            continue
        fires = rows.sums(unit) >= 0.0
        for child, side in zip(children, (~fires, fires), strict=True):
            if child != NONE:
                coming[child] = rows.take(np.flatnonzero(side))
    return tuple(found)


def exact_unit(real: RealUnit, seen: Seen, rows: ComingRows, grid: bool = True) -> Unit:
    """A real unit as it decides; rows: those that come to it."""
    columns = real.columns
    if not columns:
        return Unit((), 1.0 if real.bias >= 0.0 else -1.0)
    if len(columns) == 1:
        numbers = {part.column for part in real.numbers}
        return _condition_unit(real, columns[0], columns[0] in seen.missing | numbers)
    if real.numbers and not grid:
        return _free_unit(real)
    found = least_integer_unit(real, seen)
    for doubt in (0.0, _DOUBT * real.tolerance):
        if found is None:
            found = rounded_unit(real, SidedRows.of(real, rows, doubt))
    return nearest_unit(real) if found is None else found


def _ordered(unit: Unit) -> Unit:
    """The unit with the conditions of most weight first, those of one weight in the order of their columns."""
    conditions = [term for term in unit.terms if isinstance(term, ConditionTerm)]
    numbers = [term for term in unit.terms if isinstance(term, NumberTerm)]
    return Unit((*sorted(conditions, key=lambda term: (-term.weight, term.column)), *numbers), unit.bias)


def _condition_unit(real: RealUnit, column: int, with_missing: bool) -> Unit:
    """The unit over one column: the condition that its code is one of those where it fires."""
    holds = real.fires_by_code(column)
    known = holds[MISSING_CODE + 1 :]
    if not with_missing:
        holds[MISSING_CODE] = known.all()
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    return Unit((ConditionTerm(1.0, Condition(column, holds)),), -0.5)


def _free_unit(real: RealUnit) -> Unit:
    """The unit in doubles as they are, whose sums may be rounded."""
    heights = zip(real.heights.tolist(), real.conditions, strict=True)
    conditions = [ConditionTerm(height, condition) for height, condition in heights]
    return Unit((*conditions, *map(_free_term, real.numbers)), real.bias)


def _free_term(part: NumberPart) -> NumberTerm:
    missing = float(part.values[MISSING_CODE])
    return NumberTerm(part.weight, part.column, part.values, part.low, part.high, missing, 0.0)


MOST_CONDITIONS = 10


def least_integer_unit(unit: RealUnit, seen: Seen) -> Unit | None:
    """The unit over conditions alone with the same truth on all combinations that can occur, of least whole weights.

    A sum of weights that are not negative is least on the minimal true points and largest on the maximal false ones,
    so that these alone are asked for (S. Muroga, Threshold Logic and Its Applications, 1971). Conditions of equal Chow
    parameters may change places without changing the function (C. K. Chow, On the Characterization of Threshold
    Functions, 1961), and get one weight.
    The bias is half-way between the sums of true and false combinations.
    None where the conditions are too many or where the program is not solved.
    """
    if unit.numbers or len(unit.conditions) > MOST_CONDITIONS:
        return None
    points, free = combinations(unit.conditions, seen)
    holds = unit.bias + points @ unit.heights >= -unit.tolerance
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    weights = least_integers(points, holds, free)
    if weights is None:
        return None
    sums = points @ weights
    high, low = int(sums[holds].min()), int(sums[~holds].max())
    if low >= high:  # the program was solved with too much tolerance
        return None
    pairs = zip(weights.tolist(), unit.conditions, strict=True)
    return Unit(tuple(ConditionTerm(float(w), c) for w, c in pairs if w), -(low + high) / 2.0)


def combinations(conditions: Sequence[Condition], seen: Seen) -> tuple[Bools, Bools]:
    """The combinations [s, k] of truth values that can occur, and which conditions [k] are alone in their column."""
    points = np.zeros((1, len(conditions)), dtype=bool)
    free = np.zeros(len(conditions), dtype=bool)
    for column in dict.fromkeys(condition.column for condition in conditions):
        own = [k for k, condition in enumerate(conditions) if condition.column == column]
        holds = np.stack([conditions[k].holds for k in own], axis=1)
        patterns = np.unique(holds[seen.codes(column, len(holds))], axis=0)
        points = np.repeat(points, len(patterns), axis=0)
        points[:, own] = np.tile(patterns, (len(points) // len(patterns), 1))
        free[own] = len(patterns) == 2 and len(own) == 1
    return points, free


def least_integers(points: Bools, holds: Bools, free: Bools) -> Ints | None:
    """Whole weights [k] >= 0 of the least total that part the points [s, k] where `holds` from the others.

    free [k]: conditions that stand for themselves, of which those with equal Chow parameters get one weight.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    true, false = _minimal(points[holds]), ~_minimal(~points[~holds])
    chow = points[holds].sum(axis=0)
    _, of = np.unique(np.where(free, chow, -1 - np.arange(len(chow))), return_inverse=True)
    members = np.eye(of.max() + 1, dtype=np.int64)[of]  # [k, classes]
    rows = np.vstack([true @ members, -(false @ members)])
    rows = np.column_stack([rows, np.repeat([-1, 1], [len(true), len(false)])])  # the last variable: the threshold
    least = np.repeat([0.0, 1.0], [len(true), len(false)])
    cost = np.append(members.sum(axis=0), 0.0)
    whole = np.append(np.ones(members.shape[1]), 0.0)
    solved = milp(cost, integrality=whole, bounds=Bounds(0.0), constraints=LinearConstraint(rows, least))
    return None if solved.x is None else np.rint(members @ solved.x[:-1]).astype(np.int64)


def _minimal(points: Bools) -> Bools:
    """The points [m, k] with no other one below, each once."""
    bits = np.unique(points @ (1 << np.arange(points.shape[1])))
    below = (bits[:, None] & bits[None, :]) == bits[None, :]  # [i, j]: j lies below i, or is it
    kept = bits[below.sum(axis=1) == 1]
    return np.asarray((kept[:, None] >> np.arange(points.shape[1])) & 1, dtype=bool)
