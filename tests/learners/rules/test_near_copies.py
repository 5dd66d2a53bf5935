"""Of two rules that are nearly the same one is left, and a set of levels is said by the levels that it excludes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Among
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import Clause, clause_node, covered
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rules.clause_search import ClauseSearch
from rulekit.learners.rules.rule_paths import _all_seen, _but_a_few, _joined
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Constraints, Schema
from rulekit.tables.kinds.inference import infer
from rulekit.tables.table import Table

COST = 3.0


def holding(search: ClauseSearch, column: int, values: Any, holds: Callable[[Any], bool]) -> np.ndarray:
    """The condition on a column that holds for some of its values [n]."""
    condition = np.zeros(search.columns[column].n_codes, dtype=bool)
    condition[search.codes[column][[bool(holds(value)) for value in values]]] = True
    return condition


def search_of(seed: int, cost: float, n: int = 150) -> ClauseSearch:
    """Numbers with missing cells, a category, and a Boolean; gains without law."""
    rng = np.random.default_rng(seed)
    number = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 6, n))
    level = [str(level) for level in rng.choice(list("abcd"), n)]
    table = infer({"x": number, "z": rng.integers(0, 4, n) * 2.0, "c": level, "b": rng.random(n) < 0.4})
    columns, codes = bin_table(table, np.ones(n, dtype=np.int64), 64)
    gain = rng.integers(-50, 50, n).astype(np.float64)
    return ClauseSearch.over(columns, codes, np.arange(len(columns)), gain, cost)


def near_copies(loss: int) -> tuple[ClauseSearch, list[Clause]]:
    """`x <= 5 and b` and `x <= 6 and b and c = a`; the row on which only `x <= 6 and b` holds loses so much."""
    rows = [(x, b, c) for x, b, c in itertools.product(range(10), (False, True), "a" * 10 + "d")]
    x, b, c = (list(column) for column in zip(*rows, strict=True))
    columns, codes = bin_table(infer({"x": [float(v) for v in x], "b": b, "c": c}), np.ones(len(x), np.int64), 64)
    gain = np.array([10.0 if b and (x <= 5 or (x == 6 and c == "a")) else -10.0 for x, b, c in rows])
    gain[rows.index((6, True, "d"))] = -float(loss)
    search = ClauseSearch.over(columns, codes, np.arange(3), gain, COST)
    few = holding(search, 0, x, lambda value: value <= 5), holding(search, 0, x, lambda value: value <= 6)
    flag, level = holding(search, 1, b, bool), holding(search, 2, c, lambda value: value == "a")
    return search, [{0: few[0], 1: flag}, {0: few[1], 1: flag, 2: level}]


@pytest.mark.parametrize(("loss", "left"), [(0, 1), (12, 1), (13, 2), (200, 2)])
def test_of_two_near_copies_one_is_left_where_that_costs_no_more_than_a_literal(loss: int, left: int) -> None:
    """The one has 2 literals, the two have 5: three literals are saved, and a fourth may be lost."""
    search, clauses = near_copies(loss)
    found = _joined(search, [dict(clause) for clause in clauses], np.inf)
    assert len(found) == left
    assert search.total(found) >= search.total(clauses) - COST
    if left == 1:
        assert sorted(found[0]) == [0, 1]
        assert (search.rows_of(found[0]) >= search.rows_of(clauses[0])).all()


def test_rules_that_share_few_rows_or_columns_stay_apart() -> None:
    search, (one, other) = near_copies(0)
    elsewhere = {**one, 0: ~other[0]}
    for pair in ([one, elsewhere], [{0: one[0]}, {1: one[1], 2: other[2]}]):
        assert _joined(search, pair, np.inf) is pair


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 5), st.floats(0.0, 40.0))
def test_what_is_joined_loses_at_most_a_literal_for_each_rule_that_goes(seed: int, n: int, cost: float) -> None:
    search, rng = search_of(seed, cost), np.random.default_rng(seed)
    base = {j: rng.random(search.columns[j].n_codes) < 0.7 for j in rng.permutation(4)[:2].tolist()}
    clauses = []
    for _ in range(n):
        near = {j: held ^ (rng.random(len(held)) < 0.15) for j, held in base.items()}
        clauses.append({j: held for j, held in near.items() if not held.all()} or dict(base))
    begun = search.run([dict(clause) for clause in clauses], np.inf)
    found = _joined(search, [dict(clause) for clause in begun], np.inf)
    gone = len(begun) - len(found)
    assert gone >= 0
    assert search.total(found) >= search.total(begun) - gone * search.cost - 1e-6
    again = _joined(search, [dict(clause) for clause in found], np.inf)
    assert search.total(again) >= search.total(found) - search.cost
    assert len(again) == len(found)


def test_where_something_is_promised_nothing_is_joined() -> None:
    search, clauses = near_copies(0)
    apart = Allowed.of(search.columns, Constraints(apart=(("x", "c"),)))
    bound = ClauseSearch.over(search.columns, search.codes, np.arange(3), search.gain, COST, apart)
    assert _joined(bound, clauses, np.inf) is clauses


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
