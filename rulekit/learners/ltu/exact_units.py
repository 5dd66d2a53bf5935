"""The exact units of a tree: conditions, least whole weights, or weights and columns on grids as coarse as rows allow.

Of a rounded unit a weight is a whole number times a power of two near to one over the spread of its column, so that one
whole number more or less matters about as much for every term. A column of few digits is added up as it is; another one
is rounded to a fraction of its spread. So all products are multiples of one power of two.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS, ZERO_GRID, grid_of
from rulekit.learners.data.binning import Codes
from rulekit.learners.ltu.inputs import COARSEST, FINEST, Inputs, Unit, UnitTerm, can_occur, real_unit, seen_codes
from rulekit.learners.ltu.trees import NONE, LTUTree
from rulekit.schema import MISSING_CODE

_DOUBT = 16.0  # times what doubles tell apart
MOST_CONDITIONS = 10
_TURN = 0.125  # of the length of the weights
_SMALL = 32  # largest whole numbers that are tried one by one, each with some lengths of the weights
_OFFSETS = (0.0, -0.25, 0.25, 0.4)
_MOST_BITS = 44
_FURTHER = 8.0  # how much larger numbers are looked for, that sums may fit a single
_NEAREST, _ADDED = 2048, 512


def exact_units(
    tree: LTUTree, inputs: Inputs, codes: Codes, n_rows: int, before: Bools | None = None
) -> tuple[Unit, ...]:
    """The units [m] of a tree over inputs as they are, as they decide: like the real ones on these n rows of codes.

    A unit over one column is a condition. One over few conditions has whole weights of the least total, with the same
    truth on all combinations that can occur. Any other is rounded so that all rows that come to it stay on their sides.
    before: the `seen_codes` of other rows, that were learned from before these.
    """
    seen = seen_codes(inputs, codes)
    seen = seen if before is None else seen | before
    found = list[Unit]()
    coming = {0: (codes, n_rows)}
    for k in range(tree.size):
        real, (rows, n) = real_unit(tree.weights[k], float(tree.biases[k]), inputs, seen), coming.pop(k)
        made = exact_unit(real, seen, rows, n)
        conditions = [term for term in made.terms if term.number is None]
        numbers = [term for term in made.terms if term.number is not None]
        conditions.sort(key=lambda term: (-term.weight, term.column))
        unit = Unit((*conditions, *numbers), made.bias)
        found.append(unit)
        children = (int(tree.shape.left[k]), int(tree.shape.right[k]))
        if children == (NONE, NONE):
            continue
        fires = unit.sums(rows, n) >= 0.0
        for child, side in zip(children, (~fires, fires), strict=True):
            if child != NONE:
                coming[child] = rows.take(side), int(np.count_nonzero(side))
    return tuple(found)


def exact_unit(real: Unit, seen: Bools, rows: Codes, n: int) -> Unit:
    """The unit as it decides; rows: those that come to it, n of them."""
    columns = {term.column for term in real.terms}
    if not columns:
        return Unit((), 1.0 if real.bias >= 0.0 else -1.0)
    if len(columns) == 1:
        return _condition_unit(real, seen)
    found = least_integer_unit(real, seen)
    if found is None:
        found = rounded_unit(real, rows, n) or rounded_unit(real, rows, n, _DOUBT * real.tolerance)
    if found is not None:
        return found
    # As fine as sums of a double allow: for planes that are nearer to rows than any grid is.
    for bits in range(_MOST_BITS, 1, -1):
        grid = WeightGrid.of(real, 2.0**bits)
        found = Unit(grid.terms(bits), -grid.near_threshold(2.0**-bits))
        if found.fits(DOUBLE_BITS):
            break
    assert found is not None
    return found


def _condition_unit(real: Unit, seen: Bools) -> Unit:
    """The unit over one column: the condition that its code is one of those where it fires."""
    column = real.terms[0].column
    holds = np.asarray(real.bias + sum(term.weight * term.values for term in real.terms) >= -real.tolerance)
    if not seen[column, MISSING_CODE] and real.terms[-1].number is None:
        holds[MISSING_CODE] = holds[MISSING_CODE + 1 :].all()
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    return Unit((UnitTerm(1.0, column, holds.astype(np.float64)),), -0.5)


def least_integer_unit(unit: Unit, seen: Bools) -> Unit | None:
    """The unit over conditions alone with the same truth on all combinations that can occur, of least whole weights.

    A sum of weights that are not negative is least on the minimal true points and largest on the maximal false ones,
    so that these alone are asked for (S. Muroga, Threshold Logic and Its Applications, 1971). Conditions of equal Chow
    parameters may change places without changing the function (C. K. Chow, On the Characterization of Threshold
    Functions, 1961), and get one weight.
    The bias is half-way between the sums of true and false combinations.
    None where the conditions are too many or where the program is not solved.
    """
    if unit.n_conditions < len(unit.terms) or len(unit.terms) > MOST_CONDITIONS:
        return None
    points, free = combinations(unit.terms, seen)
    holds = unit.bias + points @ unit.weights >= -unit.tolerance
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    weights = least_integers(points, holds, free)
    if weights is None:
        return None
    sums = points @ weights
    high, low = int(sums[holds].min()), int(sums[~holds].max())
    if low >= high:  # the program was solved with too much tolerance
        return None
    pairs = zip(weights.tolist(), unit.terms, strict=True)
    return Unit(tuple(UnitTerm(float(w), own.column, own.values) for w, own in pairs if w), -(low + high) / 2.0)


def combinations(conditions: Sequence[UnitTerm], seen: Bools) -> tuple[Bools, Bools]:
    """The combinations [s, k] of truth values that can occur, and which conditions [k] are alone in their column."""
    points = np.zeros((1, len(conditions)), dtype=bool)
    free = np.zeros(len(conditions), dtype=bool)
    for column in dict.fromkeys(condition.column for condition in conditions):
        own = [k for k, condition in enumerate(conditions) if condition.column == column]
        holds = np.stack([conditions[k].values > 0.0 for k in own], axis=1)
        patterns = np.unique(holds[can_occur(seen[column], len(holds))], axis=0)
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
    bits = np.unique(points @ (1 << np.arange(points.shape[1])))
    below = (bits[:, None] & bits[None, :]) == bits[None, :]  # [i, j]: j lies below i, or is it
    kept = bits[below.sum(axis=1) == 1]
    return np.asarray((kept[:, None] >> np.arange(points.shape[1])) & 1, dtype=bool)


def coarsest(unit: Unit, weights: Sequence[float], rows: Codes, fires: Bools) -> int | None:
    """How many binary places columns need so that weights [k] part rows; None where none are enough.

    fires [n]: whether the unit fires on the rows.
    """
    fixed, numbers = np.zeros(len(fires)), list[tuple[float, UnitTerm, Floats, Bools]]()
    for weight, term in zip(weights, unit.terms, strict=True):
        codes = rows[term.column]
        if term.number is not None:
            numbers.append((weight, term, term.values[codes], codes == MISSING_CODE))
        else:
            fixed += weight * term.values[codes]  # on a grid: the same in whatever order it is added
    if not _parted(fixed + sum(weight * values for weight, _, values, _ in numbers), fires):
        return None
    for places in range(COARSEST, FINEST + 1):
        sums = fixed.copy()
        for weight, term, values, missing in numbers:
            step, unknown = term.steps_at(places)
            sums += weight * np.where(missing, unknown, np.rint(values / step) * step)
        if _parted(sums, fires):
            return places
    return None


def _parted(sums: Floats, fires: Bools) -> bool:
    low, high = gap(sums, fires)
    return low < high


def rounded_unit(unit: Unit, rows: Codes, n: int, doubt: float = 0.0) -> Unit | None:
    """The unit with weights, rounded columns and a bias on a grid; it decides as before on all of the n rows.

    A row on the plane is above it, as far as rounding tells; rows within `doubt` of the plane, if it is above 0, are
    left out. Weights are as short as the rows allow, but turn the plane by no more than an eighth of their length, so
    that a few rows do not make it another one. Sums fit the 24 bits of a single where they can, else the 53 of a
    double. None where no such grid parts the rows.
    """
    margins = unit.sums(rows, n)
    if doubt > 0.0:
        kept = np.flatnonzero(np.abs(margins) > doubt)
        rows, margins = rows.take(kept), margins[kept]
    fires = margins >= -unit.tolerance
    close = np.concatenate([_least(np.abs(margins), np.flatnonzero(side), _NEAREST) for side in (fires, ~fires)])
    near = rows.take(close)
    best: Unit | None = None
    until = math.inf
    for grid in _grids(unit):
        if grid.most > until:
            break
        while (places := coarsest(unit, grid.weights, near, fires[close])) is not None:
            plain = Unit(grid.terms(places), 0.0)
            if not plain.fits(DOUBLE_BITS if best is None else SINGLE_BITS):
                break
            sums = plain.sums(rows, len(fires))
            low, high = gap(sums, fires)
            if low >= high:  # rows that are not among those near to the plane
                below, above = np.flatnonzero(fires & (sums <= low)), np.flatnonzero(~fires & (sums >= high))
                close = np.unique(np.concatenate([close, _least(sums, below, _ADDED), _least(-sums, above, _ADDED)]))
                near = rows.take(close)
                continue
            found = Unit(plain.terms, -grid.threshold(low, high))
            if found.fits(SINGLE_BITS):
                return found
            if best is None and found.fits(DOUBLE_BITS):
                best, until = found, grid.most * _FURTHER
            break
    return best


def _grids(unit: Unit) -> Iterator[WeightGrid]:
    small = [size + offset for size in range(1, _SMALL + 1) for offset in _OFFSETS]
    before = None
    for size in (*small, *(2.0**bits for bits in range(6, _MOST_BITS + 1))):
        grid = WeightGrid.of(unit, size)
        if grid.weights != before and grid.turn <= _TURN:
            before = grid.weights
            yield grid


@dataclass(frozen=True, slots=True, eq=False)
class WeightGrid:
    """Weights [k] of a unit: whole numbers times powers of two times one number; most: the largest whole number.

    length: of the weights; turn: how far the plane is turned, as a part of it; own: the threshold with which the unit
    is as far from the middle of all columns as the real one.
    """

    unit: Unit
    most: float
    weights: list[float]
    length: float
    turn: float
    own: float

    @classmethod
    def of(cls, unit: Unit, most: float) -> WeightGrid:
        """The weights times the number that makes the largest one so large, rounded."""
        real = unit.weights * unit.spreads
        scale = most / float(np.abs(real).max())
        whole = np.rint(real * scale)
        weights = readable((whole / unit.spreads).tolist())
        largest = int(np.abs(whole).argmax())
        factor = scale * weights[largest] * float(unit.spreads[largest] / whole[largest])
        real, given = real * factor, np.array(weights) * unit.spreads
        turn = float(np.linalg.norm(given - real) / np.linalg.norm(real))
        pairs = zip(weights, unit.terms, strict=True)
        moved = ((weight - term.weight * factor) * sum(term.bounds) / 2.0 for weight, term in pairs)
        own = math.fsum([-unit.bias * factor, *moved])
        return cls(unit, float(np.abs(whole).max()), weights, float(np.linalg.norm(given)), turn, own)

    def terms(self, places: int) -> tuple[UnitTerm, ...]:
        """The terms, columns being rounded to so many binary places of their spread."""
        both = zip(self.weights, self.unit.terms, strict=True)
        return tuple(term.rounded(weight, places) for weight, term in both if weight)

    def threshold(self, low: float, high: float) -> float:
        """A threshold above the largest sum of rows on one side, and at most the least one of the others.

        Where there are rows on one side only, that of the real unit is in the middle.
        """
        if math.isinf(low) and math.isinf(high):
            return self.near_threshold(1.0 / 16.0)
        if math.isinf(low):
            low = high - 2.0 * max(abs(high - self.own), self.length / 1024.0)
        if math.isinf(high):
            high = low + 2.0 * max(abs(self.own - low), self.length / 1024.0)
        numbers = self.unit.n_conditions < len(self.weights)
        return between(low, high) if numbers else (low + high) / 2.0

    def near_threshold(self, part: float) -> float:
        """A threshold that is nearer to that of the real unit than this part of the length of the weights."""
        return between(self.own - part * self.length, self.own + part * self.length)


def readable(weights: Sequence[float]) -> list[float]:
    """The weights times one positive number: whole numbers without a common divisor, or dyadic ones of fewer digits."""
    grid = min((grid_of(weight) for weight in weights), default=ZERO_GRID)
    if grid == ZERO_GRID:
        return list(weights)
    whole = [int(math.ldexp(weight, -grid)) for weight in weights]
    divisor = math.gcd(*whole)
    whole = [number // divisor for number in whole]
    sizes = Counter(map(abs, whole))  # of hundreds of weights most are equal

    def digits(places: int) -> int:
        return sum(times * len(repr(math.ldexp(size, -places)).removesuffix(".0")) for size, times in sizes.items())

    places = min(range(max(sizes).bit_length() + 1), key=digits)
    return [math.ldexp(number, -places) for number in whole]


def between(low: float, high: float) -> float:
    """A number of few bits in the middle half between two finite ones."""
    middle, quarter = (low + high) / 2.0, (high - low) / 4.0
    if low < 0.0 < high and abs(middle) <= quarter:
        return 0.0
    exponent = math.frexp(quarter)[1] + 1  # the coarsest multiple near the middle, if there is one so near
    while True:
        found = math.ldexp(round(math.ldexp(middle, -exponent)), exponent)
        if abs(found - middle) <= quarter:
            return found
        exponent -= 1


def gap(sums: Floats, fires: Bools) -> tuple[float, float]:
    """The largest sum of rows where a unit does not fire, and the least of those where it does."""
    return float(sums[~fires].max(initial=-np.inf)), float(sums[fires].min(initial=np.inf))


def _least(values: Floats, which: Ints, most: int) -> Ints:
    """Of some places those with the least values, at most so many, the least first."""
    own = values[which]
    if len(which) > most:
        kept = np.argpartition(own, most)[:most]
        which, own = which[kept], own[kept]
    return which[np.argsort(own, kind="stable")]
