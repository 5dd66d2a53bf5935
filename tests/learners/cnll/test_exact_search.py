"""The search finds the smallest objective there is: compared with brute force, in both directions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import grow, problem_of, random_problem, row_objective

from rulekit.learners.cnll.formula.noisy_formula import Bit, Formula
from rulekit.learners.cnll.formula.objectives import MARGIN, SHORTEST, Objective
from rulekit.learners.cnll.formula.read_once import Move, growth_moves
from rulekit.learners.cnll.formula.split_search import LEAST_STRENGTH
from rulekit.learners.cnll.search.best_step import SearchSettings, best_step, rest_strengths
from rulekit.learners.cnll.search.growth import GrowthSettings

OBJECTIVES = [
    Objective(1, 0),
    Objective(1, 1),
    Objective(1, 0.1),
    Objective(0, 1),
    Objective(0, 1, 8),
    Objective(1, 1, 2),
]


def state(seed: int, bits: int, algorithm: str, objective: Objective, n: int = 60) -> Formula:
    """A formula of some bits, grown on a random problem."""
    problem = random_problem(np.random.default_rng(seed), n=n, values=3)
    settings = GrowthSettings(SearchSettings(objective), algorithm, bits, refit=1)
    return grow(problem, settings).formula


def joined(formula: Formula, move: Move, bit: Bit) -> Formula:
    copy = Formula(
        formula.problem, formula.tree.copy(), list(formula.bits), formula.pattern, formula.cell.copy(), formula.counts
    )
    copy.add(bit, move)
    return copy


def allowed(formula: Formula, move: Move, objective: Objective) -> list[tuple[float, float]]:
    """The allowed strengths, from the probabilities at strength 0 and 1 alone."""
    if objective.error == 0:
        return [(LEAST_STRENGTH, 1 - LEAST_STRENGTH)]
    at_ends = objective.brier == 0 and objective.ridge == 0
    everywhere = np.ones(formula.problem.columns[0].n_codes, dtype=bool)
    low, high = (joined(formula, move, Bit(0, everywhere, everywhere, a, a, 0.0)).probability() for a in (0.0, 1.0))
    rise = high - low
    ratios = [(0.5 - u) / v for u, v in zip(low, rise, strict=True) if v > 1e-12]
    edges = [0.0]
    for r in sorted(r for r in ratios if 0 <= r < 1):
        if r - edges[-1] > SHORTEST:
            edges.append(r)
    edges.append(1.0)
    found = [(a + MARGIN * (b - a), b - MARGIN * (b - a)) for a, b in itertools.pairwise(edges)]
    return [((a, a) if a + b < 1 else (b, b)) for a, b in found] if at_ends else found


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


def brute_force(formula: Formula, moves: list[Move], objective: Objective, points: int) -> float:
    """The smallest objective over conditions, moves, and a grid of strengths inside the allowed intervals."""
    best = np.inf
    rests = rest_strengths(formula, moves)
    problem = formula.problem
    for m, move in enumerate(moves):
        grid = np.unique([x for a, b in allowed(formula, move, objective) for x in np.linspace(a, b, points)])
        everywhere = np.ones(problem.columns[0].n_codes, dtype=bool)
        ends = [joined(formula, move, Bit(0, everywhere, everywhere, a, a, 0.0)) for a in (0.0, 1.0)]
        u = ends[0].probability()[ends[0].cell]
        v = ends[1].probability()[ends[1].cell] - u
        p = u + np.outer(grid, v)
        w, y = problem.weights * problem.weight_unit, problem.labels
        rows = objective.error * ((p > 0.5) != (y == 1)) * w + objective.brier * (y - p) ** 2 * w
        for column in range(len(problem.columns)):
            for condition in conditions(formula, column):
                holds = condition[problem.codes[column]]
                pull = objective.ridge * (grid - rests[m]) ** 2
                total = (rows[:, holds].sum(axis=1) + pull).min() + (rows[:, ~holds].sum(axis=1) + pull).min()
                best = min(best, total)
    return best + objective.ridge * sum((b.alpha - b.rest) ** 2 + (b.beta - b.rest) ** 2 for b in formula.bits)


def check_step(seed: int, bits: int, algorithm: str, objective: Objective, n: int) -> None:
    """Never worse than the grid, and never better than what it then gives (the claim is the fact)."""
    formula = state(seed, bits, algorithm, objective, n)
    moves = growth_moves(formula.tree, algorithm)
    ridge = objective.ridge * sum((b.alpha - b.rest) ** 2 + (b.beta - b.rest) ** 2 for b in formula.bits)
    step = best_step(formula, moves, SearchSettings(objective), np.arange(3), ridge)
    assert step is not None
    brute = brute_force(formula, moves, objective, points=41)
    assert brute - 0.02 * formula.problem.total / n <= step.objective <= brute + 1e-9
    after = joined(formula, step.move, step.bit)
    assert row_objective(after, objective.error, objective.brier, objective.ridge)[0] == pytest.approx(
        step.objective, abs=1e-9
    )
    for strength in (step.bit.alpha, step.bit.beta):
        assert any(a - 1e-12 <= strength <= b + 1e-12 for a, b in allowed(formula, step.move, objective))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize(("bits", "algorithm"), [(0, "II"), (1, "I"), (2, "tree"), (3, "II"), (4, "tree")])
def test_the_step_is_the_best_there_is(objective: Objective, bits: int, algorithm: str) -> None:
    check_step(bits * 7 + 1, bits, algorithm, objective, 60)


@pytest.mark.parametrize("seed", range(6))
def test_smallest_error_equals_brute_force(seed: int) -> None:
    objective = Objective(1, 0)
    formula = state(seed, seed % 4, "tree", objective, n=40)
    moves = growth_moves(formula.tree, "tree")
    step = best_step(formula, moves, SearchSettings(objective), np.arange(3), 0.0)
    assert step is not None
    assert step.objective == brute_force(formula, moves, objective, points=1)


@pytest.mark.full
@pytest.mark.long_from("seed", 24)
@pytest.mark.parametrize("seed", range(60))
def test_sixty_random_states(seed: int) -> None:
    check_step(1000 + seed, seed % 6, ("I", "II", "tree")[seed % 3], OBJECTIVES[seed % len(OBJECTIVES)], 50)


def test_beta_zero_searches_both_sides() -> None:
    """With beta = 0 parity is no longer free: a column whose low values are positive needs the condition turned."""
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] < 5).astype(np.int64)
    formula = grow(problem_of(X, y), GrowthSettings(SearchSettings(Objective(), zero_beta=True), "II", 1)).formula
    bit = formula.bits[0]
    assert bit.beta == 0.0
    assert bit.condition.tolist() == [False] + [True] * 5 + [False] * 15
    assert formula.measure(Objective())[1] == 0.0


def test_equal_columns_are_decided_for_the_first() -> None:
    X = np.tile(np.arange(12.0)[:, None], (1, 3))
    formula = grow(
        problem_of(X, (X[:, 0] > 6).astype(int)), GrowthSettings(SearchSettings(Objective()), "II", 1)
    ).formula
    assert formula.bits[0].column == 0
