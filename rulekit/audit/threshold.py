"""Choosing the decision threshold of a two-class model for a purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.cells.sums import half_way
from rulekit.errors import InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes, probabilities
from rulekit.graph.probability.circuits import adds_strengths
from rulekit.graph.probability.deciding import (
    denied,
    gated_decision,
    gated_parts,
    noisy_and_decision,
    none_fires_decision,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import disjuncts
from rulekit.graph.variants import with_overrides
from rulekit.numbers import log_odds, strength_of, threshold_between
from rulekit.schema import Schema
from rulekit.tables.labels import parse_cost
from rulekit.tables.table import Table

_MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class Purpose:
    """What the threshold is to reach: a least precision, a least recall, the smallest cost, or the largest F1.

    at: or the threshold itself.
    """

    precision: float | None = None
    recall: float | None = None
    cost: tuple[float, float] | None = None
    f1: bool = False
    at: float | None = None

    @classmethod
    def of(
        cls, precision: float | None, recall: float | None, cost: str | None, f1: bool, at: float | None = None
    ) -> Purpose:
        """The purpose with its costs as text, "FP:FN"; raises InputError where they are none."""
        return cls(precision, recall, parse_cost(cost), f1, at)

    def __post_init__(self) -> None:
        if [self.precision, self.recall, self.cost, self.at].count(None) + (not self.f1) != 4:
            fix = "give exactly one of --precision, --recall, --cost, --f1 and --at"
            raise InputError("a threshold is chosen for one purpose", fix=fix)
        if self.at is not None and not 0 < self.at < 1:
            raise InputError(f"a threshold lies between 0 and 1, unlike {self.at!r}", where="--at")
        for value, name in ((self.precision, "precision"), (self.recall, "recall")):
            if value is not None and not 0 < value <= 1:
                raise InputError(f"a {name} lies in (0, 1], not {value!r}")
        if self.cost is not None and (min(self.cost) < 0 or max(self.cost) <= 0):
            raise InputError(f"costs are not negative and not both zero, unlike {self.cost[0]}:{self.cost[1]}")


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """A decision threshold (positive iff strictly above it) and what it gives on the rows."""

    threshold: float
    precision: float
    recall: float
    f1: float
    cost: float


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The chosen step, and its neighbours: the next stricter one and the next laxer one, None where there is none.

    A model of few rules has few distinct probabilities, so that the neighbours may lie far away.
    """

    chosen: ThresholdStep
    stricter: ThresholdStep | None
    laxer: ThresholdStep | None


