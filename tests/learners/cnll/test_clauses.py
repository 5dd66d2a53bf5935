"""Conversion to disjunctive normal form, and Table 4."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import problem_of, random_tree, truth

from rulekit.errors import BudgetError
from rulekit.learners.cnll.clauses import clause_statistics, to_dnf
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import GrowthSettings, grow
from rulekit.synthetic import exclusive_or


@pytest.mark.parametrize("seed", range(10))
def test_the_clauses_are_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = 1 + seed % 7
    tree = random_tree(rng, bits, ("I", "II", "tree")[seed % 3])
    clauses = to_dnf(tree)
    for states in itertools.product([False, True], repeat=bits):
        assert any(all(states[bit] for bit in clause) for clause in clauses) == truth(tree, tree.root, states)
    assert not any(set(a) < set(b) for a in clauses for b in clauses)


def test_algorithm_one_follows_section_32() -> None:
    """((H1 or H2) and H3) or H4 becomes H1 H3, H2 H3, H4."""
    from rulekit.learners.cnll.formula.read_once import FIRST, Move, ReadOnceTree

    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    for operator, bit in (("or", 1), ("and", 2), ("or", 3)):
        tree.join(Move(operator, tree.root), bit)  # type: ignore[arg-type]
    assert to_dnf(tree) == ((0, 2), (1, 2), (3,))


def test_too_many_clauses_are_refused_by_name() -> None:
    tree = random_tree(np.random.default_rng(0), 1)
    from rulekit.learners.cnll.formula.read_once import Move

    for pair in range(20):  # (a or b) and (c or d) and ... has 2^20 clauses
        tree.join(Move("and", tree.root), 2 * pair + 1)
        tree.join(Move("or", tree.node_of_bit(2 * pair + 1)), 2 * pair + 2)
    with pytest.raises(BudgetError, match="10000 clauses"):
        to_dnf(tree)


def test_table_four_by_hand() -> None:
    X, y = exclusive_or(0)
    problem = problem_of(np.floor(X * 10) / 10, y)
    formula = grow(problem, GrowthSettings(SearchSettings(Objective()), "II", 4)).formula
    first, second = clause_statistics(formula)
    assert (first.bits, second.bits) == ((0, 2), (1, 3))
    # Rows of (x1 <= 1, x2 <= 1) and (x1 > 1, x2 > 1): two thirds and one third of the positive ones.
    assert first.true_positive == pytest.approx(2 / 3)
    assert first.error == pytest.approx(500 / 3000)
    assert second.cumulative_true_positive == 1.0
    assert second.cumulative_error == 0.0
