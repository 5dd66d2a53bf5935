"""How the benchmark of the LTU paper counts its runs and reads its claims."""

from __future__ import annotations

import numpy as np

from benchmarks.learning.ltu_claims import claim_lines, good_to
from benchmarks.learning.ltu_runs import LEARNERS, TEST_ROWS, Runs, own_rule, rows_of, runs
from benchmarks.learning.paper_ltu import FIGURES, MARKS
from rulekit.learners.papers.madaline_networks import Winnow


def test_the_best_is_the_mean_over_groups_of_five() -> None:
    found = Runs(np.array([5.0, 1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 3.0, 9.0, 9.0]), np.full(10, 2.0))
    assert (found.average, found.best, found.units) == (5.4, 2.0, 2.0)


def test_rows_are_of_the_papers_function_with_columns_permuted() -> None:
    found = [rows_of(1000, 8, seed) for seed in range(4)]
    assert {one.train.shape for one in found} == {(1000, 8)}
    assert {len(one.y_test) for one in found} == {TEST_ROWS}
    # A column of the five is alike in rows of label 1 and 0, but two of them are not.
    pairs = [np.argwhere(np.abs(np.cov(one.train[one.y].T)) > 0.08)[:, 0] for one in found]
    assert len({tuple(np.unique(pair[np.bincount(pair)[pair] > 1])) for pair in pairs}) > 1


def test_the_power_of_two_follows_the_bits() -> None:
    assert [own_rule("power of two", d) for d in (4, 5, 50)] == [Winnow(2.0, 0.5, theta) for theta in (4.0, 8.0, 64.0)]


def test_every_mark_and_line_is_of_a_learner() -> None:
    assert {name for _, name, *_ in MARKS} <= set(LEARNERS)
    assert {name for _, *names in FIGURES.values() for name in names} <= set(LEARNERS)


def test_claims_are_read_from_runs() -> None:
    bits = (5, 10)
    found = {
        name: {(n, d): runs(fit, 60, d, [0]) for n in (1000, 3000) for d in bits} for name, fit in LEARNERS.items()
    }
    found["Madaline S"] = {(n, d): Runs(np.array([d - 5.0]), np.array([2.0])) for n in (1000, 3000) for d in bits}
    assert good_to(found, "Madaline S", 1000, bits, 1.0) == 5
    assert good_to(found, "Madaline S", 1000, bits, 5.0) == 10
    lines = claim_lines(found, bits, {"backprop": 2.0, "logistic": 9.0}, {"alpha 2": 0.05}, 0.9)
    assert any("smallest trees" in line and "| reproduced |" in line for line in lines)
    assert any("Madaline S errs very little" in line and "NOT reproduced" in line for line in lines)
