"""A plain disjunctive normal form in place of a nested formula: few conjunctions of conditions, which alone decide.

Clauses are chosen greedily among the prime implicants of the learned formula [P > 1/2], each by the gain of the rows
that it adds; then conditions and clauses are exchanged, dropped, added and cut anew on the training rows. A row's gain
is 2 t - 1, where t mixes its label with the probability that the formula gives it: the formula has already parted
noise from law, so its word on borderline rows is steadier than their labels.

The report is a noisy-or of the clauses and of a leak, with strengths fitted by least squares: each clause alone is
above 1/2 and the leak below, so that the report and the decision agree.

Which variant finds the clauses is said by cross-validation, or by a race on a third of the training rows
(`raced_variant`). The variants are in the order of falling trust in the formula, which is what noise asks for. The
formula has seen all rows, which favours those that trust it, if any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.nodes import Hidden, Node, Or
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.codes import Codes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.formula.noisy_formula import Bit, probability_of_codes
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.plain.clause_growth import purest_cover
from rulekit.learners.cnll.plain.clause_search import ClauseSearch, clause_literals
from rulekit.learners.cnll.plain.lattice import MOST_BITS, Lattice
from rulekit.learners.contract import Frame, Score
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.fitting.folds import fold_of_rows
from rulekit.learners.fitting.rule_sets import Clause, clause_node, covered, covered_by_some, rule_of
from rulekit.numbers import strength_of

_STEPS = 4096  # of a row's gain; with the weights of all rows the sums stay below 2^53
_SEARCHED_ROWS = 1 << 17
_SWEEPS = 50
_MARGIN = 0.001
_NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Variant:
    """How clauses are found: `trust` in the formula's probability (0: labels alone); what a literal costs, in rows.

    from_rows: clauses that begin from the rows alone (rulekit.learners.cnll.plain.clause_growth) compete with the
    implicants.
    """

    trust: float
    cost: float
    from_rows: bool = False


# The first serves where labels are noisy or rows few; another is taken where held-out rows find it clearly better.
VARIANTS = (Variant(0.9, 0.2), Variant(0.5, 1.0, from_rows=True), Variant(0.2, 2.0, from_rows=True))


@dataclass(frozen=True, slots=True)
class DnfSettings:
    """The most clauses and literals (of the model, None: any), and whether further columns than the formula's may come.

    ridge: how many rows that say nothing each strength is fitted with.
    """

    clauses: int = 20
    literals: int | None = None
    more_columns: bool = True
    ridge: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PlainDnf:
    """Clauses; strengths: the probability that each fires where it holds; leak: that of no clause.

    objective, error: the weighted squared error of the report and the weighted error, on the training rows.
    """

    clauses: tuple[Clause, ...]
    strengths: tuple[float, ...]
    leak: float
    objective: float
    error: float

    def decides(self, codes: Codes, n: int) -> Bools:
        """The rows [n] that are positive."""
        return covered_by_some(self.clauses, codes, n)

    def rule(self, columns: Sequence[BinnedColumn]) -> Node:
        """The decision: an Or of clauses."""
        return rule_of(self.clauses, columns)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The noisy-or, which says yes where the rule holds."""
        return Score(self.report(frame.columns, prefix), self.rule(frame.columns))

    def report(self, columns: Sequence[BinnedColumn], prefix: str) -> Node:
        """The noisy-or: a hidden bit for each clause; the leak is shared among them, as what they fire with without."""
        stays = (1.0 - self.leak) ** (1.0 / len(self.clauses))
        bits = [
            Hidden(
                f"{prefix}{k + 1}",
                clause_node(clause, columns),
                strength_of(1.0 - (1.0 - strength) * stays),
                strength_of(1.0 - stays),
            )
            for k, (clause, strength) in enumerate(zip(self.clauses, self.strengths, strict=True))
        ]
        return bits[0] if len(bits) == 1 else Or(bits)


