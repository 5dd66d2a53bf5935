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


def _mark_at_once(stacked: Any, places: Any, holds: Any, found: Any) -> None:
    found[:] = holds[stacked[:, places]].all(axis=1)


@compiled_unless(_mark_at_once)
def mark_covered(stacked: Any, places: Any, holds: Any, found: Any) -> None:
    """Mark the rows [n] on which all conditions hold; stacked [n, searched]: histogram places."""
    for i in range(len(found)):
        # Without a branch: which rows hold is not to be foreseen.
        inside = True
        for j in range(len(places)):
            inside &= holds[stacked[i, places[j]]]
        found[i] = inside


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


def _best_cut(own: Any, way: int, known: float, cost: float, between: float) -> Any:
    """The best condition on an ordered column, and of what kind it is.

    own [n_codes]: gains; way: 0, or the one in which cuts may go; known: of missing cells the gain, if they may hold;
    between: what an interval costs.
    """
    below, lowest, interval = 0.0, 0.0, 0.0
    highest_cut, lowest_cut = -np.inf, np.inf
    for code in range(1, len(own)):
        below += own[code]
        lowest = min(lowest, below)
        interval = max(interval, below - lowest)
        if code < len(own) - 1:
            highest_cut = max(highest_cut, below)
            lowest_cut = min(lowest_cut, below)
    here, which = highest_cut + known - cost if way <= 0 else -np.inf, PREFIX
    other = below - lowest_cut + known - cost
    if other > here and way >= 0:
        here, which = other, SUFFIX
    other = interval + known - between
    if other > here:
        here, which = other, INTERVAL
    other = below - cost
    if own[0] < 0.0 and other > here:
        here, which = other, KNOWN
    return here, which


def _best_change(
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
                start, way = offset[ordered[k]], directions[ordered[k]]
                own = sums[part, start : start + sizes[ordered[k]]]
                known = own[0] if own[0] > 0.0 and unknown[ordered[k]] == 0 else 0.0
                between = second[k] * cost if way == 0 and second[k] <= room - lefts[part] else np.inf
                here, which = _best_cut(own, way, known, cost, between)
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


best_change = compiled_unless(_best_change)(_best_change)
"""The interpreter runs it as it is until compiling pays."""
