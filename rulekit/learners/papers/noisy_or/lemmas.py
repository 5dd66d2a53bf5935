"""Noisy-ors and logistic regressions that decide alike (J. Vomlel, Noisy-or classifier, lemmas 3, 4 and 5).

A noisy-or of two classes decides by P(C = 0 | a) < t, that is by a sum of strengths above -log t, and a logistic
regression by a sum above 0: both are linear in the truth values a of the same causes. So each can be written as the
other. Only the decisions are the same. The probabilities are not: P(C = 0 | a) is near t wherever the decision is
close, and t may be e^-800. For that reason -log t is held, never t.

Each function takes a rule graph of two classes and returns another one over the same causes. Every sum is rounded, so
that a row on which the two sides are exactly equal may be decided otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import TRUE, Above, Family, Hidden, Linear, Logistic, Node, Or, Probability, Strength
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of


@dataclass(frozen=True, slots=True)
class CauseStrengths:
    """A noisy-or: by cause its strength where it holds and where it does not, the leak's, and -log t.

    Class 1 is decided where the sum of the strengths is above `bound`.
    """

    causes: tuple[Node, ...]
    present: tuple[float, ...]
    absent: tuple[float, ...]
    leak: float
    bound: float

    @classmethod
    def of(cls, graph: RuleGraph) -> Self:
        """What a rule graph decides by; raises InputError where that is no noisy-or, or a strength is infinite."""
        formula = graph.decision.formula if isinstance(graph.decision, Fires) else None
        if isinstance(formula, Above) and isinstance(formula.score, Strength):
            bound = formula.threshold
        elif isinstance(formula, Above) and isinstance(formula.score, Probability) and 0.0 <= formula.threshold < 1.0:
            bound = strength_of(formula.threshold)
        else:
            why = "the model does not decide by the strength or the probability of a noisy-or"
            raise InputError(
                why, where="decision", fix="give a model of two classes that decides by an Or of hidden bits"
            )
        inner = formula.score.formula
        found, leaks = list[tuple[Node, float, float]](), [0.0]
        for bit in inner.children if isinstance(inner, Or) else (inner,):
            if not isinstance(bit, Hidden) or math.isinf(bit.on) or math.isinf(bit.off):
                name = f"hidden bit {bit.name!r}" if isinstance(bit, Hidden) else "decision"
                why = "a strength is infinite (p = 1), which no logistic regression can express"
                raise InputError(why, where=name, fix="give it a hidden bit with a probability below 1")
            if bit.cause is TRUE:
                leaks.append(bit.on)
            else:
                found.append((bit.cause, bit.on, bit.off))
        causes, present, absent = zip(*found, strict=True) if found else ((), (), ())
        return cls(causes, present, absent, math.fsum(leaks), bound)

    def graph(self, like: RuleGraph) -> RuleGraph:
        """The rule graph that decides by these strengths, and reports the probability of the noisy-or."""
        leak = [Hidden("leak", TRUE, self.leak)] if self.leak else []
        parts = zip(self.causes, self.present, self.absent, strict=True)
        formula = Or([*(Hidden(f"H{k}", *part) for k, part in enumerate(parts, start=1)), *leak])
        return like.with_(
            decision=Fires(Above(Strength(formula), self.bound)), probability=(Probability(formula),), required=()
        )


def logistic_of(graph: RuleGraph) -> RuleGraph:
    """Write a noisy-or of two classes as a logistic regression that decides alike (lemma 5).

    It decides where bias + sum of weights > 0. The weight of a cause is the strength with which it acts where it holds
    less that where it does not; the bias is the sum of the latter and of the leak, less -log t. Raises InputError where
    the graph does not decide by the strength or the probability of an Or of hidden bits, or a strength is infinite.
    """
    found = CauseStrengths.of(graph)
    parts = zip(found.causes, found.present, found.absent, strict=True)
    bias = math.fsum([*found.absent, found.leak, -found.bound])
    total = Linear([(on - off, cause) for cause, on, off in parts], bias)
    return graph.with_(decision=Fires(Above(total, 0.0)), probability=(Logistic(total),), required=())


def noisy_or_of(graph: RuleGraph) -> RuleGraph:
    """Write a logistic regression over Boolean causes as a noisy-or that decides alike (lemma 4), in canonical form.

    A cause of weight w has strength log(1 + e^w) where it holds and log(1 + e^-w) where it does not. Raises InputError
    where the graph of two classes does not decide by a Linear of Boolean causes above a threshold, or by the Logistic
    of one.
    """
    formula = graph.decision.formula if isinstance(graph.decision, Fires) else None
    threshold, total = (formula.threshold, formula.score) if isinstance(formula, Above) else (0.0, None)
    if isinstance(total, Logistic) and 0.0 < threshold < 1.0:
        threshold, total = math.log(threshold) - math.log1p(-threshold), total.linear
    if not isinstance(total, Linear) or any(cause.family is not Family.BOOLEAN for _, cause in total.terms):
        why = "the model does not decide by a sum of Boolean causes"
        raise InputError(why, where="decision", fix="give one that decides by a Linear of conditions")
    present = tuple(_log_of_sum(0.0, weight) for weight in total.weights)
    absent = tuple(_log_of_sum(0.0, -weight) for weight in total.weights)
    bound = math.fsum([*absent, threshold - total.bias])
    return CauseStrengths(tuple(cause for _, cause in total.terms), present, absent, 0.0, bound).graph(graph)


def restricted(graph: RuleGraph) -> RuleGraph:
    """Write a noisy-or so that no cause acts where it does not hold (lemma 3): with one strength for each.

    Raises InputError where the graph is no noisy-or of finite strengths, or some cause acts less where it holds (the
    paper's monotonicity condition).
    """
    found = CauseStrengths.of(graph)
    present = tuple(on - off for on, off in zip(found.present, found.absent, strict=True))
    for cause, strength in zip(found.causes, present, strict=True):
        if strength < 0.0:
            why = "a cause acts less where it holds than where it does not, against the monotonicity condition"
            raise InputError(why, where=print_node(cause), fix="take the contrary of the cause")
    bound = math.fsum([found.bound, -found.leak, *(-off for off in found.absent)])
    return CauseStrengths(found.causes, present, (0.0,) * len(present), 0.0, bound).graph(graph)


def canonical(graph: RuleGraph) -> RuleGraph:
    """Write a noisy-or in its canonical form (equations 16 and 17), which is lemma 5 and then lemma 4.

    Of each cause the probabilities that it does not act where it holds and where it does not add up to 1. Noisy-ors
    that decide alike by the same odds, for instance limits of EM, have one canonical form. Raises InputError where the
    graph is no noisy-or, or a strength is infinite.
    """
    found = CauseStrengths.of(graph)
    sums = [_log_of_sum(-on, -off) for on, off in zip(found.present, found.absent, strict=True)]
    present, absent = (
        tuple(max(0.0, strength + z) for strength, z in zip(own, sums, strict=True))
        for own in (found.present, found.absent)
    )
    bound = math.fsum([found.bound, -found.leak, *sums])
    return CauseStrengths(found.causes, present, absent, 0.0, bound).graph(graph)


def _log_of_sum(x: float, y: float) -> float:
    """log(e^x + e^y)."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))
