"""Sums that differ in a term: a cell where it shows, or that there is none."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rulekit.cells.sums import CellSum, add, number, table
from rulekit.logic.forms import Forms
from rulekit.logic.satisfying import separated


def _at(value: CellSum, cells: tuple[int, ...]) -> Fraction:
    return value.constant + sum((values[cells[axis]] for axis, values in value.tables), Fraction(0))


def _random_sum(rng: np.random.Generator, sizes: list[int]) -> CellSum:
    total = number(int(rng.integers(-6, 7)) / 4)
    for axis, size in enumerate(sizes):
        total = add(total, table(axis, [int(v) / 4 for v in rng.integers(-9, 10, size)]))
    return total


@pytest.mark.parametrize("seed", range(150))
def test_the_answer_is_that_of_every_cell(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=4).tolist()
    first = _random_sum(rng, sizes)
    axis = int(rng.integers(4))
    values = [0.0] * sizes[axis]
    values[int(rng.integers(sizes[axis]))] = float(rng.choice([0.25, -0.25, 2.0**-30, -(2.0**-30), 1.0]))
    second = add(first, table(axis, values))
    found = separated(Forms(sizes), first, second)
    differ = [c for c in product(*map(range, sizes)) if (_at(first, c) > 0) != (_at(second, c) > 0)]
    assert found.nowhere == (not differ)
    assert (found.cells in differ) if differ else found.cells is None


def test_many_columns_are_no_matter():
    """The one cell of 4^40 at which the sum is 0 and its neighbour is above."""
    sizes = [4] * 40
    first = number(-3.0 * sum(range(1, 41)))
    for axis in range(40):
        first = add(first, table(axis, [float(k * (axis + 1)) for k in range(4)]))
    second = add(first, table(7, [0.0, 0.0, 0.0, 2.0**-40]))
    assert separated(Forms(sizes), first, second).cells == (3,) * 40
    third = add(first, table(7, [0.0, 0.0, 2.0**-40, 0.0]))
    assert separated(Forms(sizes), first, third).nowhere


def test_sums_of_too_fine_a_grid_are_left_open():
    sizes = [3] * 5
    first = number(0.0)
    for axis in range(5):
        first = add(first, table(axis, [0.0, 0.1 * (axis + 1), 1.0]))
    found = separated(Forms(sizes), first, add(first, table(0, [0.0, 0.0, 1e-17])))
    assert (found.cells, found.nowhere) == (None, False)