def choose_threshold(positive: Bools, score: Floats, purpose: Purpose, weight: Floats | None = None) -> ThresholdChoice:
    """The threshold that serves the purpose on rows with truth `positive` [n] and score or P(positive) [n].

    Candidates lie between the distinct scores, so every decision that tells rows apart is looked at. For a least
    precision the largest recall wins, for a least recall the largest precision. Raises InputError, with the steps that
    there are, where no threshold reaches it but the one that says yes to every row, or none that tells rows apart.
    """
    steps = _steps_of(positive, score, purpose.cost or (1.0, 1.0), weight)
    precision, recall, f1, cost = steps.rates
    if purpose.at is not None:
        above = int(np.count_nonzero(score > purpose.at))
        if above in (0, len(score)):
            raise InputError(
                f"{'every' if above else 'no'} row has a probability above {purpose.at!r}, so that none is told apart",
                where="--at",
                fix=steps.said(np.linspace(0, len(cost) - 1, min(len(cost), _MOST_STEPS)).round().astype(np.int64)),
            )
        choice = steps.choice(int(np.searchsorted(steps.counts, above)))
        return replace(choice, chosen=replace(choice.chosen, threshold=purpose.at))
    quality = f1 if purpose.f1 else cost.max() - cost
    wanted, reached = ("precision", precision) if purpose.precision is not None else ("recall", recall)
    if (least := getattr(purpose, wanted)) is not None:
        quality = np.where(reached >= least, recall if wanted == "precision" else precision, -1.0)
    best = int(np.argmax(quality))
    if quality[best] < 0:
        raise InputError(
            f"no threshold reaches that {wanted} on these rows, unless every row is decided positive",
            fix=steps.said(np.sort(np.argsort(-reached, kind="stable")[:_MOST_STEPS])),
        )
    if purpose.cost is not None and steps.cost_of_yes < cost[best]:
        raise InputError(
            f"it costs least to decide every row positive ({steps.cost_of_yes:g}), for which no model is needed",
            fix=f"the best step of this model costs {cost[best]:g}; give other costs",
        )
    return steps.choice(best)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """All decisions that tell rows apart, strictest first.

    counts [steps]: rows that are decided positive; between [2, steps]: the scores between which the threshold lies;
    rates [4, steps]: precision, recall, F1 and cost; cost_of_yes: the cost of deciding every row positive.
    """

    counts: Ints
    between: Floats
    rates: Floats
    cost_of_yes: float

    def step(self, i: int) -> ThresholdStep:
        """The threshold is a short decimal in the middle half of two scores: neither is within a rounding."""
        low, high = self.between[:, i].tolist()
        quarter = (high - low) / 4
        inner = (low + quarter, high - quarter)
        threshold = threshold_between(*(inner if inner[0] < inner[1] else (low, high)), "float64")
        return ThresholdStep(threshold, *self.rates[:, i].tolist())

    def choice(self, i: int) -> ThresholdChoice:
        stricter, laxer = (self.step(j) if 0 <= j < len(self.counts) else None for j in (i - 1, i + 1))
        return ThresholdChoice(self.step(i), stricter, laxer)

    def said(self, places: Ints) -> str:
        """These steps in words."""
        steps = [self.step(int(i)) for i in places]
        words = "; ".join(f"above {s.threshold!r} precision {s.precision:.3f}, recall {s.recall:.3f}" for s in steps)
        return f"{'the steps that there are' if len(steps) == len(self.counts) else 'the nearest steps'}: {words}"


def _steps_of(positive: Bools, score: Floats, prices: tuple[float, float], weight: Floats | None) -> _Steps:
    weights = np.ones(len(positive)) if weight is None else weight
    order = np.argsort(-score, kind="stable")
    score, truth, w = score[order], positive[order], weights[order]
    ends = np.flatnonzero(score[1:] < score[:-1])  # the last row of each group of equal scores but the lowest
    total = float((w * truth).sum())
    if total == 0:
        raise InputError("no row is positive", fix="give rows of both classes")
    if len(ends) == 0:
        raise InputError("every row has the same probability", fix="a model without rules has no threshold to choose")
    hits, false_alarms = np.cumsum(w * truth)[ends], np.cumsum(w * ~truth)[ends]
    precision, recall = hits / np.maximum(hits + false_alarms, 1e-300), hits / total
    f1, cost = 2 * hits / (hits + false_alarms + total), prices[0] * false_alarms + prices[1] * (total - hits)
    rates, between = np.array([precision, recall, f1, cost]), np.array([score[ends + 1], score[ends]])
    return _Steps(ends + 1, between, rates, prices[0] * float((w * ~truth).sum()))


def with_threshold(graph: RuleGraph, threshold: float) -> RuleGraph:
    """The same model deciding positive iff its reported probability is strictly above `threshold`.

    The decision becomes the exact rule [P > t] where it is short; else the threshold of the sum of weights or strengths
    that the probability rises with, which is proved on every target; else that of the probability itself. Statistics of
    rules are dropped, because the rules change. Raises InputError where the model reports no probability.
    """
    if graph.overrides:
        return with_overrides(with_threshold(graph.underlying, threshold), graph.overrides)
    if len(graph.probability) != 1:
        raise InputError("only a two-class model that reports a probability has a threshold to choose")
    bits = sum(isinstance(part, rg.Hidden) for part in graph.nodes())
    known = [node.formula for node in rg.topological(graph.decision.roots) if isinstance(node, rg.Strength)]
    decision = Fires(_exceeding(graph.probability[0], threshold, graph.schema, 2 * max(bits, 1), known))
    statistics = {key: value for key, value in graph.statistics.items() if key not in ("rules", "held_out")}
    provenance = {**graph.provenance, "threshold": threshold}
    return graph.with_(decision=decision, statistics=statistics, provenance=provenance)


