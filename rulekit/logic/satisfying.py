"""Cells in which a Boolean form holds, found by a solver or shown not to exist.

A column of n cells has n - 1 variables, "the cell is the i-th or a later one", each of which implies the one before; so
exactly the combinations that some row shows are allowed. A conjunction has a variable of its own (Tseitin 1968), and so
has a comparison that is known by its making only, which is then free: what is shown not to exist does not exist.

The solver is MiniSat 2.2 (Eén and Sörensson 2003) of python-sat, the extra `proof`. It is deterministic and takes a
bound on its conflicts. Where it is not installed every question that needs a search is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from operator import or_
from threading import Timer

from rulekit.cells.sums import CellSum, add, common_unit
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.forms import FALSE, TRUE, Forms

MOST_CONFLICTS = 20_000  # 0.1 to 0.3 s with hundreds of clauses, up to 15 s with 350,000

TOO_LARGE = f"too large for the solver: more than {MOST_CONFLICTS:,} conflicts"
MANY_CLAUSES = 10_000  # from here on a search may outlast a limit of time, and is interrupted by it
NO_SOLVER = "left open, because the solver is missing: install rulekit-portable[proof]"


@dataclass(frozen=True, slots=True)
class Sought:
    """cells: one of each column, or values of variables, None where none were found.

    reason: why that is no proof that there are none, else "". free: whether the form is reached by comparisons whose
    outcome is not known, so that the cells may be no example.
    """

    cells: tuple[int, ...] | None
    reason: str = ""
    free: bool = field(default=False, compare=False)

    @property
    def nowhere(self) -> bool:
        """Whether it is shown that there are none."""
        return self.cells is None and not self.reason


def solve(n_variables: int, clauses: Sequence[Sequence[int]], deadline: Deadline = NO_LIMIT) -> Sought:
    """Values, 0 or 1, with which all clauses hold; a literal is a variable's number, from 1, or minus that."""
    if not all(clauses):
        return Sought(None)
    if deadline.over:
        return Sought(None, deadline.reason)
    try:
        from pysat.solvers import Minisat22
    except ImportError:  # no such package, or another one of its name
        return Sought(None, NO_SOLVER)
    with Minisat22(bootstrap_with=clauses) as solver:
        solver.conf_budget(MOST_CONFLICTS)
        limited = deadline.seconds is not None and len(clauses) >= MANY_CLAUSES
        timer = Timer(deadline.left, solver.interrupt) if limited else None
        if timer is None:
            found = solver.solve_limited()
        else:
            timer.start()
            try:
                found = solver.solve_limited(expect_interrupt=True)
            finally:
                timer.cancel()
                timer.join()  # so that no interrupt comes to a solver that is gone
        if not found:
            return Sought(None, "" if found is not None else deadline.reason if deadline.over else TOO_LARGE)
        held = set(solver.get_model())  # variables that no clause names are false
        return Sought(tuple(int(variable in held) for variable in range(1, n_variables + 1)))


MOST_PARTS = 400_000
_CHECKED_EVERY = 1_024  # forms


def satisfying(forms: Forms, root: int, excluded: Sequence[tuple[int, ...]] = ()) -> Sought:
    """Cells in which the edge `root` holds, none of the excluded ones."""
    if root in (TRUE, FALSE):
        return Sought(None if root == FALSE else (0,) * len(forms.full))
    encoding = _Encoding(forms)
    order = forms.below(root)
    if sum(len(forms.kinds[i][1]) if forms.kinds[i][0] == "and" else 1 for i in order) > MOST_PARTS:
        return Sought(None, f"too large for the solver: more than {MOST_PARTS:,} parts")
    for place, index in enumerate(order):
        encoding.define(index)
        if place % _CHECKED_EVERY == 0 and forms.deadline.over:
            return Sought(None, forms.deadline.reason)
    encoding.clauses.append([encoding.of(root)])
    for cells in excluded:
        encoding.clauses.append([-encoding.literal(axis, 1 << cell) for axis, cell in enumerate(cells)])
    answer = solve(encoding.count, encoding.clauses, forms.deadline)
    found = None if answer.cells is None else encoding.cells(answer.cells)
    return Sought(found, answer.reason, encoding.free)


def first_shown(
    forms: Forms, root: int, shows: Callable[[tuple[int, ...]], bool], most: int
) -> tuple[Sought, list[tuple[int, ...]]]:
    """The first cells in which an edge holds that show it when they are run, and those that were run in vain.

    Of these at most so many; the last answer of the solver where there are no more.
    """
    tried: list[tuple[int, ...]] = []
    while True:
        answer = satisfying(forms, root, tried)
        if answer.cells is None or shows(answer.cells):
            return answer, tried
        tried.append(answer.cells)
        if len(tried) == most:
            return Sought(None, free=answer.free), tried


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

    def cells(self, values: Sequence[int]) -> tuple[int, ...]:
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


def separated(forms: Forms, first: CellSum, second: CellSum) -> Sought:
    """Cells in which only one of `first > 0` and `second > 0` holds; both sums have no atoms."""
    gap = add(first, second, -1)
    changed = {("axis", axis) for axis, _ in gap.tables} | {("edge", edge) for edge, _ in gap.edges}
    terms = _terms(forms, first, gap)
    few = [term for key, term in terms.items() if key in changed]
    others = [term for key, term in terms.items() if key not in changed]
    reach = _Reach(others) if math.prod(map(len, few)) <= MOST_CHOICES else None
    if reach is None or not reach.fits:
        return Sought(None, "too many sums")
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
            return Sought(answer.cells)
        doubtful = True  # edges that exclude each other; another sum of the interval might be possible
    return Sought(None, "a sum that no cells were found for" if doubtful else "")


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
    """The sums that some terms can add: bit i of `layers[-1]` stands for lowest + i units; fits: if not too many."""

    def __init__(self, terms: list[Term]) -> None:
        self.terms = terms
        self.unit = common_unit(own for term in terms for _, own, _ in term) or Fraction(1)
        ends = [(min(own for _, own, _ in term), max(own for _, own, _ in term)) for term in terms]
        self.lowest = sum((least for least, _ in ends), Fraction(0))
        bits = int(sum((most - least for least, most in ends), Fraction(0)) / self.unit) + 1
        work, held = bits * sum(map(len, terms)), bits * (len(terms) + 1)
        self.fits = bits <= MOST_BITS and held <= 16 * MOST_BITS and work <= MOST_WORK
        self.layers = [1]
        for term, (least, _) in zip(terms, ends, strict=True) if self.fits else ():
            steps = {int((own - least) / self.unit) for _, own, _ in term}
            self.layers.append(reduce(or_, (self.layers[-1] << step for step in steps)))

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
