"""The literals that a rule may get: of every column the best cuts and sets of levels, judged all at once.

Ordered codes are added up as they stand, the others in the order of the step that suits them best, from the strongest
against to the strongest for the positive class. Every partial sum is a literal: the codes up to one that has rows,
those after it, or that one alone and all but it; each without what is unknown, the codes that have no place, and with
it, where there is any. The sums are integers, and each gain is computed one operation at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Floats, Ints
from rulekit.learners.additive.literals import Block, Layout, Literal, Literals, Penalties, RowNumbers, Values
from rulekit.learners.sums_of_rows.kernels import compiled_unless
from rulekit.schema import MISSING_CODE

GRADIENT, CURVATURE, WEIGHT = 0, 1, 2
_SET_PRICE = 5.0
_SHRINKING = 10.0


_NO_SUMS = np.zeros((0, 3), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A rule that may get one literal more: its rows, and the sign of its weight (0: either).

    sums [codes, 3]: over its rows, when they are asked for; total [3]: of all codes. left: the rows that it has not of
    another one, whose sums are known (of).
    """

    literals: Literals
    rows: RowNumbers
    sign: int = 0
    sums: Ints = field(default_factory=lambda: _NO_SUMS)
    total: Ints = field(default_factory=lambda: _NO_SUMS)
    left: RowNumbers | None = None
    of: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """A literal for the base of that number: the gain of the rule, its price taken off; sign: of the rule's weight."""

    value: float
    base: int
    literal: Literal
    sign: int


def extensions(layout: Layout, bases: Sequence[Base], over: Values, penalties: Penalties, most: int) -> list[Extension]:
    """The best literals for some bases, best first, at most so many; equal gains are the same rows, and stand once.

    Ties go to cuts, then the first option, base, column and code. None where the sums are certain of every row.
    """
    if over.total[CURVATURE] == 0:
        return []
    found = [
        kind(layout, bases, over, penalties)
        for kind, block in ((_cuts, layout.ordered), (_sets, layout.unordered))
        if len(block.places)
    ]
    flat = np.concatenate([judged.values.ravel() for judged, _ in found] or [np.zeros(0)])
    where = np.cumsum([0, *(judged.values.size for judged, _ in found)])
    best_first = [flat.argmax()] if most == 1 and len(flat) else np.argsort(-flat, kind="stable").tolist()
    taken: list[Extension] = []
    last = np.inf
    for place in best_first:
        value = float(flat[place])
        if value <= 0.0 or len(taken) == most:
            break
        if value == last:
            continue
        last = value
        kind = int(np.searchsorted(where, place, side="right")) - 1
        judged, literal_of = found[kind]
        at = np.unravel_index(place - int(where[kind]), judged.values.shape)
        option, base, column = (int(number) for number in at)
        literal, sign = literal_of(option, base, column), int(judged.signs[at])
        # a rule on a column that is to keep a promise does so only with a weight of this sign
        bound = layout.allowed.directions[literal.column] != 0 or layout.allowed.unknown[literal.column] > 0
        taken.append(Extension(value, base, literal, sign if bound else 0))
    return taken


_Kind = tuple["BestPartialSums", Callable[[int, int, int], Literal]]
"""The best literals of some columns, and the one of an option, a base and a column."""


def _cuts(layout: Layout, bases: Sequence[Base], over: Values, penalties: Penalties) -> _Kind:
    block = layout.ordered
    sums = np.array([base.sums.take(block.places, axis=0) for base in bases])
    judged = _judged(layout, block, sums, np.zeros(sums.shape[:2]), bases, over, penalties, alone=False)

    def literal(option: int, base: int, column: int) -> Literal:
        j = int(block.columns[column])
        first, last = (
            layout.columns[j].first_known,
            int(block.places[judged.at[option, base, column]] - layout.offsets[j]),
        )
        condition = np.zeros(layout.columns[j].n_codes, dtype=bool)
        above = option >= 2
        condition[slice(last + 1, None) if above else slice(first, last + 1)] = True
        condition[:first] = option % 2 == 1
        return Literal(j, condition, 1 if above else -1)

    return judged, literal


