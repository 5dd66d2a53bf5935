"""The best condition of one clause: as good as trying every one, and a search that only goes up and keeps its room."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rulekit.learners.data.binning import bin_table
from rulekit.learners.models.plain import Clause, covered
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rules.clause_search import ClauseSearch, clause_price, condition_price, purest_cover
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
