"""The search finds the smallest objective there is: compared with brute force, in both directions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import grow, problem_of, random_problem, row_objective

from rulekit.learners.cnll.best_step import best_step, rest_strengths
from rulekit.learners.cnll.formula_on_cells import Formula, GrowthSettings, growth_moves
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.models.noisy_formulas import Move, NoisyBit


def joined(formula: Formula, move: Move, bit: NoisyBit) -> Formula:
    copy = Formula.of(formula.problem, formula.tree, formula.bits)
    copy.add(bit, move)
    return copy


def conditions(formula: Formula, column: int) -> list[np.ndarray]:
    """Every threshold condition of a column, with missing on either side."""
    codes = formula.problem.codes[column]
    present = np.zeros(formula.problem.columns[column].n_codes, dtype=bool)
    present[np.unique(codes)] = True
    found = []
    for cut, missing in itertools.product(range(len(present)), (False, True)):
        condition = np.arange(len(present)) <= cut
        condition[0] = missing
        condition &= present
        if condition.any() and (present & ~condition).any():
            found.append(condition)
    return found


def probability(formula: Formula) -> np.ndarray:
    """P(1) [n] of the rows."""
    nodes = formula.node_probabilities()
    return np.asarray(nodes[formula.tree.root][formula.cells.cell])


def brute_force(formula: Formula, moves: list[Move], ridge: float) -> float:
    """The smallest objective over conditions and moves, the strength of each side by its own closed form."""
    best, problem = np.inf, formula.problem
    w, y = problem.weights * problem.weight_unit, problem.labels
    everywhere = np.ones(problem.columns[0].n_codes, dtype=bool)
    for move, rest in zip(moves, rest_strengths(formula, moves), strict=True):
        u, top = (probability(joined(formula, move, NoisyBit(0, everywhere, everywhere, a, a, 0.0))) for a in (0, 1))
        v = top - u
        for column in range(len(problem.columns)):
            for condition in conditions(formula, column):
                holds, total = condition[problem.codes[column]], 0.0
                for side in (holds, ~holds):
                    aim, bend = (w * v * (y - u))[side].sum() + ridge * rest, (w * v * v)[side].sum() + ridge
                    s = np.clip(aim / bend if bend > 0 else rest, LEAST_STRENGTH, 1 - LEAST_STRENGTH)
                    total += (w * (y - u - v * s) ** 2)[side].sum() + ridge * (s - rest) ** 2
                best = min(best, total)
    return float(best + ridge * sum((b.alpha - b.rest) ** 2 + (b.beta - b.rest) ** 2 for b in formula.bits))


@pytest.mark.long_from("seed", 24)
@pytest.mark.parametrize("seed", range(60))
def test_the_step_is_the_best_there_is(seed: int) -> None:
    """Never worse than brute force, never better, and the claim is the fact."""
    ridge = (0.0, 8.0)[seed % 2]
    problem = random_problem(np.random.default_rng(seed), n=50, values=3)
    formula = grow(problem, GrowthSettings(ridge, seed % 6)).formula
    moves = growth_moves(formula.tree)
    step = best_step(formula, moves, GrowthSettings(ridge), np.arange(3))
    assert step is not None
    assert step.claimed == pytest.approx(brute_force(formula, moves, ridge), abs=1e-9)
    after = joined(formula, step.move, step.bit)
    assert row_objective(after, ridge)[0] == pytest.approx(step.claimed, abs=1e-9)


def test_equal_columns_are_decided_for_the_first() -> None:
    X = np.tile(np.arange(12.0)[:, None], (1, 3))
    formula = grow(problem_of(X, (X[:, 0] > 6).astype(int)), GrowthSettings(0.0, 1)).formula
    assert formula.bits[0].column == 0
