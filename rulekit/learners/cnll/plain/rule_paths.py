"""Few conjunctions of conditions that alone decide: paths of 1, 2, ... rules beside a learned formula.

Rules are chosen greedily among the prime implicants of the formula [P > 1/2], each by the gain of the rows that it
adds, or grown from the rows alone; then conditions and rules are exchanged, dropped, added and cut anew on the training
rows. Then the rule whose loss costs least is left out, the others are improved, and so on: a path of sizes, each of
which has been searched for as a whole.

A row's gain is 2 t - 1, where t mixes its label with the probability that the formula gives it: the formula has already
parted noise from law, so its word on borderline rows is steadier than their labels. A literal must gain a part of the
standard deviation of the labels around the formula, sqrt(sum of P (1 - P)): with it grows what chance can promise.

Which variant is taken is said by cross-validation, or by a race on a third of the training rows (`raced_variant`). The
formula has seen all rows, which favours those that trust it, if any.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.formula.noisy_formula import Bit, probability_of_codes
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.plain.clause_growth import purest_cover
from rulekit.learners.cnll.plain.clause_search import ClauseSearch, clause_literals
from rulekit.learners.cnll.plain.lattice import MOST_BITS, Lattice
from rulekit.learners.cnll.plain.refinement import refined
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.fitting.given.allowed import Allowed
from rulekit.learners.fitting.rows.folds import fold_of_rows
from rulekit.learners.fitting.rows.in_order import InOrder
from rulekit.learners.fitting.rule_sets import Clause, covered, covered_by_some
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.tables.kinds.hints import steps_of

Snapshots = Sequence[tuple[ReadOnceTree, tuple[Bit, ...]]]
Rules = tuple[Clause, ...]

_STEPS = 4096  # of a row's gain; with the weights of all rows the sums stay below 2^53
_SEARCHED_ROWS = 1 << 14  # evenly spread ones; on five tables of 15,000 to 60,000 rows all of them found nothing better
_LEAST_PRICE = 0.1  # rows: where labels follow without noise, a literal still costs something
_NEAR = 0.7  # of what the rules are worth that begin as implicants


@dataclass(frozen=True, slots=True)
class Variant:
    """How rules are found: `trust` in the formula's probability (0: labels alone), and the price of a literal.

    price: in standard deviations of the number of positive rows, given the formula. at: the share of a rare class from
    which rows are worth being found.
    """

    trust: float
    price: float
    at: float = 0.5


# Chosen by cross-validation inside the training data of 23 tables (docs/cnll-notes.md).
VARIANTS = (Variant(0.2, 0.3), Variant(0.2, 0.1), Variant(0.9, 0.1))
_EAGER = (Variant(0.2, 0.1, 0.3), Variant(0.2, 0.1, 0.2))


@dataclass(frozen=True, slots=True, eq=False)
class RuleSettings:
    """The most rules and literals (None: any) of a class, and whether further columns than the formula's may come.

    ridge: how many rows that say nothing each strength of a noisy-or is fitted with. kept: rules that stay as they are;
    begun: rules that the search may begin with. allowed: which rules keep the constraints (None: all). fine: by column
    the one with a code for each of its values, in which the search does not look. rare: whether a class is so
    rare that it is worth more errors to find its rows.
    """

    rules: int = 8
    literals: int | None = None
    more_columns: bool = True
    ridge: float = 0.0
    kept: Rules = ()
    begun: Rules = ()
    allowed: Allowed | None = None
    fine: Mapping[int, int] = field(default_factory=dict)
    rare: bool = False

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of the search that are compared on held-out rows."""
        return VARIANTS + _EAGER if self.rare else VARIANTS


def rule_paths(
    problem: Problem, formulas: Snapshots, settings: RuleSettings, variants: Sequence[Variant] = VARIANTS
) -> Iterator[list[Rules]]:
    """By each variant, as it is asked for, the rules of every size, the smallest (those that are kept) first.

    The patterns of more than 20 units are too many, so that implicants are those of the largest formula of at most 20;
    where even the first has more, as a start may, rules are grown from the rows.
    """
    if not formulas:
        yield from ([settings.kept] for _ in variants)
        return
    tree, bits = next((made for made in reversed(formulas) if len(made[1]) <= MOST_BITS), formulas[0])
    orders = level_orders(problem.columns)
    sample, share, seen = _evenly_spread(len(problem.labels), _SEARCHED_ROWS), 1.0, 1.0
    if sample is not None:
        share = len(sample) / len(problem.labels)
        if not settings.fine and not orders:  # then no other rows are looked at
            problem, sample, seen = problem.take(sample), None, share
    probability = probability_of_codes(*formulas[-1], problem.codes)
    variance = float((problem.weights * probability * (1.0 - probability)).sum()) * problem.weight_unit / seen
    deviation = math.sqrt(variance)
    kept = covered_by_some(settings.kept, problem.codes, len(probability))
    codes = problem.codes if sample is None else problem.codes.take(sample)
    lattice = Lattice.of(tree, bits, codes)
    search = ClauseSearch.over(problem.columns, codes, _searched(problem, bits, settings), settings.allowed)
    for variant in variants:
        gain = np.where(kept, 0.0, row_gains(problem, probability, variant))
        price = share * max(_LEAST_PRICE, variant.price * deviation) * _STEPS / problem.weight_unit
        own = search.with_gain(gain if sample is None else gain[sample], price)
        sizes = _sizes(lattice, own, settings)
        if settings.fine:
            sizes = [tuple(refined(problem, rules, gain, settings.fine)) for rules in sizes]
        yield [without_holes(problem, rules, gain, orders, len(settings.kept)) for rules in sizes] if orders else sizes