def _sets(layout: Layout, bases: Sequence[Base], over: Values, penalties: Penalties) -> _Kind:
    """Levels in the order of gradient over curvature, shrunk towards that of the base, and a price for long lists.

    A list of s of L levels is one of many: it costs as much as there are ways to choose it, beyond those for one level.
    """
    block, within = layout.unordered, layout.unordered.within
    sums = np.array([base.sums.take(block.places, axis=0) for base in bases])
    hidden = block.places - layout.offsets[block.columns][within] < layout.allowed.unknown[block.columns][within]
    if hidden.any():
        sums[:, hidden] = 0
    scaled = sums * over.units
    total = np.array([base.total for base in bases]) * over.units
    mean = (total / np.maximum(total[:, [WEIGHT]], 1e-300))[:, None]
    shrunk = scaled + _SHRINKING * mean
    ratio = shrunk[..., GRADIENT] / np.maximum(shrunk[..., CURVATURE], 1e-300)
    order = np.argsort(within + 0.5 + 0.49 * ratio / (1.0 + np.abs(ratio)), axis=1, kind="stable")
    ranked = np.take_along_axis(sums, order[..., None], axis=1)
    present = ranked[..., WEIGHT] > 0
    counted = np.cumsum(present, axis=1)
    before = np.concatenate([np.zeros((len(bases), 1), dtype=np.int64), counted], axis=1)[:, block.starts[:-1]]
    size = counted - before[:, within]
    levels = size[:, block.starts[1:] - 1][:, within]
    ways = layout.ways[levels] - layout.ways[size] - layout.ways[levels - size] - np.log(np.maximum(levels, 1))
    prices = 2.0 * _SET_PRICE * np.maximum(ways, 0.0)
    judged = _judged(layout, block, ranked, prices, bases, over, penalties, alone=True)

    def literal(option: int, base: int, column: int) -> Literal:
        at, begin, end = int(judged.at[option, base, column]), int(block.starts[column]), int(block.starts[column + 1])
        codes, seen = order[base, begin:end] - begin, sums[base, begin:end, WEIGHT] > 0
        held = np.zeros(end - begin, dtype=bool)
        held[codes[: at - begin + 1] if option < 4 else codes[at - begin : at - begin + 1]] = True
        held &= seen
        if option // 2 % 2:
            held = seen & ~held
        # The shorter list is written; levels that no row of the rule has are not on it.
        if 2 * int(held.sum()) > int(seen.sum()):
            held |= ~seen
            held[MISSING_CODE] &= seen[MISSING_CODE]
        j = int(block.columns[column])
        if layout.allowed.unknown[j]:
            held[: int(layout.allowed.unknown[j])] = option % 2 == 1
        return Literal(j, held, 0)

    return judged, literal


# The kernel -----------------------------------------------------------------------------------------------------------


OPTIONS = 8
"""2 k + 1 is option 2 k with what is unknown; k: the codes up to one, those after it, that one, all others."""


class BestPartialSums(NamedTuple):
    """By option, base and column [8, bases, columns]: the largest value, at which code, and the sign of the weight."""

    values: Floats
    at: Ints
    signs: npt.NDArray[np.int8]


def _judged(
    layout: Layout,
    block: Block,
    sums: Ints,
    prices: Floats,
    bases: Sequence[Base],
    over: Values,
    penalties: Penalties,
    *,
    alone: bool,
) -> BestPartialSums:
    """The best partial sums; -inf where there is none. Of equals the first code is taken.

    sums [bases, codes, 3]; prices [bases, codes]: of the sets up to a code; alone: whether single codes count.
    """
    allowed = layout.allowed
    barred = np.zeros((len(bases), len(block.columns)), dtype=bool)  # which columns may not join
    if len(allowed.apart):
        for b, base in enumerate(bases):
            beside = [j for literal in base.literals for j in literal.reads or (literal.column,)]
            barred[b] = allowed.apart[block.columns][:, beside].any(axis=1)
    directions = allowed.directions[block.columns] * (not alone)  # codes after one are to speak for (1) or against (-1)
    against = allowed.unknown[block.columns] > 0  # what is unknown may stand in literals that speak against only
    signs = np.array([base.sign for base in bases], dtype=np.int64)  # that a weight must have (0: either)
    fixed = np.array([2.0 * penalties.per_literal * len(base.literals) for base in bases])  # the price of any literal
    least = int(np.ceil(penalties.least / over.units[WEIGHT] - 1e-9))
    totals = np.array([base.total for base in bases])
    shape = (OPTIONS, len(bases), len(block.columns))
    found = BestPartialSums(np.full(shape, -np.inf), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int8))
    where = totals, over.total, over.units, block.starts, penalties.damping, least
    _judge(sums, *where, signs, directions, against, barred, prices, fixed, alone, *found)
    return found


