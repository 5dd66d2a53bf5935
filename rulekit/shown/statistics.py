"""What a table says about the rules and columns of a model: JSON values for RuleGraph.statistics.

Rates are weighted by the rows' weights; counts are rows. Per rule, beside coverage and precision, the four figures of
table 4 of Yuille and Zheng (Compositional noisy-logical learning): the true positive rate and the error rate of the
classifier that is this rule alone, and of the one that is this rule together with all rules of its class before it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.sums import MOST_TOTALS
from rulekit.graph.evaluation.evaluator import check_encoding, evaluate_nodes, labels_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, OVERRIDES, Rule, firing, read_of, rules_of
from rulekit.shown.distributions import UNIT, Distributions, ExactWeights, share_of
from rulekit.shown.score_cards import total_of
from rulekit.tables.table import Table

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
    each used column its distribution (rulekit.shown.distributions). `classes`: of each the share of the rows that
    have it (`actual`) and that the model decides for it (`predicted`). `rows`: n. `totals`, where one sum decides two
    classes and the rows have no more than 200: of each total the share of the rows, and `observed`, that of the
    positive class. distributions: of the same rows, where several models are asked about them.
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
    found = {"rows": table.n_rows, **tally.effective_rows(), "rules": tally.entries(), "columns": columns}
    found["classes"] = tally.of_classes()
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
        self.sums: dict[str, list[int]] = {}
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
        self.sums[name] = [a + b for a, b in zip(self.sums.get(name, [0] * len(found)), found, strict=True)]

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
                **self._equal_rows("effective_n", of["reached"], of.get("squares", 0)),
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

    def effective_rows(self) -> dict[str, float]:
        """How many rows of equal weight say as much as all, where rows have weights."""
        return self._equal_rows("effective_rows", self.total, self.squares)

    def _equal_rows(self, name: str, weight: int, squares: int) -> dict[str, float]:
        if not squares:
            return {}
        scaled = Fraction(weight, UNIT) / Fraction(2) ** self.exponent
        return {name: float(scaled**2 / Fraction(squares, UNIT))}

    def of_classes(self) -> list[dict[str, Any]]:
        """The share of the rows of each class, and of those that are decided for it."""
        none = [0] * len(self.graph.classes)
        parts = zip(self.graph.classes, *(self.sums.get(name, none) for name in ("actual", "predicted")), strict=True)
        return [
            {"class": label, "actual": share_of(actual, self.total), "predicted": share_of(predicted, self.total)}
            for label, actual, predicted in parts
        ]
