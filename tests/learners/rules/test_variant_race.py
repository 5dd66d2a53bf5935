"""The price of a literal, chosen on held-out rows: a low one where labels are law, the first where they are noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rulekit.learners.binned.binning import bin_table
from rulekit.learners.binned.problem import Problem
from rulekit.learners.fitting.rule_sets import covered_by_some
from rulekit.learners.rules.rule_paths import VARIANTS, RuleSettings, clearly_fewer, raced_variant, rule_path
from rulekit.tables.kinds.inference import infer


def problem_of(seed: int, noise: float, n: int = 900) -> Problem:
    """Five clauses of three conditions each, some labels turned."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, 15))
    labels = np.any(np.all(bits.reshape(n, 5, 3) == 1, axis=2), axis=1) ^ (rng.random(n) < noise)
    weights = np.ones(n, dtype=np.int64)
    columns, codes = bin_table(infer({f"b{j}": bits[:, j] for j in range(15)}), weights, 64)
    return Problem(columns, codes, labels.astype(np.int64), weights, 1.0)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_law_is_found_on_rows_that_were_not_searched(noise: float) -> None:
    problem, held = problem_of(0, noise), problem_of(100, noise)
    best = VARIANTS[raced_variant(problem, RuleSettings())]
    rules = rule_path(problem, RuleSettings(), best)[-1]
    decided = covered_by_some(rules, held.codes, len(held.labels))
    assert (decided != (held.labels == 1)).mean() <= noise + 0.01


@pytest.mark.parametrize("seed", range(3))
def test_labels_without_law_leave_the_first(seed: int) -> None:
    problem = problem_of(seed, 0.5)
    assert raced_variant(problem, RuleSettings()) == 0


def test_it_does_not_depend_on_how_rows_are_weighted_or_repeated() -> None:
    problem = problem_of(1, 0.1, 300)
    times = np.arange(300) % 3 + 1
    rows = np.repeat(np.arange(300), times)
    weighted = replace(problem, weights=times)
    assert raced_variant(weighted, RuleSettings()) == raced_variant(problem.take(rows), RuleSettings())


def test_too_few_rows_leave_the_first() -> None:
    problem = problem_of(0, 0.0, 30)
    assert raced_variant(problem, RuleSettings()) == 0
    one = problem.take(np.zeros(1, dtype=np.int64))
    assert raced_variant(one, RuleSettings()) == 0


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
