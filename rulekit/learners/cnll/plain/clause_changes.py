"""The best change of one clause, from histograms: each condition dropped or not, and the best further one.

Compiled, and with numpy for all ordered columns at once; sums are of whole numbers and thus exact, so that both give
the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints

PREFIX, SUFFIX, INTERVAL, KNOWN, LEVELS = range(5)
"""What a condition may be: codes to a cut, from a cut, between two, all but the missing, or levels of a category."""


def change_with_numpy(
    sums: Floats,
    counts: Ints,
    totals: Floats,
    lefts: Ints,
    places: Ints,
    ordered: Ints,
    nominal: Ints,
    offset: Ints,
    sizes: Ints,
    second: Floats,
    cost: float,
    room: float,
    best: float,
) -> tuple[int, int, int, float]:
    """As `best_change`, for all ordered columns at once."""
    found, found_place, found_kind = -1, -1, 0
    for part in range(len(totals)):
        base = cost * float(lefts[part])
        least, left = best + base, room - float(lefts[part])
        value, place, kind = float(totals[part]), -1, 0
        taken = np.delete(places, part - 1) if part else places
        if left >= 1:
            untaken = ~np.isin(ordered, taken)
            free = ordered[untaken]
            if len(free):
                other, at, which = _best_interval(
                    sums[part],
                    counts[part] > 0,
                    offset[free],
                    sizes[free],
                    second[untaken],
                    cost,
                    left,
                )
                if other > max(value, least):
                    value, place, kind = other, int(free[at]), which
            for at in nominal[~np.isin(nominal, taken)].tolist():
                inside = slice(int(offset[at]), int(offset[at] + sizes[at]))
                held, present = sums[part, inside] > 0, counts[part, inside] > 0
                if not held.any() or not (present & ~held).any():
                    continue
                other = float(sums[part, inside][held].sum()) - cost
                if other > max(value, least):
                    value, place, kind = other, at, LEVELS
        value -= base
        if value > best:
            best, found, found_place, found_kind = value, part, place, kind
    return found, found_place, found_kind, best


def _best_interval(
    sums: Floats, present: Bools, offset: Ints, sizes: Ints, second: Floats, cost: float, room: float
) -> tuple[float, int, int]:
    """The best interval of codes of an ordered column, missing on the better side: value, which column, kind."""
    step = np.arange(int(sizes.max()))
    table = np.where(step < sizes[:, None] - 1, offset[:, None] + 1 + step, len(sums) - 1)
    below = np.cumsum(sums[table], axis=1)
    below = np.concatenate([np.zeros((len(below), 1)), below], axis=1)
    total = below[:, -1]
    missing = sums[offset]
    known = np.where(present[offset], np.maximum(missing, 0.0), 0.0)
    cuts = np.arange(below.shape[1])
    inner = (cuts >= 1) & (cuts < sizes[:, None] - 1)
    prefix = np.where(inner, below, -np.inf).max(axis=1)
    suffix = total - np.where(inner, below, np.inf).min(axis=1)
    interval = (below - np.minimum.accumulate(below, axis=1)).max(axis=1)
    values = np.stack(
        [
            prefix + known - cost,
            suffix + known - cost,
            np.where(second <= room, interval + known - second * cost, -np.inf),
            np.where(missing < 0.0, total - cost, -np.inf),
        ]
    )
    place = int(np.argmax(values.max(axis=0)))
    kind = int(np.argmax(values[:, place]))
    return float(values[kind, place]), place, kind


def condition_of(kind: int, sums: Floats, present: Bools) -> Bools:
    """The codes of the chosen kind of one column, from its gains and which codes rows have, both [n_codes].

    A cut inside a gap that no row fills lies in its middle.
    """
    if kind == LEVELS:
        return sums > 0
    below, filled, length = np.concatenate([np.zeros(1), np.cumsum(sums[1:])]), present[1:], len(sums) - 1
    first, last = 0, length
    if kind == PREFIX:
        last = _middle(1 + int(np.argmax(below[1:-1])), filled)
    elif kind == SUFFIX:
        first = _middle(1 + int(np.argmin(below[1:-1])), filled)
    elif kind == INTERVAL:
        last = int(np.argmax(below - np.minimum.accumulate(below)))
        first = int(np.argmin(below[: last + 1]))
        first, last = _middle(first, filled) if first else 0, _middle(last, filled) if last < length else length
    condition = np.zeros(len(sums), dtype=bool)
    condition[1 + first : 1 + last] = True
    condition[0] = kind != KNOWN and bool(present[0]) and bool(sums[0] > 0.0)
    return condition


def _middle(cut: int, filled: Bools) -> int:
    """The middle of the run of cuts that part the same rows, from `cut` up."""
    beyond = np.flatnonzero(filled[cut:])
    most = cut + (int(beyond[0]) if len(beyond) else 0)
    return (cut + most) // 2


def best_change(
    sums: Any,
    counts: Any,
    totals: Any,
    lefts: Any,
    places: Any,
    ordered: Any,
    nominal: Any,
    offset: Any,
    sizes: Any,
    second: Any,
    cost: float,
    room: float,
    best: float,
) -> Any:
    """The best of all changes: part (-1: none beats `best`), place (-1: no further condition), kind, value.

    sums, counts [parts, size + 1], totals, lefts [parts]: gains, rows and literals without the condition of the part.
    """
    found, found_place, found_kind = -1, -1, 0
    taken = np.zeros(len(offset), dtype=np.bool_)
    for part in range(len(totals)):
        for j in range(len(places)):
            taken[places[j]] = True
        if part > 0:  # the condition of the part itself is dropped, so its column is free
            taken[places[part - 1]] = False
        base = cost * lefts[part]
        least = best + base
        value, place, kind = totals[part], -1, 0
        if room - lefts[part] >= 1:
            most, most_place, most_kind = -np.inf, -1, 0
            for k in range(len(ordered)):
                if taken[ordered[k]]:
                    continue
                start = offset[ordered[k]]
                length = sizes[ordered[k]] - 1
                missing = sums[part, start]
                known = missing if counts[part, start] > 0 and missing > 0.0 else 0.0
                below, lowest, interval = 0.0, 0.0, 0.0
                highest_cut, lowest_cut = -np.inf, np.inf
                for code in range(1, length + 1):
                    below += sums[part, start + code]
                    lowest = min(lowest, below)
                    interval = max(interval, below - lowest)
                    if code < length:
                        highest_cut = max(highest_cut, below)
                        lowest_cut = min(lowest_cut, below)
                here, which = highest_cut + known - cost, PREFIX
                other = below - lowest_cut + known - cost
                if other > here:
                    here, which = other, SUFFIX
                if second[k] <= room - lefts[part]:
                    other = interval + known - second[k] * cost
                    if other > here:
                        here, which = other, INTERVAL
                if missing < 0.0:
                    other = below - cost
                    if other > here:
                        here, which = other, KNOWN
                if here > most:
                    most, most_place, most_kind = here, ordered[k], which
            if most > max(value, least):
                value, place, kind = most, most_place, most_kind
            for k in range(len(nominal)):
                if taken[nominal[k]]:
                    continue
                start = offset[nominal[k]]
                some, outside, total = False, False, 0.0
                for at in range(start, start + sizes[nominal[k]]):
                    if sums[part, at] > 0.0:
                        some = True
                        total += sums[part, at]
                    elif counts[part, at] > 0:
                        outside = True
                if some and outside and total - cost > max(value, least):
                    value, place, kind = total - cost, nominal[k], LEVELS
        value -= base
        if value > best:
            best, found, found_place, found_kind = value, part, place, kind
    return found, found_place, found_kind, best
