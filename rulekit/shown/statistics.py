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

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
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
    y = np.asarray(y)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    if weight is not None and bool(np.all(weight == 1.0)):
        weight = None
    exponent = 0 if weight is None else int(np.frexp(weight.max(initial=0.0))[1])
    squared = None if weight is None else np.ldexp(weight, -exponent) ** 2
    tally = _Tally(graph, rules_of(graph), exponent)
    check_encoding(graph, table)
    start = 0
    for block in table.blocks(graph.used_features, _TOGETHER):
        rows = slice(start, start + block.n_rows)
        weights, squares = (None if w is None else ExactWeights(w[rows], block.n_rows) for w in (weight, squared))
        tally.add(block, y[rows], weights or ExactWeights(None, block.n_rows), squares)
        start += block.n_rows
    distributions = distributions or Distributions(table, weight)
    columns = {name: distributions.of(graph.schema[name]) for name in graph.used_features}
    effective = tally.equal_rows("effective_rows", tally.total, tally.squares)
    found = {"rows": table.n_rows, **effective, "rules": tally.entries(), "columns": columns}
    found["classes"] = [
        {"class": label, **{name: share_of(tally.sums[name][k], tally.total) for name in ("actual", "predicted")}}
        for k, label in enumerate(graph.classes)
    ]
    return found | ({"totals": totals} if (totals := tally.of_totals()) else {})


class _Tally:
    """Sums over rows, in units of 2^-1074: exact, so that they do not depend on the blocks in which the rows come."""

    def __init__(self, graph: RuleGraph, rules: tuple[Rule, ...], exponent: int) -> None:
        self.graph, self.rules = graph, rules
        self.exponent = exponent  # of the power of two by which weights were divided before they were squared
        self.read = [read_of(rule) for rule in rules]
        # of each rule the class, and whether it speaks for higher ones, too
        ordered = graph.decision.ordered
        self.speaks_for = [(rule.class_index, ordered and rule.connective != OVERRIDES) for rule in rules]
        self.total = 0
        self.sums = {name: [0] * len(graph.classes) for name in ("actual", "predicted")}
        self.score = total_of(graph)
        self.totals: dict[float, tuple[int, int]] = {}
        self.squares = 0

    def add(self, table: Table, y: Array, weights: ExactWeights, squares: ExactWeights | None) -> None:
        n_classes = len(self.graph.classes)
        scores = [] if self.score is None or len(self.totals) > MOST_TOTALS else [self.score]
        values = evaluate_nodes((*self.read, *self.graph.decision.roots, *scores), table)
        active = list(firing(self.rules, [values[node] for node in self.read], table.n_rows).T)
        labels = labels_of(self.graph.decision, self.graph.default, values, table.n_rows)
        together, reached = self._together(active), active
        if self.graph.decision.ranked and self.graph.decision.rule_sets:
            reached = [truth & (labels == rule.class_index) for truth, rule in zip(active, self.rules, strict=True)]
        positive = {(k, above): y >= k if above else y == k for k, above in self.speaks_for}
        self.total += weights.total()
        self._add("actual", weights.by(y, n_classes))
        self._add("predicted", weights.by(labels, n_classes))
        self._add("rows", [int(np.count_nonzero(truth)) for truth in reached])
        for name, truths in (("alone", active), ("together", together), ("reached", reached)):
            self._add(name, [weights.of(truth) for truth in truths])
            own = zip(truths, self.speaks_for, strict=True)
            self._add(f"right {name}", [weights.of(truth & positive[key]) for truth, key in own])
        if squares is not None:
            self._add("squares", [squares.of(truth) for truth in reached])
            self.squares += squares.total()
        for score in scores:
            self._add_totals(values[score], y, weights)

    def _add_totals(self, totals: Array, y: Array, weights: ExactWeights) -> None:
        """The weight of the rows of each total, and of those of the positive class."""
        different, place = np.unique(totals, return_inverse=True)
        found = weights.by(2 * place + (y == 1), 2 * len(different))
        for k, total in enumerate(different.tolist()):
            before = self.totals.get(total, (0, 0))
            self.totals[total] = before[0] + found[2 * k] + found[2 * k + 1], before[1] + found[2 * k + 1]

    def of_totals(self) -> list[dict[str, Any]]:
        """What is said of each total, ascending; nothing of too many."""
        if len(self.totals) > MOST_TOTALS:
            return []
        return [
            {"total": total, "share": share_of(both, self.total), "observed": share_of(positive, both)}
            for total, (both, positive) in sorted(self.totals.items())
        ]

    def _add(self, name: str, found: list[int]) -> None:
        self.sums[name] = _added(self.sums.get(name, [0] * len(found)), found)

    def _together(self, active: list[Array]) -> list[Array]:
        """Where each rule together with all rules of its class before it says yes [n]."""
        together, last = list(active), dict[tuple[int, bool], int]()
        for j, rule in enumerate(self.rules):
            if rule.connective != "sum":
                group = rule.class_index, rule.connective == OVERRIDES
                before = last.get(group, j)
                combine = np.logical_or if rule.connective in ("or", "against", OVERRIDES) else np.logical_and
                together[j] = combine(together[before], ~active[j] if rule.connective == INHIBITS else active[j])
                last[group] = j
        return together

    def entries(self) -> list[dict[str, Any]]:
        entries = []
        for j, (rule, (k, above)) in enumerate(zip(self.rules, self.speaks_for, strict=True)):
            of = {name: sums[j] for name, sums in self.sums.items() if name not in ("actual", "predicted")}
            positive = sum(self.sums["actual"][k:]) if above else self.sums["actual"][k]
            right, together = of["right alone"], of["right together"]
            entry = {
                "id": rule.id,
                "class": self.graph.classes[k],
                "n": of["rows"],
                **self.equal_rows("effective_n", of["reached"], of.get("squares", 0)),
                "coverage": share_of(of["alone"], self.total),
                "precision": share_of(of["right reached"], of["reached"]),
                "base_rate": share_of(positive, self.total),
                "true_positive": share_of(right, positive),
            }
            alone = {
                "error": share_of(of["alone"] + positive - 2 * right, self.total),
                "cumulative_true_positive": share_of(together, positive),
                "cumulative_error": share_of(of["together"] + positive - 2 * together, self.total),
            }
            # a term of a sum is no classifier by itself
            entries.append(entry | (dict.fromkeys(alone) if rule.connective == "sum" else alone))
        return entries

    def equal_rows(self, name: str, weight: int, squares: int) -> dict[str, float]:
        """How many rows of equal weight say as much as some, where rows have weights."""
        if not squares:
            return {}
        scaled = Fraction(weight, UNIT) / Fraction(2) ** self.exponent
        return {name: float(scaled**2 / Fraction(squares, UNIT))}


