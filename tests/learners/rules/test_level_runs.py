"""Holes of level sets over ordered values are closed where no row speaks against that."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import covered
from rulekit.learners.rules.rule_paths import level_orders, without_holes
from rulekit.schema import Feature

BANDS = ("50-59", "10-19", "30-39", "20-29", "40-49", "60+")


def column(index: int, levels: tuple[str, ...]) -> BinnedColumn:
    n_codes = 2 + len(levels)
    nothing = np.zeros(n_codes)
    return BinnedColumn(Feature(f"c{index}", "categorical", levels), index, n_codes, nothing, nothing, levels)


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        (BANDS, ("10-19", "20-29", "30-39", "40-49", "50-59", "60+")),
        (("2", "10", "1"), ("1", "2", "10")),
        (("low", "high", "medium"), ("low", "medium", "high")),
        (("500-1000", "no account", "0-100", "100-500"), ("0-100", "100-500", "500-1000")),
        (("red", "green", "blue"), ()),
        (("a", "b"), ()),
    ],
)
def test_the_order_of_levels_is_known_or_nothing_is_done(levels: tuple[str, ...], order: tuple[str, ...]) -> None:
    found = level_orders((column(0, levels),))

    assert [levels[code - 2] for code in found.get(0, ())] == list(order)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_holes_are_closed_where_nothing_speaks_against_it(data: Any) -> None:
    """What the rules are worth never falls, sets only grow, kept rules stay, and what is left open costs something."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, columns = data.draw(st.integers(1, 30)), (column(0, BANDS), column(1, ("red", "green", "blue", "black")))
    codes: Any = [rng.integers(0, c.n_codes, n) for c in columns]
    problem = Problem(columns, codes, np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 1.0)
    gain = rng.integers(-2, 3, n).astype(float)
    rules = [
        {place: rng.random(columns[place].n_codes) < 0.5 for place in range(2) if rng.random() < 0.8} for _ in range(3)
    ]
    kept = data.draw(st.integers(0, 3))
    orders = level_orders(columns)

    closed = without_holes(problem, rules, gain, orders, kept)

    def worth(clauses: Any) -> float:
        return float(gain[np.any([covered(clause, codes, n) for clause in clauses], axis=0)].sum())

    assert worth(closed) >= worth(rules)
    for k, (before, after) in enumerate(zip(rules, closed, strict=True)):
        assert list(before) == list(after)
        assert all(np.all(after[place] >= before[place]) for place in before)
        assert k >= kept or all(np.array_equal(after[place], before[place]) for place in before)
        assert 1 not in before or np.array_equal(after[1], before[1])
    last = closed[-1]
    if kept < 3 and 0 in last:
        held = np.flatnonzero(last[0][orders[0]])
        for a, b in itertools.pairwise(held):
            wider = last[0].copy()
            wider[orders[0][a + 1 : b]] = True
            assert b == a + 1 or worth([*closed[:-1], {**last, 0: wider}]) < worth(closed)
