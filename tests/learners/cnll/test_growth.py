"""Growing: every claim is kept, refit and backfit only go down, and stopping early keeps what there is."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cnll_cases import grow, learned, problem_of, random_problem, row_objective, row_probabilities

from rulekit import CNLLClassifier
from rulekit.learners.cnll.formula import objectives
from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.formula.objectives import Objective, allowed_intervals
from rulekit.learners.cnll.formula.split_search import LEAST_STRENGTH
from rulekit.learners.cnll.search import growth
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import GrowthSettings, grown_freer
from rulekit.learners.cnll.search.refitting import sweep
from rulekit.learners.contract import Candidate, OutOfTimeError, Question, Watch

CASES = [
    (Objective(1, 0), "I", 0, 0, False, "threshold"),
    (Objective(1, 1), "II", 0, 0, False, "threshold"),
    (Objective(1, 1), "II", 1, 2, False, "llr"),
    (Objective(1, 3), "tree", 2, 0, True, "threshold"),
    (Objective(0, 1, 8), "tree", 1, 3, False, "threshold"),
    (Objective(0, 1), "I", 1, 0, True, "llr"),
]


@pytest.mark.parametrize(("objective", "algorithm", "sweeps", "backfit", "zero", "weak"), CASES, ids=str)
def test_every_step_does_what_it_claims(
    objective: Objective, algorithm: str, sweeps: int, backfit: int, zero: bool, weak: str
) -> None:
    problem = random_problem(np.random.default_rng(5), n=200, d=4, values=8)
    search = SearchSettings(objective, weak, zero)  # type: ignore[arg-type]
    grown = grow(problem, GrowthSettings(search, algorithm, 9, sweeps, backfit))  # type: ignore[arg-type]
    assert len(grown.path) >= 3
    for step in grown.steps:
        assert step.applied == pytest.approx(step.claimed, abs=1e-9)
        assert step.after <= step.applied + 1e-9
    measured = grown.formula.measure(objective)
    assert measured == pytest.approx(row_objective(grown.formula, objective.error, objective.brier, objective.ridge))
    falling = [step.after for step in grown.steps]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(falling))
    if zero:
        assert {step.bit.beta for step in grown.steps} == {0.0}
    if backfit:
        assert any(step.action == "backfit" for step in grown.steps)


@pytest.mark.parametrize("objective", [Objective(1, 1), Objective(0, 1, 2)], ids=str)
def test_a_refit_never_raises_the_objective_and_finds_the_least(objective: Objective) -> None:
    problem = random_problem(np.random.default_rng(3), n=80)
    settings = SearchSettings(objective)
    formula = grow(problem, GrowthSettings(settings, "tree", 5)).formula
    changes = 0
    while True:
        before = formula.measure(objective)[0]
        changed = sweep(formula, settings)
        after = formula.measure(objective)[0]
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
            p = row_probabilities(Formula(problem, formula.tree, other, formula.pattern, formula.cell, formula.counts))
            errors = (
                objective.error * ((p > 0.5) != (problem.labels == 1)) + objective.brier * (problem.labels - p) ** 2
            )
            ridge = sum((b.alpha - b.rest) ** 2 + (b.beta - b.rest) ** 2 for b in other)
            value = float((errors * problem.weights).sum()) * problem.weight_unit + objective.ridge * ridge
            assert value >= after - 1e-6 * after or objective.error


def test_cells_are_the_patterns_of_the_rows() -> None:
    problem = random_problem(np.random.default_rng(8), n=120, values=6)
    formula = grow(problem, GrowthSettings(SearchSettings(Objective()), "tree", 7, 1, 2)).formula
    expected = np.stack([bit.condition[problem.codes[bit.column]] for bit in formula.bits], axis=1)
    assert np.array_equal(formula.pattern[formula.cell], expected)
    assert len(np.unique(formula.pattern, axis=0)) == len(formula.pattern)
    assert formula.counts.sum() == problem.weights.sum()


def test_exchanged_labels_give_the_complement() -> None:
    """Algorithm I and the tree moves are self-dual: the same errors with 0 and 1 exchanged (findings, pitfall 6)."""
    problem = random_problem(np.random.default_rng(11), n=150, values=5)
    other = type(problem)(problem.columns, problem.codes, 1 - problem.labels, problem.weights, problem.weight_unit)
    for algorithm in ("I", "tree"):
        settings = GrowthSettings(SearchSettings(Objective(1, 1)), algorithm, 4)  # type: ignore[arg-type]
        one, two = grow(problem, settings), grow(other, settings)
        assert [s.after for s in one.steps] == pytest.approx([s.after for s in two.steps], abs=1e-9)


def test_fewer_intervals_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the longest intervals are kept the claim still is the fact."""
    monkeypatch.setattr(objectives, "MOST_INTERVALS", 3)
    problem = random_problem(np.random.default_rng(2), n=200, d=4, values=8)
    grown = grow(problem, GrowthSettings(SearchSettings(Objective()), "tree", 8, 1))
    assert [step.applied for step in grown.steps] == pytest.approx([step.claimed for step in grown.steps], abs=1e-9)


