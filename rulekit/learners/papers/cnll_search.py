"""The exhaustive search of the CNLL paper: the best condition, move and strengths of the next bit, by weighted errors.

A move turns the probability of a cell, rows on which all conditions agree, into U + V a, where a is the strength of the
new bit on the row's side of its condition and V >= 0. So a cell is decided positive iff a > (1/2 - U) / V: between two
such ratios the errors do not change, and what the squared error adds is a parabola in a. The sides of a condition are
independent. A strength keeps a tenth of its interval from either end, so that no row lies on the edge.

A condition is a prefix of an order of codes: of cuts, of bins by their log-likelihood ratio (section 3 of the paper),
of levels by the strength that suits them best. Two conditions joined by and, or or exclusive or are prefixes too: of
the codes of the second column on the rows where the first holds, or of such codes in exchange for the others.

Shapes: n rows, C cells, M moves, E codes of an order, I intervals of strengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import And, Node, Or
from rulekit.learners.cnll.split_search import code_orders
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import NoisyBit, completed
from rulekit.learners.sums_of_rows.histograms import RowCells, count_cells
from rulekit.learners.sums_of_rows.kernels import compiled

Weak = Literal["threshold", "llr", "pairs"]
Junction = Literal["and", "or", "xor"]

MARGIN, SHORTEST, MOST_INTERVALS = 0.1, 1e-5, 4096
BEAM, MOST_FIRST = 20, 128  # first conditions of pairs: the best ones, or all of a table that has so few


@dataclass(frozen=True, slots=True, eq=False)
class PairBit(NoisyBit):
    """A bit over two conditions: its own and that of `other`."""

    other: NoisyBit | None = None
    junction: Junction = "and"

    @property
    def literals(self) -> int:
        return 4 if self.junction == "xor" else 2

    def holds(self, codes: Codes) -> Bools:
        assert self.other is not None
        one, two = NoisyBit.holds(self, codes), self.other.holds(codes)
        return one & two if self.junction == "and" else one | two if self.junction == "or" else one ^ two

    def node(self, columns: Sequence[BinnedColumn], holds: bool = True) -> Node:
        assert self.other is not None
        a, b = NoisyBit.node(self, columns, holds), self.other.node(columns)
        if self.junction == "xor":
            not_a, not_b = NoisyBit.node(self, columns, not holds), self.other.node(columns, False)
            return Or([And([a, not_b]), And([not_a, b])])
        b = b if holds else self.other.node(columns, False)
        return And([a, b]) if (self.junction == "and") == holds else Or([a, b])


def contrary(bit: NoisyBit) -> NoisyBit:
    """The bit whose condition holds where that of `bit` does not, over codes that have a side."""
    flipped = replace(bit, condition=bit.known & ~bit.condition, alpha=bit.beta, beta=bit.alpha)
    if not isinstance(flipped, PairBit) or flipped.junction == "xor":
        return flipped
    assert flipped.other is not None
    return replace(flipped, other=contrary(flipped.other), junction="or" if flipped.junction == "and" else "and")


class MoveLines(NamedTuple):
    """What a move does to the cells: U and V [C], and the allowed strengths: low, high [I], bucket [C].

    bucket: the first interval in which the cell is decided positive; I where in none. rest: the strength that does
    nothing. constant: the objective at strength 0, but for the errors.
    """

    u: Floats
    v: Floats
    low: Floats
    high: Floats
    bucket: Ints
    rest: float
    constant: float


class SearchRule(NamedTuple):
    """What counts: one unit of weight that is decided wrongly, and the squared error of one; the least units of a side.

    zero_beta: one side's strength is 0, which is then the first interval.
    """

    error: float
    brier: float
    least: int
    zero_beta: bool


def move_lines(u: Floats, v: Floats, counts: Ints, rest: float, rule: SearchRule) -> MoveLines:
    """The lines of a move with its intervals of strengths; counts [C, 2] by label.

    Intervals shorter than 1e-5 are left out, and of more than 4,096 the longest are kept. Where the squared error does
    not count, the strength is as near to 0 or 1 as the margin allows.
    """
    ratio = np.where(u > 0.5, -np.inf, np.inf)
    np.divide(0.5 - u, v, out=ratio, where=v > 0.0)
    inside = np.unique(ratio[(ratio >= 0.0) & (ratio < 1.0)])
    edges = np.concatenate([[0.0], inside, [1.0]])
    length = np.diff(edges)
    taken = length >= SHORTEST
    if not taken.any() or np.count_nonzero(taken) > MOST_INTERVALS:
        most = max(1, min(int(np.count_nonzero(taken)), MOST_INTERVALS))
        taken = np.isin(np.arange(len(length)), np.argsort(-length, kind="stable")[:most])
    low, high = (edges[:-1] + MARGIN * length)[taken], (edges[1:] - MARGIN * length)[taken]
    if rule.brier == 0.0:
        low = high = np.where(low + high < 1.0, low, high)
    first = np.append(np.cumsum(taken) - taken, np.count_nonzero(taken))
    bucket = first[np.where(ratio < 1.0, np.searchsorted(inside, ratio, side="right"), len(length))]
    if rule.zero_beta:
        low, high = np.append(0.0, low), np.append(0.0, high)
        bucket = np.where(ratio < 0.0, 0, bucket + 1)
    constant = rule.brier * float((counts[:, 0] * u**2 + counts[:, 1] * (1.0 - u) ** 2).sum())
    return MoveLines(u, v, low, high, bucket.astype(np.int64), rest, constant)


@compiled
def best_prefix(parts: Any, total: Any, base: Any, lines: Any, rule: Any) -> Any:
    """The best proper prefix of parts [E, C, 2], the weights of what joins the left side one after the other.

    The objective (infinity: none is allowed), its length, with zero_beta the side whose strength is free, and both
    strengths. total [C, 2]: of all rows; base [C, 2]: of those on the left side from the start.
    """
    u, v, low, high, bucket, rest, constant = lines
    error, brier, least, zero_beta = rule
    n_cells, n = len(u), len(low)
    # Of all rows and of the left side: what is won in each interval, slope, curvature, weight, positive weight.
    net, sums = np.zeros((2, n + 1), dtype=np.int64), np.zeros((2, 2))
    weight, positive = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    found, length, free, left, right = np.inf, 0, 0, 0.0, 0.0
    for e in range(-2, len(parts) - 1):
        side = 0 if e == -2 else 1
        for c in range(n_cells):
            no, yes = total[c, 0], total[c, 1]
            if e == -1:
                no, yes = base[c, 0], base[c, 1]
            if e >= 0:
                no, yes = parts[e, c, 0], parts[e, c, 1]
            if no != 0 or yes != 0:
                net[side, bucket[c]] += yes - no
                sums[side, 0] += brier * v[c] * (yes * (1.0 - u[c]) - no * u[c])
                sums[side, 1] += brier * v[c] * v[c] * (yes + no)
                weight[side] += no + yes
                positive[side] += yes
        if e < 0 or weight[1] < least or weight[0] - weight[1] < least:
            continue
        value, strength, at_zero = np.zeros(2), np.zeros(2), np.zeros(2)
        for k in range(2):
            aim = sums[1, 0] if k == 0 else sums[0, 0] - sums[1, 0]
            bend = sums[1, 1] if k == 0 else sums[0, 1] - sums[1, 1]
            yes = positive[1] if k == 0 else positive[0] - positive[1]
            top, won, value[k] = aim / bend if bend > 0.0 else rest, 0, np.inf
            for j in range(n):
                won += net[1, j] if k == 0 else net[0, j] - net[1, j]
                s = min(max(top, low[j]), high[j])
                here = error * (yes - won) + s * (bend * s - 2.0 * aim)
                if zero_beta and j == 0:
                    at_zero[k] = here
                elif here < value[k]:
                    value[k], strength[k] = here, s
        for one in range(2 if zero_beta else 1):
            both = value[0] + value[1]
            if zero_beta:
                both = value[0] + at_zero[1] if one == 0 else at_zero[0] + value[1]
            if both + constant < found:
                found, length, free = both + constant, e + 1, one
                left = 0.0 if one == 1 else strength[0]
                right = 0.0 if zero_beta and one == 0 else strength[1]
    return found, length, free, left, right


class FoundBit(NamedTuple):
    """The number of a move, the bit that it adds, and the objective that the formula then has."""

    move: int
    bit: NoisyBit
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class ExhaustiveSearch:
    """Over all columns of a problem, by the cells of its rows; moves: what each does."""

    problem: Problem
    cells: RowCells
    moves: Sequence[MoveLines]
    rule: SearchRule
    weak: Weak

    def best(self) -> FoundBit | None:
        """The bit with the least objective; of equal ones the first column, order, prefix, side and move."""
        singles = [found for j in range(len(self.problem.columns)) for found in self._of_column(j)]
        best = min(singles, key=lambda found: found.objective, default=None)
        if best is None or self.weak != "pairs":
            return best
        slack = 1e-9 * (1.0 + abs(best.objective))
        for first in self._first_conditions(singles):
            for j in range(len(self.problem.columns)):
                # A pair has to be better than a condition alone.
                least = best.objective - (0.0 if isinstance(best.bit, PairBit) else slack)
                best = min(self._pairs(first, j, least), key=lambda found: found.objective, default=best)
        return best

    def _parts(self, j: int, rows: Bools | None = None) -> Ints:
        """The weights [n_codes, C, 2] by code, cell and label, of some rows."""
        problem, n_cells, chosen = self.problem, len(self.cells.counts), slice(None) if rows is None else rows
        place = problem.codes[j].astype(np.int64) * n_cells + self.cells.cell
        own = place[chosen], problem.labels[chosen], problem.weights[chosen]
        return count_cells(*own, problem.columns[j].n_codes * n_cells).reshape(-1, n_cells, 2)

    def _orders(self, j: int, parts: Ints, lines: MoveLines) -> list[Ints]:
        """The orders of the codes that occur: of cuts two where missing cells may be on either side."""
        column, by_code = self.problem.columns[j], parts.sum(axis=1)
        present = np.flatnonzero(by_code.any(axis=1))
        if not column.ordered:
            yes, no = parts[present, :, 1], parts[present, :, 0]
            slope = (lines.v * (yes * (1.0 - lines.u) - no * lines.u)).sum(axis=1)
            bend = (lines.v**2 * (yes + no)).sum(axis=1)
            falling = np.where(bend > 0.0, slope / np.where(bend > 0.0, bend, 1.0), lines.rest)
            return [present[np.argsort(-falling, kind="stable")]]
        if self.weak == "llr" and column.feature.kind == "numeric":
            prior = 0.005 * max(1.0, float(by_code.sum()) / len(by_code))
            ratio = np.log((by_code[:, 1] + prior) / (by_code[:, 0] + prior))
            return [present[np.argsort(-ratio[present], kind="stable")]]
        return code_orders(column, present)

    def _of_column(self, j: int) -> Iterator[FoundBit]:
        """The best condition on a column with each move that allows one, the best move first."""
        parts = self._parts(j)
        present = np.asarray(parts.any(axis=(1, 2)))
        total, found = self.cells.counts, []
        for m, lines in enumerate(self.moves):
            for number, order in enumerate(self._orders(j, parts, lines)):
                own = (parts[order], total, np.zeros_like(total), lines, self.rule)
                value, length, side, *strengths = best_prefix(*own)
                if np.isfinite(value):
                    found.append(((value, number, length, side, m), order[:length], strengths))
        for key, chosen, (left, right) in sorted(found, key=lambda item: item[0]):
            bit = self._bit(j, present, chosen, left, right, self.moves[key[-1]].rest)
            yield FoundBit(key[-1], bit if left >= right else contrary(bit), key[0])

    def _bit(self, j: int, present: Bools, chosen: Ints, alpha: float, beta: float, rest: float) -> NoisyBit:
        condition = np.zeros_like(present)
        condition[chosen] = True
        known, condition = completed(self.problem.columns[j], present, condition)
        return NoisyBit(j, condition, known, alpha, beta, rest)

    def _first_conditions(self, singles: Sequence[FoundBit]) -> list[NoisyBit]:
        """Every cut and single level of the table where these are few, else the best conditions."""
        every = [bit for j in range(len(self.problem.columns)) for bit in self._cuts(j)]
        if len(every) <= MOST_FIRST:
            return every
        found: dict[tuple[int, bytes], NoisyBit] = {}
        for single in sorted(singles, key=lambda each: each.objective):
            bit = single.bit
            if (bit.column, contrary(bit).condition.tobytes()) not in found and len(found) < BEAM:
                found.setdefault((bit.column, bit.condition.tobytes()), bit)
        return list(found.values())

    def _cuts(self, j: int) -> list[NoisyBit]:
        problem = self.problem
        present = np.bincount(problem.codes[j], problem.weights, problem.columns[j].n_codes) > 0
        codes = np.flatnonzero(present)
        if problem.columns[j].ordered:
            chosen = [codes[:i] for i in range(1, len(codes))]
            if len(codes) and codes[0] == 0:  # missing cells on the other side
                chosen += [codes[1:i] for i in range(2, len(codes))]
        else:
            chosen = [codes[i : i + 1] for i in range(len(codes) if len(codes) > 2 else len(codes) - 1)]
        return [self._bit(j, present, each, 1.0, 0.0, 0.0) for each in chosen]

    def _pairs(self, first: NoisyBit, j: int, least: float) -> Iterator[FoundBit]:
        """Second conditions on a column, for each way to join them and each move: each better than the one before."""
        holds = first.holds(self.problem.codes)
        inside, outside = self._parts(j, holds), self._parts(j, ~holds)
        nothing = np.zeros_like(self.cells.counts)
        for m, lines in enumerate(self.moves):
            joins: tuple[tuple[NoisyBit, Junction, Ints, Ints], ...] = (
                (first, "and", inside, nothing),
                (contrary(first), "and", outside, nothing),
                (first, "xor", inside - outside, outside.sum(axis=0)),
            )
            for one, junction, parts, base in joins:
                seen = parts if junction == "and" else inside + outside
                orders = self._orders(j, seen, lines)
                for order in orders if junction == "xor" else [each[::way] for each in orders for way in (1, -1)]:
                    value, length, _, left, right = best_prefix(parts[order], self.cells.counts, base, lines, self.rule)
                    if value < least:
                        least = value
                        present = np.asarray(seen.any(axis=(1, 2)))
                        bit = PairBit(
                            *(one.column, one.condition, one.known, left, right, lines.rest),
                            other=self._bit(j, present, order[:length], 1.0, 0.0, 0.0),
                            junction=junction,
                        )
                        # The left side of an exclusive or has the rows on which both conditions agree.
                        turned = replace(bit, alpha=bit.beta, beta=bit.alpha) if junction == "xor" else bit
                        yield FoundBit(m, turned if turned.alpha >= turned.beta else contrary(turned), value)
