"""What a table says about the rules and columns of a model: JSON values for RuleGraph.statistics.

Rates are weighted by the rows' weights; counts are rows. Per rule, beside coverage and precision, the four figures of
table 4 of Yuille and Zheng (Compositional noisy-logical learning): the true positive rate and the error rate of the
classifier that is this rule alone, and of the one that is this rule together with all rules of its class before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.row_weights import Weights, share_of
from rulekit.graph.rules import Rule, fired, rules_of
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Table

Array = npt.NDArray[Any]


def rule_statistics(graph: RuleGraph, table: Table, y: Array, weight: Array | None = None) -> dict[str, Any]:
    """Statistics of a model's rules and columns on n rows with class indices y [n] and weights [n] (default 1).

    `rules`, in the order of rules_of: id, class, n (rows covered), coverage, precision (None if it covers nothing),
    true_positive, error, cumulative_true_positive, cumulative_error (the last three None for a term of a sum, which
    decides nothing by itself). A rule speaks for its class; a rule of `above[j]`
    of a median, whose class is j + 1, for that class or a higher one. `columns`: of each used column `missing`, and
    `low` and `high`, or `levels` and `unseen` (frequencies). `rows`: n.
    """
    y = np.asarray(y)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    if weight is not None and bool(np.all(weight == 1.0)):
        weight = None
    tally = _Tally(graph, rules_of(graph))
    start = 0
    for block in table.blocks(graph.used_features):
        rows = slice(start, start + block.n_rows)
        tally.add(block, y[rows], Weights(None if weight is None else weight[rows], block.n_rows))
        start += block.n_rows
    columns = {name: tally.columns[name].entry(tally.total) for name in graph.used_features}
    return {"rows": table.n_rows, "rules": tally.entries(), "columns": columns}


class _Tally:
    """Sums over rows, in units of 2^-1074: exact, so that they do not depend on the blocks in which the rows come."""

    def __init__(self, graph: RuleGraph, rules: tuple[Rule, ...]) -> None:
        self.graph, self.rules = graph, rules
        self.total = 0
        self.positive = [0] * len(rules)
        self.alone = [_RuleSums() for _ in rules]
        self.together = [_RuleSums() for _ in rules]
        self.columns = {name: _ColumnSums(graph.schema[name]) for name in graph.used_features}

    def add(self, table: Table, y: Array, weights: Weights) -> None:
        active = fired(self.graph, table)
        self.total += weights.total()
        together: dict[int, Array] = {}
        ordered = self.graph.decision.ordered
        positives = {k: y >= k if ordered else y == k for k in {rule.class_index for rule in self.rules}}
        totals = {k: weights.of(positive) for k, positive in positives.items()}
        for j, rule in enumerate(self.rules):
            k = rule.class_index
            self.positive[j] += totals[k]
            self.alone[j].add(active[:, j], positives[k], weights)
            if rule.connective != "sum":
                joined = _combined(rule, together[k], active[:, j]) if k in together else active[:, j]
                together[k] = joined
                self.together[j].add(joined, positives[k], weights)
        for name, column in self.columns.items():
            column.add(table.array(name), weights)

    def entries(self) -> list[dict[str, Any]]:
        def judged(rule: Rule, rate: float | None) -> float | None:
            """The rate of a classifier that is some rules alone, which a term of a sum is not."""
            return None if rule.connective == "sum" else rate

        return [
            {
                "id": rule.id,
                "class": self.graph.classes[rule.class_index],
                "n": alone.n,
                "coverage": share_of(alone.active, self.total),
                "precision": share_of(alone.right, alone.active),
                "true_positive": share_of(alone.right, positive),
                "error": judged(rule, share_of(alone.wrong, self.total)),
                "cumulative_true_positive": judged(rule, share_of(together.right, positive)),
                "cumulative_error": judged(rule, share_of(together.wrong, self.total)),
            }
            for rule, alone, together, positive in zip(
                self.rules, self.alone, self.together, self.positive, strict=True
            )
        ]


@dataclass(slots=True)
class _RuleSums:
    """Of the rows on which some rules fire: how many, their weight, that of the right ones; that of all wrong rows."""

    n: int = 0
    active: int = 0
    right: int = 0
    wrong: int = 0

    def add(self, active: Array, positive: Array, weights: Weights) -> None:
        self.n += int(np.count_nonzero(active))
        held, right, wrong = weights.agreement(active, positive)
        self.active, self.right, self.wrong = self.active + held, self.right + right, self.wrong + wrong


def _combined(rule: Rule, before: Array, active: Array) -> Array:
    result: Array = before & active if rule.connective == "and" else before | active
    return result


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
        self.codes[MISSING_CODE] += weights.of(np.isnan(values))
        known = values[np.isfinite(values)]
        if len(known):
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))

    def entry(self, total: int) -> dict[str, Any]:
        if self.feature.kind == "categorical":
            shares = [share_of(part, total) or 0.0 for part in self.codes]
            levels = dict(zip(self.feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
            return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}
        known = self.low <= self.high
        return {
            "missing": share_of(self.codes[MISSING_CODE], total),
            "low": self.low if known else None,
            "high": self.high if known else None,
        }
