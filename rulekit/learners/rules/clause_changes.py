"""The best change of one clause, and the sums that it is chosen from: each condition dropped or not, one more or not.

A condition is given by its place among the searched columns; `holds` marks the histogram places of the codes that the
conditions of a clause allow (each column has its own, so that one mask serves all). Sums are of whole numbers, and thus
exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.sums_of_rows.kernels import compiled_unless

PREFIX, SUFFIX, INTERVAL, KNOWN, LEVELS = range(5)
"""What a condition may be: codes to a cut, from a cut, between two, all but the missing, or levels of a category."""


def condition_of(kind: int, sums: Floats, present: Bools, unknown: int = 0, listed: float = 0.0) -> Bools:
    """The codes of the chosen kind of one column, from its gains and which codes rows have, both [n_codes].

    A cut inside a gap that no row fills lies in its middle. unknown: how many of the first codes never hold. listed:
    what each level must gain.
    """
    if kind == LEVELS:
        chosen = sums > listed
        chosen[:unknown] = False
        return np.asarray(chosen)
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
    condition[:unknown] = False
    return condition


def _middle(cut: int, filled: Bools) -> int:
    """The middle of the run of cuts that part the same rows, from `cut` up."""
    beyond = np.flatnonzero(filled[cut:])
    most = cut + (int(beyond[0]) if len(beyond) else 0)
    return (cut + most) // 2


def _add_by_failing_at_once(
    stacked: Any, rows: Any, gain: Any, places: Any, holds: Any, sums: Any, totals: Any
) -> None:
    fails = ~holds[stacked[rows][:, places]]
    few = np.count_nonzero(fails, axis=1) <= 1
    rows, part = rows[few], fails[few] @ np.arange(1, len(places) + 1)
    np.add.at(totals, part, gain[rows])
    flat = (part[:, None] * sums.shape[1] + stacked[rows]).reshape(-1)  # row after row, as the kernel adds
    np.add.at(sums.reshape(-1), flat, np.repeat(gain[rows], stacked.shape[1]))


@compiled_unless(_add_by_failing_at_once)
def add_by_failing(stacked: Any, rows: Any, gain: Any, places: Any, holds: Any, sums: Any, totals: Any) -> None:
    """Add the gain of each row at its codes, in part 0 where all conditions hold, in part 1 + j where but j holds."""
    for i in range(len(rows)):
        row = rows[i]
        failing, part = 0, 0
        for j in range(len(places)):
            fails = 1 - holds[stacked[row, places[j]]]
            failing += fails
            part += fails * (j + 1)
        if failing > 1:
            continue
        value = gain[row]
        totals[part] += value
        for c in range(stacked.shape[1]):
            sums[part, stacked[row, c]] += value


def _best_change_at_once(
    sums: Any, totals: Any, lefts: Any, prices: Any, places: Any, reads: Any, room: float, best: float
) -> Any:
    ordered, nominal, offset, _, _, _, _, apart, _, _ = reads
    taken = np.zeros((len(totals), len(offset)), dtype=np.bool_)
    for j, place in enumerate(places.tolist()):
        others = np.arange(len(totals)) != j + 1  # without the condition of a part its column is free
        taken[others, place] = True
        if len(apart):
            taken[others] |= apart[place]
    rooms = room - lefts
    cuts, kinds = _best_cuts(sums, reads, rooms)
    cuts[taken[:, ordered]] = -np.inf
    levels = _best_levels(sums, reads)
    levels[taken[:, nominal]] = -np.inf
    found, found_place, found_kind = -1, -1, 0
    for part, value in enumerate(totals.tolist()):
        base, place, kind = prices[part], -1, 0
        least = best + base
        if rooms[part] >= 1:
            for gains, columns in ((cuts[part], ordered), (levels[part], nominal)):
                if len(columns) and gains.max() > max(value, least):
                    k = int(gains.argmax())
                    value, place = float(gains[k]), int(columns[k])
                    kind = int(kinds[part, k]) if columns is ordered else LEVELS
        value -= base
        if value > best:
            best, found, found_place, found_kind = value, part, place, kind
    return found, found_place, found_kind, best


def _best_cuts(sums: Any, reads: Any, rooms: Any) -> tuple[Any, Any]:
    """What the best condition of each ordered column adds to each part, and of what kind it is: [parts, ordered]."""
    ordered, _, offset, sizes, second, directions, unknown, _, cost, _ = reads
    start, length, way = offset[ordered], sizes[ordered] - 1, directions[ordered]
    if not len(ordered):
        return np.zeros((len(rooms), 0)), np.zeros((len(rooms), 0), dtype=np.int64)
    # Shorter columns are filled up with what adds nothing: [parts, ordered, codes].
    code = np.arange(1, int(length.max()) + 1)
    inside = code <= length[:, None]
    below = np.where(inside, sums[:, np.where(inside, start[:, None] + code, 0)], 0.0).cumsum(axis=2)
    lowest = np.minimum(np.minimum.accumulate(below, axis=2), 0.0)
    interval = np.maximum((below - lowest).max(axis=2), 0.0)
    cut = code < length[:, None]
    highest_cut = np.where(cut, below, -np.inf).max(axis=2)
    lowest_cut = np.where(cut, below, np.inf).min(axis=2)
    missing, whole = sums[:, start], below[:, :, -1]
    known = np.where((missing > 0.0) & (unknown[ordered] == 0), missing, 0.0)
    here = np.where(way <= 0, highest_cut + known - cost, -np.inf)
    kinds = np.full(here.shape, PREFIX)
    fits = (way == 0) & (second <= rooms[:, None])
    for kind, other, allowed in (
        (SUFFIX, whole - lowest_cut + known - cost, way >= 0),
        (INTERVAL, interval + known - second * cost, fits),
        (KNOWN, whole - cost, missing < 0.0),
    ):
        better = allowed & (other > here)
        here[better], kinds[better] = other[better], kind
    return here, kinds


def _best_levels(sums: Any, reads: Any) -> Any:
    _, nominal, offset, sizes, _, _, unknown, _, cost, listed = reads
    found = np.full((len(sums), len(nominal)), -np.inf)
    for k, column in enumerate(nominal.tolist()):
        here = slice(offset[column], offset[column] + sizes[column])
        further = listed[column]
        taken = sums[:, here] > further
        taken[:, : unknown[column]] = False
        some = taken.any(axis=1)
        # One addition after the other, from the price of the condition on.
        gains = np.where(taken, sums[:, here] - further, 0.0)
        terms = np.concatenate([np.full((len(sums), 1), further - cost), gains], axis=1)
        found[some, k] = terms.cumsum(axis=1)[some, -1]
    return found


@compiled_unless(_best_change_at_once)
def best_change(
    sums: Any, totals: Any, lefts: Any, prices: Any, places: Any, reads: Any, room: float, best: float
) -> Any:
    """The best of all changes: part (-1: none beats `best`), place (-1: no further condition), kind, value.

    sums [parts, size + 1], totals, lefts, prices [parts]: gains, literals and what reading costs, without the condition
    of the part. reads: what the layout holds, the cost of a literal, and that of a level [columns].
    """
    ordered, nominal, offset, sizes, second, directions, unknown, apart, cost, listed = reads
    found, found_place, found_kind = -1, -1, 0
    taken = np.zeros(len(offset), dtype=np.bool_)
    for part in range(len(totals)):
        taken[:] = False
        for j in range(len(places)):
            if j + 1 == part:  # the condition of the part itself is dropped, so its column is free
                continue
            taken[places[j]] = True
            for k in range(len(apart)):
                if apart[places[j], k]:
                    taken[k] = True
        base = prices[part]
        least = best + base
        value, place, kind = totals[part], -1, 0
        if room - lefts[part] >= 1:
            most, most_place, most_kind = -np.inf, -1, 0
            for k in range(len(ordered)):
                if taken[ordered[k]]:
                    continue
                start = offset[ordered[k]]
                length = sizes[ordered[k]] - 1
                way = directions[ordered[k]]
                missing = sums[part, start]
                known = missing if missing > 0.0 and unknown[ordered[k]] == 0 else 0.0
                below, lowest, interval = 0.0, 0.0, 0.0
                highest_cut, lowest_cut = -np.inf, np.inf
                for code in range(1, length + 1):
                    below += sums[part, start + code]
                    lowest = min(lowest, below)
                    interval = max(interval, below - lowest)
                    if code < length:
                        highest_cut = max(highest_cut, below)
                        lowest_cut = min(lowest_cut, below)
                here, which = highest_cut + known - cost if way <= 0 else -np.inf, PREFIX
                other = below - lowest_cut + known - cost
                if other > here and way >= 0:
                    here, which = other, SUFFIX
                if way == 0 and second[k] <= room - lefts[part]:
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
                first = start + unknown[nominal[k]]
                further = listed[nominal[k]]
                some, total = False, further - cost
                for at in range(first, start + sizes[nominal[k]]):
                    if sums[part, at] > further:
                        some = True
                        total += sums[part, at] - further
                if some and total > max(value, least):
                    value, place, kind = total, nominal[k], LEVELS
        value -= base
        if value > best:
            best, found, found_place, found_kind = value, part, place, kind
    return found, found_place, found_kind, best