def _exceeding(
    node: rg.Node, threshold: float, schema: Schema, most_literals: int, known: Sequence[rg.Node]
) -> rg.Node:
    """[probability > threshold] as a Boolean node, of rules where at most so many literals say it.

    Else by the sum that the probability rises with, where there is one. known: formulas by whose strengths the model
    decides so far.
    """
    from rulekit.logic.prime_implicants import threshold_rule

    if isinstance(node, rg.Sided):
        # at least `above` where its rule holds, at most `below` elsewhere
        if node.below <= threshold < node.above:
            return node.rule
        inner = _exceeding(node.probability, threshold, schema, most_literals, known)
        if threshold < node.below:
            return _joined(rg.Or, (*disjuncts(node.rule), *disjuncts(inner)), rg.FALSE)
        return _joined(rg.And, (node.rule, inner), rg.TRUE)
    if isinstance(node, rg.Rescaled):
        threshold, node = threshold / (threshold + node.odds * (1.0 - threshold)), node.probability
    if isinstance(node, rg.Probability):
        rule = threshold_rule(node.formula, threshold, most_literals, schema=schema)
        if rule is not None:
            return rule
        return _formula_above(node.formula, threshold, known) if 0 <= threshold < 1 else rg.Above(node, threshold)
    if isinstance(node, rg.Logistic) and 0 < threshold < 1:
        return _total_above(node.linear, log_odds(threshold), schema)
    return rg.Above(node, threshold)


def _joined(connective: type[rg.And | rg.Or], parts: tuple[rg.Node, ...], nothing: rg.Node) -> rg.Node:
    """The different parts joined, without those that do nothing."""
    different = [part for part in dict.fromkeys(parts) if part is not nothing]
    return different[0] if len(different) == 1 else connective(different)


def _formula_above(formula: rg.Node, threshold: float, known: Sequence[rg.Node]) -> rg.Node:
    """[P(formula) > threshold] by a sum of strengths or of logarithms, if there is one, else by the probability.

    A model that decides by the strengths of the same bits, rounded to a grid, keeps to these.
    """
    against = isinstance(formula, rg.Not)
    inner = formula.child if isinstance(formula, rg.Not) else formula
    gated = gated_parts(inner)
    if gated is not None and threshold > 0.0 and all(max(bit.on, bit.off) < inf for part in gated for bit in part):
        found = gated_decision(*gated, 1.0 - threshold if against else threshold)
        return denied(found) if against else found
    if adds_strengths(formula):
        same = (other for other in known if adds_strengths(other) and _causes(other) == _causes(formula))
        return rg.Above(rg.Strength(next(same, formula)), strength_of(threshold))
    hidden = [bit for bit in inner.children if isinstance(bit, rg.Hidden)]
    if threshold > 0 and len(set(hidden)) == len(inner.children):
        if isinstance(formula, rg.And):
            return noisy_and_decision(hidden, threshold)
        if against and isinstance(inner, rg.Or):
            return none_fires_decision(hidden, threshold)
    return rg.Above(rg.Probability(formula), threshold)


def _causes(formula: rg.Node) -> tuple[tuple[str, rg.Node], ...]:
    """The hidden bits of an Or by name, with their causes, and its other parts."""
    return tuple((p.name, p.cause) if isinstance(p, rg.Hidden) else ("", p) for p in formula.children)


def _total_above(node: rg.Node, bound: float, schema: Schema) -> rg.Node:
    """[sum > bound], by the total of which the sum is a multiple, and half-way between two of its values."""
    total, least = node, bound
    while isinstance(total, rg.Linear) and len(total.terms) == 1:
        ((times, inner),) = total.terms
        if inner.family is not rg.Family.REAL or times <= 0.0:
            break
        least = (least - total.bias) / times
        total = inner
    return rg.Above(total, half_way(total, schema, least)) if isinstance(total, rg.Linear) else rg.Above(node, bound)


def settled_chances(graph: RuleGraph, table: Table) -> Floats:
    """By row [n] the probability of the second of two classes beneath the overrides; 1 or 0 where one of them decides.

    So no threshold of the probability changes what is decided there.
    """
    chances = probabilities(graph.underlying, table)[:, 1]
    for override in reversed(graph.overrides):  # the first that holds decides
        chances[evaluate_nodes([override.condition], table)[override.condition]] = override.class_index
    return chances