# Columns -------------------------------------------------------------------------------------------------------------

MOST_BINS = 20
UNITS_OF_GRIDS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
_CUT_ROWS = 1 << 18
_GRID_ROWS = 1 << 12


class Distributions:
    """What is said of the columns of a table with weights [n] (None: each is 1), each column looked at once.

    bins: whether numbers are counted in bins, and words; else only what is missing, levels and ranges are told.
    """

    def __init__(self, table: Table, weight: Array | None = None, *, bins: bool = True) -> None:
        self.table, self.weight, self.bins = table, weight, bins
        self._known: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}

    def of(self, feature: Feature) -> dict[str, Any]:
        """The entry of a column as a model knows it: of a text the words that the model names."""
        key = (feature.name, feature.levels)
        if key not in self._known:
            describe = {"categorical": self._levels, "text": self._words}.get(feature.kind, self._numbers)
            self._known[key] = describe(feature)
        return self._known[key]

    @cached_property
    def total(self) -> int:
        """The weight of all rows, in units of 2^-1074."""
        return sum(weights.total() for _, weights in self._blocks())

    def _blocks(self) -> Iterator[tuple[slice, ExactWeights]]:
        for start in range(0, self.table.n_rows, PART):
            rows = slice(start, min(start + PART, self.table.n_rows))
            yield rows, ExactWeights(None if self.weight is None else self.weight[rows], rows.stop - start)

    def _parts(self, name: str) -> Iterator[tuple[Any, ExactWeights]]:
        """The cells of a column with the weights of their rows, part by part."""
        column = held_columns(self.table.arrays)[self.table.names.index(name)]
        for rows, weights in self._blocks():
            part = column.read(rows.start, rows.stop) if isinstance(column, StoredColumn) else column[rows]
            yield part if isinstance(part, TokenSets) else np.ascontiguousarray(part), weights

    def _share(self, part: int) -> float:
        return share_of(part, self.total) or 0.0

    def _levels(self, feature: Feature) -> dict[str, Any]:
        sums = [0] * (FIRST_LEVEL_CODE + len(feature.levels))
        for codes, weights in self._parts(feature.name):
            sums = _added(sums, weights.by(codes, len(sums)))
        shares = list(map(self._share, sums))
        levels = dict(zip(feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
        return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}

    def _words(self, feature: Feature) -> dict[str, Any]:
        known = next(other for other in self.table.features if other.name == feature.name)
        numbers = [known.levels.index(word) for word in feature.levels if self.bins]
        sums = [0] * (2 + len(numbers))
        for sets, weights in self._parts(feature.name):
            wordless = ~(sets.contains(numbers) | sets.missing)
            with_words = (sets.contains([number]) for number in numbers)
            sums = _added(sums, [weights.of(rows) for rows in (sets.missing, wordless, *with_words)])
        missing, (none, *words) = share_of(sums[0], self.total), (round(self._share(part), 6) for part in sums[1:])
        if not self.bins:
            return {"missing": missing}
        return {"missing": missing, "words": dict(zip(feature.levels, words, strict=True)), "wordless": none}

    def _numbers(self, feature: Feature) -> dict[str, Any]:
        stride = -(-self.table.n_rows // _CUT_ROWS) or 1
        sampled, before = [np.zeros(0)], 0
        missing, low, high = 0, np.inf, -np.inf
        for values, weights in self._parts(feature.name):
            missing += weights.of(absent(values))
            finite = values[np.isfinite(values)]
            low, high = min(low, float(finite.min(initial=np.inf))), max(high, float(finite.max(initial=-np.inf)))
            every = values[-before % stride :: stride]
            sampled.append(every[np.isfinite(every)])
            before += len(values)
        ends = {"low": low, "high": high} if low <= high else dict.fromkeys(("low", "high"))
        found: dict[str, Any] = {"missing": share_of(missing, self.total), **ends}
        if low > high or not self.bins:
            return found
        ordered = np.sort(np.concatenate(sampled[1:]))
        cuts = cuts_of(ordered, feature)
        sums = [0] * (len(cuts) + 2)  # the last of missing cells
        for values, weights in self._parts(feature.name):
            codes = np.where(np.isnan(values), len(cuts) + 1, bin_codes(values, np.asarray(cuts)))
            sums = _added(sums, weights.by(codes, len(sums)))
        found |= {**_spread(ordered, low, high), "cuts": cuts}
        found["shares"] = [round(self._share(part), 6) for part in sums[:-1]]
        some = ordered[:: -(-len(ordered) // _GRID_ROWS) or 1]
        grid = {} if feature.kind == "boolean" or feature.dated else grid_of(some)
        return found | ({"grid": grid} if grid else {})


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


# Exact sums ----------------------------------------------------------------------------------------------------------

UNIT = 1 << 1074
"""How many units of 2^-1074, in which sums are counted, are 1."""

_LOW_BITS = 26


class ExactWeights:
    """Weights [n] >= 0 of at most 2^25 rows, or None where each is 1, that can be added up exactly.

    A double is an integer times a power of two. Its halves are added per exponent as doubles, in which sums of so few
    small integers are exact, and the rest is arithmetic of Python's integers, in units of the smallest double.
    """

    def __init__(self, weights: Floats | None, n_rows: int) -> None:
        self.n_rows, self.weighted = n_rows, weights is not None
        if weights is not None:
            mantissa, exponent = np.frexp(weights)
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            self._exponent = exponent.astype(np.int64)
            self._high, self._low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)

    def by(self, codes: Array, n_codes: int) -> list[int]:
        """The sum of the weights of the rows of each code [n] below n_codes, in units of 2^-1074."""
        if not self.weighted or not self.n_rows:
            return [int(count) * UNIT for count in np.bincount(codes, minlength=n_codes)]
        sums, first = [0] * n_codes, int(self._exponent.min())
        width = int(self._exponent.max()) - first + 1
        where = codes.astype(np.int64) * width + (self._exponent - first)
        for values, shift in ((self._high, _LOW_BITS), (self._low, 0)):
            found = np.bincount(where, values, n_codes * width)
            for at in np.flatnonzero(found).tolist():
                # The smallest doubles have fewer bits, so that the shift is never to the right of the unit.
                power = at % width + first - 53 + shift + 1074
                whole = int(found[at])
                sums[at // width] += whole << power if power >= 0 else whole >> -power
        return sums

    def of(self, truth: Bools) -> int:
        """The sum of the weights of the rows where `truth` [n] holds, in units of 2^-1074."""
        return self.by(truth, 2)[1] if self.weighted else int(np.count_nonzero(truth)) * UNIT

    def total(self) -> int:
        """The sum of all weights, in units of 2^-1074."""
        return self.by(np.zeros(self.n_rows, dtype=np.uint8), 1)[0] if self.weighted else self.n_rows * UNIT


def rounded(total: int) -> float:
    """A sum in units of 2^-1074 as the nearest double."""
    try:
        return float(Fraction(total, UNIT))
    except OverflowError:
        return math.inf


def share_of(part: int, total: int) -> float | None:
    """The share of a sum, both in units of 2^-1074; None of nothing."""
    return rounded(part) / rounded(total) if total else None
