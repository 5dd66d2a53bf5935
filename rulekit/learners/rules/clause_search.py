"""Local search for plain clauses: the best set of codes of every column for one clause, the others staying.

A clause is a mapping from columns to sets of codes, all of which must hold; a row is worth its gain where some clause
covers it. For a clause only the rows count that no other clause covers, so one histogram of their gains over the codes
of all columns gives the best condition of each column exactly: a prefix, a suffix or an interval of the values of an
ordered column (one bound is one literal), any set of levels of a category (of many levels each costs a literal).
Gains are whole numbers, so that every sum is exact and the same in any order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.models.plain import Clause
from rulekit.learners.promises.kept import Allowed, all_allowed
from rulekit.learners.rules.clause_changes import add_by_failing, best_change, condition_of
from rulekit.schema import FIRST_LEVEL_CODE

_ROUNDS = 30
_SWEEPS = 4
_KEPT = 128  # clauses of which the rows are kept
_FEW_LEVELS = 8
_LEVEL_PRICE = 1.0  # of a literal, for each further level of a list in a column of more: its reader reads them all


def condition_literals(column: BinnedColumn, condition: Bools) -> int:
    """The literals of a set of codes: its bounds where it is an interval of numbers, else one."""
    if column.feature.kind != "numeric" or len(condition) < 2 or condition[1] or condition[-1]:
        return 1
    return 2 if condition[1:].any() else 1


def level_price(column: BinnedColumn) -> float:
    """What each level of a list but the first costs its reader, in literals; nothing where levels are few."""
    return 0.0 if column.ordered or column.n_codes - FIRST_LEVEL_CODE <= _FEW_LEVELS else _LEVEL_PRICE


def condition_price(column: BinnedColumn, condition: Bools) -> float:
    """What a condition costs its reader, in literals: with them the levels that stand in a list."""
    further = max(0, int(np.count_nonzero(condition)) - 1)
    return condition_literals(column, condition) + level_price(column) * further


def clause_price(clause: Clause, columns: Sequence[BinnedColumn]) -> float:
    """What a clause costs its reader, in literals."""
    return sum(condition_price(columns[column], condition) for column, condition in clause.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the codes of the searched columns stand in one histogram (its last place is always 0).

    place_of: the place of each column among them; offset, sizes: where its codes begin, and how many they are; ordered,
    nominal: places; second: the literals of an interval; listed: what a level costs, in literals; allowed: of these.
    """

    searched: Ints
    place_of: dict[int, int]
    offset: Ints
    sizes: Ints
    size: int
    ordered: Ints
    nominal: Ints
    second: Floats
    listed: Floats
    allowed: Allowed

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], searched: Ints, allowed: Allowed) -> _Layout:
        own = [columns[column] for column in searched.tolist()]
        sizes = np.array([column.n_codes for column in own], dtype=np.int64)
        in_order = np.array([column.ordered for column in own], dtype=bool)
        second = np.array([2.0 if column.feature.kind == "numeric" else 1.0 for column in own])[in_order]
        listed = np.array([level_price(column) for column in own], dtype=np.float64)
        place_of = {column: place for place, column in enumerate(searched.tolist())}
        offset, size = np.cumsum(sizes) - sizes, int(sizes.sum())
        ordered, nominal = np.flatnonzero(in_order), np.flatnonzero(~in_order)
        return cls(searched, place_of, offset, sizes, size, ordered, nominal, second, listed, allowed.among(searched))


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """Of a clause the rows [n] on which it holds, and what each condition costs: literals, and literals with levels."""

    of: Clause
    rows: Bools
    literals: tuple[int, ...]
    prices: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClauseSearch:
    """columns; codes [n]; gain [n], whole numbers; cost: of a literal, in gains.

    stacked [n, searched]: the codes of the searched columns, each from its offset. allowed: which clauses may be found.
    known: facts of the clauses that were met last, by their identity: a clause is not changed once it was met.
    """

    columns: tuple[BinnedColumn, ...]
    codes: Codes
    gain: Floats
    cost: float
    layout: _Layout
    stacked: npt.NDArray[np.int32]
    allowed: Allowed
    known: dict[int, _Facts] = field(default_factory=dict)

    @classmethod
    def over(
        cls,
        columns: tuple[BinnedColumn, ...],
        codes: Codes,
        searched: Ints,
        gain: Floats,
        cost: float,
        allowed: Allowed | None = None,
    ) -> ClauseSearch:
        """A search in one column or more; what it begins with must be allowed (None: all is)."""
        allowed = allowed or all_allowed(len(columns))
        layout = _Layout.of(columns, searched, allowed)
        stacked = np.empty((len(codes[int(searched[0])]), len(searched)), dtype=np.int32)
        for place, (column, offset) in enumerate(zip(searched.tolist(), layout.offset.tolist(), strict=True)):
            stacked[:, place] = codes[column]
            stacked[:, place] += offset
        return cls(columns, codes, gain, cost, layout, stacked, allowed)

    def histogram(self, rows: Ints) -> Floats:
        """The sum of the gains of some rows with each code of each column [size + 1]."""
        sums, _ = self.by_failing(rows, {})
        return np.asarray(sums[0])

    def rows_of(self, clause: Clause) -> Bools:
        """The rows [n] on which all conditions of a clause hold; not to be changed."""
        return self._facts(clause).rows

    def _facts(self, clause: Clause) -> _Facts:
        found = self.known.get(id(clause))
        if found is None or found.of is not clause:
            if len(self.known) >= _KEPT:
                self.known.clear()
            places, holds = self._marked(clause)
            rows = np.asarray(holds[self.stacked[:, places]].all(axis=1))
            conditions = [(self.columns[column], condition) for column, condition in clause.items()]
            literals = tuple(condition_literals(*each) for each in conditions)
            prices = tuple(condition_price(*each) for each in conditions)
            found = self.known[id(clause)] = _Facts(clause, rows, literals, prices)
        return found

    def literals(self, clauses: Sequence[Clause]) -> int:
        """The literals of some clauses."""
        return sum(sum(self._facts(clause).literals) for clause in clauses)

    def _marked(self, clause: Clause) -> tuple[Ints, Bools]:
        layout = self.layout
        places, holds = np.empty(len(clause), dtype=np.int64), np.zeros(layout.size + 1, dtype=bool)
        for j, (column, condition) in enumerate(clause.items()):
            place = layout.place_of[column]
            places[j], start = place, int(layout.offset[place])
            holds[start : start + len(condition)] = condition
        return places, holds

    def value(self, clause: Clause, free: Bools) -> float:
        """What a clause is worth on the rows that no other covers, less what reading it costs."""
        return float(np.dot(self.gain, self.rows_of(clause) & free)) - self.price(clause)

    def price(self, clause: Clause) -> float:
        """What reading a clause costs, in gains."""
        return self.cost * sum(self._facts(clause).prices)

    def improved(self, clause: Clause, free: Bools, room: float, value: float | None = None) -> tuple[Clause, float]:
        """A clause, with at most `room` literals, that no change of one condition or exchange of two makes better.

        value: what the clause is worth, where it is known.
        """
        best = self.value(clause, free) if value is None else value
        rows = np.flatnonzero(free)
        for _ in range(_ROUNDS):
            found = self._best_change(clause, rows, room, best)
            if found is None:
                break
            clause, best = found
        return clause, best

    def _best_change(self, clause: Clause, rows: Ints, room: float, least: float) -> tuple[Clause, float] | None:
        layout = self.layout
        sums, totals = self.by_failing(rows, clause)
        facts = self._facts(clause)
        lefts, prices = _without_each(facts.literals), self.cost * _without_each(facts.prices)
        listed = self.cost * layout.listed
        least += 1e-9 * (1.0 + abs(least))
        of = layout.allowed
        own = layout.ordered, layout.nominal, layout.offset, layout.sizes, layout.second
        reads = (*own, of.directions, of.unknown, of.apart, self.cost, listed)
        places = np.array([layout.place_of[column] for column in clause], dtype=np.int64)
        part, place, kind, best = best_change(sums, totals, lefts, prices, places, reads, room, least)
        if part < 0:
            return None
        without = list(clause)[part - 1] if part > 0 else None
        changed = {column: condition for column, condition in clause.items() if column != without}
        if place >= 0:
            inside = slice(int(layout.offset[place]), int(layout.offset[place] + layout.sizes[place]))
            column, unknown = int(layout.searched[place]), int(layout.allowed.unknown[place])
            present = np.zeros(layout.sizes[place], dtype=bool)
            present[self.codes[column][rows[self.rows_of(changed)[rows]]]] = True
            condition = condition_of(kind, sums[part, inside], present, unknown, float(listed[place]))
            changed = {**changed, column: condition}
        return changed, float(best)

    def by_failing(self, rows: Ints, clause: Clause) -> tuple[Floats, Floats]:
        """Gains [1 + conditions, size + 1] by code, and in all, of those of some rows on which a clause holds.

        And of those on which all of its conditions but each do.
        """
        sums, totals = np.zeros((1 + len(clause), self.layout.size + 1)), np.zeros(1 + len(clause))
        add_by_failing(self.stacked, rows, self.gain, *self._marked(clause), sums, totals)
        sums[1:] += sums[0]
        totals[1:] += totals[0]
        return sums, totals

    def tightened(self, clauses: list[Clause]) -> list[Clause]:
        """The clauses without the levels all of whose rows other clauses cover too: together they cover the same."""
        rows = [self.rows_of(clause) for clause in clauses]
        times = np.sum(rows, axis=0, dtype=np.int16)
        tight = []
        for clause, held in zip(clauses, rows, strict=True):
            own = np.flatnonzero(held & (times == 1))
            shorter = {column: self._needed(column, condition, own) for column, condition in clause.items()}
            times -= held
            times += self.rows_of(shorter)
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
        """What clauses are worth together, less what reading them costs."""
        some = np.any([self.rows_of(clause) for clause in clauses], axis=0)
        return float(self.gain[some].sum()) - sum(self.price(clause) for clause in clauses)

    def run(self, clauses: list[Clause], room: float) -> list[Clause]:
        """The clauses after sweeps over all of them, without those that are not worth their literals."""
        times = np.sum([self.rows_of(clause) for clause in clauses], axis=0, dtype=np.int16)
        k, unchanged = 0, 0
        for _ in range(_SWEEPS * len(clauses)):
            if unchanged == len(clauses):
                break
            k = (k or len(clauses)) - 1
            before, own = clauses[k], self.rows_of(clauses[k])
            free = times == own
            others = self.literals(clauses[:k] + clauses[k + 1 :])
            worth = self.value(before, free)
            clause, value = self.improved(before, free, room - others, worth)
            if 0.0 < value <= worth + 1e-9 * (1.0 + abs(worth)):
                unchanged += 1
                continue
            times -= own
            if value <= 0.0:
                del clauses[k]
                unchanged = 0
            else:
                clauses[k], unchanged = clause, 1
                times += self.rows_of(clause)
        return clauses


