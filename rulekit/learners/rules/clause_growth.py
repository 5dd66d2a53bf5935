"""Clauses begun from the rows alone, by purity: what a search by gain overlooks where each clause covers little.

Where many small clauses make up a law, the clause of most gain is a broad and impure one, and a search that begins
there ends there. So a clause is grown one condition after the other as by FOIL (Quinlan, 1990), but with the share of
positive rows itself in place of its logarithm: of all conditions the one with the largest

    p (p / (p + q) - P / (P + Q))          P, Q: gains and losses of the rows covered so far; p, q: of those kept

until no loss is covered, or no condition has more. Then conditions are dropped as long as no more losses are covered
(as in AQ; Michalski, 1969), and the next clause is grown for the rows that are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.models.rule_sets import Clause
from rulekit.learners.rules.clause_search import ClauseSearch


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
    orders = _single_levels(search, _orders(search)) if alone else _orders(search)
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


def _orders(search: ClauseSearch) -> _Orders:
    """Ordered columns from either end without the missing; categories by purity, the missing being a level."""
    layout, ways = search.layout, search.layout.allowed.directions[:, None]
    begin, sizes, step = layout.offset[:, None], layout.sizes[:, None], np.arange(int(layout.sizes.max()))
    up = np.where((step < sizes - 1) & (ways <= 0), begin + 1 + step, layout.size)
    down = np.where((step < sizes - 1) & (ways >= 0), begin + sizes - 1 - step, layout.size)
    known = (step < sizes) & (step >= layout.allowed.unknown[:, None])
    levels = np.where(known, begin + step, layout.size)
    table = np.concatenate([up[layout.ordered], down[layout.ordered], levels[layout.nominal]])
    place = np.concatenate([layout.ordered, layout.ordered, layout.nominal])
    return _Orders(table, place, 2 * len(layout.ordered))


def _single_levels(search: ClauseSearch, orders: _Orders) -> _Orders:
    """The same with an order for each level in the place of those of categories."""
    layout = search.layout
    levels = [orders.table[: orders.fixed]]
    place = [orders.place[: orders.fixed]]
    for row, column in zip(orders.table[orders.fixed :], orders.place[orders.fixed :].tolist(), strict=True):
        known = row[row < layout.size]
        each = np.full((len(known), orders.table.shape[1]), layout.size)
        each[:, 0] = known
        levels.append(each)
        place.append(np.full(len(known), column))
    table = np.concatenate(levels)
    return _Orders(table, np.concatenate(place), len(table))


def _grown(search: ClauseSearch, orders: _Orders, rows: Ints, room: float) -> Clause:
    """A clause grown for some rows, condition by condition."""
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