def _judge_at_once(
    sums: Any, totals: Any, everything: Any, units: Any, starts: Any, damping: float, least: int, signs: Any,
    directions: Any, against: Any, barred: Any, prices: Any, fixed: Any, alone: bool, best: Any, at: Any, sign: Any,
) -> None:  # fmt: skip
    sizes = np.diff(starts)
    within = np.repeat(np.arange(len(sizes)), sizes)
    below = np.cumsum(sums, axis=1)
    before = np.concatenate([np.zeros_like(below[:, :1]), below], axis=1)[:, starts[:-1]]
    below = below - before[:, within]
    known = below[:, starts[1:] - 1]
    unknown, known = (totals[:, None] - known)[:, within], known[:, within]
    base, rest = everything[0] * units[0], everything[1] * units[1]
    place = np.arange(sums.shape[1])
    for option in range(8 if alone else 4):
        part = below if option < 4 else sums
        inside = part if option // 2 % 2 == 0 else known - part
        inside = inside + unknown if option % 2 else inside
        gradient, curvature, weight = inside[..., 0] * units[0], inside[..., 1] * units[1], inside[..., 2]
        share = curvature / rest
        away = gradient - base * share
        value = away * away / (curvature * (1.0 - share) + damping) - fixed[:, None]
        value = value - prices if option < 4 else value
        own = np.where(away < 0.0, 1, -1)
        legal = (weight >= least) & (everything[2] - weight >= least) & (weight < totals[:, None, 2])
        legal &= sums[..., 2] > 0
        if option % 2:
            legal &= (unknown[..., 2] > 0) | against[within]
        legal &= ~barred[:, within] & ((signs[:, None] == 0) | (own == signs[:, None]))
        legal &= ~against[within] | (own == (-1 if option % 2 else 1))
        way = directions[within] * (1 if option // 2 % 2 else -1)
        legal &= (way == 0) | (own == way)
        value = np.where(legal, value, -np.inf)
        best[option] = np.maximum.reduceat(value, starts[:-1], axis=1)
        first = np.where(value == best[option][:, within], place, len(place))
        at[option] = np.minimum(np.minimum.reduceat(first, starts[:-1], axis=1), len(place) - 1)
        sign[option] = np.take_along_axis(own, at[option], axis=1)


@compiled_unless(_judge_at_once)
def _judge(
    sums: Any, totals: Any, everything: Any, units: Any, starts: Any, damping: float, least: int, signs: Any,
    directions: Any, against: Any, barred: Any, prices: Any, fixed: Any, alone: bool, best: Any, at: Any, sign: Any,
) -> None:  # fmt: skip
    base, rest = everything[0] * units[0], everything[1] * units[1]
    for b in range(sums.shape[0]):
        for c in range(len(starts) - 1):
            if barred[b, c]:
                continue
            known = np.zeros(3, dtype=np.int64)
            for k in range(starts[c], starts[c + 1]):
                for s in range(3):
                    known[s] += sums[b, k, s]
            below = np.zeros(3, dtype=np.int64)
            step = 1 if against[c] or totals[b, 2] > known[2] else 2
            for k in range(starts[c], starts[c + 1]):
                for s in range(3):
                    below[s] += sums[b, k, s]
                if sums[b, k, 2] == 0:
                    continue
                for option in range(0, 8 if alone else 4, step):
                    over = option // 2 % 2
                    g = below[0] if option < 4 else sums[b, k, 0]
                    h = below[1] if option < 4 else sums[b, k, 1]
                    w = below[2] if option < 4 else sums[b, k, 2]
                    if over:
                        g, h, w = known[0] - g, known[1] - h, known[2] - w
                    if option % 2:
                        g += totals[b, 0] - known[0]
                        h += totals[b, 1] - known[1]
                        w += totals[b, 2] - known[2]
                    if w < least or everything[2] - w < least or w >= totals[b, 2]:
                        continue
                    curvature = h * units[1]
                    share = curvature / rest
                    away = g * units[0] - base * share
                    value = away * away / (curvature * (1.0 - share) + damping) - fixed[b]
                    if option < 4:
                        value = value - prices[b, k]
                    if value <= best[option, b, c]:
                        continue
                    own = 1 if away < 0.0 else -1
                    if signs[b] != 0 and own != signs[b]:
                        continue
                    if against[c] and own != (-1 if option % 2 else 1):
                        continue
                    way = directions[c] * (1 if over else -1)
                    if way != 0 and own != way:
                        continue
                    best[option, b, c] = value
                    at[option, b, c] = k
                    sign[option, b, c] = own
