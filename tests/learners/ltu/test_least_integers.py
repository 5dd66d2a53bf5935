"""Least whole weights: the same truth on every combination, of the least total, equal where conditions are alike."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.ltu.exact_units import combinations, least_integer_unit
from rulekit.learners.ltu.inputs import Unit, UnitTerm

NONE_MISSING = np.tile([False, True], (20, 1))


def unit_of(weights, bias):
    holds = np.array([0.0, 0.0, 1.0])
    return Unit(tuple(UnitTerm(weight, k, holds) for k, weight in enumerate(weights)), bias)


def cube(k):
    return np.array(list(itertools.product([False, True], repeat=k)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_whole_weights_have_the_same_truth_and_no_smaller_total_has(seed, k):
    """So 4 of 5 have one weight, one that changes nothing has none; the bias is half-way between true and false."""
    rng = np.random.default_rng(seed)
    weights, points = np.abs(rng.normal(size=k)) + 1e-3, cube(k)
    holds = points @ weights >= weights.sum() * rng.uniform(0.05, 0.95)
    real = unit_of(weights, -(points @ weights)[holds].min())
    unit = least_integer_unit(real, NONE_MISSING)
    found = np.zeros(k, dtype=int)
    for term in unit.terms:
        assert term.weight == int(term.weight) > 0
        found[term.column] = term.weight
    sums = points @ found
    assert np.array_equal(sums + unit.bias >= 0, holds)
    assert -unit.bias == (sums[holds].min() + sums[~holds].max()) / 2
    if k <= 4:
        smaller = (w for w in itertools.product(range(found.sum() + 1), repeat=k) if sum(w) < found.sum())
        assert not any((points[holds] @ w).min() > (points[~holds] @ w).max() for w in smaller)


@pytest.mark.parametrize(
    ("weights", "bias", "whole"),
    [
        ([0.21, 0.2, 0.19, 0.2, 0.2], -0.77, [1, 1, 1, 1, 1]),  # alike
        ([5.0, 3.0, 2.0, 2.0, 1.0], -6.95, [2, 1, 1, 1]),
        ([3.3, 2.9, 2.1, 1.2, 0.9], -5.15, [3, 2, 2, 1, 1]),
    ],
)
def test_known_functions(weights, bias, whole):
    assert [term.weight for term in least_integer_unit(unit_of(weights, bias), NONE_MISSING).terms] == whole


def test_levels_of_one_column_exclude_one_another():
    """Only two of the three columns can hold at once, so that a level need not be told from another one."""
    levels = [np.arange(5) == code for code in (2, 3, 4)]
    nested = (levels[1] | levels[2], levels[2])
    held = ((0, nested[0]), (0, nested[1]), (1, np.array([False, False, True])))
    conditions = [UnitTerm(1.0, column, holds.astype(float)) for column, holds in held]
    points, free = combinations(conditions, np.array([[False, False], [False, True]]))
    assert len(points) == 3 * 2  # none, the first, both; with the other column or without
    assert free.tolist() == [False, False, True]
    points, _ = combinations(conditions, np.array([[False, False], [True, True]]))
    assert len(points) == 3 * 2  # a missing cell of the other column is as a false one


def test_what_is_no_sum_of_few_conditions():
    """Units that never or always fire have no terms, and many conditions are left to rounding."""
    found = [least_integer_unit(unit_of([1.0, 2.0], bias), NONE_MISSING) for bias in (0.5, -4.0)]
    assert [(unit.terms, unit.bias) for unit in found] == [((), 1.0), ((), -1.0)]
    assert least_integer_unit(unit_of([1.0] * 11, -3.0), NONE_MISSING) is None
