"""Level sets without holes: after the search, a rule's set of levels in an order takes in those between two of its own.

Only levels that no row speaks against: those that have no rows where the other conditions of the rule hold and no other
rule does, or whose rows there are worth nothing or more.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.problem import Problem
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.fitting.rule_sets import Clause, covered
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.tables.kinds.hints import steps_of


def level_orders(columns: Sequence[BinnedColumn]) -> dict[int, Ints]:
    """By column of levels in a known order their codes, from low to high; levels without a code of their own are none.

    The order is the declared one, or that of bands, scales and numbers that the levels name.
    """
    found = {}
    for place, column in enumerate(columns):
        if column.feature.kind == "categorical" and column.index >= 0:
            steps = column.levels if column.feature.ordered else steps_of(column.levels)
            if len(steps) > 2:
                code_of = {level: code for code, level in enumerate(column.levels, start=FIRST_LEVEL_CODE)}
                found[place] = np.array([code_of[level] for level in steps])
    return found


def without_holes(
    problem: Problem, rules: Sequence[Clause], gain: Floats, orders: Mapping[int, Ints], kept: int
) -> tuple[Clause, ...]:
    """The rules with the holes closed that no row speaks for; the first `kept` stay as they are.

    gain [n]: what each row is worth to the rules that cover it. What the rules are worth never falls.
    """
    clauses = list(rules)
    if not any(
        _holes(clause[place], orders[place]) for clause in clauses[kept:] for place in clause if place in orders
    ):
        return tuple(clauses)
    n = len(gain)
    held = [covered(clause, problem.codes, n) for clause in clauses]
    times = np.sum(held, axis=0, dtype=np.int16)
    for k, clause in enumerate(clauses[kept:], start=kept):
        free = times == held[k]
        for place in [place for place in clause if place in orders]:
            others = {column: condition for column, condition in clause.items() if column != place}
            rows = np.flatnonzero(free & covered(others, problem.codes, n))
            codes = problem.codes[place][rows]
            worth = np.bincount(codes, gain[rows], len(clause[place]))
            closed = clause[place].copy()
            for hole in _holes(closed, orders[place]):
                closed[hole] = worth[hole].sum() >= 0
            clause = clauses[k] = {**clause, place: closed}
        times -= held[k]
        held[k] = covered(clause, problem.codes, n)
        times += held[k]
    return tuple(clauses)


def _holes(condition: Bools, order: Ints) -> list[Ints]:
    """The runs of codes between two that the condition holds for."""
    held = np.flatnonzero(condition[order])
    return [order[a + 1 : b] for a, b in itertools.pairwise(held) if b > a + 1]
