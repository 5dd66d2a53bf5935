"""The kernel of the search: of each column the best partial sum of its codes, as they were put in a row.

Every partial sum is a literal: the codes up to one that has rows, those after it, or that one alone and all but it;
each without what is unknown, the codes that have no place, and with it, where there is any. The sums are integers, and
each gain is computed one operation at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled_unless

OPTIONS = 8
"""2 k + 1 is option 2 k with what is unknown; k: the codes up to one, those after it, that one, all others."""


class Judged(NamedTuple):
    """By option, base and column [8, bases, columns]: the largest value, at which code, and the sign of the weight."""

    values: Floats
    at: Ints
    signs: npt.NDArray[np.int8]


class Asked(NamedTuple):
    """What is judged.

    sums [bases, codes, 3], totals [bases, 3], everything [3]: of gradient, curvature and weight over the rows of each
    base and all rows, as integers; units [3]: what these are worth. starts [columns + 1]: of the codes of each column.
    damping, least: see Penalties, the latter as an integer. signs [bases]: that a weight must have (0: either).
    directions [columns]: 1 or -1 where codes after one are to speak for or against. against [columns]: whether what is
    unknown may stand in literals that speak against only. barred [bases, columns]: which columns may not join.
    prices [bases, codes]: of the sets up to a code; fixed [bases]: of any literal. alone: whether single codes count.
    """

    sums: Ints
    totals: Ints
    everything: Ints
    units: Floats
    starts: Ints
    damping: float
    least: int
    signs: Ints
    directions: Ints
    against: Bools
    barred: Bools
    prices: Floats
    fixed: Floats
    alone: bool


def judged(asked: Asked) -> Judged:
    """The best partial sums; -inf where there is none. Of equals the first code is taken."""
    shape = (OPTIONS, len(asked.sums), len(asked.starts) - 1)
    found = Judged(np.full(shape, -np.inf), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int8))
    _judge(*asked, *found)
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
