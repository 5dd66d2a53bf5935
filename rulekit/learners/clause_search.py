"""Local search for plain clauses: the best set of codes of every column for one clause, the others staying.

A clause is a mapping from columns to sets of codes, all of which must hold; a row is worth its gain where some clause
covers it. For a clause only the rows count that no other clause covers, so one histogram of their gains over the codes
of all columns gives the best condition of each column exactly: a prefix, a suffix or an interval of the values of an
ordered column (one bound is one literal), any set of levels of a category. Gains are whole numbers, so that every sum
is exact and the same in any order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binning import BinnedColumn
from rulekit.learners.codes import Codes
from rulekit.learners.compiling import compiled
from rulekit.learners.counting import Bools, Floats, Ints

Clause = dict[int, Bools]

_ROUNDS = 30
_SWEEPS = 4


def covered(clause: Clause, codes: Codes, n: int) -> Bools:
    """The rows [n] on which all conditions of a clause hold."""
    rows = np.ones(n, dtype=bool)
    for column, condition in clause.items():
        rows &= condition[codes[column]]
    return rows


def condition_literals(column: BinnedColumn, condition: Bools) -> int:
    """The literals of a set of codes: its bounds where it is an interval of numbers, else one."""
    if column.feature.kind != "numeric" or not condition[1:].any():
        return 1
    return max(1, int(not condition[1]) + int(not condition[-1]))


def clause_literals(clause: Clause, columns: Sequence[BinnedColumn]) -> int:
    """The literals of a clause."""
    return sum(condition_literals(columns[column], condition) for column, condition in clause.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the codes of the searched columns stand in one histogram: offset of each, ordered ones as a padded table.

    searched: the columns; ordered: places in `searched`; table [ordered, B]: histogram places of the codes 1, 2, ...
    (the last place, always 0, beyond the last code); length: how many codes; bound_cost: literals of a second bound.
    """

    searched: Ints
    offset: Ints
    size: int
    ordered: Ints
    table: Ints
    length: Ints
    second_bound: Floats
    nominal: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClauseSearch:
    """columns; codes [n]; gain [n], whole numbers; cost: of a literal, in gains; least: fewest rows of a clause.

    stacked [n, searched]: the codes of the searched columns, each from its offset.
    """

    columns: tuple[BinnedColumn, ...]
    codes: Codes
    gain: Floats
    cost: float
    layout: _Layout
    stacked: npt.NDArray[np.int32]

    @classmethod
    def over(cls, columns: tuple[BinnedColumn, ...], codes: Codes, searched: Ints) -> ClauseSearch:
        """A search in some of the columns, of which there is one at least; as yet no row is worth anything."""
        layout = _layout(columns, searched)
        n = len(codes[int(searched[0])])
        stacked = np.empty((n, len(searched)), dtype=np.int32)
        for place, (column, offset) in enumerate(zip(searched.tolist(), layout.offset.tolist(), strict=True)):
            stacked[:, place] = codes[column]
            stacked[:, place] += offset
        return cls(columns, codes, np.zeros(n), 0.0, layout, stacked)

    def with_gain(self, gain: Floats, cost: float) -> ClauseSearch:
        """The search where the rows are worth `gain` [n], and a literal costs `cost`."""
        return replace(self, gain=gain, cost=cost)

    def histogram(self, rows: Ints, gains: Floats) -> tuple[Floats, Ints]:
        """The sum of the gains [rows] and the number of the rows with each code of each column [size + 1]."""
        sums, counts = np.zeros(self.layout.size + 1), np.zeros(self.layout.size + 1, dtype=np.int64)
        kernel = compiled(add_by_code)
        if kernel is not None:
            kernel(self.stacked, rows, gains, sums, counts)
            return sums, counts
        places = self.stacked[rows].ravel()
        sums += np.bincount(places, np.repeat(gains, self.stacked.shape[1]), len(sums))
        counts += np.bincount(places, minlength=len(counts))
        return sums, counts

    def value(self, clause: Clause, free: Bools) -> float:
        """What a clause is worth on the rows that no other covers, less its literals."""
        rows = covered(clause, self.codes, len(self.gain)) & free
        return float(self.gain[rows].sum()) - self.cost * clause_literals(clause, self.columns)

    def improved(self, clause: Clause, free: Bools, room: float) -> tuple[Clause, float]:
        """A clause, with at most `room` literals, that no change of one condition or exchange of two makes better."""
        best = self.value(clause, free)
        rows = np.flatnonzero(free)
        for _ in range(_ROUNDS):
            found = self._best_change(clause, rows, room, best)
            if found is None:
                break
            clause, best = found
        return clause, best

    def _best_change(self, clause: Clause, rows: Ints, room: float, least: float) -> tuple[Clause, float] | None:
        truth = {column: condition[self.codes[column][rows]] for column, condition in clause.items()}
        failing = np.zeros(len(rows), dtype=np.int16)
        for holds in truth.values():
            failing += ~holds
        lengths = {column: condition_literals(self.columns[column], held) for column, held in clause.items()}
        literals = sum(lengths.values())
        best, found = least + 1e-9 * (1.0 + abs(least)), None
        for dropped in (None, *clause):
            inside = rows[failing == 0] if dropped is None else rows[failing == ~truth[dropped]]
            kept = {column: condition for column, condition in clause.items() if column != dropped}
            left = literals - (0 if dropped is None else lengths[dropped])
            least = best + self.cost * left
            value, column, condition = self._best_condition(inside, set(kept), room - left, least)
            value -= self.cost * left
            if value > best:
                best, found = value, kept if condition is None else {**kept, column: condition}
        return None if found is None else (found, best)

    def _best_condition(
        self, rows: Ints, taken: set[int], room: float, least: float = -np.inf
    ) -> tuple[float, int, Bools | None]:
        """The best further condition on rows, as value, column and codes (None: none beats none, and `least`)."""
        layout = self.layout
        gains = self.gain[rows]
        sums, counts = self.histogram(rows, gains)
        present = counts > 0
        best: tuple[float, int, Bools | None] = (float(gains.sum()), -1, None)
        if room < 1:
            return best
        free = np.array([column not in taken for column in layout.searched.tolist()], dtype=bool)
        if len(layout.ordered):
            value, place, kind = _best_interval(layout, sums, present, self.cost, room, free)
            if value > max(best[0], least):
                column = int(layout.searched[layout.ordered[place]])
                best = value, column, _interval_condition(layout, sums, present, place, kind, self.columns[column])
        for place in layout.nominal:
            start = int(layout.offset[place])
            column = int(layout.searched[place])
            inside = slice(start, start + self.columns[column].n_codes)
            held = sums[inside] > 0
            if not free[place] or not held.any() or not (present[inside] & ~held).any():
                continue
            value = float(sums[inside][held].sum()) - self.cost
            if value > max(best[0], least):
                best = value, column, held
        return best

    def tightened(self, clauses: list[Clause]) -> list[Clause]:
        """The clauses without levels that they need for no row: together they cover the same rows.

        A level of which every row is covered by other clauses too may stand in a condition or not; without it the
        condition says less that nothing in the data supports.
        """
        n = len(self.gain)
        rows = [covered(clause, self.codes, n) for clause in clauses]
        times = np.zeros(n, dtype=np.int16)
        for held in rows:
            times += held
        tight = []
        for clause, held in zip(clauses, rows, strict=True):
            own = np.flatnonzero(held & (times == 1))
            shorter = {column: self._needed(column, condition, own) for column, condition in clause.items()}
            times -= held
            times += covered(shorter, self.codes, n)
            tight.append(shorter)
        return tight

    def _needed(self, column: int, condition: Bools, rows: Ints) -> Bools:
        """Of a set of levels those that some of the rows have; any other condition as it is."""
        if self.columns[column].ordered or not len(rows):
            return condition
        found = np.zeros_like(condition)
        found[self.codes[column][rows]] = True
        return condition & found

    def total(self, clauses: Sequence[Clause]) -> float:
        """What clauses are worth together, less their literals."""
        some = np.zeros(len(self.gain), dtype=bool)
        for clause in clauses:
            some |= covered(clause, self.codes, len(some))
        literals = sum(clause_literals(clause, self.columns) for clause in clauses)
        return float(self.gain[some].sum()) - self.cost * literals

    def run(self, clauses: list[Clause], room: float) -> list[Clause]:
        """The clauses after sweeps over all of them, without those that are not worth their literals."""
        n = len(self.gain)
        rows = [covered(clause, self.codes, n) for clause in clauses]
        times = np.zeros(n, dtype=np.int16)
        for held in rows:
            times += held
        for _ in range(_SWEEPS):
            changed = False
            for k in range(len(clauses) - 1, -1, -1):
                free = (times - rows[k]) == 0
                others = 0
                if room < np.inf:
                    others = sum(clause_literals(clause, self.columns) for i, clause in enumerate(clauses) if i != k)
                before = self.value(clauses[k], free)
                clause, value = self.improved(clauses[k], free, room - others)
                if value <= 0.0:
                    times -= rows[k]
                    del clauses[k], rows[k]
                    changed = True
                elif value > before + 1e-9 * (1.0 + abs(before)):
                    times -= rows[k]
                    clauses[k], rows[k] = clause, covered(clause, self.codes, n)
                    times += rows[k]
                    changed = True
            if not changed:
                break
        return clauses


