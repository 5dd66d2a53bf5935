"""What a table says about the rules and columns of a model: JSON values for RuleGraph.statistics.

Rates are weighted by the rows' weights; counts are rows. Per rule, beside coverage and precision, the four figures of
table 4 of Yuille and Zheng (Compositional noisy-logical learning): the true positive rate and the error rate of the
classifier that is this rule alone, and of the one that is this rule together with all rules of its class before it.

Per column its distribution. Numbers are counted in at most 20 bins of about equal numbers of rows, a frequent value in
one of its own. The cuts between them come from every k-th row, at most 262,144 in all, whatever the blocks in which a
table is read; the shares are of all rows, added up exactly. A cut lies half-way between two values, so that no rounding
moves a row across it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from rulekit.arrays import UNIT, Array, Bools, ExactWeights, Floats, Ints, ends_of, exponent_of, share_of
from rulekit.cells.sums import MOST_TOTALS
from rulekit.graph.evaluation.evaluator import check_encoding, evaluate_nodes, labels_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, OVERRIDES, Rule, firing, read_of, rules_of
from rulekit.numbers import separates, threshold_between
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.shown.score_cards import total_of
from rulekit.tables.table import PART, StoredColumn, Table, absent, held_columns
from rulekit.tables.token_sets import TokenSets

_TOGETHER = 1 << 15  # rows of which it is held what each rule says


def rule_statistics(
    graph: RuleGraph, table: Table, y: Array, weight: Array | None = None, distributions: Distributions | None = None
) -> dict[str, Any]:
    """Statistics of a model's rules and columns on n rows with class indices y [n] and weights [n] (default 1).

    `rules`, in the order of rules_of: id, class, n (rows covered that no class before it in a list takes), effective_n
    (where rows have weights, how many of equal weight say as much: (sum w)^2 / sum w^2), coverage, precision (of these
    n; None if there are none), base_rate (the share of its class among all rows), true_positive, error,
    cumulative_true_positive, cumulative_error (the last three
    None for a term of a sum, which decides nothing by itself). A rule speaks for its class; a rule of `above[j]`
    of a median, whose class is j + 1, for that class or a higher one; an override for its class alone. `columns`: of
    each used column its distribution. `classes`: of each the share of the rows that have it (`actual`) and that the
    model decides for it (`predicted`). `rows`: n. `totals`, where one sum decides two classes and the rows have no more
    than 200: of each total the share of the rows, and `observed`, that of the positive class. distributions: of the
    same rows, where several models are asked about them.
    """
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    exponent = None if weight is None else exponent_of(*ends_of(weight))
    tally = part_tally(graph, table, np.asarray(y), weight, exponent)
    distributions = distributions or Distributions(table, None if exponent is None else weight)
    return statistics_of(graph, tally, {name: distributions.of(graph.schema[name]) for name in graph.used_features})


@dataclass(frozen=True, slots=True)
class Tally:
    """What rules say of some rows, as sums in units of 2^-1074: those of parts add up exactly, in any order.

    exponent: see `exponent_of`. squares: of the weights, divided. sums: by name of each class or rule. totals: by the
    total of a score the weight of its rows, and of those of the positive class; None where there are too many.
    """

    exponent: int | None
    rows: int
    total: int
    squares: int
    sums: dict[str, list[int]]
    totals: dict[float, tuple[int, int]] | None

    def __add__(self, other: Tally) -> Tally:
        sums = {name: _added(own, other.sums[name]) for name, own in self.sums.items()}
        totals, mine, theirs, none = None, self.totals, other.totals, (0, 0)
        if mine is not None and theirs is not None:
            pairs = ((key, mine.get(key, none), theirs.get(key, none)) for key in mine | theirs)
            totals = {key: (a[0] + b[0], a[1] + b[1]) for key, a, b in pairs}
            totals = totals if len(totals) <= MOST_TOTALS else None
        counts = self.rows + other.rows, self.total + other.total, self.squares + other.squares
        return Tally(self.exponent, *counts, sums, totals)

    def equal_rows(self, name: str, weight: int, squares: int) -> dict[str, float]:
        """How many rows of equal weight say as much as some, where rows have weights."""
        if self.exponent is None or not squares:
            return {}
        scaled = Fraction(weight, UNIT) / Fraction(2) ** self.exponent
        return {name: float(scaled**2 / Fraction(squares, UNIT))}


_HELD = ("alone", "together", "reached")
_OF_RULES = ("rows", *_HELD, *(f"right {name}" for name in _HELD), "squares")


def part_tally(graph: RuleGraph, table: Table, y: Array, weight: Floats | None, exponent: int | None) -> Tally:
    """What the rules say of a part of the rows, with class indices y [n]; exponent: of all weights."""
    check_encoding(graph, table)
    rules, start = rules_of(graph), 0
    sums = {name: [0] * len(graph.classes) for name in ("actual", "predicted")}
    found = Tally(exponent, 0, 0, 0, sums | {name: [0] * len(rules) for name in _OF_RULES}, {})
    for block in table.blocks(graph.used_features, _TOGETHER):
        rows = slice(start, start + block.n_rows)
        own = None if weight is None or exponent is None else weight[rows]
        found += _tally(graph, rules, block, y[rows], own, exponent, found.totals is not None)
        start += block.n_rows
    return found


def _tally(
    graph: RuleGraph,
    rules: tuple[Rule, ...],
    table: Table,
    y: Array,
    weight: Floats | None,
    exponent: int | None,
    with_totals: bool,
) -> Tally:
    """The tally of so few rows that it is held what each rule says."""
    weights, n_classes = ExactWeights(weight, table.n_rows), len(graph.classes)
    read, score = [read_of(rule) for rule in rules], total_of(graph) if with_totals else None
    scores = [] if score is None else [score]
    values = evaluate_nodes((*read, *graph.decision.roots, *scores), table)
    active = list(firing(rules, [values[node] for node in read], table.n_rows).T)
    labels = labels_of(graph.decision, graph.default, values, table.n_rows)
    reached = active
    if graph.decision.ranked and graph.decision.rule_sets:
        reached = [truth & (labels == rule.class_index) for truth, rule in zip(active, rules, strict=True)]
    speaks_for = _speaks_for(graph, rules)
    positive = {(k, above): y >= k if above else y == k for k, above in speaks_for}
    sums = {"actual": weights.by(y, n_classes), "predicted": weights.by(labels, n_classes)}
    sums["rows"] = [int(np.count_nonzero(truth)) for truth in reached]
    for name, truths in zip(_HELD, (active, _together(rules, active), reached), strict=True):
        sums[name] = [weights.of(truth) for truth in truths]
        own = zip(truths, speaks_for, strict=True)
        sums[f"right {name}"] = [weights.of(truth & positive[key]) for truth, key in own]
    squares, sums["squares"] = 0, [0] * len(rules)
    if weight is not None and exponent is not None:
        squared = ExactWeights(np.ldexp(weight, -exponent) ** 2, table.n_rows)
        squares, sums["squares"] = squared.total(), [squared.of(truth) for truth in reached]
    totals = _of_totals(values[score], y, weights) if score is not None else {} if with_totals else None
    return Tally(exponent, table.n_rows, weights.total(), squares, sums, totals)


def _speaks_for(graph: RuleGraph, rules: tuple[Rule, ...]) -> list[tuple[int, bool]]:
    """Of each rule the class, and whether it speaks for higher ones, too."""
    return [(rule.class_index, graph.decision.ordered and rule.connective != OVERRIDES) for rule in rules]


def _of_totals(totals: Array, y: Array, weights: ExactWeights) -> dict[float, tuple[int, int]]:
    """The weight of the rows of each total, and of those of the positive class."""
    different, place = np.unique(totals, return_inverse=True)
    found = weights.by(2 * place + (y == 1), 2 * len(different))
    return {total: (found[2 * k] + found[2 * k + 1], found[2 * k + 1]) for k, total in enumerate(different.tolist())}


def _together(rules: tuple[Rule, ...], active: list[Array]) -> list[Array]:
    """Where each rule together with all rules of its class before it says yes [n]."""
    together, last = list(active), dict[tuple[int, bool], int]()
    for j, rule in enumerate(rules):
        if rule.connective != "sum":
            group = rule.class_index, rule.connective == OVERRIDES
            before = last.get(group, j)
            combine = np.logical_or if rule.connective in ("or", "against", OVERRIDES) else np.logical_and
            together[j] = combine(together[before], ~active[j] if rule.connective == INHIBITS else active[j])
            last[group] = j
    return together


def statistics_of(graph: RuleGraph, tally: Tally, columns: dict[str, Any]) -> dict[str, Any]:
    """The statistics that a tally of all rows makes, beside the entries of the columns."""
    effective = tally.equal_rows("effective_rows", tally.total, tally.squares)
    found = {"rows": tally.rows, **effective, "rules": _entries(graph, tally), "columns": columns}
    found["classes"] = [
        {"class": label, **{name: share_of(tally.sums[name][k], tally.total) for name in ("actual", "predicted")}}
        for k, label in enumerate(graph.classes)
    ]
    totals = [
        {"total": total, "share": share_of(both, tally.total), "observed": share_of(positive, both)}
        for total, (both, positive) in sorted((tally.totals or {}).items())
    ]
    return found | ({"totals": totals} if totals else {})


def _entries(graph: RuleGraph, tally: Tally) -> list[dict[str, Any]]:
    entries, rules = [], rules_of(graph)
    for j, (rule, (k, above)) in enumerate(zip(rules, _speaks_for(graph, rules), strict=True)):
        of = {name: tally.sums[name][j] for name in _OF_RULES}
        positive = sum(tally.sums["actual"][k:]) if above else tally.sums["actual"][k]
        right, together = of["right alone"], of["right together"]
        entry = {
            "id": rule.id,
            "class": graph.classes[k],
            "n": of["rows"],
            **tally.equal_rows("effective_n", of["reached"], of["squares"]),
            "coverage": share_of(of["alone"], tally.total),
            "precision": share_of(of["right reached"], of["reached"]),
            "base_rate": share_of(positive, tally.total),
            "true_positive": share_of(right, positive),
        }
        alone = {
            "error": share_of(of["alone"] + positive - 2 * right, tally.total),
            "cumulative_true_positive": share_of(together, positive),
            "cumulative_error": share_of(of["together"] + positive - 2 * together, tally.total),
        }
        # a term of a sum is no classifier by itself
        entries.append(entry | (dict.fromkeys(alone) if rule.connective == "sum" else alone))
    return entries


# Columns -------------------------------------------------------------------------------------------------------------

MOST_BINS = 20
UNITS_OF_GRIDS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
_CUT_ROWS = 1 << 18
_GRID_ROWS = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """What a column has in some rows: what parts of the rows have adds up exactly, in any order.

    sums: the weights, in units of 2^-1074, of the rows of each code, or bin; of the rows of numbers, or texts, that are
    missing, and those of words. sampled: every k-th number of all rows, where bins are asked for.
    """

    sums: list[int]
    low: float = np.inf
    high: float = -np.inf
    sampled: Array | None = None

    def __add__(self, other: ColumnSums) -> ColumnSums:
        sampled = [each.sampled for each in (self, other) if each.sampled is not None]
        ends = min(self.low, other.low), max(self.high, other.high)
        return ColumnSums(_added(self.sums, other.sums), *ends, np.concatenate(sampled) if sampled else None)


def column_facts(
    features: Sequence[Feature], table: Table, weight: Floats | None, start: int, n_rows: int, *, bins: bool = True
) -> dict[str, ColumnSums]:
    """What is asked first of columns, as a model knows them, in a part that begins at row `start` of n_rows."""
    stride, found = -(-n_rows // _CUT_ROWS) or 1, {}
    for feature in features:
        words: list[int] = []
        if feature.kind == "text" and bins:
            known = next(other for other in table.features if other.name == feature.name)
            words = [known.levels.index(word) for word in feature.levels]
        blocks = _blocks(table, feature.name, weight)
        facts = (_facts(feature, cells, own, words, bins, -(start + at) % stride, stride) for at, cells, own in blocks)
        found[feature.name] = reduce(operator.add, facts)
    return found


def _facts(
    feature: Feature, cells: Any, weights: ExactWeights, words: list[int], bins: bool, first: int, stride: int
) -> ColumnSums:
    if feature.kind == "categorical":
        return ColumnSums(weights.by(cells, FIRST_LEVEL_CODE + len(feature.levels)))
    missing = weights.of(absent(cells))
    if feature.kind == "text":
        wordless = ~(cells.contains(words) | cells.missing)
        truths = (wordless, *(cells.contains([word]) for word in words)) if bins else ()
        return ColumnSums([missing, *map(weights.of, truths)])
    finite, every = cells[np.isfinite(cells)], cells[first::stride]
    ends = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    return ColumnSums([missing], *ends, every[np.isfinite(every)] if bins else None)


def column_shares(cuts: Mapping[str, list[float]], table: Table, weight: Floats | None) -> dict[str, ColumnSums]:
    """What is asked then of columns of numbers, by the cuts that their entries have: the rows of each bin."""
    found = {}
    for name, own in cuts.items():
        width, blocks = len(own) + 2, _blocks(table, name, weight)  # the last of missing cells
        codes = ((np.where(np.isnan(x), width - 1, bin_codes(x, np.asarray(own))), each) for _, x, each in blocks)
        found[name] = reduce(operator.add, (ColumnSums(each.by(code, width)) for code, each in codes))
    return found


def _blocks(table: Table, name: str, weight: Floats | None) -> Iterator[tuple[int, Any, ExactWeights]]:
    """The cells of a column with the weights of their rows, and the number of the first, some rows at a time."""
    column = held_columns(table.arrays)[table.names.index(name)]
    for start in range(0, table.n_rows or 1, PART):
        rows = slice(start, min(start + PART, table.n_rows))
        part = column.read(rows.start, rows.stop) if isinstance(column, StoredColumn) else column[rows]
        own = ExactWeights(None if weight is None else weight[rows], rows.stop - start)
        yield start, part if isinstance(part, TokenSets) else np.ascontiguousarray(part), own


def column_entry(feature: Feature, facts: ColumnSums, total: int) -> dict[str, Any]:
    """The entry of a column by the sums of all rows; total: their weight. Where it has cuts it lacks its shares."""
    shares = [share_of(part, total) or 0.0 for part in facts.sums]
    if feature.kind == "categorical":
        levels = dict(zip(feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
        return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}
    missing = {"missing": share_of(facts.sums[0], total)}
    if feature.kind == "text":
        none, words = shares[1:2], dict(zip(feature.levels, (round(share, 6) for share in shares[2:]), strict=False))
        return missing | ({"words": words, "wordless": round(none[0], 6)} if none else {})
    low, high = facts.low + 0.0, facts.high + 0.0  # one zero, whichever came first
    found = missing | ({"low": low, "high": high} if low <= high else dict.fromkeys(("low", "high")))
    if low > high or facts.sampled is None:
        return found
    ordered = np.sort(facts.sampled + facts.sampled.dtype.type(0))
    some = ordered[:: -(-len(ordered) // _GRID_ROWS) or 1]
    grid = {} if feature.kind == "boolean" or feature.dated else grid_of(some)
    found |= {**_spread(ordered, low, high), "cuts": cuts_of(ordered, feature), "shares": []}
    return found | ({"grid": grid} if grid else {})


def with_shares(entry: dict[str, Any], shares: ColumnSums, total: int) -> dict[str, Any]:
    """The entry of a column of numbers with the shares of its bins."""
    return {**entry, "shares": [round(share_of(part, total) or 0.0, 6) for part in shares.sums[:-1]]}


class Distributions:
    """What is said of the columns of a table with weights [n] (None: each is 1), each column looked at once.

    bins: whether numbers are counted in bins, and words; else only what is missing, levels and ranges are told.
    """

    def __init__(self, table: Table, weight: Array | None = None, *, bins: bool = True) -> None:
        self.table, self.weight, self.bins = table, weight, bins
        self._known: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}

    def of(self, feature: Feature) -> dict[str, Any]:
        """The entry of a column as a model knows it: of a text the words that the model names."""
        key, rows = (feature.name, feature.levels), (self.table, self.weight)
        if key not in self._known:
            facts = column_facts((feature,), *rows, 0, self.table.n_rows, bins=self.bins)
            entry = column_entry(feature, facts[feature.name], self.total)
            if "cuts" in entry:
                shares = column_shares({feature.name: entry["cuts"]}, *rows)
                entry = with_shares(entry, shares[feature.name], self.total)
            self._known[key] = entry
        return self._known[key]

    @cached_property
    def total(self) -> int:
        """The weight of all rows, in units of 2^-1074."""
        weight, n_rows = self.weight, self.table.n_rows
        parts = (slice(start, start + PART) for start in range(0, n_rows, PART))
        return n_rows * UNIT if weight is None else sum(ExactWeights(w := weight[p], len(w)).total() for p in parts)


def _added(sums: list[int], found: list[int]) -> list[int]:
    return [a + b for a, b in zip(sums, found, strict=True)]


def _spread(ordered: Array, low: float, high: float) -> dict[str, float]:
    """The interquartile range of sorted values where it is positive, else the range; nothing where neither is."""
    m = len(ordered)
    quartiles = float(ordered[(3 * m) // 4]) - float(ordered[m // 4]) if m else 0.0
    width = quartiles if 0.0 < quartiles < np.inf else high - low
    return {"spread": width} if 0.0 < width < np.inf else {}


def cuts_of(ordered: Array, feature: Feature) -> list[float]:
    """The cuts between at most MOST_BINS bins of sorted values [m]."""
    if feature.kind == "boolean":
        return [0.5]
    values, counts = np.unique(ordered, return_counts=True)
    until = np.cumsum(counts)
    cuts: list[float] = []
    first = 0
    while first < len(values) - 1 and len(cuts) < MOST_BINS - 1:
        done = int(until[first - 1]) if first else 0
        wanted = (len(ordered) - done) / (MOST_BINS - len(cuts))
        last = int(np.searchsorted(until, done + wanted))
        if last > first and counts[last] > wanted:
            last -= 1  # a frequent value has a bin of its own
        if last >= len(values) - 1:
            break
        between = float(values[last]), float(values[last + 1]), feature.precision
        middle = float(f"{between[0] / 2 + between[1] / 2:.6g}")
        cuts.append(middle if separates(middle, *between) else threshold_between(*between))
        first = last + 1
    return cuts


def bin_counts(values: Array, cuts: Array) -> Ints:
    """How many values lie up to the first cut, between it and the second, ..., above the last one; NaN in none."""
    return np.bincount(bin_codes(values[~np.isnan(values)], cuts), minlength=len(cuts) + 1)


def bin_codes(values: Array, cuts: Array) -> Ints:
    """The bin [n] of each value, that of NaN the last one."""
    return np.searchsorted(cuts.astype(values.dtype), values)


def grid_of(values: Array) -> dict[str, float]:
    """By unit (1000, 100, ... 0.001) the share of the values that are multiples of it, up to the first that all are."""
    found: dict[str, float] = {}
    for unit in UNITS_OF_GRIDS if len(values) else ():
        share = round(float(on_grid(values, unit).mean()), 3)
        if share:
            found[f"{unit:g}"] = share
        if share >= 0.999:
            break
    return found


def on_grid(values: Array, unit: float) -> Bools:
    """Which values [n] are multiples of a unit, but for the roundings of float32."""
    multiples = np.asarray(values, dtype=np.float64) / unit
    return np.asarray(np.abs(multiples - np.rint(multiples)) <= 2e-7 * np.abs(multiples) + 1e-9)
