"""Array of cells with the roundings of doubles: IEEE 754 operations on exact sums, and comparisons of them.

What no value of either operand rounds is an exact sum; what hangs on few columns and truth values is rounded for each
combination (`tabulated`); any other operation is an atom named by its operands. So an equal sum is an equal number in
every cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.space import CellSpace
from rulekit.exactness import NO_SPAN, Span
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.exact_numbers import (
    CellSum,
    add,
    add_all,
    atom,
    grid_of_parts,
    number,
    scale,
    span,
    sum_with_cell,
    table,
    truth,
)
from rulekit.logic.forms import FALSE, TRUE, Forms
from rulekit.logic.satisfying import satisfying
from rulekit.logic.sum_search import separated
from rulekit.logic.tabulated import (
    Grid,
    combined,
    grid_of,
    grid_of_truth,
    logic_of_grid,
    sum_of_grid,
)

ZERO, ONE = number(0), number(1)
MOST_COMPARED = 16
MOST_BOUND = Fraction(2) ** 1000


class Roundings:
    """Sums, atoms and comparisons over one space. `candidates` are cells in which two comparisons of sums differ."""

    def __init__(self, space: CellSpace, deadline: Deadline = NO_LIMIT) -> None:
        self.space = space
        self.forms = Forms([len(axis) for axis in space.axes], deadline)
        self.candidates: list[tuple[int, ...]] = []
        self.known: dict[int, Span] = {}  # of atoms on a grid
        self._grids: dict[int, Grid] = {}
        self._atoms: dict[tuple[Any, ...], int] = {}
        self._keys: list[tuple[Any, ...]] = []
        self._bounds: dict[int, Fraction] = {}  # of a finite atom: bound
        self._sums_compared: list[tuple[CellSum, int]] = []

    def plus(self, first: CellSum, second: CellSum) -> CellSum:
        """The double nearest to the sum."""
        if first == ZERO or second == ZERO:
            return second if first == ZERO else first
        exact = add(first, second)
        if self._is_exact(first, second):
            return exact
        found = self.tabulated(np.add, first, second)
        return found or self._rounded("+", first, second, exact_bound=self._sum_of_bounds(first, second))

    def total(self, terms: Iterable[CellSum]) -> CellSum:
        """The terms added from left to right, each sum rounded to the nearest double.

        As long as no partial sum can round they are only collected, so that an exact sum of many terms takes time
        linear in their number.
        """
        collected: list[CellSum] = [ZERO]
        reach = Span()
        for term in terms:
            own = span(term, self.known)
            if own is not None and (reach + own).fits():
                collected.append(term)
                reach += own
            else:
                collected = [self.plus(add_all(collected), term)]
                reach = span(collected[0], self.known) or NO_SPAN
        return add_all(collected)

    def minus(self, first: CellSum, second: CellSum) -> CellSum:
        """The double nearest to the difference."""
        negative = self.tabulated(np.negative, second) if second.atoms else None
        return self.plus(first, negative or scale(second, Fraction(-1)))

    def times(self, first: CellSum, second: CellSum) -> CellSum:
        """The double nearest to the product."""
        if first == ONE or second == ONE:
            return second if first == ONE else first
        for factor, other in ((first, second), (second, first)):
            size = span(other, self.known) if factor.fixed else None
            if size is not None and size.times(Span.of(factor.constant)).fits():
                return scale(other, factor.constant)
        found = self.tabulated(np.multiply, first, second)
        if found is not None:
            return found
        bounds = self.bound(first), self.bound(second)
        size_of = None if bounds[0] is None or bounds[1] is None else bounds[0] * bounds[1]
        return self._rounded("*", first, second, exact_bound=size_of)

    def over(self, first: CellSum, second: CellSum) -> CellSum:
        """The double nearest to the quotient."""
        found = self.tabulated(np.divide, first, second)
        return found or atom(self.name(("/", first, second)))

    def choose(self, condition: int, then: CellSum, otherwise: CellSum) -> CellSum:
        """One number where the condition holds, else the other."""
        if condition in (TRUE, FALSE) or then == otherwise:
            return otherwise if condition == FALSE else then
        if then.fixed and otherwise.fixed:
            return add(otherwise, self.of_truth(condition), then.constant - otherwise.constant)
        found = self.tabulated(np.where, grid_of_truth(self.forms, condition), then, otherwise)
        if found is not None:
            return found
        sizes = self.bound(then), self.bound(otherwise)
        bound = None if sizes[0] is None or sizes[1] is None else max(sizes[0], sizes[1])
        if condition & 1:
            return atom(self.name(("choice", condition ^ 1, otherwise, then), bound))
        return atom(self.name(("choice", condition, then, otherwise), bound))

    def _rounded(self, operator: str, first: CellSum, second: CellSum, exact_bound: Fraction | None) -> CellSum:
        pair = sorted((first, second), key=repr)  # both operations commute
        bound = None if exact_bound is None else exact_bound * (1 + Fraction(1, 2**52)) + Fraction(1, 2**1022)
        return atom(self.name((operator, *pair), bound))

    def name(self, key: tuple[Any, ...], bound: Fraction | None = None) -> int:
        """The integer of an atom; bound: its largest size where it is known to be finite."""
        name = self._atoms.setdefault(key, len(self._keys))
        if name == len(self._keys):
            self._keys.append(key)
            if bound is not None and bound < MOST_BOUND:
                # a double above it, as the digits of a bound would else grow with every rounding
                self._bounds[name] = Fraction(math.nextafter(float(bound), math.inf))
        return name

    def bound(self, value: CellSum) -> Fraction | None:
        """A number that the size of a sum never exceeds, None where there may be none."""
        total = abs(value.constant) + sum((values.span.size for _, values in value.tables), Fraction(0))
        total += sum((abs(weight) for _, weight in value.edges), Fraction(0))
        for name, weight in value.atoms:
            if name not in self._bounds:
                return None
            total += abs(weight) * self._bounds[name]
        return total

    def _sum_of_bounds(self, first: CellSum, second: CellSum) -> Fraction | None:
        one, other = self.bound(first), self.bound(second)
        return None if one is None or other is None else one + other

    def _is_exact(self, first: CellSum, second: CellSum) -> bool:
        """Whether no value of the sum is rounded."""
        one, other = span(first, self.known), span(second, self.known)
        return one is not None and other is not None and (one + other).fits()

    def tabulated(self, operation: Callable[..., Array], *operands: CellSum | Grid) -> CellSum | None:
        """An operation carried out for each combination, where all operands hang on few columns and truth values."""
        found = combined(operation, *(part if isinstance(part, Grid) else self._grid(part) for part in operands))
        if found is None:
            return None
        total = sum_of_grid(found)
        if total is None:
            name = self.name(("grid", *found.key), Fraction(float(np.abs(found.values).max())))
            self._grids[name] = found
            total = atom(name)
        return total

    def _grid(self, value: CellSum) -> Grid | None:
        if not value.atoms:
            return grid_of(value)
        (name, weight), *others = value.atoms
        if others or value != scale(atom(name), weight) or abs(weight) != 1 or name not in self._grids:
            return None
        return Grid(self._grids[name].axes, self._grids[name].values * float(weight))

    def constant(self, value: float) -> CellSum:
        return number(value) if math.isfinite(value) else atom(self.name(("infinity", value)))

    def of_truth(self, edge: int) -> CellSum:
        """1 where an edge holds, else 0."""
        if edge in (TRUE, FALSE):
            return ONE if edge == TRUE else ZERO
        literal = self.forms.mask(edge)
        if literal is None:
            return truth(edge)
        axis, mask = literal
        return table(axis, [mask >> cell & 1 for cell in range(len(self.space.axes[axis]))])

    def with_cell(self, root: int, axis: int, cell: int) -> int:
        """An edge where one column is in one cell; what compares numbers that are not known becomes another unknown."""
        forms = self.forms
        image: dict[int, int] = {}

        def moved(edge: int) -> int:
            if edge >> 1 not in image:  # an edge inside a sum
                image[edge >> 1] = self.with_cell(edge & ~1, axis, cell)
            return image[edge >> 1] ^ (edge & 1)

        for index in forms.below(root):
            kind = forms.kinds[index]
            if kind[0] == "true":
                image[index] = TRUE
            elif kind[0] == "cells":
                image[index] = (TRUE if kind[2] >> cell & 1 else FALSE) if kind[1] == axis else 2 * index
            elif kind[0] == "and":
                image[index] = forms.conjunction([moved(edge) for edge in kind[1]])
            elif kind[0] == "above" and not kind[1].atoms:
                total = sum_with_cell(kind[1], axis, cell)
                for edge, weight in kind[1].edges:
                    total = add(total, self.of_truth(moved(edge)), weight)
                image[index] = forms.above_zero(total)
            else:
                right = kind[2] if len(kind) > 2 else ZERO
                image[index] = forms.opaque(f"{kind[0]} with cell {cell} of {axis}", kind[1], right)
        return moved(root)

    # Comparisons ---------------------------------------------------------------------------------------------------

    def above(self, left: CellSum, right: CellSum) -> int:
        """Whether left > right, of two doubles."""
        for first, second, is_left in ((left, right, True), (right, left, False)):
            key = self._lone(first)
            if key[0] == "choice" and any(self._lone(part)[0] == "infinity" for part in key[2:]):
                parts = [self.above(part, second) if is_left else self.above(second, part) for part in key[2:]]
                return self.forms.choice(key[1], *parts)
        keys = self._lone(left), self._lone(right)
        if keys[0][0] == "infinity" or keys[1][0] == "infinity":
            value = [key[1] if key[0] == "infinity" else None for key in keys]
            if value[0] == -math.inf or value[1] == math.inf:
                return FALSE
            other = right if value[0] is not None else left
            if None not in value or self.bound(other) is not None:
                return TRUE
            return self.forms.opaque("greater", left, right)
        apart = combined(np.greater, self._grid(left), self._grid(right)) if left.atoms or right.atoms else None
        if apart is not None:
            return logic_of_grid(self.forms, apart)
        if keys[0][0] == "lookup" and right.fixed:
            values, index = keys[0][1:]
            limit = right.constant
            found = self.forms.function(index, lambda i: 0 <= i < len(values) and values[int(i)] > limit)
            if found is not None:
                return found
        if span(left, self.known) is None or span(right, self.known) is None:
            return self.forms.opaque("greater", left, right)
        return self._above_zero(add(left, right, -1))

    def _above_zero(self, value: CellSum) -> int:
        """Whether value > 0: the edge of an earlier comparison where that is the same in every cell."""
        grid = grid_of_parts(value, self.known) if value.atoms else None
        if grid is not None:  # multiples of it: s > 0 is s + r > 0 up to the next multiple, and not `grid - s > 0`
            value = add(value, number(grid * math.ceil(value.constant / grid) - value.constant))
            if value.atoms[0][1] < 0:
                return self._above_zero(add(number(grid), value, -1)) ^ 1
        edge = self.forms.above_zero(value)
        if (
            self.forms.kind(edge)[0] != "above"
            or value.atoms
            or any(edge | 1 == known | 1 for _, known in self._sums_compared)
        ):
            return edge
        for earlier, known in self._sums_compared:
            difference = separated(self.forms, earlier, value)
            if difference.equal:
                return known
            if difference.cells is not None:
                self.candidates.append(difference.cells)
        if len(self._sums_compared) < MOST_COMPARED:
            self._sums_compared.append((value, edge))
        return edge

    def at_least_zero(self, value: CellSum) -> int:
        """Whether value >= 0, false where an overflow made it no number."""
        if span(value, self.known) is None:
            return self.forms.opaque("at least", value, ZERO)
        return self.above(ZERO, value) ^ 1

    def is_close(self, one: CellSum, other: CellSum, gap: float) -> bool:
        """Whether two numbers are shown to be within a gap in every cell."""
        if one == other:
            return True
        apart = combined(lambda a, b: ~(np.abs(a - b) <= gap), self._grid(one), self._grid(other))
        if apart is None:
            return False
        answer = satisfying(self.forms, logic_of_grid(self.forms, apart))
        return answer.cells is None and not answer.reason

    def _lone(self, value: CellSum) -> tuple[Any, ...]:
        """The making of a number that is one atom and nothing else."""
        if len(value.atoms) == 1 and value == atom(value.atoms[0][0]):
            return self._keys[value.atoms[0][0]]
        return ("",)