def add_by_code(stacked: Any, rows: Any, gains: Any, sums: Any, counts: Any) -> None:
    """Add the gain [rows] of each row, and one, at the place of each of its codes: stacked [n, columns]."""
    for i in range(len(rows)):
        for j in range(stacked.shape[1]):
            place = stacked[rows[i], j]
            sums[place] += gains[i]
            counts[place] += 1


def _layout(columns: Sequence[BinnedColumn], searched: Ints) -> _Layout:
    sizes = np.array([columns[column].n_codes for column in searched.tolist()], dtype=np.int64)
    offset = np.cumsum(sizes) - sizes
    size = int(sizes.sum())
    places = range(len(searched))
    ordered = np.array([p for p in places if columns[int(searched[p])].ordered], dtype=np.int64)
    length = sizes[ordered] - 1
    table = np.full((len(ordered), int(length.max(initial=1))), size, dtype=np.int64)
    for i, place in enumerate(ordered.tolist()):
        table[i, : length[i]] = offset[place] + 1 + np.arange(length[i])
    numeric = np.array([columns[int(searched[p])].feature.kind == "numeric" for p in ordered.tolist()])
    nominal = tuple(p for p in places if not columns[int(searched[p])].ordered)
    return _Layout(searched, offset, size, ordered, table, length, numeric.astype(np.float64), nominal)