def test_intervals_by_hand() -> None:
    u, v = np.array([[0.0, 0.2, 0.9, 0.0, 0.1]]), np.array([[1.0, 0.4, 0.1, 0.3, 0.0]])
    got = allowed_intervals(u, v, Objective())
    assert got.low[0] == pytest.approx([0.05, 0.525, 0.775])
    assert got.high[0] == pytest.approx([0.45, 0.725, 0.975])
    assert got.bucket[0].tolist() == [1, 2, 0, 3, 3]  # ratios .5, .75, below 0, above 1, never


def test_stops_where_nothing_is_left_to_gain() -> None:
    X = np.arange(10.0)[:, None]
    grown = grow(problem_of(X, (X[:, 0] > 4).astype(int)), GrowthSettings(SearchSettings(Objective(1, 0)), "II", 20))
    assert len(grown.path) == 1
    assert grown.formula.measure(Objective(1, 0))[1] == 0.0


def test_one_constant_column_gives_no_bit() -> None:
    assert grow(problem_of(np.ones((6, 1)), np.arange(6) % 2), GrowthSettings(SearchSettings(Objective()))).path == []


def test_least_weight_of_a_side() -> None:
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] < 2).astype(int)
    grown = grow(problem_of(X, y), GrowthSettings(SearchSettings(Objective(), min_rows=5), "II", 1))
    assert grown.formula.bits[0].condition.sum() in (5, 15)


def test_callback_deadline_and_interrupt_keep_the_path() -> None:
    problem = random_problem(np.random.default_rng(1), n=150, values=6)
    settings = GrowthSettings(SearchSettings(Objective()), "II", 9)
    whole = grow(problem, settings)

    def interrupt(event: Any) -> object:
        if event["unit"] == 3:
            raise KeyboardInterrupt
        return False

    past = time.monotonic() - 1
    for callback, deadline, reason, kept in (
        (lambda event: event["unit"] == 2, np.inf, "cancelled", 2),
        (interrupt, np.inf, "interrupted", 3),
        (None, past, "time limit", 0),
    ):
        run, stopped = learned(problem, settings, callback=callback, deadline=deadline)
        assert stopped == reason
        assert len(run.path) == run.chosen == kept
        steps = run.grown[-1].model.steps if run.grown else ()
        assert [s.claimed for s in steps] == [s.claimed for s in whole.steps[:kept]]


def test_some_columns_are_drawn_by_the_seed() -> None:
    problem = random_problem(np.random.default_rng(1), n=150, values=6)
    search = SearchSettings(Objective())
    drawn = {
        tuple(
            bit.column for bit in grow(problem, GrowthSettings(search, "II", 5, column_sample=1, seed=s)).formula.bits
        )
        for s in (0, 0, 1, 2)
    }
    assert 1 < len(drawn) <= 3


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
    search = SearchSettings(Objective(0, 1, 12), min_rows=5)
    settings = GrowthSettings(search, "tree", 12, 1, 3, ridge_by_noise=True)
    grown = grow(problem, settings)
    monkeypatch.setattr(growth, "_MOST_ROWS", 599.0)
    once = grow(problem, settings)
    errors, before = (one.formula.measure(Objective())[1] for one in (grown, once))
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
    settings = GrowthSettings(SearchSettings(Objective(0, 1, 12)), "tree", 4, 1, ridge_by_noise=True)
    learning = CNLLClassifier().learn(Question("yes", 0, problem, None, 0, 1, Watch(), settings))
    made = [next(learning) for _ in range(4)]
    grown = grow(problem, replace(settings, ridge_by_noise=False))
    with pytest.raises(OutOfTimeError):
        grown_freer(grown, replace(settings, search=replace(settings.search, watch=Late())))
    assert (
        [candidate.size for candidate in made] == [1, 2, 3, 4] == [bits for bits, _ in enumerate(grown.path, start=1)]
    )


def test_an_empty_formula_is_false() -> None:
    problem = random_problem(np.random.default_rng(1))
    from rulekit.learners.cnll.formula.read_once import ReadOnceTree

    assert Formula(problem, ReadOnceTree()).probability().tolist() == [0.0]
