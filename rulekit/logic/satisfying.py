"""Cells in which a Boolean form holds, found by a solver or shown not to exist.

A column of n cells has n - 1 variables, "the cell is the i-th or a later one", each of which implies the one before; so
exactly the combinations that some row shows are allowed. A conjunction has a variable of its own (Tseitin 1968), and so
has a comparison that is known by its making only, which is then free: what is shown not to exist does not exist.

The solver is MiniSat 2.2 (Eén and Sörensson 2003) of python-sat, the extra `proof`. It is deterministic and takes a
bound on its conflicts. Where it is not installed every question that needs a search is left open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from threading import Timer
from typing import Any

from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.exact_numbers import CellSum, add, common_unit
from rulekit.logic.forms import FALSE, TRUE, Forms

MOST_CONFLICTS = 20_000  # 0.1 to 0.3 s with hundreds of clauses, up to 15 s with 350,000

TOO_LARGE = f"too large for the solver: more than {MOST_CONFLICTS:,} conflicts"
MANY_CLAUSES = 10_000  # from here on a search may outlast a limit of time, and is interrupted by it
NO_SOLVER = "left open, because the solver is missing: install rulekit-portable[proof]"


@dataclass(frozen=True, slots=True)
class Answer:
    """values: of the variables from 1 on, with which all clauses hold, or None; reason: why the search was given up."""

    values: tuple[bool, ...] | None
    reason: str = ""


def solve(n_variables: int, clauses: Sequence[Sequence[int]], deadline: Deadline = NO_LIMIT) -> Answer:
    """Values with which all clauses hold; a literal is a variable's number, from 1, or minus that for its contrary."""
    if not all(clauses):
        return Answer(None)
    if deadline.over:
        return Answer(None, deadline.reason)
    try:
        from pysat.solvers import Minisat22
    except ImportError:  # no such package, or another one of its name
        return Answer(None, NO_SOLVER)
    with Minisat22(bootstrap_with=clauses) as solver:
        solver.conf_budget(MOST_CONFLICTS)
        found = _limited(solver, len(clauses), deadline)
        if found is None:
            return Answer(None, deadline.reason if deadline.over else TOO_LARGE)
        if not found:
            return Answer(None)
        held = set(solver.get_model())  # variables that no clause names are false
        return Answer(tuple(variable in held for variable in range(1, n_variables + 1)))


def _limited(solver: Any, n_clauses: int, deadline: Deadline) -> bool | None:
    if deadline.seconds is None or n_clauses < MANY_CLAUSES:
        found: bool | None = solver.solve_limited()
        return found
    timer = Timer(deadline.left, solver.interrupt)
    timer.start()
    try:
        found = solver.solve_limited(expect_interrupt=True)
    finally:
        timer.cancel()
        timer.join()  # so that no interrupt comes to a solver that is gone
    return found


MOST_PARTS = 400_000
_CHECKED_EVERY = 1_024  # forms


@dataclass(frozen=True, slots=True)
class CellsFound:
    """cells: one of each column, or None where there are none; reason: why the search was given up, else "".

    free: the form is reached by comparisons whose outcome is not known, so that the cells may be no example.
    """

    cells: tuple[int, ...] | None
    reason: str = ""
    free: bool = False

    @property
    def nowhere(self) -> bool:
        """Whether it is shown that there are no such cells."""
        return self.cells is None and not self.reason


def satisfying(forms: Forms, root: int, excluded: Sequence[tuple[int, ...]] = ()) -> CellsFound:
    """Cells in which the edge `root` holds, none of the excluded ones."""
    if root in (TRUE, FALSE):
        return CellsFound(None if root == FALSE else (0,) * len(forms.full))
    encoding = _Encoding(forms)
    order = forms.below(root)
    if sum(len(forms.kinds[i][1]) if forms.kinds[i][0] == "and" else 1 for i in order) > MOST_PARTS:
        return CellsFound(None, f"too large for the solver: more than {MOST_PARTS:,} parts")
    for place, index in enumerate(order):
        encoding.define(index)
        if place % _CHECKED_EVERY == 0 and forms.deadline.over:
            return CellsFound(None, forms.deadline.reason)
    encoding.clauses.append([encoding.of(root)])
    for cells in excluded:
        encoding.clauses.append([-encoding.literal(axis, 1 << cell) for axis, cell in enumerate(cells)])
    answer = solve(encoding.count, encoding.clauses, forms.deadline)
    found = None if answer.values is None else encoding.cells(answer.values)
    return CellsFound(found, answer.reason, encoding.free)


