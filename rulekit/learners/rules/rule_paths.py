"""At most eight conjunctions that alone decide: paths of 1, 2, ... rules, searched on the labels.

Rules are begun in two ways: as the purest cover of the positive rows, and grown from nothing, each for the rows that
those before it leave. Then conditions are exchanged, dropped, added and cut anew on the training rows. Then the rule
whose loss costs least is left out, the others are improved, and so on: a path of sizes, each of which has been searched
for as a whole.

A row is worth 1 where its label is positive and -1 where it is not, times its weight; where rows are few, the mean of
that and of what a guide says counts. A literal must gain a part of the standard deviation of the number of positive
rows: with that grows what chance can promise. Which part is said by cross-validation; without it the first variant is
taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import Clause, covered, covered_by_some
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rules.clause_search import ClauseSearch, purest_cover
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE
from rulekit.tables.kinds.hints import steps_of

Rules = tuple[Clause, ...]

_STEPS = 4096  # of a row's gain; with the weights of all rows the sums stay below 2^53
SEARCHED_ROWS, _OF_A_FOLD = 1 << 15, 1 << 13  # evenly spread ones; sizes and variants are told apart by fewer
_BEGUN_ROWS = 1 << 12  # or an eighth of these, on which the rules to begin with are looked for
_LEAST_PRICE = 0.1  # rows: where labels follow without noise, a literal still costs something
_FEW_CODES = 32  # of each category, where covers of single levels are begun with
_NEAR = 0.7  # of what the rules are worth that are grown from nothing


@dataclass(frozen=True, slots=True)
class Variant:
    """How rules are searched: what a literal costs, from how many covers, and which rows of a rare class are worth it.

    price: in standard deviations of the number of positive rows. covers: the most conditions of the rules of each cover
    that the search begins with. trust: in the guide's probability (0: labels alone). at: the share from which rows of
    the rare class are worth being found.
    """

    price: float
    covers: tuple[int, ...]
    trust: float = 0.0
    at: float = 0.5


# Chosen by cross-validation inside the training rows of 19 tables (docs/rules.md). Where rows are few, a guide parts
# noise from law; where they are many, labels alone do.
_FEW, _MANY_COVERS = (16,), (2, 3, 4, 6, 16)
_GUIDED = (Variant(0.05, _FEW), Variant(0.05, _MANY_COVERS), Variant(0.15, _FEW, 0.9), Variant(0.05, _FEW, 0.9))
VARIANTS = (Variant(0.15, _FEW), Variant(0.05, _MANY_COVERS), Variant(0.15, _MANY_COVERS))
_EAGER = (Variant(0.05, _FEW, at=0.3), Variant(0.05, _FEW, at=0.2))


@dataclass(frozen=True, slots=True, eq=False)
class RuleSettings:
    """The most rules and literals (None: any) of a class.

    kept: rules that stay as they are; begun: rules that the search may begin with. allowed: which rules keep the
    constraints (None: all); columns: in which rules are looked for (None: all). rare: whether a class is so rare
    that it is worth more errors to find its rows. guided: whether a guide helps the search. place: of its class in the
    list of all classes; whole: its problem, where the rows of classes before it weigh nothing in its search (None: as
    it is).
    """

    rules: int = 8
    literals: int | None = None
    kept: Rules = ()
    begun: Rules = ()
    allowed: Allowed | None = None
    columns: tuple[int, ...] | None = None
    rare: bool = False
    guided: bool = False
    place: int = 0
    whole: Problem | None = None

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of the search that are compared on held-out rows."""
        return (_GUIDED if self.guided else VARIANTS) + (_EAGER if self.rare else ())


Guide = Callable[[Problem], Floats]
"""The probability [n] of yes of each row of a problem, which is less noisy than its label."""


