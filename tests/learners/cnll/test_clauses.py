"""Conversion to disjunctive normal form, and Table 4."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import grow, problem_of, random_problem, random_tree, truth

from rulekit.errors import BudgetError
from rulekit.graph.nodes import TRUE, Hidden
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.models import hidden_bit
from rulekit.learners.cnll.records import clause_statistics, to_dnf
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import GrowthSettings
from rulekit.numbers import strength_of
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
    first, second = clause_statistics(formula.tree, formula.bit_probabilities(), formula.counts)
    assert (first.bits, second.bits) == ((0, 2), (1, 3))
    # Rows of (x1 <= 1, x2 <= 1) and (x1 > 1, x2 > 1): two thirds and one third of the positive ones.
    assert first.true_positive == pytest.approx(2 / 3)
    assert first.error == pytest.approx(500 / 3000)
    assert second.cumulative_true_positive == 1.0
    assert second.cumulative_error == 0.0


def test_a_condition_that_does_nothing_is_no_condition_of_the_model() -> None:
    """A bit that fires with 0.001 on either side of its condition once stood as a rule about the column."""
    problem = random_problem(np.random.default_rng(0))
    known = np.arange(problem.columns[0].n_codes) > 0
    idle, live = (Bit(0, known, known, alpha, 0.001, 0.0) for alpha in (0.001, 0.3))
    assert hidden_bit(problem.columns, idle, "H1") == Hidden("H1", TRUE, strength_of(0.001), 0.0)
    assert hidden_bit(problem.columns, live, "H1").cause is not TRUE  # type: ignore[attr-defined]
