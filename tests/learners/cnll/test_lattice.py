"""All conjunctions of a formula's bits at once: the prime implicants and what they cover, against plain enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import grow, random_problem

from rulekit.learners.cnll.formula.noisy_formula import probability_of_codes
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.plain.lattice import Lattice, _minimal, _superset_sums, oriented
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import Grown, GrowthSettings


def grown(seed: int, units: int = 6) -> Grown:
    problem = random_problem(np.random.default_rng(seed), n=120, values=6)
    return grow(problem, GrowthSettings(SearchSettings(Objective(0.0, 1.0, 2.0)), "tree", units, 1, 3))


def truth(formula: Grown, fires: tuple[bool, ...]) -> bool:
    tree, bits = formula.path[-1]
    strengths = np.array([[b.on if holds else b.off] for b, holds in zip(oriented(bits), fires, strict=True)])
    return bool(tree.probabilities(strengths)[tree.root, 0] > 0.5)


@pytest.mark.parametrize("seed", range(6))
def test_the_primes_are_the_minimal_true_patterns(seed: int) -> None:
    formula = grown(seed)
    tree, bits = formula.path[-1]
    lattice = Lattice.of(tree, bits, formula.formula.problem.codes)
    expected = set()
    for fires in itertools.product([False, True], repeat=len(bits)):
        smaller = [(*fires[:t], False, *fires[t + 1 :]) for t in range(len(bits)) if fires[t]]
        if truth(formula, fires) and not any(truth(formula, below) for below in smaller):
            expected.add(sum(1 << t for t, holds in enumerate(fires) if holds))
    assert set(lattice.primes.tolist()) == expected


@pytest.mark.parametrize("seed", range(6))
def test_together_the_primes_are_the_formula(seed: int) -> None:
    """On rows: a row is decided positive iff some implicant covers it."""
    formula = grown(seed)
    tree, bits = formula.path[-1]
    codes = formula.formula.problem.codes
    lattice = Lattice.of(tree, bits, codes)
    some = np.zeros(len(lattice.pattern), dtype=bool)
    for prime in lattice.primes.tolist():
        some |= lattice.pattern & prime == prime
    assert np.array_equal(some, probability_of_codes(tree, bits, codes) > 0.5)


def test_the_gains_are_those_of_the_rows_that_are_left() -> None:
    formula = grown(3)
    tree, bits = formula.path[-1]
    lattice = Lattice.of(tree, bits, formula.formula.problem.codes)
    gain = np.random.default_rng(0).integers(-9, 9, len(lattice.pattern)).astype(np.float64)
    lattice.restrict_to(gain)
    covers = [lattice.pattern & prime == prime for prime in lattice.primes.tolist()]
    assert lattice.gains.tolist() == [gain[rows].sum() for rows in covers]
    lattice.cover(int(lattice.primes[0]))
    assert lattice.gains.tolist() == [gain[rows & ~covers[0]].sum() for rows in covers]


@pytest.mark.parametrize("bits", [1, 3, 6, 7, 9])
def test_minimal_patterns_in_words_of_64(bits: int) -> None:
    true = np.random.default_rng(bits).random(1 << bits) < 0.4
    expected = [true[p] and not any(true[p & ~(1 << t)] for t in range(bits) if p >> t & 1) for p in range(1 << bits)]
    assert _minimal(true.reshape((2,) * bits)).tolist() == expected


@pytest.mark.parametrize("numpy_alone", ["0", "1"])
def test_gains_cell_by_cell_are_those_over_all_patterns(numpy_alone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEKIT_NO_NUMBA", numpy_alone)
    formula = grown(2)
    found = Lattice.of(*formula.path[-1], formula.formula.problem.codes)
    gain = np.random.default_rng(1).integers(-9, 9, len(found.cells)).astype(np.float64)
    one_by_one = found._gains(found.cells, gain)
    everywhere = np.zeros(1 << len(found.literals))
    everywhere[found.cells] = gain
    assert np.array_equal(one_by_one, _superset_sums(everywhere, len(found.literals))[found.primes])