class _Encoding:
    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.clauses: list[list[int]] = []
        self.free = False
        self._variable: dict[int, int] = {}
        self._first: list[int] = []
        self.count = 0
        for full in forms.full:
            first, size = self.count + 1, full.bit_length() - 1
            self._first.append(first)
            self.clauses += [[-later, earlier] for earlier, later in pairwise(range(first, first + size))]
            self.count += size
        self._true = self._new()
        self.clauses.append([self._true])

    def _new(self) -> int:
        self.count += 1
        return self.count

    def of(self, edge: int) -> int:
        """The literal of an edge whose form is defined."""
        return -self._variable[edge >> 1] if edge & 1 else self._variable[edge >> 1]

    def define(self, index: int) -> None:
        """Give a form a literal, after those that it is made of."""
        kind = self.forms.kinds[index]
        if kind[0] == "true":
            self._variable[index] = self._true
        elif kind[0] == "cells":
            self._variable[index] = self.literal(kind[1], kind[2])
        elif kind[0] == "and":
            self._variable[index] = self._all([self.of(edge) for edge in kind[1]])
        else:
            self.free = True
            self._variable[index] = self._new()

    def literal(self, axis: int, mask: int) -> int:
        """The cell of a column is one of a set."""
        runs = [self._run(axis, start, stop) for start, stop in _runs(mask)]
        return runs[0] if len(runs) == 1 else -self._all([-run for run in runs])

    def _run(self, axis: int, start: int, stop: int) -> int:
        bounds = [self._first[axis] + start - 1] if start else []
        if stop < self.forms.full[axis].bit_length():
            bounds.append(-(self._first[axis] + stop - 1))
        return bounds[0] if len(bounds) == 1 else self._all(bounds)

    def _all(self, literals: list[int]) -> int:
        result = self._new()
        self.clauses += [[-result, literal] for literal in literals]
        self.clauses.append([result, *(-literal for literal in literals)])
        return result

    def cells(self, values: Sequence[bool]) -> tuple[int, ...]:
        """The cell of each column: as many as its variables that hold."""
        sizes = [full.bit_length() - 1 for full in self.forms.full]
        return tuple(sum(values[first - 1 : first - 1 + size]) for first, size in zip(self._first, sizes, strict=True))


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    start = 0
    while mask:
        zeros = (mask & -mask).bit_length() - 1
        mask >>= zeros
        start += zeros
        ones = (~mask & (mask + 1)).bit_length() - 1
        yield start, start + ones
        mask >>= ones
        start += ones


# Two sums that are compared with zero: where one is above it and the other is not -----------------------------------
#
# The sums differ in few terms. For each choice of cells of those terms, the second sum is above zero exactly where the
# first one is, unless what the other terms add lies in one interval. The sums that they can add are the bits of one
# large integer, made by a shift for each cell (a subset sum by dynamic programming, on all sums at once).


MOST_CHOICES = 20_000
MOST_BITS = 1 << 25  # sums of the other terms, in units of their grid
MOST_WORK = 1 << 33  # bits that are shifted


Term = list[tuple[int, Fraction, Fraction]]  # an edge, what it adds to the first sum, and how much more to the first


