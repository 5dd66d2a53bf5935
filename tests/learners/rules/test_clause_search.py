"""The best condition of a clause is as good as trying all, a search only goes up, and of near copies one is left."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.data.binning import bin_table
from rulekit.learners.models.plain import Clause, covered
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rules.clause_search import ClauseSearch, clause_price, condition_price, purest_cover
from rulekit.learners.rules.rule_paths import _joined
from rulekit.schema import Constraints
from rulekit.tables.kinds.inference import infer

CONSTRAINTS = Constraints(apart=(("x", "c"), ("z", "b")), missing_never_helps=True)
MONOTONE = {"x": 1, "z": -1}


def search_of(seed: int, cost: float, n: int = 150, constrained: bool = False) -> ClauseSearch:
    """Numbers with gaps and missing cells, a category of few or many levels, and a Boolean; gains without law."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 6, n).astype(np.float64)
    number[rng.random(n) < 0.1] = np.nan
    level = [str(level) for level in rng.choice(list("abcd" if seed % 2 else "abcdefghij"), n)]
    data: dict[str, Any] = {"x": number, "z": rng.integers(0, 4, n) * 2.0, "c": level, "b": rng.random(n) < 0.4}
    table = infer(data)
    if constrained:
        features = tuple(replace(f, monotone=MONOTONE.get(f.name, 0)) for f in table.features)
        table = replace(table, features=features)
    columns, codes = bin_table(table, np.ones(n, dtype=np.int64), 64)
    gain = rng.integers(-50, 50, n).astype(np.float64)
    allowed = Allowed.of(columns, CONSTRAINTS) if constrained else None
    return ClauseSearch.over(columns, codes, np.arange(len(columns)), gain, cost, allowed)


def keeps(search: ClauseSearch, clause: Clause) -> bool:
    """Whether a clause keeps the constraints above, told from the names of its columns and its codes."""
    names = {search.columns[column].feature.name: condition for column, condition in clause.items()}
    for name, condition in names.items():
        unknown = 2 if name == "c" else 1
        steps = np.diff(condition[1:].astype(int)) * MONOTONE.get(name, 0)
        if condition[:unknown].any() or (steps < 0).any():
            return False
    return not {"x", "c"} <= set(names) and not {"z", "b"} <= set(names)


def conditions(search: ClauseSearch, column: int) -> list[np.ndarray]:
    """Every condition that a clause may set on a column."""
    binned = search.columns[column]
    codes = range(1, binned.n_codes)
    if not binned.ordered:
        sets = itertools.chain.from_iterable(itertools.combinations(codes, k) for k in range(1, binned.n_codes - 1))
        ordinary = [set(s) for s in sets]
    else:
        ordinary = [set(range(a, b + 1)) for a in codes for b in codes if b >= a]
    found = []
    for inside, missing in itertools.product(ordinary, (False, True)):
        condition = np.zeros(binned.n_codes, dtype=bool)
        condition[list(inside)] = True
        condition[0] = missing
        found.append(condition)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cost", [0.0, 30.0, 120.0])
@pytest.mark.parametrize("constrained", [False, True])
def test_no_single_condition_is_better(seed: int, cost: float, constrained: bool) -> None:
    search = search_of(seed, cost, constrained=constrained)
    rows = np.arange(len(search.gain))
    clause, value = search._best_change({}, rows, np.inf, float(search.gain.sum())) or ({}, search.gain.sum())
    best = search.gain.sum()
    for j in range(len(search.columns)):
        for other in conditions(search, j):
            held = other[search.codes[j]]
            if not held.all() and (not constrained or keeps(search, {j: other})):
                best = max(best, search.gain[held].sum() - cost * condition_price(search.columns[j], other))
    assert value == pytest.approx(best)
    for column, condition in clause.items():
        held = condition[search.codes[column]]
        worth = search.gain[held].sum() - cost * condition_price(search.columns[column], condition)
        assert value == pytest.approx(worth)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_no_search_leaves_the_constraints(seed: int) -> None:
    search = search_of(seed, 5.0, constrained=True)

    grown = purest_cover(search, 6, np.inf, 0.0, 16)
    found = search.run([*({} for _ in range(4)), *map(dict, grown)], np.inf)

    assert all(keeps(search, clause) for clause in (*found, *grown, *search.tightened(list(found))))
    assert found
    assert grown


def total(search: ClauseSearch, clauses: list[Clause]) -> float:
    some = np.zeros(len(search.gain), dtype=bool)
    for clause in clauses:
        some |= covered(clause, search.codes, len(search.gain))
    return float(search.gain[some].sum()) - search.cost * sum(clause_price(c, search.columns) for c in clauses)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("room", [2.0, 5.0, np.inf])
def test_the_search_goes_up_and_keeps_its_room(seed: int, room: float) -> None:
    search = search_of(seed, 20.0)
    begun: list[Clause] = [{0: np.array([True] + [False] * 4 + [True] * (search.columns[0].n_codes - 5))}, {}]
    before = total(search, begun)
    clauses = search.run(list(begun), room)
    assert total(search, clauses) >= before
    assert total(search, search.run(list(clauses), room)) == total(search, clauses)
    assert search.literals(clauses) <= room


def test_a_cut_lies_in_the_middle_of_a_gap() -> None:
    """Between rows that the other conditions leave, all cuts are equal; the first was once taken."""
    n = 40
    data = {"x": np.arange(n, dtype=np.float64), "y": np.where((np.arange(n) < 10) | (np.arange(n) >= 30), 1.0, 0.0)}
    columns, codes = bin_table(infer(data), np.ones(n, dtype=np.int64), None)
    gain = np.where(np.arange(n) < 15, 1.0, -1.0)
    search = ClauseSearch.over(columns, codes, np.array([0]), gain, 0.1)
    rows = np.flatnonzero(data["y"] == 1.0)
    changed = search._best_change({}, rows, np.inf, float(gain[rows].sum()))
    assert changed is not None
    assert np.flatnonzero(changed[0][0][1:]).max() + 1 == 20


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("room", [2.0, 3.0, np.inf])
def test_numpy_finds_what_the_compiled_search_finds(seed: int, room: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any clause: its rows, its value, and every step of the search, to the last bit."""
    search = search_of(seed, 15.0)
    rng = np.random.default_rng(seed)
    free = rng.random(len(search.gain)) < 0.7
    clause: Clause = {2: rng.random(search.columns[2].n_codes) < 0.7, 0: rng.random(search.columns[0].n_codes) < 0.7}
    found = []
    for numpy_alone in ("0", "1"):
        monkeypatch.setenv("RULEKIT_NO_NUMBA", numpy_alone)
        better, value = search.improved(clause, free, room)
        codes = [(column, condition.tolist()) for column, condition in better.items()]
        found.append((search.rows_of(clause).tolist(), search.value(clause, free), codes, value))
    assert found[0] == found[1]
    assert found[0][0] == covered(clause, search.codes, len(search.gain)).tolist()


# Rules that are nearly the same -------------------------------------------------------------------------------------


COST = 3.0


def holding(search: ClauseSearch, column: int, values: Any, holds: Callable[[Any], bool]) -> np.ndarray:
    """The condition on a column that holds for some of its values [n]."""
    condition = np.zeros(search.columns[column].n_codes, dtype=bool)
    condition[search.codes[column][[bool(holds(value)) for value in values]]] = True
    return condition


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
