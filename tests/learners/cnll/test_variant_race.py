"""The variant that finds plain rules, chosen on held-out rows: trust in noisy labels, the rows where they are law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cnll_cases import grow

from rulekit.learners.binned.binning import bin_table
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.plain.rule_paths import VARIANTS, RuleSettings, clearly_fewer, raced_variant
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import GrowthSettings
from rulekit.tables.kinds.inference import infer

GROWTH = GrowthSettings(SearchSettings(Objective(0.0, 1.0, 2.0)), "tree", 4, 1, 3)


def problem_of(seed: int, noise: float, n: int = 900) -> Problem:
    """Five clauses of three conditions each, too many for a formula of four bits; some labels turned."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, 15))
    labels = np.any(np.all(bits.reshape(n, 5, 3) == 1, axis=2), axis=1) ^ (rng.random(n) < noise)
    weights = np.ones(n, dtype=np.int64)
    columns, codes = bin_table(infer({f"b{j}": bits[:, j] for j in range(15)}), weights, 64)
    return Problem(columns, codes, labels.astype(np.int64), weights, 1.0)


def test_a_law_that_the_formula_has_not_learned_is_found_from_the_rows() -> None:
    problem = problem_of(0, 0.0)
    assert VARIANTS[raced_variant(problem, grow(problem, GROWTH).path, RuleSettings())].trust < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_labels_without_law_leave_the_first(seed: int) -> None:
    problem = problem_of(seed, 0.5)
    assert raced_variant(problem, grow(problem, GROWTH).path, RuleSettings()) == 0


def test_it_does_not_depend_on_how_rows_are_weighted_or_repeated() -> None:
    problem = problem_of(1, 0.1, 300)
    path = grow(problem, GROWTH).path
    times = np.arange(300) % 3 + 1
    rows = np.repeat(np.arange(300), times)
    weighted = replace(problem, weights=times)
    assert raced_variant(weighted, path, RuleSettings()) == raced_variant(problem.take(rows), path, RuleSettings())


def test_too_few_rows_or_no_formula_leave_the_first() -> None:
    problem = problem_of(0, 0.0, 30)
    assert raced_variant(problem, [], RuleSettings()) == 0
    one = problem.take(np.zeros(1, dtype=np.int64))
    assert raced_variant(one, grow(problem, GROWTH).path, RuleSettings()) == 0


def test_fewer_errors_are_clear_beyond_a_standard_error() -> None:
    weights = np.ones(100, dtype=np.int64)
    none = np.zeros(100, dtype=bool)
    nine, ten, others = none.copy(), none.copy(), none.copy()
    nine[:9], ten[:10], others[50:60] = True, True, True
    assert not clearly_fewer(nine, others, weights, 1.0)  # one in a hundred, where nineteen are decided otherwise
    assert clearly_fewer(none, ten, weights, 1.0)
    assert not clearly_fewer(none, ten, weights, 1 / 100)  # of one row in all
    assert not clearly_fewer(ten, nine, weights, 1.0)
    assert not clearly_fewer(ten, ten, weights, 1.0)
