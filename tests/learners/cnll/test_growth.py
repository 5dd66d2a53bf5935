"""Growing: each step is the best there is and does what it claims, and refit and backfit only go down."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cnll_cases import grow, problem_of, random_problem, row_objective

from rulekit import CNLLClassifier
from rulekit.learners.cnll import learner
from rulekit.learners.cnll.best_step import best_step, rest_strengths, sweep
from rulekit.learners.cnll.formula_on_cells import Formula, GrowthSettings, growth_moves
from rulekit.learners.cnll.learner import grown_freer
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.contract import Candidate, OutOfTimeError, Question, Watch
from rulekit.learners.models.noisy_formulas import Move, NoisyBit


@pytest.mark.parametrize(("ridge", "refit", "backfit"), [(0.0, 0, 0), (2.0, 0, 2), (8.0, 1, 3), (2.0, 2, 1)])
def test_every_step_does_what_it_claims(ridge: float, refit: int, backfit: int) -> None:
    problem = random_problem(np.random.default_rng(5), n=200, d=4, values=8)
    grown = grow(problem, GrowthSettings(ridge, 9, refit, backfit))
    assert len(grown.path) >= 3
    for step in grown.steps:
        assert step.after <= step.claimed + 1e-9
        assert refit or step.after == pytest.approx(step.claimed, abs=1e-9)
    assert grown.formula.measure(ridge) == pytest.approx(row_objective(grown.formula, ridge))
    falling = [step.after for step in grown.steps]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(falling))
    assert any(step.replaced is not None for step in grown.steps) == bool(backfit)


def test_a_refit_never_raises_the_objective_and_finds_the_least() -> None:
    problem, ridge = random_problem(np.random.default_rng(3), n=80), 2.0
    formula = grow(problem, GrowthSettings(ridge, 5, refit=0)).formula
    changes = 0
    while True:
        before = formula.measure(ridge)[0]
        changed = sweep(formula, ridge)
        after = formula.measure(ridge)[0]
        assert after < before if changed else after == before
        if not changed:
            break
        changes += 1
    assert changes
    for which in range(5):  # no strength a little to either side is better
        for sign in (-0.01, 0.01):
            other = list(formula.bits)
            moved = min(max(other[which].alpha + sign, LEAST_STRENGTH), 1 - LEAST_STRENGTH)
            other[which] = replace(other[which], alpha=moved)
            assert row_objective(Formula.of(problem, formula.tree, other), ridge)[0] >= after - 1e-6 * after


def test_cells_are_the_patterns_of_the_rows() -> None:
    problem = random_problem(np.random.default_rng(8), n=120, values=6)
    formula = grow(problem, GrowthSettings(0.0, 7, 1, 2)).formula
    expected = np.stack([bit.condition[problem.codes[bit.column]] for bit in formula.bits], axis=1)
    assert np.array_equal(formula.cells.holds[formula.cells.cell], expected)
    assert len(np.unique(formula.cells.holds, axis=0)) == len(formula.cells.holds)
    assert formula.cells.counts.sum() == problem.weights.sum()


def test_stops_where_nothing_is_left_to_gain() -> None:
    X = np.arange(10.0)[:, None]
    grown = grow(problem_of(X, (X[:, 0] > 4).astype(int)), GrowthSettings(0.0, 20))
    assert len(grown.path) == 1
    assert grown.formula.measure(0.0)[1] == 0.0


def test_one_constant_column_gives_no_bit() -> None:
    assert grow(problem_of(np.ones((6, 1)), np.arange(6) % 2), GrowthSettings(0.0)).path == []


def test_least_weight_of_a_side() -> None:
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] < 2).astype(int)
    grown = grow(problem_of(X, y), GrowthSettings(0.0, 1, min_rows=5))
    assert grown.formula.bits[0].condition.sum() in (5, 15)


@pytest.mark.parametrize(("flips", "kept"), [(0.0, True), (0.3, False)], ids=["lines alone", "noise"])
def test_a_lower_ridge_is_kept_only_where_laws_were_held_back(
    flips: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six lines of three: the ridge for a coin's labels let none of their last conditions in."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (600, 9)).astype(float)
    crosses = X.reshape(-1, 3, 3) == 2
    lines = crosses.all(axis=1).any(axis=1) | crosses.all(axis=2).any(axis=1)
    problem = problem_of(X, lines ^ (rng.random(len(X)) < flips))
    settings = GrowthSettings(12.0, 12, 1, 3, min_rows=5, ridge_by_noise=True)
    grown = grow(problem, settings)
    monkeypatch.setattr(learner, "_MOST_ROWS", 599.0)
    once = grow(problem, settings)
    errors, before = (one.formula.measure(0.0)[1] for one in (grown, once))
    if kept:
        assert errors <= before - 3.0 * np.sqrt(before)
    else:
        assert [bit.alpha for bit in grown.formula.bits] == [bit.alpha for bit in once.formula.bits]


def test_a_second_growth_that_is_stopped_leaves_the_first() -> None:
    class Late(Watch):
        def check(self) -> None:
            if made:
                raise OutOfTimeError

    problem, made = random_problem(np.random.default_rng(5), n=300), list[Candidate]()
    settings = GrowthSettings(12.0, 4, 1, ridge_by_noise=True)
    learning = CNLLClassifier().learn(Question("yes", 0, problem, None, 0, 1, Watch(), settings))
    made = [next(learning) for _ in range(4)]
    grown = grow(problem, replace(settings, ridge_by_noise=False))
    with pytest.raises(OutOfTimeError):
        grown_freer(grown, replace(settings, watch=Late()))
    assert (
        [candidate.size for candidate in made] == [1, 2, 3, 4] == [bits for bits, _ in enumerate(grown.path, start=1)]
    )


# The search against brute force ---------------------------------------------------------------------------------------


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