def row_gains(problem: Problem, probability: Floats, variant: Variant) -> Floats:
    """What a row [n] is worth to the rules that cover it: its weight times 2 t - 1, in whole steps.

    In place of 1, what the variant says of the rare class, or of the other one.
    """
    target = (1.0 - variant.trust) * problem.labels + variant.trust * probability
    at = variant.at if problem.share < 0.5 else 1.0 - variant.at
    return np.asarray(problem.weights * np.rint(2.0 * (target - at) * _STEPS))


def _evenly_spread(n: int, most: int) -> Ints | None:
    """So many of n rows, evenly spread; None where there are no more."""
    return None if n <= most else (np.arange(most, dtype=np.int64) * n) // most


def _searched(problem: Problem, bits: tuple[Bit, ...], settings: RuleSettings) -> Ints:
    fine = set(settings.fine.values())
    searched = np.array([place for place in range(len(problem.columns)) if place not in fine], dtype=np.int64)
    if not settings.more_columns:
        searched = np.array(sorted({bit.column for bit in bits}), dtype=np.int64)
    return searched if settings.allowed is None else searched[settings.allowed.usable[searched]]


# One variant -------------------------------------------------------------------------------------------------------


def _sizes(lattice: Lattice, search: ClauseSearch, settings: RuleSettings) -> list[Rules]:
    """The rules that are kept with 0, 1, 2, ... further ones."""
    columns, kept = search.columns, settings.kept
    most = max(0, settings.rules - len(kept))
    room = math.inf
    if settings.literals is not None:
        room = max(0.0, settings.literals - sum(clause_literals(clause, columns) for clause in kept))
    found = _found(lattice, search, settings, most, room) if most else []
    path: list[Rules] = []
    while found:
        path.append((*kept, *_by_gain(search, search.tightened(found))))
        found = search.run(_without_least(search, found), room)
    return [kept, *reversed(path)]


def _found(lattice: Lattice, search: ClauseSearch, settings: RuleSettings, most: int, room: float) -> list[Clause]:
    """At most so many rules, the best that are found: begun as implicants, as given rules, or from the rows alone.

    From implicants half as many again are taken, and those that are worth least left out. The rows alone serve where
    they come near the others to begin with.
    """
    more = most + most // 2
    found = _more(search, lattice, search.run(_greedy(lattice, search, more, room), room), more, room)
    while len(found) > most:
        found = search.run(_without_least(search, found), room)
    others = [[dict(clause) for clause in settings.begun][:most]] if settings.begun and search.allowed.free else []
    cover = purest_cover(search, most, room, _NEAR * search.total(found))
    others += [cover] if cover else []
    for begun in others:
        other = _more(search, lattice, search.run(begun, room), most, room)
        found = max(found, other, key=search.total)
    return found


def _without_least(search: ClauseSearch, clauses: list[Clause]) -> list[Clause]:
    """All clauses but the one without which they are worth most."""
    rows = [search.rows_of(clause) for clause in clauses]
    times = np.sum(rows, axis=0, dtype=np.int16)
    alone = [float(search.gain[held & (times == 1)].sum()) for held in rows]
    lost = [own - search.price(clause) for own, clause in zip(alone, clauses, strict=True)]
    least = int(np.argmin(lost))
    return [dict(clause) for place, clause in enumerate(clauses) if place != least]


def _by_gain(search: ClauseSearch, clauses: list[Clause]) -> list[Clause]:
    """The clauses, each the one that adds most gain to those before it."""
    left = [(clause, search.rows_of(clause)) for clause in clauses]
    free = np.ones(len(search.gain), dtype=bool)
    ordered = []
    while left:
        added = [float(search.gain[rows & free].sum()) for _, rows in left]
        clause, rows = left.pop(int(np.argmax(added)))
        ordered.append(clause)
        free &= ~rows
    return ordered


def _clause_of(lattice: Lattice, prime: int) -> Clause:
    clause: Clause = {}
    for t, literal in enumerate(lattice.literals):
        if prime >> t & 1:
            held = clause.get(literal.column)
            clause[literal.column] = literal.condition if held is None else held & literal.condition
    return clause


def _greedy(lattice: Lattice, search: ClauseSearch, most: int, room: float) -> list[Clause]:
    """Prime implicants, each the one that gains most on the rows that are not yet covered."""
    lattice.restrict_to(search.gain)
    clauses: list[Clause] = []
    while len(clauses) < most:
        found = _best_prime(lattice, search, room)
        if found is None:
            break
        clauses.append(found)
        room -= clause_literals(found, search.columns)
    return clauses


