"""What a table says about the rules and columns of a model: JSON values for RuleGraph.statistics.

Rates are weighted by the rows' weights; counts are rows. Per rule, beside coverage and precision, the four figures of
table 4 of Yuille and Zheng (Compositional noisy-logical learning): the true positive rate and the error rate of the
classifier that is this rule alone, and of the one that is this rule together with all rules of its class before it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.score_cards.score_table import total_of
from rulekit.cells.totals import MOST_TOTALS
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.rules import INHIBITS, OVERRIDES, Rule, firing, rule_values, rules_of
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import absent

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Table

Array = npt.NDArray[Any]

_UNIT = 1 << 1074
_LOW_BITS = 26
_MOST = 1 << 25
_TOGETHER = 1 << 15  # rows of which it is held what each rule says


def rule_statistics(graph: RuleGraph, table: Table, y: Array, weight: Array | None = None) -> dict[str, Any]:
    """Statistics of a model's rules and columns on n rows with class indices y [n] and weights [n] (default 1).

    `rules`, in the order of rules_of: id, class, n (rows covered), effective_n (where rows have weights, how many of
    equal weight say as much: (sum w)^2 / sum w^2), coverage, precision (None if it covers nothing), base_rate (the
    share of its class among all rows), true_positive, error, cumulative_true_positive, cumulative_error (the last three
    None for a term of a sum, which decides nothing by itself). A rule speaks for its class; a rule of `above[j]`
    of a median, whose class is j + 1, for that class or a higher one; an override for its class alone. `columns`: of
    each used column `missing`, and `low` and `high`, or `levels` and `unseen` (frequencies). `rows`: n. `totals`, where
    one sum decides two classes and the rows have no more than 200: of each total the share of the rows, and `observed`,
    that of the positive class.
    """
    y = np.asarray(y)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    if weight is not None and bool(np.all(weight == 1.0)):
        weight = None
    exponent = 0 if weight is None else int(np.frexp(weight.max(initial=0.0))[1])
    squared = None if weight is None else np.ldexp(weight, -exponent) ** 2
    tally = _Tally(graph, rules_of(graph), exponent)
    start = 0
    for block in table.blocks(graph.used_features, _TOGETHER):
        rows = slice(start, start + block.n_rows)
        weights, squares = (None if w is None else Weights(w[rows], block.n_rows) for w in (weight, squared))
        tally.add(block, y[rows], weights or Weights(None, block.n_rows), squares)
        start += block.n_rows
    columns = {name: tally.columns[name].entry(tally.total) for name in graph.used_features}
    found = {"rows": table.n_rows, "rules": tally.entries(), "columns": columns}
    return found | ({"totals": totals} if (totals := tally.of_totals()) else {})


class _Tally:
    """Sums over rows, in units of 2^-1074: exact, so that they do not depend on the blocks in which the rows come."""

    def __init__(self, graph: RuleGraph, rules: tuple[Rule, ...], exponent: int) -> None:
        self.graph, self.rules = graph, rules
        self.exponent = exponent  # of the power of two by which weights were divided before they were squared
        self.classes = np.array([rule.class_index for rule in rules], dtype=np.int64)
        self.at_least = np.array(
            [graph.decision.ordered and rule.connective != OVERRIDES for rule in rules], dtype=bool
        )
        self.total = 0
        self.sums: dict[str, list[int]] = {}
        self.score = total_of(graph)
        self.totals: dict[float, tuple[int, int]] = {}
        self.columns = {name: _ColumnSums(graph.schema[name]) for name in graph.used_features}

    def add(self, table: Table, y: Array, weights: Weights, squares: Weights | None) -> None:
        self.total += weights.total()
        active = firing(self.rules, rule_values(self.rules, table), table.n_rows)
        positive = np.where(self.at_least, y[:, None] >= self.classes, y[:, None] == self.classes)
        together = self._together(active)
        self._add("rows", np.count_nonzero(active, axis=0).tolist())
        self._add("positive", weights.of(positive))
        self._add("active", weights.of(active))
        if squares is not None:
            self._add("squares", squares.of(active))
        self._add("right", weights.of(active & positive))
        self._add("wrong", weights.of(active != positive))
        self._add("right together", weights.of(together & positive))
        self._add("wrong together", weights.of(together != positive))
        for name, column in self.columns.items():
            column.add(table.array(name), weights)
        if self.score is not None and len(self.totals) <= MOST_TOTALS:
            self._add_totals(np.asarray(evaluate_nodes([self.score], table)[self.score]), y, weights)

    def _add_totals(self, totals: Array, y: Array, weights: Weights) -> None:
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
        self.sums[name] = [a + b for a, b in zip(self.sums.get(name, [0] * len(found)), found, strict=True)]

    def _together(self, active: Array) -> Array:
        """Where each rule together with all rules of its class before it says yes [n, rules]."""
        together, last = active.copy(), dict[tuple[int, bool], int]()
        for j, rule in enumerate(self.rules):
            if rule.connective != "sum":
                group = rule.class_index, rule.connective == OVERRIDES
                before = last.get(group, j)
                combine = np.logical_or if rule.connective in ("or", "against", OVERRIDES) else np.logical_and
                own = ~active[:, j] if rule.connective == INHIBITS else active[:, j]
                combine(together[:, before], own, out=together[:, j])
                last[group] = j
        return together

    def entries(self) -> list[dict[str, Any]]:
        entries = []
        for j, rule in enumerate(self.rules):
            of = {name: sums[j] for name, sums in self.sums.items()}
            entry = {
                "id": rule.id,
                "class": self.graph.classes[rule.class_index],
                "n": of["rows"],
                **self._effective(of),
                "coverage": share_of(of["active"], self.total),
                "precision": share_of(of["right"], of["active"]),
                "base_rate": share_of(of["positive"], self.total),
                "true_positive": share_of(of["right"], of["positive"]),
            }
            alone = {
                "error": share_of(of["wrong"], self.total),
                "cumulative_true_positive": share_of(of["right together"], of["positive"]),
                "cumulative_error": share_of(of["wrong together"], self.total),
            }
            # a term of a sum is no classifier by itself
            entries.append(entry | (dict.fromkeys(alone) if rule.connective == "sum" else alone))
        return entries

    def _effective(self, of: dict[str, int]) -> dict[str, float]:
        if not of.get("squares"):
            return {}
        active = Fraction(of["active"], _UNIT) / Fraction(2) ** self.exponent
        return {"effective_n": float(active**2 / Fraction(of["squares"], _UNIT))}


class _ColumnSums:
    """The weight of the missing cells and of each level, and the range of the numbers, of one column."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature
        self.codes = [0] * (FIRST_LEVEL_CODE + len(feature.levels))
        self.low, self.high = math.inf, -math.inf

    def add(self, values: Array, weights: Weights) -> None:
        if self.feature.kind == "categorical":
            sums = weights.by(values, len(self.codes))
            self.codes = [a + b for a, b in zip(self.codes, sums, strict=True)]
            return
        self.codes[MISSING_CODE] += weights.of(absent(values)[:, None])[0]
        if self.feature.kind == "text":
            return
        known = values[np.isfinite(values)]
        if len(known):
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))

    def entry(self, total: int) -> dict[str, Any]:
        if self.feature.kind == "categorical":
            shares = [share_of(part, total) or 0.0 for part in self.codes]
            levels = dict(zip(self.feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
            return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}
        if self.feature.kind == "text":
            return {"missing": share_of(self.codes[MISSING_CODE], total)}
        known = self.low <= self.high
        return {
            "missing": share_of(self.codes[MISSING_CODE], total),
            "low": self.low if known else None,
            "high": self.high if known else None,
        }


class Weights:
    """Weights [n] >= 0 of some rows, or None where each is 1, that can be added up exactly.

    A double is an integer times a power of two. Its halves are added per exponent as doubles, in which sums of so few
    small integers are exact, and the rest is arithmetic of Python's integers, in units of the smallest double.
    """

    def __init__(self, weights: npt.NDArray[np.float64] | None, n_rows: int) -> None:
        self.n_rows = n_rows
        self._parts: list[tuple[slice, Any, Any, Any]] | None = None
        if weights is None:
            return
        self._parts = []
        for start in range(0, n_rows, _MOST):
            rows = slice(start, min(start + _MOST, n_rows))
            mantissa, exponent = np.frexp(weights[rows])
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            high, low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)
            self._parts.append((rows, exponent.astype(np.int64), high.astype(np.float64), low.astype(np.float64)))

    def by(self, codes: npt.NDArray[Any], n_codes: int) -> list[int]:
        """The sum of the weights of the rows of each code [n] below n_codes, in units of 2^-1074."""
        if self._parts is None:
            return [int(count) * _UNIT for count in np.bincount(codes, minlength=n_codes)]
        sums = [0] * n_codes
        for rows, exponent, high, low in self._parts:
            first = int(exponent.min())
            width = int(exponent.max()) - first + 1
            where = codes[rows].astype(np.int64) * width + (exponent - first)
            for values, shift in ((high, _LOW_BITS), (low, 0)):
                found = np.bincount(where, values, n_codes * width)
                for at in np.flatnonzero(found).tolist():
                    # The smallest doubles have fewer bits, so that the shift is never to the right of the unit.
                    power = at % width + first - 53 + shift + 1074
                    whole = int(found[at])
                    sums[at // width] += whole << power if power >= 0 else whole >> -power
        return sums

    def of(self, truth: npt.NDArray[np.bool_]) -> list[int]:
        """The sums of the weights of the rows where each column of `truth` [n, m] holds, in units of 2^-1074."""
        if self._parts is None:
            return [count * _UNIT for count in np.count_nonzero(truth, axis=0).tolist()]
        return [self.by(column.astype(np.uint8), 2)[1] for column in truth.T]

    def total(self) -> int:
        """The sum of all weights, in units of 2^-1074."""
        if self._parts is None:
            return self.n_rows * _UNIT
        return self.by(np.zeros(self.n_rows, dtype=np.uint8), 1)[0]


def rounded(total: int) -> float:
    """A sum in units of 2^-1074 as the nearest double."""
    try:
        return float(Fraction(total, _UNIT))
    except OverflowError:
        return math.inf


def share_of(part: int, total: int) -> float | None:
    """The share of a sum, both in units of 2^-1074; None of nothing."""
    return rounded(part) / rounded(total) if total else None