def _without_each(numbers: Sequence[float]) -> Floats:
    return sum(numbers) - np.array([0.0, *numbers])


@dataclass(frozen=True, slots=True, eq=False)
class _Orders:
    """The orders [K, B] in which codes may be taken in, as histogram places; a place beyond all codes pads them.

    place [K]: of which searched column; fixed: how many orders come first that are not replaced by that of purity.
    """

    table: Ints
    place: Ints
    fixed: int


def purest_cover(
    search: ClauseSearch, most: int, room: float, enough: float, longest: int, alone: bool = False
) -> list[Clause]:
    """At most `most` clauses with at most `room` literals together, each grown for the rows that those before leave.

    longest: the most conditions of a clause. alone: a condition is one level of a category, not a set: where classes
    depend on pairs of levels, sets are broad and end in a few rows that are pure by chance. None where they are not
    worth `enough`: where labels are noisy, pure clauses are small, and as a rule the next one is no larger than those
    before it, so that this is soon known.
    """
    orders = _orders(search, alone)
    free = np.ones(len(search.gain), dtype=bool)
    clauses: list[Clause] = []
    worth, most_worth = 0.0, 0.0
    while len(clauses) < most:
        clause = _generalised(search, _grown(search, orders, np.flatnonzero(free), min(longest, room)), free)
        literals = search.literals([clause])
        # Levels come by purity here, also those that the search will leave out: they cost nothing yet.
        value = search.value(clause, free) + search.price(clause) - search.cost * literals
        if literals > room or value <= 0.0:
            break
        clauses.append(clause)
        worth += value
        most_worth = max(most_worth, value)
        if worth + (most - len(clauses)) * most_worth < enough:
            return []
        room -= literals
        free &= ~search.rows_of(clause)
    return clauses if worth >= enough else []