def plain_dnfs(
    problem: Problem,
    path: Sequence[tuple[ReadOnceTree, tuple[Bit, ...]]],
    settings: DnfSettings,
    variants: Sequence[Variant] = VARIANTS,
) -> list[list[PlainDnf]]:
    """By each variant the plain forms of 1, 2, ... clauses of the last formula of a path.

    The patterns of more than 20 units are too many, so that clauses begin as implicants of the formula of 20.
    """
    return [reported(problem, ordered, settings) for ordered in plain_clauses(problem, path, settings, variants)]


def plain_clauses(
    problem: Problem,
    path: Sequence[tuple[ReadOnceTree, tuple[Bit, ...]]],
    settings: DnfSettings,
    variants: Sequence[Variant],
) -> Iterator[list[tuple[Clause, Bools]]]:
    """By each variant, as it is asked for, the clauses with their rows [n]; each adds most to those before."""
    if not path:
        yield from ([] for _ in variants)
        return
    tree, bits = path[min(len(path), MOST_BITS) - 1]
    probability = probability_of_codes(*path[-1], problem.codes)
    sample = _evenly_spread(len(probability), _SEARCHED_ROWS)
    codes = problem.codes if sample is None else problem.codes.take(sample)
    lattice = Lattice.of(tree, bits, codes)
    search = ClauseSearch.over(problem.columns, codes, _searched(problem, bits, settings))
    for variant in variants:
        gain = row_gains(problem, probability, variant.trust)
        own = search.with_gain(gain if sample is None else gain[sample], variant.cost * _STEPS / problem.weight_unit)
        yield _in_order(_clauses(lattice, own, settings, variant.from_rows), problem, gain)


def _clauses(lattice: Lattice, search: ClauseSearch, settings: DnfSettings, from_rows: bool) -> list[Clause]:
    """The clauses that one variant finds; those from the rows where they come near the implicants to begin with."""
    room = np.inf if settings.literals is None else float(settings.literals)
    begun = _greedy(lattice, search.columns, search.gain, settings.clauses, room)
    best = _more(search, lattice, search.run(begun, room), settings.clauses, room)
    if from_rows:
        cover = purest_cover(search, settings.clauses, room, _NEAR * search.total(best))
        if cover:
            other = _more(search, lattice, search.run(cover, room), settings.clauses, room)
            best = max(best, other, key=search.total)
    return search.tightened(best)


def row_gains(problem: Problem, probability: Floats, trust: float) -> Floats:
    """What a row [n] is worth to the clauses that cover it: its weight times 2 t - 1, in whole steps."""
    target = (1.0 - trust) * problem.labels + trust * probability
    return np.asarray(problem.weights * np.rint((2.0 * target - 1.0) * _STEPS))


def _evenly_spread(n: int, most: int) -> Ints | None:
    """So many of n rows, evenly spread; None where there are no more."""
    return None if n <= most else (np.arange(most, dtype=np.int64) * n) // most


def _searched(problem: Problem, bits: tuple[Bit, ...], settings: DnfSettings) -> Ints:
    if settings.more_columns:
        return np.arange(len(problem.columns), dtype=np.int64)
    return np.array(sorted({bit.column for bit in bits}), dtype=np.int64)


def _clause_of(lattice: Lattice, prime: int) -> Clause:
    clause: Clause = {}
    for t, literal in enumerate(lattice.literals):
        if prime >> t & 1:
            held = clause.get(literal.column)
            clause[literal.column] = literal.condition if held is None else held & literal.condition
    return clause


def _greedy(lattice: Lattice, columns: Sequence[BinnedColumn], gain: Floats, most: int, room: float) -> list[Clause]:
    """Prime implicants, each the one that gains most on the rows that are not yet covered."""
    lattice.restrict_to(gain)
    clauses: list[Clause] = []
    while len(clauses) < most:
        found = _best_prime(lattice, columns, room)
        if found is None:
            break
        clauses.append(found)
        room -= clause_literals(found, columns)
    return clauses


