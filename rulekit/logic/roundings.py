"""Sums over cells with the roundings of doubles: IEEE 754 operations on exact sums, and comparisons of them.

What no value of either operand rounds is an exact sum; what hangs on few columns and truth values is rounded for each
combination (`Grid`); any other operation is an atom named by its operands. So an equal sum is an equal number in every
cell.

A grid has an axis for each column or truth value; cells of a column that no number tells apart are one place on it.
A grid that was `combined` is canonical: no axis could be left out and no two places are alike. So what is computed step
by step, and what is looked up in a table that holds the results of these steps, are the same grid.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.space import CellSpace
from rulekit.cells.sums import (
    CellSum,
    add,
    add_all,
    atom,
    grid_of_parts,
    number,
    range_of,
    scale,
    span,
    sum_with_cell,
    table,
    truth,
)
from rulekit.exactness import NO_SPAN, Span
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.forms import FALSE, TRUE, Forms
from rulekit.logic.satisfying import satisfying, separated

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
        one, other = span(first, self.known), span(second, self.known)
        if one is not None and other is not None and (one + other).fits():
            return add(first, second)
        return self._rounded("+", np.add, operator.add, first, second)

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
        return self._rounded("*", np.multiply, operator.mul, first, second)

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
        parts = (otherwise, then) if condition & 1 else (then, otherwise)
        return atom(self.name(("choice", condition & ~1, *parts), self._bound_of(max, then, otherwise)))

    def _rounded(
        self,
        sign: str,
        operation: Callable[..., Array],
        exact: Callable[..., Fraction],
        first: CellSum,
        second: CellSum,
    ) -> CellSum:
        """The double nearest to what an operation gives, which commutes."""
        found = self.tabulated(operation, first, second)
        if found is not None:
            return found
        bound = self._bound_of(exact, first, second)
        if bound is not None:
            bound = bound * (1 + Fraction(1, 2**52)) + Fraction(1, 2**1022)
        return atom(self.name((sign, *sorted((first, second), key=repr)), bound))

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
        limits = range_of(value, sizes=self._bounds)
        return None if limits is None else max(map(abs, limits))

    def _bound_of(self, join: Callable[..., Fraction], *operands: CellSum) -> Fraction | None:
        """What bounds of the operands say of a result."""
        bounds = [self.bound(value) for value in operands]
        return None if None in bounds else join(*bounds)

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
        ends = [key[1] if key[0] == "infinity" else None for key in keys]
        if ends[0] == -math.inf or ends[1] == math.inf:
            return FALSE
        if ends != [None, None]:
            known = None not in ends or self.bound(left if ends[0] is None else right) is not None
            return TRUE if known else self.forms.opaque("greater", left, right)
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
        known_edges = {known | 1 for _, known in self._sums_compared}
        if self.forms.kind(edge)[0] != "above" or value.atoms or edge | 1 in known_edges:
            return edge
        for earlier, known in self._sums_compared:
            difference = separated(self.forms, earlier, value)
            if difference.nowhere:
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
        return satisfying(self.forms, logic_of_grid(self.forms, apart)).nowhere

    def _lone(self, value: CellSum) -> tuple[Any, ...]:
        """The making of a number that is one atom and nothing else."""
        if len(value.atoms) == 1 and value == atom(value.atoms[0][0]):
            return self._keys[value.atoms[0][0]]
        return ("",)


# Numbers of every combination of few columns and truth values -----------------------------------------------------


MOST_COMBINATIONS = 1 << 12

# 0 and a column with the place of each of its cells, or 1 and an edge with (0, 1): where it does not and does hold.
Axis = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """values [places of each axis]: doubles or truth values; axes in ascending order."""

    axes: tuple[Axis, ...]
    values: Array

    @property
    def key(self) -> tuple[Any, ...]:
        return self.axes, self.values.tobytes()


def grid_of(value: CellSum) -> Grid | None:
    """The doubles that a sum without atoms takes; None where its combinations are too many."""
    tables = [(axis, values.places) for axis, values in value.tables]
    if math.prod(len(distinct) for _, (_, distinct) in tables) << len(value.edges) > MOST_COMBINATIONS:
        return None
    axes: list[Axis] = [(0, axis, places) for axis, (places, _) in tables]
    axes += [(1, edge, (0, 1)) for edge, _ in value.edges]
    terms = [distinct for _, (_, distinct) in tables] + [(Fraction(0), weight) for _, weight in value.edges]
    known = span(value, {})
    kind: Any = np.float64 if known is not None and known.fits() else object  # doubles where no sum of them rounds
    total = np.array(value.constant, dtype=object).astype(kind)
    for place, term in enumerate(terms):
        shape = [1] * len(terms)
        shape[place] = len(term)
        total = total + np.array(term, dtype=object).astype(kind).reshape(shape)
    return Grid(tuple(axes), np.asarray(total, dtype=np.float64))


def grid_of_truth(forms: Forms, edge: int) -> Grid:
    """Where an edge that is no constant holds."""
    literal = forms.mask(edge)
    if literal is None:
        return Grid(((1, edge & ~1, (0, 1)),), np.array([bool(edge & 1), not edge & 1]))
    axis, mask = literal
    held = [bool(mask >> cell & 1) for cell in range(forms.full[axis].bit_length())]
    return Grid(((0, axis, tuple(int(one != held[0]) for one in held)),), np.array([held[0], not held[0]]))


def combined(operation: Callable[..., Array], *operands: Grid | None) -> Grid | None:
    """An operation on the numbers of each combination; None where these are too many or some result is not finite."""
    grids = [grid for grid in operands if grid is not None]
    if len(grids) < len(operands):
        return None
    axes: dict[tuple[int, int], tuple[int, ...]] = {}
    for kind, index, places in (axis for grid in grids for axis in grid.axes):
        known, pairs = axes.get((kind, index), places), dict[tuple[int, int], int]()
        refined = (pairs.setdefault(pair, len(pairs)) for pair in zip(known, places, strict=True))
        axes[kind, index] = places if known == places else tuple(refined)
    order = sorted(axes)
    sizes = [max(axes[key]) + 1 for key in order]
    if math.prod(sizes) > MOST_COMBINATIONS:
        return None
    spread = []
    for grid in grids:
        values = grid.values
        shape = [1] * len(order)
        for i, (kind, index, places) in enumerate(grid.axes):
            at = dict(zip(axes[kind, index], places, strict=True))
            values = values.take([at[place] for place in range(len(at))], axis=i)
            shape[order.index((kind, index))] = len(at)
        spread.append(values.reshape(shape))
    with np.errstate(all="ignore"):
        found = np.broadcast_to(operation(*spread), sizes)
    if found.dtype != np.bool_:
        found = found + 0.0  # one zero
        if not np.isfinite(found).all():
            return None
    return _canonical([(*key, axes[key]) for key in order], found)


def _canonical(axes: list[Axis], values: Array) -> Grid:
    kept: list[Axis] = []
    for kind, index, places in axes:
        i = len(kept)
        known: dict[bytes, int] = {}
        rows = np.moveaxis(values, i, 0)
        merged = [known.setdefault(row.tobytes(), len(known)) for row in rows]
        if len(known) == 1:
            values = rows[0]
            continue
        if len(known) < len(merged):
            values = values.take([merged.index(place) for place in range(len(known))], axis=i)
        kept.append((kind, index, tuple(merged[place] for place in places)))
    return Grid(tuple(kept), np.ascontiguousarray(values))


def sum_of_grid(grid: Grid) -> CellSum | None:
    """The numbers of a grid as an exact sum of tables and truth values; None where they are none."""
    base = Fraction(grid.values.flat[0].item())
    total = number(base)
    for i, (kind, index, places) in enumerate(grid.axes):
        line = np.moveaxis(grid.values, i, 0).reshape(grid.values.shape[i], -1)[:, 0]
        steps = [Fraction(value) - base for value in line.tolist()]
        total = add(total, truth(index), steps[1]) if kind else add(total, table(index, [steps[p] for p in places]))
    if len(grid.axes) < 2:
        return total
    known = span(total, {})
    if known is None or not known.fits():
        return None
    apart = combined(np.not_equal, grid, grid_of(total))
    return None if apart is None or apart.values.any() else total


def logic_of_grid(forms: Forms, grid: Grid) -> int:
    """The edge of where a grid of truth values is true."""
    known: dict[tuple[int, bytes], int] = {}

    def edge_of(depth: int, values: Array) -> int:
        if values.all() or not values.any():
            return TRUE if values.all() else FALSE
        key = depth, values.tobytes()
        if key not in known:
            branches = [
                (edge, edge_of(depth + 1, rest))
                for edge, rest in zip(_edges(forms, grid.axes[depth]), values, strict=True)
            ]
            known[key] = forms.branch(branches)
        return known[key]

    return edge_of(0, grid.values)


def _edges(forms: Forms, axis: Axis) -> list[int]:
    kind, index, places = axis
    if kind:
        return [index ^ 1, index]
    masks = [0] * (max(places) + 1)
    for cell, place in enumerate(places):
        masks[place] |= 1 << cell
    return [forms.literal(index, mask) for mask in masks]