def _orders(search: ClauseSearch, alone: bool) -> _Orders:
    layout, ways = search.layout, search.layout.allowed.directions[:, None]
    begin, sizes, step = layout.offset[:, None], layout.sizes[:, None], np.arange(int(layout.sizes.max()))
    up = np.where((step < sizes - 1) & (ways <= 0), begin + 1 + step, layout.size)
    down = np.where((step < sizes - 1) & (ways >= 0), begin + sizes - 1 - step, layout.size)
    known = (step < sizes) & (step >= layout.allowed.unknown[:, None])
    levels, place = np.where(known, begin + step, layout.size)[layout.nominal], layout.nominal
    if alone:
        of, at = np.nonzero(levels < layout.size)
        single = np.full((len(of), len(step)), layout.size)
        single[:, 0] = levels[of, at]
        levels, place = single, place[of]
    table = np.concatenate([up[layout.ordered], down[layout.ordered], levels])
    fixed = len(table) if alone else 2 * len(layout.ordered)
    return _Orders(table, np.concatenate([layout.ordered, layout.ordered, place]), fixed)


def _grown(search: ClauseSearch, orders: _Orders, rows: Ints, room: float) -> Clause:
    clause: Clause = {}
    while len(clause) < room:
        found = _purest_condition(search, orders, rows, clause)
        if found is None:
            break
        column, clause[column] = found
        rows = rows[clause[column][search.codes[column][rows]]]
    return clause


