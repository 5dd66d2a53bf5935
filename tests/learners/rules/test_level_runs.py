"""Holes of level sets are closed where no row speaks against that; sets name the levels that they exclude."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Among
from rulekit.learners.data.binning import BinnedColumn, bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import clause_node, covered
from rulekit.learners.rules.rule_paths import _all_seen, _but_a_few, level_orders, without_holes
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.inference import infer
from rulekit.tables.table import Table

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


# Levels that are excluded --------------------------------------------------------------------------------------------


def levels_of(rng: np.random.Generator, n: int, k: int) -> tuple[Problem, Table]:
    """Two categories of at most k levels, of which the second has a level without rows of its own, and a Boolean."""
    names = [f"l{i}" for i in range(k)]
    data: dict[str, Any] = {"c": [str(v) for v in rng.choice(names, n)], "b": rng.random(n) < 0.5}
    data["d"] = [None if rng.random() < 0.1 else str(v) for v in rng.choice(names, n)]
    table = infer(data)
    columns, codes = bin_table(table, np.ones(n, dtype=np.int64), 64)
    rows = rng.integers(0, n, n // 2)
    return Problem(columns, codes, np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 1.0).take(rows), table


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 9))
def test_levels_are_excluded_where_these_are_fewer_and_no_decision_changes(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    problem, table = levels_of(rng, 40, k)
    n, known = len(problem.labels), _all_seen(problem)
    rule = {j: rng.random(c.n_codes) < 0.6 for j, c in enumerate(problem.columns) if rng.random() < 0.9}
    for condition in rule.values():
        condition[UNSEEN_CODE] = False
    short = _but_a_few(rule, known)
    assert (covered(short, problem.codes, n) == covered(rule, problem.codes, n)).all()
    assert short.keys() == rule.keys()
    for column, condition in short.items():
        others = np.arange(len(condition)) != UNSEEN_CODE
        assert (condition[others] == rule[column][others]).all()
        if column not in known:
            assert condition is rule[column]
            continue
        named = rule[column][FIRST_LEVEL_CODE:]
        assert condition[UNSEEN_CODE] == (named.sum() > 1 and named.sum() > (~named).sum())
        text = print_node(clause_node({column: condition}, problem.columns), Schema(table.features, "y"))
        if named.any() and not named.all() and not condition[0]:
            told = "not in" if (~named).sum() < named.sum() and named.sum() > 1 else "in"
            held = named if told == "in" else ~named
            levels = [problem.columns[column].levels[i] for i in np.flatnonzero(held)]
            assert text == f"{problem.columns[column].feature.name} {told} {{{', '.join(levels)}}}", text
            assert 2 * len(levels) <= max(2, len(named))


def test_a_column_with_rows_of_rare_levels_names_the_levels_that_hold() -> None:
    """Rows of a level too rare to stand for itself would be decided otherwise by `not in`."""
    rng = np.random.default_rng(0)
    problem, _ = levels_of(rng, 60, 6)
    place = next(j for j, c in enumerate(problem.columns) if c.feature.name == "c")
    held = np.ones(problem.columns[place].n_codes, dtype=bool)
    held[[0, UNSEEN_CODE, FIRST_LEVEL_CODE]] = False
    assert _but_a_few({place: held}, _all_seen(problem))[place][UNSEEN_CODE]
    rare = [np.array(problem.codes[j]) for j in range(len(problem.columns))]
    rare[place][7] = UNSEEN_CODE
    other = Problem(problem.columns, rare, problem.labels, problem.weights, 1.0)  # type: ignore[arg-type]
    assert place not in _all_seen(other)
    kept = _but_a_few({place: held}, _all_seen(other))
    assert kept[place] is held
    node = clause_node(kept, problem.columns)
    assert isinstance(node, Among)
    assert not node.unseen
