"""Cuts at full resolution: after the search each bound of a rule moves to the best value near its bin.

The search sees a numeric column in few bins. A fine column of the same feature has a code for each value; it stands
behind the columns of the table, and no search looks at it. A bound may move within the two bins that it lies between,
where the rows that the other conditions and rules leave to it are worth most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.dates import cut_between
from rulekit.learners.binned.binning import BinnedColumn, bin_column
from rulekit.learners.binned.problem import Problem, with_columns
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.fitting.rule_sets import Clause, covered
from rulekit.tables.table import Table

_MOST_VALUES = 1 << 22
_SWEEPS = 2


def with_fine_columns(problem: Problem, table: Table) -> tuple[Problem, dict[int, int]]:
    """The problem with a fine column for each numeric one that has fewer bins than values, and which it is.

    table: the training rows. Fine columns stand in memory, wherever the others are; there is none where they are large.
    """
    numeric = [place for place, column in enumerate(problem.columns) if _has_values(column)]
    if len(problem.labels) * len(numeric) > _MOST_VALUES:
        return problem, {}
    fine, columns, arrays = dict[int, int](), list[BinnedColumn](), list[npt.NDArray[Any]]()
    for place in numeric:
        column = problem.columns[place]
        if np.array_equal(column.low[1:], column.high[1:]):
            continue  # each bin is one value
        values = table.arrays[column.index]
        own, codes = bin_column(column.feature, column.index, values, problem.weights, None)
        if own.n_codes > column.n_codes:
            fine[place] = len(problem.columns) + len(columns)
            columns.append(own)
            arrays.append(codes)
    return with_columns(problem, columns, arrays), fine


def _has_values(column: BinnedColumn) -> bool:
    return column.feature.kind == "numeric" and column.index >= 0


def refined(problem: Problem, rules: Sequence[Clause], gain: Floats, fine: Mapping[int, int]) -> list[Clause]:
    """The rules with their bounds at full resolution; gain [n]: what each row is worth to the rules that cover it.

    Bounds of several rules that may be the same number become the same one, the most readable.
    """
    clauses = [_at_fine_columns(clause, problem.columns, fine) for clause in rules]
    coarse, n = {mine: place for place, mine in fine.items()}, len(gain)
    held = [covered(clause, problem.codes, n) for clause in clauses]
    times = np.sum(held, axis=0, dtype=np.int16) if held else np.zeros(n, dtype=np.int16)
    bounds: dict[tuple[int, int, bool], _Bound] = {}
    for _ in range(_SWEEPS):
        changed = False
        for k, clause in enumerate(clauses):
            free = np.flatnonzero(times == held[k])
            for column in [column for column in clause if column in coarse]:
                rows = _left(clause, column, problem, free)
                moved, found = _moved(problem, column, problem.columns[coarse[column]], clause[column], rows, gain)
                bounds.update({(k, column, upper): bound for upper, bound in found.items()})
                if not np.array_equal(moved, clause[column]):
                    clause[column], changed = moved, True
            times -= held[k]
            held[k] = covered(clause, problem.codes, n)
            times += held[k]
        if not changed:
            break
    for (k, column, upper), cut in _shared(bounds, problem.columns).items():
        _put(clauses[k][column], cut, upper)
    return clauses


@dataclass(frozen=True, slots=True)
class _Bound:
    """A cut, as the number of values below it; all cuts from `least` to `most` part the same rows."""

    cut: int
    least: int
    most: int


def _shared(
    bounds: Mapping[tuple[int, int, bool], _Bound], columns: Sequence[BinnedColumn]
) -> dict[tuple[int, int, bool], int]:
    """One cut for all bounds of a column that leave a common one free, the most readable number among these."""
    cuts: dict[tuple[int, int, bool], int] = {}
    for column in sorted({place for _, place, _ in bounds}):
        own = sorted((bound.least, bound.most, key) for key, bound in bounds.items() if key[1] == column)
        while own:
            least, most, same = own[0][0], own[0][1], [own[0][2]]
            for low, high, key in own[1:]:
                if low <= most:
                    least, most = low, min(most, high)
                    same.append(key)
            own = [one for one in own if one[2] not in same]
            cuts |= dict.fromkeys(same, _readable(columns[column], least, most))
    return cuts


def _readable(column: BinnedColumn, least: int, most: int) -> int:
    """The cut at the most readable number between the values around the cuts from `least` to `most`."""
    try:
        number = cut_between(float(column.high[least]), float(column.low[most + 1]), column.feature)
    except ValueError:  # minus infinity beside the lowest number there is
        return (least + most) // 2
    return min(most, max(least, int(np.searchsorted(column.low[1:], number, side="right"))))


def _put(condition: Bools, cut: int, upper: bool) -> None:
    """Move one bound of an interval of values to a cut, in place."""
    held = np.flatnonzero(condition[1:])
    first, last = (int(held[0]), cut) if upper else (cut, int(held[-1]) + 1)
    if first < last:
        condition[1:] = False
        condition[1 + first : 1 + last] = True


def _left(clause: Clause, column: int, problem: Problem, rows: Ints) -> Ints:
    """Those of some rows that the other conditions of a rule leave to the one on a column."""
    for place, condition in clause.items():
        if place != column:
            rows = rows[condition[problem.codes[place][rows]]]
    return rows


def _at_fine_columns(clause: Clause, columns: Sequence[BinnedColumn], fine: Mapping[int, int]) -> Clause:
    """The same rule with conditions on fine columns where there are such."""
    found: Clause = {}
    for place, condition in clause.items():
        if place not in fine:
            found[place] = condition
            continue
        own = columns[fine[place]]
        # the bin of each value: the last one that begins at or below it
        inside = np.searchsorted(columns[place].low[1:], own.low[1:], side="right")
        found[fine[place]] = np.concatenate([condition[:1], condition[inside]])
    return found


def _moved(
    problem: Problem, column: int, coarse: BinnedColumn, condition: Bools, rows: Ints, gain: Floats
) -> tuple[Bools, dict[bool, _Bound]]:
    """An interval of the values of a fine column, its bounds moved to where its rows gain most.

    And these bounds: the lower one under False, the upper one under True.
    """
    own = problem.columns[column]
    codes = problem.codes[column][rows]
    sums = np.bincount(codes, gain[rows], own.n_codes)[1:]
    filled = np.bincount(codes, minlength=own.n_codes)[1:] > 0
    below = np.concatenate([np.zeros(1), np.cumsum(sums)])
    held = np.flatnonzero(condition[1:])
    found: dict[bool, _Bound] = {}
    if not len(held):
        return condition, found
    first, last = int(held[0]), int(held[-1]) + 1
    edges = np.append(np.searchsorted(own.low[1:], coarse.low[1:]), len(sums))
    if last < len(sums):
        found[True] = _best(below, filled, edges, first + 1, last, len(sums) - 1)
        last = found[True].cut
    if first > 0:
        found[False] = _best(-below, filled, edges, 1, first, last - 1)
        first = found[False].cut
    moved = np.zeros_like(condition)
    moved[0] = condition[0]
    moved[1 + first : 1 + last] = True
    return moved, found


def _best(below: Floats, filled: Bools, edges: Ints, least: int, cut: int, most: int) -> _Bound:
    """The best cut near one, from `least` to `most`; of cuts that part the same rows the middle one.

    below [values + 1]: what is to be large at the cut. filled [values]: whether rows have each value; edges: the cuts
    between bins.
    """
    place = int(np.searchsorted(edges, cut))
    low = max(least, int(edges[max(place - 1, 0)]))
    high = min(most, int(edges[min(place + 1, len(edges) - 1)]))
    if not low <= cut <= high:
        return _Bound(cut, cut, cut)
    near = below[low : high + 1]
    best = cut if near[cut - low] >= near.max() else low + int(np.argmax(near))
    # cuts on either side of values that no row has part the same rows
    beyond, before = np.flatnonzero(filled[best:]), np.flatnonzero(filled[:best])
    up = min(high, best + (int(beyond[0]) if len(beyond) else len(filled) - best))
    down = max(low, int(before[-1]) + 1 if len(before) else 0)
    return _Bound((down + up) // 2, down, up)