def _best_prime(lattice: Lattice, search: ClauseSearch, room: float) -> Clause | None:
    """The implicant of most gain that has room, as far as it is allowed, which is then covered; None where none gains.

    An implicant of which nothing is allowed would cover every row, and is passed over.
    """
    gains = lattice.gains.copy()
    for _ in range(len(gains)):
        at = int(np.argmax(gains))
        if gains[at] <= 0.0:
            return None
        whole = _clause_of(lattice, int(lattice.primes[at]))
        clause = search.allowed.relaxed(whole)
        if clause_literals(clause, search.columns) <= room and (clause or not whole):
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
        begun = _best_prime(lattice, search, left)
        clause, value = search.improved(begun or {}, free, left)
        if value <= 0.0:
            break
        clauses.append(clause)
        free &= ~search.rows_of(clause)
        grown = True
    return search.run(clauses, room) if grown else clauses


# Which variant ------------------------------------------------------------------------------------------------------


_PARTS = 3
_MANY = 1000.0  # held-out rows; on fewer, one standard error is passed by chance too often
_RACED_ROWS = 1 << 15


def raced_variant(
    problem: Problem,
    formulas: Snapshots,
    settings: RuleSettings,
    groups: npt.NDArray[Any] | InOrder | None = None,
    seed: int = 0,
) -> int:
    """The number of a variant (`VARIANTS`): the first, or one that is better by a standard error.

    A standard error of the difference over the held-out rows; of more than 32,768 rows evenly spread ones are taken.
    """
    rows = _evenly_spread(len(problem.labels), _RACED_ROWS)
    if rows is not None:
        problem, groups = problem.take(rows), None if groups is None else groups[rows]
    fold = fold_of_rows(problem, _PARTS, groups, seed)
    if not formulas or int(fold.max(initial=0)) == 0:
        return 0
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    best, least = 0, np.zeros(0, dtype=bool)
    for variant, sizes in enumerate(rule_paths(training, formulas, settings)):
        wrong = _wrong(sizes[-1], held)
        if variant == 0 or clearly_fewer(wrong, least, held.weights, held.weight_unit):
            best, least = variant, wrong
        elif int(held.weights[wrong].sum()) >= int(held.weights[least].sum()):
            break
    return best


def _wrong(rules: Rules, held: Problem) -> Bools:
    """The held-out rows [n] that rules decide wrongly."""
    positive = covered_by_some(rules, held.codes, len(held.labels))
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


def level_orders(columns: Sequence[BinnedColumn]) -> dict[int, Ints]:
    """By column of levels in a known order their codes, from low to high; levels without a code of their own are none.

    The order is the declared one, or that of bands, scales and numbers that the levels name.
    """
    found = {}
    for place, column in enumerate(columns):
        if column.feature.kind == "categorical" and column.index >= 0:
            steps = column.levels if column.feature.ordered else steps_of(column.levels)
            if len(steps) > 2:
                code_of = {level: code for code, level in enumerate(column.levels, start=FIRST_LEVEL_CODE)}
                found[place] = np.array([code_of[level] for level in steps])
    return found


def without_holes(
    problem: Problem, rules: Sequence[Clause], gain: Floats, orders: Mapping[int, Ints], kept: int
) -> tuple[Clause, ...]:
    """The rules with the holes closed that no row speaks for; the first `kept` stay as they are.

    A hole is closed where its levels have no rows on which the other conditions of the rule hold and no other rule
    does, or where those rows are worth nothing or more.

    gain [n]: what each row is worth to the rules that cover it. What the rules are worth never falls.
    """
    clauses = list(rules)
    if not any(
        _holes(clause[place], orders[place]) for clause in clauses[kept:] for place in clause if place in orders
    ):
        return tuple(clauses)
    n = len(gain)
    held = [covered(clause, problem.codes, n) for clause in clauses]
    times = np.sum(held, axis=0, dtype=np.int16)
    for k, clause in enumerate(clauses[kept:], start=kept):
        free = times == held[k]
        for place in [place for place in clause if place in orders]:
            others = {column: condition for column, condition in clause.items() if column != place}
            rows = np.flatnonzero(free & covered(others, problem.codes, n))
            codes = problem.codes[place][rows]
            worth = np.bincount(codes, gain[rows], len(clause[place]))
            closed = clause[place].copy()
            for hole in _holes(closed, orders[place]):
                closed[hole] = worth[hole].sum() >= 0
            clause = clauses[k] = {**clause, place: closed}
        times -= held[k]
        held[k] = covered(clause, problem.codes, n)
        times += held[k]
    return tuple(clauses)


def _holes(condition: Bools, order: Ints) -> list[Ints]:
    """The runs of codes between two that the condition holds for."""
    held = np.flatnonzero(condition[order])
    return [order[a + 1 : b] for a, b in itertools.pairwise(held) if b > a + 1]
