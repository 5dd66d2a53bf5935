"""Choosing the decision threshold of a two-class model for a purpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, Hidden, Logistic, Node, Probability, Rescaled, Strength
from rulekit.graph.probability.compilation import adds_strengths
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import log_odds, strength_of
from rulekit.tables.labels import parse_cost


@dataclass(frozen=True, slots=True)
class Purpose:
    """What the threshold is to reach: a least precision, a least recall, the smallest cost, or the largest F1."""

    precision: float | None = None
    recall: float | None = None
    cost: tuple[float, float] | None = None
    f1: bool = False

    @classmethod
    def of(cls, precision: float | None, recall: float | None, cost: str | None, f1: bool) -> Purpose:
        """The purpose with its costs as text, "FP:FN"; raises InputError where they are none."""
        return cls(precision, recall, parse_cost(cost), f1)

    def __post_init__(self) -> None:
        if [self.precision, self.recall, self.cost].count(None) + (not self.f1) != 3:
            raise InputError(
                "a threshold is chosen for one purpose",
                fix="give exactly one of --precision, --recall, --cost and --f1",
            )
        for value, name in ((self.precision, "precision"), (self.recall, "recall")):
            if value is not None and not 0 < value <= 1:
                raise InputError(f"a {name} lies in (0, 1], not {value!r}")
        if self.cost is not None and (min(self.cost) < 0 or max(self.cost) <= 0):
            raise InputError(f"costs are not negative and not both zero, unlike {self.cost[0]}:{self.cost[1]}")


@dataclass(frozen=True, slots=True)
class Step:
    """A decision threshold (positive iff strictly above it) and what it gives on the rows."""

    threshold: float
    precision: float
    recall: float
    f1: float
    cost: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen step, and its neighbours: the next stricter one and the next laxer one, None where there is none.

    A model of few rules has few distinct probabilities, so that the neighbours may lie far away.
    """

    chosen: Step
    stricter: Step | None
    laxer: Step | None


def choose_threshold(
    positive: npt.NDArray[np.bool_],
    score: npt.NDArray[np.float64],
    purpose: Purpose,
    weight: npt.NDArray[np.float64] | None = None,
) -> Choice:
    """The threshold that serves the purpose on rows with truth `positive` [n] and score or P(positive) [n].

    Candidates lie between the distinct scores, so every decision that tells rows apart is looked at. For a least
    precision the largest recall wins, for a least recall the largest precision. Raises InputError where no threshold
    reaches it but the one that says yes to every row.
    """
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
    f1 = 2 * hits / (hits + false_alarms + total)
    fp_cost, fn_cost = purpose.cost or (1.0, 1.0)
    cost = fp_cost * false_alarms + fn_cost * (total - hits)

    def step(i: int) -> Step | None:
        if not 0 <= i < len(ends):
            return None
        middle = _middle(float(score[ends[i] + 1]), float(score[ends[i]]))
        return Step(middle, float(precision[i]), float(recall[i]), float(f1[i]), float(cost[i]))

    if purpose.precision is not None:
        quality = np.where(precision >= purpose.precision, recall, -1.0)
    elif purpose.recall is not None:
        quality = np.where(recall >= purpose.recall, precision, -1.0)
    else:
        quality = f1 if purpose.f1 else cost.max() - cost
    best = int(np.argmax(quality))
    if quality[best] < 0:
        wanted, reached = ("precision", precision) if purpose.precision is not None else ("recall", recall)
        nearest = step(int(np.argmax(reached)))
        assert nearest is not None
        raise InputError(
            f"no threshold reaches that {wanted} on these rows, unless every row is decided positive",
            fix=f"the nearest step has precision {nearest.precision:.4f} and recall {nearest.recall:.4f}",
        )
    if purpose.cost is not None and (everybody := fp_cost * float((w * ~truth).sum())) < cost[best]:
        raise InputError(
            f"it costs least to decide every row positive ({everybody:g}), for which no model is needed",
            fix=f"the best step of this model costs {cost[best]:g}; give other costs",
        )
    chosen = step(best)
    assert chosen is not None
    return Choice(chosen, step(best - 1), step(best + 1))


def _middle(low: float, high: float) -> float:
    """A short decimal in the middle half of [low, high), two scores that occur: neither is within a rounding."""
    from rulekit.numbers import threshold_between

    quarter = (high - low) / 4
    inner = (low + quarter, high - quarter)
    return threshold_between(*(inner if inner[0] < inner[1] else (low, high)), "float64")


def with_threshold(graph: RuleGraph, threshold: float) -> RuleGraph:
    """The same model deciding positive iff its reported probability is strictly above `threshold`.

    The decision becomes the exact rule [P > t] where it is short; else the threshold of the sum of weights or strengths
    that the probability rises with, which is proved on every target; else that of the probability itself. Statistics of
    rules are dropped, because the rules change. Raises InputError where the model reports no probability.
    """
    from rulekit.graph.probability.prime_implicants import threshold_rule

    if len(graph.probability) != 1:
        raise InputError("only a two-class model that reports a probability has a threshold to choose")
    node, beyond = graph.probability[0], threshold
    if isinstance(node, Rescaled):
        beyond, node = beyond / (beyond + node.odds * (1.0 - beyond)), node.probability
    rule = None
    if isinstance(node, Probability):
        bits = sum(isinstance(part, Hidden) for part in graph.nodes())
        rule = threshold_rule(node.formula, beyond, 2 * max(bits, 1), schema=graph.schema)
    statistics = {key: value for key, value in graph.statistics.items() if key != "rules"}
    provenance = {**graph.provenance, "threshold": threshold}
    decision = Fires(rule if rule is not None else _above(node, beyond))
    return graph.with_(decision=decision, statistics=statistics, provenance=provenance)


def _above(node: Node, threshold: float) -> Node:
    """[probability > threshold], by the sum that the probability rises with where there is one."""
    if isinstance(node, Logistic) and 0 < threshold < 1:
        return Above(node.linear, log_odds(threshold))
    if isinstance(node, Probability) and adds_strengths(node.formula) and 0 <= threshold < 1:
        return Above(Strength(node.formula), strength_of(threshold))
    return Above(node, threshold)