def _best_prime(lattice: Lattice, columns: Sequence[BinnedColumn], room: float) -> Clause | None:
    """The implicant of most gain that has room, which is then covered; None where none gains."""
    gains = lattice.gains.copy()
    for _ in range(len(gains)):
        at = int(np.argmax(gains))
        if gains[at] <= 0.0:
            return None
        clause = _clause_of(lattice, int(lattice.primes[at]))
        if clause_literals(clause, columns) <= room:
            lattice.cover(int(lattice.primes[at]))
            return clause
        gains[at] = 0.0
    return None


def _more(search: ClauseSearch, lattice: Lattice, clauses: list[Clause], most: int, room: float) -> list[Clause]:
    """Further clauses for the rows that are left, each begun as an implicant or as no condition at all."""
    free = np.ones(len(search.gain), dtype=bool)
    for clause in clauses:
        free &= ~search.rows_of(clause)
    grown = False
    while len(clauses) < most:
        left = room - sum(clause_literals(clause, search.columns) for clause in clauses)
        lattice.restrict_to(np.where(free, search.gain, 0.0))
        begun = _best_prime(lattice, search.columns, left)
        clause, value = search.improved(begun or {}, free, left)
        if value <= 0.0:
            break
        clauses.append(clause)
        free &= ~search.rows_of(clause)
        grown = True
    return search.run(clauses, room) if grown else clauses


def _in_order(clauses: list[Clause], problem: Problem, gain: Floats) -> list[tuple[Clause, Bools]]:
    """The clauses with their rows, each the one that adds most gain to those before it."""
    n = len(gain)
    left = [(clause, covered(clause, problem.codes, n)) for clause in clauses]
    free = np.ones(n, dtype=bool)
    ordered = []
    while left:
        added = [float(gain[rows & free].sum()) for _, rows in left]
        ordered.append(left.pop(int(np.argmax(added))))
        free &= ~ordered[-1][1]
    return ordered


def reported(problem: Problem, clauses: list[tuple[Clause, Bools]], settings: DnfSettings) -> list[PlainDnf]:
    """The forms of the first 1, 2, ... clauses; the rows count by which clauses hold."""
    if not clauses:
        return []
    shown = np.stack([rows for _, rows in clauses], axis=1)
    _, first, cell = np.unique(_numbers(shown), return_index=True, return_inverse=True)
    cell, pattern = cell.reshape(-1), shown[first]
    weight = problem.weights.astype(np.float64)
    total = np.asarray(np.bincount(cell, weight, len(first)) * problem.weight_unit)
    negative = np.asarray(np.bincount(cell, weight * (1 - problem.labels), len(first)) * problem.weight_unit)
    plain = tuple(clause for clause, _ in clauses)
    return [_fitted(plain[:k], pattern[:, :k], total, negative, settings.ridge) for k in range(1, len(plain) + 1)]


def _numbers(shown: Bools) -> npt.NDArray[np.uint64]:
    """Equal numbers [n] for equal rows of truth values [n, k], whatever k."""
    found = np.zeros(len(shown), dtype=np.uint64)
    for start in range(0, shown.shape[1], 32):
        for column in range(start, min(start + 32, shown.shape[1])):
            found = (found << np.uint64(1)) | shown[:, column]
        if start + 32 < shown.shape[1]:
            found = np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    return found