def rule_path(
    problem: Problem, settings: RuleSettings, variant: Variant, guide: Guide | None = None, fold: bool = True
) -> list[Rules]:
    """The rules of every size by one variant, the smallest (those that are kept) first.

    fold: what is found is only measured, so that fewer rows are searched.
    """
    orders = level_orders(problem.columns)
    whole, sample = problem, evenly_spread(problem.n_rows, _OF_A_FOLD if fold else SEARCHED_ROWS)
    problem = problem if sample is None else problem.at(sample)
    target = problem.labels.astype(np.float64)
    if variant.trust and guide is not None:
        guided = guide(whole)
        target = (1.0 - variant.trust) * target + variant.trust * (guided if sample is None else guided[sample])
    if not usable_columns(problem, settings):
        return [settings.kept]
    search = _search(problem, target, whole, settings, variant)
    few = evenly_spread(len(problem.labels), max(_BEGUN_ROWS, len(problem.labels) // 8))
    begun = search if few is None else _search(problem.take(few), target[few], whole, settings, variant)
    sizes = _sizes(search, begun, settings, variant.covers)
    gain, kept = search.gain, len(settings.kept)
    sizes = [without_holes(problem, rules, gain, orders, kept) for rules in sizes] if orders else sizes
    known = set() if settings.allowed is not None else _all_seen(problem)
    return [(*rules[:kept], *(_but_a_few(rule, known) for rule in rules[kept:])) for rules in sizes]


def _all_seen(problem: Problem) -> set[int]:
    """The columns of categories of which each row has a level that stands for itself."""
    places = (k for k, each in enumerate(problem.columns) if not each.ordered and each.index >= 0)
    return {place for place in places if not (problem.codes[place] == UNSEEN_CODE).any()}


def _but_a_few(rule: Clause, known: set[int]) -> Clause:
    """The rule that says of a category the levels that it excludes, where these are fewer: `purpose not in {car}`."""

    def condition(column: int, held: Bools) -> Bools:
        named = held[FIRST_LEVEL_CODE:]
        if column not in known or 2 * int(np.count_nonzero(named)) <= max(2, len(named)):
            return held
        return np.concatenate([held[:UNSEEN_CODE], [True], named])

    return {column: condition(column, held) for column, held in rule.items()}


def few_columns(problems: Sequence[Problem], plans: Sequence[RuleSettings], most: int) -> tuple[int, ...]:
    """The columns of the first `most` features that rules of size 1, 2, ... read, those of all questions together."""
    paths = [rule_path(problem, plan, VARIANTS[0]) for problem, plan in zip(problems, plans, strict=True)]
    columns = problems[0].columns
    names: dict[str, None] = {}
    for size in range(1, max(map(len, paths))):
        for path in paths:
            for rule in path[min(size, len(path) - 1)]:
                names |= dict.fromkeys(columns[column].feature.name for column in rule)
    kept = set(list(names)[:most])
    return tuple(place for place, column in enumerate(columns) if column.feature.name in kept)


def usable_columns(problem: Problem, settings: RuleSettings) -> list[int]:
    """The columns in which rules are looked for."""
    columns = range(len(problem.columns)) if settings.columns is None else settings.columns
    return [column for column in columns if settings.allowed is None or settings.allowed.usable[column]]


def _search(problem: Problem, target: Floats, whole: Problem, settings: RuleSettings, variant: Variant) -> ClauseSearch:
    """A search in which a row is worth its weight times 2 (target - at), in whole steps, to the rules that cover it.

    target [n]: the labels, or the mean of them and of a probability.
    """
    deviation = math.sqrt(whole.total * whole.share * (1.0 - whole.share))
    share = problem.n_rows / whole.n_rows
    price = share * max(_LEAST_PRICE, variant.price * deviation) * _STEPS / problem.weight_unit
    at = variant.at if problem.share < 0.5 else 1.0 - variant.at
    kept = covered_by_some(settings.kept, problem.codes, len(problem.labels))
    gain = np.where(kept, 0.0, problem.weights * np.rint(2.0 * (target - at) * _STEPS))
    columns = np.array(usable_columns(problem, settings), dtype=np.int64)
    return ClauseSearch.over(problem.columns, problem.codes, columns, gain, price, settings.allowed)


def evenly_spread(n: int, most: int) -> Ints | None:
    """So many of n rows, evenly spread; None where there are no more."""
    return None if n <= most else (np.arange(most, dtype=np.int64) * n) // most


# One variant -------------------------------------------------------------------------------------------------------


def _sizes(search: ClauseSearch, begun: ClauseSearch, settings: RuleSettings, covers: Sequence[int]) -> list[Rules]:
    """The rules that are kept with 0, 1, 2, ... further ones; begun: a search on fewer rows, to begin with."""
    kept = settings.kept
    most = max(0, settings.rules - len(kept))
    room = math.inf
    if settings.literals is not None:
        room = max(0.0, settings.literals - search.literals(kept))
    found = _found(begun, settings, most, room, covers) if most else []
    if begun is not search:
        found = _more(search, search.run(found, room), most, room)
    path: list[list[Clause]] = []
    while found:
        found = _joined(search, found, room)
        while path and len(path[-1]) > len(found) + 1:  # two rules or more left at once: no size is passed over
            path.append(_without_least(search, path[-1]))
        path.append(found)
        found = search.run(_without_least(search, found), room)
    return [kept, *((*kept, *_by_gain(search, search.tightened(each))) for each in reversed(path))]


def _found(search: ClauseSearch, settings: RuleSettings, most: int, room: float, covers: Sequence[int]) -> list[Clause]:
    """At most so many rules, the best that are found: grown from nothing, begun as covers, or as given ones.

    From nothing and from covers of short rules half as many again are grown, and those that are worth least left out.
    """
    more = most + most // 2
    found = _fewer(search, _more(search, [], more, room), most, room)
    others = [[dict(clause) for clause in settings.begun][:most]] if settings.begun and search.allowed.free else []
    for longest in covers:
        short = longest < max(covers)
        least = -math.inf if short else _NEAR * search.total(found)
        others.append(purest_cover(search, more if short else most, room, least, longest))
    if len(covers) > 1 and 0 < search.layout.sizes[search.layout.nominal].max(initial=0) <= _FEW_CODES:
        others.append(purest_cover(search, more, room, -math.inf, max(covers), alone=True))
    for begun in others:
        if begun:
            tried = _fewer(search, _more(search, search.run(begun, room), more, room), most, room)
            found = max(found, tried, key=search.total)
    return found


def _fewer(search: ClauseSearch, found: list[Clause], most: int, room: float) -> list[Clause]:
    while len(found) > most:
        found = search.run(_without_least(search, found), room)
    return found


def _joined(search: ClauseSearch, clauses: list[Clause], room: float) -> list[Clause]:
    """The clauses where of two that are nearly the same one is left, as far as that costs no more than a literal."""
    rows = [search.rows_of(clause) for clause in clauses]
    for i, j in itertools.combinations(range(len(clauses)), 2):
        one, other = clauses[i], clauses[j]
        shared = one.keys() & other.keys()
        both = int(np.count_nonzero(rows[i] & rows[j]))
        alike = len(shared) >= max(len(one), len(other)) - 1 and 2 * both > np.count_nonzero(rows[i] | rows[j])
        joined = {column: one[column] | other[column] for column in one if column in shared}
        if alike and search.allowed.free and all(not condition.all() for condition in joined.values()):
            others = [clause for k, clause in enumerate(clauses) if k not in (i, j)]
            tried = search.run([*others, joined], room)
            if search.total(tried) >= search.total(clauses) - search.cost:
                return _joined(search, tried, room)
    return clauses


def _without_least(search: ClauseSearch, clauses: list[Clause]) -> list[Clause]:
    rows = [search.rows_of(clause) for clause in clauses]
    times = np.sum(rows, axis=0, dtype=np.int16)
    alone = [float(search.gain[held & (times == 1)].sum()) for held in rows]
    lost = [own - search.price(clause) for own, clause in zip(alone, clauses, strict=True)]
    least = int(np.argmin(lost))
    return [clause for place, clause in enumerate(clauses) if place != least]


def _by_gain(search: ClauseSearch, clauses: list[Clause]) -> list[Clause]:
    left = [(clause, search.rows_of(clause)) for clause in clauses]
    free = np.ones(len(search.gain), dtype=bool)
    ordered = []
    while left:
        added = [float(search.gain[rows & free].sum()) for _, rows in left]
        clause, rows = left.pop(int(np.argmax(added)))
        ordered.append(clause)
        free &= ~rows
    return ordered


def _more(search: ClauseSearch, clauses: list[Clause], most: int, room: float) -> list[Clause]:
    free = np.ones(len(search.gain), dtype=bool)
    for clause in clauses:
        free &= ~search.rows_of(clause)
    grown = False
    while len(clauses) < most:
        clause, value = search.improved({}, free, room - search.literals(clauses))
        if value <= 0.0:
            break
        clauses.append(clause)
        free &= ~search.rows_of(clause)
        grown = True
    return search.run(clauses, room) if grown else clauses


# Levels in their order ---------------------------------------------------------------------------------------------


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
