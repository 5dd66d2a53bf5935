"""The solver and the search over sums against trying every assignment, and where the answer is known."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.sums import CellSum, add, number, table
from rulekit.logic.forms import Forms
from rulekit.logic.satisfying import NO_SOLVER, TOO_LARGE, Sought, separated, solve

Clauses = list[list[int]]


def _holds(clauses: Clauses, values: tuple[bool, ...]) -> bool:
    return all(any(values[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in clauses)


@st.composite
def _instances(draw) -> tuple[int, Clauses]:
    n = draw(st.integers(1, 7))
    literal = st.integers(1, n).flatmap(lambda variable: st.sampled_from([variable, -variable]))
    return n, draw(st.lists(st.lists(literal, max_size=4), max_size=30))


def _undecided(seed: int) -> tuple[int, Clauses]:
    """Three literals a clause and 4.3 clauses a variable: about half of the sets can hold."""
    rng, n = np.random.default_rng(seed), 10
    signs, variables = rng.choice([-1, 1], (43, 3)), [rng.permutation(n)[:3] + 1 for _ in range(43)]
    return n, (signs * np.array(variables)).tolist()


@settings(max_examples=120, deadline=None)
@given(st.one_of(_instances(), st.integers(0, 2**32 - 1).map(_undecided)))
def test_the_answer_is_that_of_every_assignment(instance):
    n, clauses = instance
    possible = any(_holds(clauses, values) for values in product((False, True), repeat=n))
    answer = solve(n, clauses)
    assert answer.reason == ""
    assert (answer.cells is not None) == possible
    if answer.cells is not None:
        assert len(answer.cells) == n
        assert _holds(clauses, answer.cells)
    assert solve(n, clauses) == answer


def _pigeons(holes: int) -> tuple[int, Clauses]:
    """One pigeon more than holes."""

    def sits(pigeon: int, hole: int) -> int:
        return pigeon * holes + hole + 1

    clauses = [[sits(p, h) for h in range(holes)] for p in range(holes + 1)]
    for h in range(holes):
        clauses += [[-sits(p, h), -sits(q, h)] for p in range(holes + 1) for q in range(p)]
    return holes * (holes + 1), clauses


def test_pigeons_do_not_fit():
    assert solve(*_pigeons(7)) == Sought(None)


def test_the_search_is_bounded():
    assert solve(*_pigeons(10)) == Sought(None, TOO_LARGE)


@pytest.mark.parametrize("name", ["pysat", "pysat.solvers"])
def test_without_the_extra_the_question_is_left_open(monkeypatch, name):
    """Nothing is installed, or a package of the same name that has no solvers."""
    monkeypatch.setitem(sys.modules, "pysat", None if name == "pysat" else type(sys)("pysat"))
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    assert solve(1, [[1]]) == Sought(None, NO_SOLVER)
    assert "rulekit-portable[proof]" in NO_SOLVER
    assert solve(1, [[]]) == Sought(None)


@pytest.mark.parametrize("clauses", [[[]], [[1], []], [[1], [-1]]])
def test_nothing_satisfies_an_empty_clause(clauses):
    assert solve(1, clauses) == Sought(None)


def test_a_long_chain_of_implications_needs_no_search():
    n = 9_000
    clauses = [[1], *([-i, j] for i, j in pairwise(range(1, n + 1)))]
    assert solve(n, clauses) == Sought((True,) * n)
    assert solve(n, [*clauses, [-n]]) == Sought(None)


# Sums that differ in a term: a cell where it shows, or that there is none


def _at(value: CellSum, cells: tuple[int, ...]) -> Fraction:
    return value.constant + sum((values[cells[axis]] for axis, values in value.tables), Fraction(0))


def _random_sum(rng: np.random.Generator, sizes: list[int]) -> CellSum:
    total = number(int(rng.integers(-6, 7)) / 4)
    for axis, size in enumerate(sizes):
        total = add(total, table(axis, [int(v) / 4 for v in rng.integers(-9, 10, size)]))
    return total


@pytest.mark.parametrize("seed", range(150))
def test_the_answer_is_that_of_every_cell(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=4).tolist()
    first = _random_sum(rng, sizes)
    axis = int(rng.integers(4))
    values = [0.0] * sizes[axis]
    values[int(rng.integers(sizes[axis]))] = float(rng.choice([0.25, -0.25, 2.0**-30, -(2.0**-30), 1.0]))
    second = add(first, table(axis, values))
    found = separated(Forms(sizes), first, second)
    differ = [c for c in product(*map(range, sizes)) if (_at(first, c) > 0) != (_at(second, c) > 0)]
    assert found.nowhere == (not differ)
    assert (found.cells in differ) if differ else found.cells is None


def test_many_columns_are_no_matter():
    """The one cell of 4^40 at which the sum is 0 and its neighbour is above."""
    sizes = [4] * 40
    first = number(-3.0 * sum(range(1, 41)))
    for axis in range(40):
        first = add(first, table(axis, [float(k * (axis + 1)) for k in range(4)]))
    second = add(first, table(7, [0.0, 0.0, 0.0, 2.0**-40]))
    assert separated(Forms(sizes), first, second).cells == (3,) * 40
    third = add(first, table(7, [0.0, 0.0, 2.0**-40, 0.0]))
    assert separated(Forms(sizes), first, third).nowhere


def test_sums_of_too_fine_a_grid_are_left_open():
    sizes = [3] * 5
    first = number(0.0)
    for axis in range(5):
        first = add(first, table(axis, [0.0, 0.1 * (axis + 1), 1.0]))
    found = separated(Forms(sizes), first, add(first, table(0, [0.0, 0.0, 1e-17])))
    assert (found.cells, found.nowhere) == (None, False)