def separated(forms: Forms, first: CellSum, second: CellSum) -> CellsFound:
    """Cells in which only one of `first > 0` and `second > 0` holds; both sums have no atoms."""
    gap = add(first, second, -1)
    changed = {("axis", axis) for axis, _ in gap.tables} | {("edge", edge) for edge, _ in gap.edges}
    terms = _terms(forms, first, gap)
    few = [term for key, term in terms.items() if key in changed]
    others = [term for key, term in terms.items() if key not in changed]
    reach = None if math.prod(map(len, few)) > MOST_CHOICES else _Reach.of(others)
    if reach is None:
        return CellsFound(None, "too many sums")
    doubtful = False
    for choice in product(*few):
        forms.deadline.check()
        start = first.constant + sum((own for _, own, _ in choice), Fraction(0))
        more = gap.constant + sum((extra for _, _, extra in choice), Fraction(0))
        # the other terms add s; the first is above zero where s > -start, the second where s > more - start
        low, high = sorted((-start, more - start))
        found = reach.between(low, high) if low < high else None
        if found is None:
            continue
        answer = satisfying(forms, forms.conjunction([*(edge for edge, _, _ in choice), *found]))
        if answer.cells is not None:
            return CellsFound(answer.cells)
        doubtful = True  # edges that exclude each other; another sum of the interval might be possible
    return CellsFound(None, "a sum that no cells were found for" if doubtful else "")


def _terms(forms: Forms, first: CellSum, gap: CellSum) -> dict[tuple[str, int], Term]:
    """By column or truth value the cases: an edge, what it adds to the first sum, and how much less to the second."""
    terms: dict[tuple[str, int], Term] = {}
    own_tables, gap_tables = dict(first.tables), dict(gap.tables)
    for axis in sorted({*own_tables, *gap_tables}):
        zeros = (Fraction(0),) * forms.full[axis].bit_length()
        masks: dict[tuple[Fraction, Fraction], int] = {}
        for cell, pair in enumerate(zip(own_tables.get(axis, zeros), gap_tables.get(axis, zeros), strict=True)):
            masks[pair] = masks.get(pair, 0) | 1 << cell
        terms["axis", axis] = [(forms.literal(axis, mask), *pair) for pair, mask in masks.items()]
    own_edges, gap_edges = dict(first.edges), dict(gap.edges)
    for edge in sorted({*own_edges, *gap_edges}):
        zero = Fraction(0)
        held = (edge, own_edges.get(edge, zero), gap_edges.get(edge, zero))
        terms["edge", edge] = [held, (edge ^ 1, zero, zero)]
    return terms


class _Reach:
    """The sums that some terms can add: bit i of `layers[-1]` stands for lowest + i units."""

    def __init__(self, terms: list[Term], unit: Fraction, lowest: Fraction, layers: list[int]) -> None:
        self.terms, self.unit, self.lowest, self.layers = terms, unit, lowest, layers

    @classmethod
    def of(cls, terms: list[Term]) -> _Reach | None:
        """None where they are too many."""
        unit = common_unit(own for term in terms for _, own, _ in term) or Fraction(1)
        lowest = sum((min(own for _, own, _ in term) for term in terms), Fraction(0))
        width = sum((max(own for _, own, _ in term) - min(own for _, own, _ in term) for term in terms), Fraction(0))
        bits = int(width / unit) + 1
        if bits * (len(terms) + 1) > 16 * MOST_BITS or bits > MOST_BITS or bits * sum(map(len, terms)) > MOST_WORK:
            return None
        layers = [1]
        for term in terms:
            reached, least = 0, min(own for _, own, _ in term)
            for step in {int((own - least) / unit) for _, own, _ in term}:
                reached |= layers[-1] << step
            layers.append(reached)
        return cls(terms, unit, lowest, layers)

    def between(self, low: Fraction, high: Fraction) -> list[int] | None:
        """Edges of the terms that add a sum above `low` and at most `high`; None where no sum lies there."""
        first = max(0, math.floor((low - self.lowest) / self.unit) + 1)
        last = math.floor((high - self.lowest) / self.unit)
        if last < first:
            return None
        window = (self.layers[-1] >> first) & ((1 << (last - first + 1)) - 1)
        if not window:
            return None
        place = first + (window & -window).bit_length() - 1
        edges = []
        for term, before in zip(reversed(self.terms), reversed(self.layers[:-1]), strict=True):
            least = min(own for _, own, _ in term)
            for edge, own, _ in term:
                earlier = place - int((own - least) / self.unit)
                if earlier >= 0 and before >> earlier & 1:
                    edges.append(edge)
                    place = earlier
                    break
        return edges
