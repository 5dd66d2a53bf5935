"""Two sums over cells that are compared with zero: where one is above it and the other is not, or that this is nowhere.

The sums differ in few terms. For each choice of cells of those terms, the second sum is above zero exactly where the
first one is, unless what the other terms add lies in one interval. The sums that they can add are the bits of one large
integer, made by a shift for each cell (a subset sum by dynamic programming, on all sums at once).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from rulekit.logic.exact_numbers import CellSum, add
from rulekit.logic.forms import Forms
from rulekit.logic.satisfying import satisfying

MOST_CHOICES = 20_000
MOST_BITS = 1 << 25  # sums of the other terms, in units of their grid
MOST_WORK = 1 << 33  # bits that are shifted


@dataclass(frozen=True, slots=True)
class SumsApart:
    """cells: one of each column where the comparisons differ, None where none was found; equal: there are none."""

    cells: tuple[int, ...] | None = None
    equal: bool = False


Term = list[tuple[int, Fraction, Fraction]]  # an edge, what it adds to the first sum, and how much more to the first


def separated(forms: Forms, first: CellSum, second: CellSum) -> SumsApart:
    """Whether `first > 0` and `second > 0` differ in some cell; both sums have no atoms."""
    gap = add(first, second, -1)
    changed = {("axis", axis) for axis, _ in gap.tables} | {("edge", edge) for edge, _ in gap.edges}
    terms = _terms(forms, first, gap)
    few = [term for key, term in terms.items() if key in changed]
    others = [term for key, term in terms.items() if key not in changed]
    if math.prod(map(len, few)) > MOST_CHOICES:
        return SumsApart()
    reach = _Reach.of(others)
    if reach is None:
        return SumsApart()
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
            return SumsApart(answer.cells)
        doubtful = True  # edges that exclude each other; another sum of the interval might be possible
    return SumsApart(equal=not doubtful)


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
        values = [own for term in terms for _, own, _ in term if own]
        denominator = math.lcm(*(value.denominator for value in values)) if values else 1
        unit = (
            Fraction(math.gcd(*(int(value * denominator) for value in values)), denominator) if values else Fraction(1)
        )
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