_PREFIX, _SUFFIX, _INTERVAL, _KNOWN = range(4)


def _best_interval(
    layout: _Layout, sums: Floats, present: Bools, cost: float, room: float, free: Bools
) -> tuple[float, int, int]:
    """The best interval of codes of an ordered column, missing on the better side: value, row of the table, kind."""
    below = _below(layout, sums)
    total = below[:, -1]
    missing = sums[layout.offset[layout.ordered]]
    known = np.where(present[layout.offset[layout.ordered]], np.maximum(missing, 0.0), 0.0)
    inner = (np.arange(below.shape[1]) >= 1) & (np.arange(below.shape[1]) < layout.length[:, None])
    prefix = np.where(inner, below, -np.inf).max(axis=1)
    suffix = total - np.where(inner, below, np.inf).min(axis=1)
    lowest = np.minimum.accumulate(below, axis=1)
    interval = (below - lowest).max(axis=1)
    second = 1.0 + layout.second_bound
    values = np.stack(
        [
            prefix + known - cost,
            suffix + known - cost,
            np.where(second <= room, interval + known - second * cost, -np.inf),
            np.where(missing < 0.0, total - cost, -np.inf),
        ]
    )
    values[:, ~free[layout.ordered]] = -np.inf
    place = int(np.argmax(values.max(axis=0)))
    kind = int(np.argmax(values[:, place]))
    return float(values[kind, place]), place, kind


def _below(layout: _Layout, sums: Floats) -> Floats:
    """The gain [ordered, B + 1] of the codes below each cut; the place beyond the last code holds 0."""
    steps = np.cumsum(sums[layout.table], axis=1)
    return np.concatenate([np.zeros((len(steps), 1)), steps], axis=1)


def _interval_condition(
    layout: _Layout, sums: Floats, present: Bools, place: int, kind: int, column: BinnedColumn
) -> Bools:
    """The codes of the chosen interval; a cut inside a gap that no row fills lies in its middle."""
    start, length = int(layout.offset[layout.ordered[place]]), int(layout.length[place])
    below = _below(layout, sums)[place, : length + 1]
    filled = present[start + 1 : start + 1 + length]
    first, last = 0, length
    if kind == _PREFIX:
        last = _middle(1 + int(np.argmax(below[1:-1])), filled)
    elif kind == _SUFFIX:
        first = _middle(1 + int(np.argmin(below[1:-1])), filled)
    elif kind == _INTERVAL:
        last = int(np.argmax(below - np.minimum.accumulate(below)))
        first = int(np.argmin(below[: last + 1]))
        first, last = _middle(first, filled) if first else 0, _middle(last, filled) if last < length else length
    condition = np.zeros(column.n_codes, dtype=bool)
    condition[1 + first : 1 + last] = True
    condition[0] = kind != _KNOWN and bool(present[start]) and bool(sums[start] > 0.0)
    return condition


def _middle(cut: int, filled: Bools) -> int:
    """The middle of the run of cuts that part the same rows, from `cut` up."""
    beyond = np.flatnonzero(filled[cut:])
    most = cut + (int(beyond[0]) if len(beyond) else 0)
    return (cut + most) // 2
