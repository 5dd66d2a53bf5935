"""The best next step where one bit may join two conditions: both, either, or exactly one of them (weak="pairs").

A first condition a splits the rows in two halves. The sums of every move over (half, code) of a column then say how
good each second condition is, by the same scan over prefixes as for single conditions:

    a and b        the codes of the half of a, one after the other, against all else
    a or b         the contrary of `not a and not b`: strengths on both sides are free, so it is the same partition
    exactly one    from the half of `not a`, code by code: its rows leave as those of the half of a join

First conditions are all cuts and single levels of the table where these are few, as in tables of Booleans: a parity has
no first condition that helps by itself. Else they are the best ones of the search for single conditions. So one step
costs as much as that search, times 2 + half the number of first conditions.

Where errors count, pairs are chosen by the squared error, and the strengths of the best ones are then found exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from rulekit.learners.cnll.formula.gradient_sums import CodeSums
from rulekit.learners.cnll.formula.noisy_formula import Bit, Formula, Junction, PairBit, contrary
from rulekit.learners.cnll.formula.read_once import Move
from rulekit.learners.cnll.formula.split_search import Best, Orders, best_splits, complete
from rulekit.learners.cnll.search.best_step import (
    SearchSettings,
    Step,
    best_step,
    rest_strengths,
    steps_by_column,
    sums_by_code,
)
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import NO_BOUNDS, FixedColumn, codes_of, with_columns
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.schema import Feature

_Sums = TypeVar("_Sums", Floats, Ints)

BEAM = 20
MOST_FIRST = 128
MOST_READS = 500_000_000
_MOST_EXACT = 32
_FALL = 1e-9


def best_with_pairs(
    formula: Formula,
    moves: list[Move],
    settings: SearchSettings,
    columns: Ints,
    ridge_so_far: float,
    only_one_new: Collection[int] | None = None,
) -> Step | None:
    """The step with the smallest objective among single conditions and pairs of them, or None where none is allowed.

    only_one_new: columns in use, where no more than one further column may be used. Arguments else as in `best_step`.
    """
    singles = steps_by_column(formula, moves, settings, columns, ridge_so_far)
    best = min(singles, key=lambda step: step.objective, default=None)
    if best is None:
        return None
    search = _PairSearch.of(formula, moves, settings, columns, ridge_so_far)
    found: list[_Pair] = []
    for first, among in _first_conditions(formula, singles, columns):
        used = set() if only_one_new is None else {first.column, *only_one_new}
        found += (
            pair
            for pair in search.pairs_with(first, among)
            if only_one_new is None or first.column in only_one_new or pair.column in used
        )
    # Of equals the first found is taken: nsmallest keeps their order.
    exact = bool(settings.objective.error)
    chosen = [pair.step() for pair in heapq.nsmallest(_MOST_EXACT if exact else 1, found, key=lambda f: f.objective)]
    if exact:
        chosen = _exactly(formula, moves, settings, chosen, ridge_so_far)
    pair = min(chosen, key=lambda step: step.objective, default=None)
    worth = pair is not None and pair.objective < best.objective - _FALL * (1.0 + abs(best.objective))
    return pair if worth else best


def _first_conditions(formula: Formula, singles: list[Step], columns: Ints) -> Iterator[tuple[Bit, Ints]]:
    """First conditions, each with the columns of the second one."""
    problem = formula.problem
    every = [bit for column in columns.tolist() for bit in _cuts(formula, column)]
    if len(every) <= MOST_FIRST and len(every) * len(problem.labels) * len(columns) <= MOST_READS:
        # Each pair of columns is looked at once: the first condition takes every cut anyhow.
        yield from ((bit, columns[columns >= bit.column]) for bit in every)
        return
    seen: set[tuple[int, bytes]] = set()
    for step in sorted(singles, key=lambda step: step.objective):
        bit = step.bit
        keys = {(bit.column, side.tobytes()) for side in (bit.condition, bit.known & ~bit.condition)}
        if len(seen) < 2 * BEAM and not seen & keys:
            seen |= keys
            yield bit, columns


def _cuts(formula: Formula, column: int) -> list[Bit]:
    """Every cut of an ordered column, missing on either side, or every single level, as bits without strengths."""
    binned = formula.problem.columns[column]
    present = formula.code_weights(column)[0] > 0
    codes = np.flatnonzero(present)
    if len(codes) < 2:
        return []
    if binned.ordered:
        sets = [codes[:i] for i in range(1, len(codes))]
        if codes[0] == 0:  # missing alone is the first of these; without it the last one would be its contrary
            sets += [codes[1:i] for i in range(2, len(codes))]
    else:
        sets = [codes[i : i + 1] for i in range(len(codes) if len(codes) > 2 else 1)]
    found = []
    for chosen in sets:
        condition = np.zeros_like(present)
        condition[chosen] = True
        known, condition = complete(binned, present, condition)
        found.append(Bit(column, condition, known, 1.0, 0.0, 0.0))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sequence:
    """Codes of the second column as they join one side: which rows the side has, and the conditions that say so."""

    first_holds: bool
    junction: Junction
    codes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Halves:
    """Sums per code [n, M] and weights [n] of the rows where the first condition holds (1), and where not (0)."""

    slope: tuple[Floats, Floats]
    curvature: tuple[Floats, Floats]
    weight: tuple[Ints, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class _PairSearch:
    """What all first conditions share: the moves, their rest strengths, and the objective [M] at strength 0."""

    formula: Formula
    moves: list[Move]
    settings: SearchSettings
    rest: Floats
    constant: Floats
    whole: dict[int, CodeSums]
    least: int

    @classmethod
    def of(
        cls, formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, ridge_so_far: float
    ) -> _PairSearch:
        problem = formula.problem
        sums, squares = sums_by_code(formula, moves, settings, columns)
        least = max(1, int(np.ceil(settings.min_rows / problem.weight_unit - 1e-9)))
        rest = rest_strengths(formula, moves)
        whole = dict(zip(columns.tolist(), sums, strict=True))
        return cls(formula, moves, settings, rest, squares + ridge_so_far, whole, least)

    def pairs_with(self, first: Bit, columns: Ints) -> Iterator[_Pair]:
        """The best pair of the first condition with one on each column, over all moves, by the squared error."""
        holds = first.condition[self.formula.problem.codes[first.column]]
        for column, halves in zip(columns.tolist(), self._halves(holds, columns), strict=True):
            binned = self.formula.problem.columns[column]
            sequences = list(_sequences(binned, halves))
            if not sequences:
                continue
            sums, orders = _as_code_sums(sequences, halves)
            ridge, zero_beta = self.settings.objective.ridge, self.settings.zero_beta
            best = Best.none(1, len(self.moves))
            best_splits(sums, orders, self.rest, self.constant, ridge, self.least, zero_beta, best)
            m = int(np.argmin(best.objective[0]))
            if np.isfinite(best.objective[0, m]):
                sequence, prefix = sequences[int(best.order[0, m])], int(best.prefix[0, m])
                strengths, rest = (float(best.left[0, m]), float(best.right[0, m])), float(self.rest[m])
                yield _Pair(
                    float(best.objective[0, m]),
                    self.moves[m],
                    first,
                    column,
                    binned,
                    halves,
                    sequence,
                    prefix,
                    strengths,
                    rest,
                )

    def _halves(self, holds: Bools, columns: Ints) -> list[_Halves]:
        """One pass over the rows of the smaller half; the other one is the rest of all rows."""
        small = 1 if 2 * np.count_nonzero(holds) <= len(holds) else 0
        half = self.formula.take(holds if small else ~holds)
        sums, _ = sums_by_code(half, self.moves, self.settings, columns)
        found = []
        for column, own in zip(columns.tolist(), sums, strict=True):
            whole = self.whole[column]
            parts = (
                (whole.slope - own.slope, own.slope),
                (whole.curvature - own.curvature, own.curvature),
                (whole.weight - own.weight, own.weight),
            )
            found.append(_Halves(*parts if small else (pair[::-1] for pair in parts)))
        return found


def _sequences(binned: BinnedColumn, halves: _Halves) -> Iterator[_Sequence]:
    """The orders in which codes join one side, for `and` in either half and for parity."""
    for half in (1, 0):
        present = np.flatnonzero(halves.weight[half])
        for order in _orders(binned, present, halves.slope[half], halves.curvature[half]):
            yield _Sequence(half == 1, "and", order)
            yield _Sequence(half == 1, "and", order[::-1])
    present = np.flatnonzero(halves.weight[0] + halves.weight[1])
    slope, curvature = halves.slope[1] - halves.slope[0], halves.curvature[1] + halves.curvature[0]
    for order in _orders(binned, present, slope, curvature):
        yield _Sequence(True, "xor", order)


def _orders(binned: BinnedColumn, present: Ints, slope: Floats, curvature: Floats) -> list[Ints]:
    """Ascending codes, missing first or last; levels by the strength that suits them best over all moves."""
    if len(present) < 2:
        return []
    if not binned.ordered:
        bend = curvature[present].sum(axis=1)
        ratio = slope[present].sum(axis=1) / np.where(bend > 0.0, bend, 1.0)
        return [present[np.argsort(-ratio, kind="stable")]]
    return [present, np.append(present[1:], 0)] if present[0] == 0 and len(present) > 2 else [present]


def _as_code_sums(sequences: list[_Sequence], halves: _Halves) -> tuple[tuple[Floats, Floats, Ints], Orders]:
    """The sequences as codes of their own, one after the other, each ending with all rows that never join its side.

    So a proper prefix is a pair, and neither a single condition nor nothing.
    """
    n = len(halves.weight[0])
    # What a code adds: its rows outside, inside, or those inside for those outside (parity).
    block = [2 if sequence.junction == "xor" else int(sequence.first_holds) for sequence in sequences]
    lengths = np.array([len(sequence.codes) for sequence in sequences])
    ends = np.cumsum(lengths)
    added = np.concatenate([k * n + sequence.codes for k, sequence in zip(block, sequences, strict=True)])
    # What never joins: the other half; for parity the rows outside come first, and the rest of them last.
    left_over = np.array([1 - k if k < 2 else 0 for k in block])
    parity = (ends - lengths)[np.array(block) == 2]

    def joined(sums: tuple[_Sums, _Sums]) -> _Sums:
        outside, inside = sums
        result: _Sums = np.concatenate([outside, inside, inside - outside])[added]
        totals = np.stack([outside.sum(axis=0), inside.sum(axis=0)])
        result[ends - 1] += totals[left_over]
        result[parity] += totals[0]
        return result

    sums = joined(halves.slope)[None], joined(halves.curvature)[None], joined(halves.weight)[None]
    starts, number = np.concatenate([[0], ends]), np.arange(len(ends))
    nothing = np.zeros(len(ends), dtype=np.int64)
    return sums, Orders(np.arange(len(added)), starts, nothing, number, nothing.astype(np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """A pair with its objective: the first condition, and the prefix of a sequence of codes of the second column."""

    objective: float
    move: Move
    first: Bit
    column: int
    binned: BinnedColumn
    halves: _Halves
    sequence: _Sequence
    prefix: int
    strengths: tuple[float, float]
    rest: float

    def step(self) -> Step:
        """The step whose bit fires with the larger strength where its condition holds."""
        first, sequence, weight = self.first, self.sequence, self.halves.weight
        inside = weight[1 if sequence.first_holds else 0]
        present = (inside if sequence.junction == "and" else weight[0] + weight[1]) > 0
        chosen = np.zeros_like(present)
        chosen[sequence.codes[: self.prefix]] = True
        known, chosen = complete(self.binned, present, chosen)
        left, right = self.strengths
        bit = PairBit(
            first.column,
            first.condition if sequence.first_holds else first.known & ~first.condition,
            first.known,
            max(left, right),
            min(left, right),
            self.rest,
            other=self.column,
            # A parity side holds the rows on which both conditions agree, so it is that of the contrary.
            other_condition=chosen if sequence.junction == "and" else known & ~chosen,
            other_known=known,
            junction=sequence.junction,
        )
        return Step(self.move, contrary(bit) if right > left else bit, self.objective)


def _exactly(
    formula: Formula, moves: list[Move], settings: SearchSettings, pairs: list[Step], ridge_so_far: float
) -> list[Step]:
    """The pairs with their best strengths and moves for the objective as it is: each as a column of two codes."""
    if not pairs:
        return []
    problem = formula.problem
    bits = [step.bit for step in pairs]
    none = FixedColumn(Feature(""), -1, 3, NO_BOUNDS, NO_BOUNDS)
    truths = [bit.seen(problem.codes)[0].view(np.bool_) for bit in bits]
    joined = with_columns(problem, [none] * len(bits), list(map(codes_of, truths)))
    wider = Formula(joined, formula.tree, formula.bits, formula.pattern, formula.cell, formula.counts)
    found = []
    for i, bit in enumerate(bits):
        step = best_step(wider, moves, settings, np.array([len(problem.columns) + i]), ridge_so_far)
        if step is None or not isinstance(bit, PairBit):
            continue
        turned = bit if step.bit.condition[2] else contrary(bit)
        exact = replace(turned, alpha=step.bit.alpha, beta=step.bit.beta, rest=step.bit.rest)
        found.append(Step(step.move, exact, step.objective))
    return found