def _fitted(clauses: tuple[Clause, ...], pattern: Bools, total: Floats, negative: Floats, ridge: float) -> PlainDnf:
    """The clauses with the strengths of least squared error, found one after the other until they stay.

    pattern [cells, clauses]: which clauses hold; total, negative [cells]: the weight of all rows and of negative ones.
    A row that no clause but k leaves a probability u of not being positive has u (1 - p_k): its best p_k is a quotient
    of sums. The ridge pulls towards 1/2, which says nothing.
    """
    stays = np.full(len(clauses) + 1, 0.5)
    holds = np.vstack([pattern.T, np.ones(len(pattern), dtype=bool)])
    high = np.append(np.full(len(clauses), 0.5 - _MARGIN), 1.0)
    low = np.append(np.zeros(len(clauses)), 0.5 + _MARGIN)
    cells = [np.flatnonzero(held) for held in holds]
    weights = [(negative[held], total[held]) for held in cells]
    factors = np.where(holds, 0.5, 1.0)
    for _ in range(_SWEEPS):
        before = stays.copy()
        done = np.ones(len(pattern))
        for k, (held, (losses, weight)) in enumerate(zip(cells, weights, strict=True)):
            # The product over all clauses but k, in their order: those before it are multiplied already.
            factors[k] = done
            rest = np.multiply.reduce(factors[k:], axis=0)[held]
            aim = float((losses * rest).sum()) + ridge * 0.5
            bend = float((weight * rest * rest).sum()) + ridge
            stays[k] = min(max(aim / bend, low[k]), high[k]) if bend > 0.0 else 0.5
            factors[k] = 1.0
            factors[k, held] = stays[k]
            done *= factors[k]
        if np.abs(stays - before).max() < 1e-9:
            break
    dark = np.multiply.reduce(factors, axis=0)
    squares = float((negative * (1.0 - dark) ** 2 + (total - negative) * dark**2).sum())
    positive = pattern.any(axis=1)
    error = float(np.where(positive, negative, total - negative).sum())
    strengths = tuple(float(1.0 - value) for value in stays[:-1])
    return PlainDnf(clauses, strengths, float(1.0 - stays[-1]), squares, error)


_PARTS = 3
_MANY = 1000.0  # held-out rows; on fewer, one standard error is passed by chance too often
_RACED_ROWS = 1 << 15


def raced_variant(
    problem: Problem,
    path: Sequence[tuple[ReadOnceTree, tuple[Bit, ...]]],
    settings: DnfSettings,
    groups: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> int:
    """The number of a variant (`dnf_form.VARIANTS`): the first, or one that is better by a standard error.

    A standard error of the difference over the held-out rows; of more than 32,768 rows evenly spread ones are taken.
    """
    rows = _evenly_spread(len(problem.labels), _RACED_ROWS)
    if rows is not None:
        problem, groups = problem.take(rows), None if groups is None else groups[rows]
    fold = fold_of_rows(problem, _PARTS, groups, seed)
    if not path or int(fold.max(initial=0)) == 0:
        return 0
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    best, least = 0, np.zeros(0, dtype=bool)
    for variant, clauses in enumerate(plain_clauses(training, path, settings, VARIANTS)):
        wrong = _wrong(clauses, held)
        if variant == 0 or clearly_fewer(wrong, least, held.weights, held.weight_unit):
            best, least = variant, wrong
        elif int(held.weights[wrong].sum()) >= int(held.weights[least].sum()):
            break
    return best


def _wrong(clauses: list[tuple[Clause, Bools]], held: Problem) -> Bools:
    """The held-out rows [n] that clauses decide wrongly."""
    positive = covered_by_some([clause for clause, _ in clauses], held.codes, len(held.labels))
    return np.asarray(positive != (held.labels == 1))


def clearly_fewer(wrong: Bools, other: Bools, weights: Ints, unit: float) -> bool:
    """Whether errors [n] weigh less than others by a standard error of the difference, or two where rows are few.

    weights [n], in whole multiples of `unit` rows.
    """
    total = int(weights.sum())
    fewer = int(weights[other].sum()) - int(weights[wrong].sum())
    apart = int(weights[other != wrong].sum())
    if total == 0 or fewer <= 0:
        return False
    mean = fewer / total
    errors = 1.0 if total * unit >= _MANY else 2.0
    return mean > errors * math.sqrt(max(apart / total - mean * mean, 0.0) / (total * unit))