def _purest_condition(search: ClauseSearch, orders: _Orders, rows: Ints, clause: Clause) -> tuple[int, Bools] | None:
    """The best further condition, as column and codes; None where the rows are pure or nothing makes them purer."""
    gain = search.gain[rows]
    all_gains, all_losses = float(np.maximum(gain, 0.0).sum()), float(np.maximum(-gain, 0.0).sum())
    if all_gains <= 0.0 or all_losses <= 0.0:
        return None
    gains, losses = search.histogram(rows[gain > 0.0]), -search.histogram(rows[gain < 0.0])
    places = _sorted_by_purity(orders, gains, losses)
    p, q = np.cumsum(gains[places], axis=1), np.cumsum(losses[places], axis=1)
    some = (p > 0.0) & (p + q < (all_gains + all_losses))
    share = p / np.where(some, p + q, 1.0)
    score = np.where(some, p * (share - all_gains / (all_gains + all_losses)), 0.0)
    layout = search.layout
    score[layout.allowed.taken_by([layout.place_of[column] for column in clause])[orders.place]] = 0.0
    at = int(np.argmax(score))
    if score.flat[at] <= 0.0:
        return None
    k, last = divmod(at, score.shape[1])
    place = int(orders.place[k])
    column, start = int(layout.searched[place]), int(layout.offset[place])
    condition = np.zeros(search.columns[column].n_codes, dtype=bool)
    codes = places[k, : last + 1] - start
    condition[codes[(codes >= layout.allowed.unknown[place]) & (codes < len(condition))]] = True
    return column, condition


def _sorted_by_purity(orders: _Orders, gains: Floats, losses: Floats) -> Ints:
    """The table of places, those of categories with the purest level first and levels without rows last."""
    levels = orders.table[orders.fixed :]
    weight = gains[levels] + losses[levels]
    purity = np.where(weight > 0.0, gains[levels] / np.where(weight > 0.0, weight, 1.0), -1.0)
    levels = np.take_along_axis(levels, np.argsort(-purity, axis=1, kind="stable"), axis=1)
    return np.concatenate([orders.table[: orders.fixed], levels])


def _generalised(search: ClauseSearch, clause: Clause, free: Bools) -> Clause:
    """The clause without conditions that keep no losses out, one at a time, each time that whose loss gains most."""
    losing = np.flatnonzero(free & (search.gain < 0.0))
    while len(clause) > 1:
        _, totals = search.by_failing(losing, clause)
        spared = [column for column, total in zip(clause, totals[1:], strict=True) if total >= totals[0]]
        if not spared:
            break
        shorter = [{k: held for k, held in clause.items() if k != column} for column in spared]
        clause = max(shorter, key=lambda one: search.value(one, free))
    return clause
