"""The random formulas that decide, and the fewest rules of one that reach its threshold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.explaining.meanings import CONTRARY
from rulekit.graph.nodes import Family, Node, Probability, Strength
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, Rule
from rulekit.numbers import probability_of

Indices = npt.NDArray[np.int64]

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Noisy:
    """A random formula that decides: the class it speaks for, and the probability that it must exceed."""

    class_index: int
    formula: Node
    threshold: float


def noisy_formulas(graph: RuleGraph) -> list[Noisy]:
    """The random formulas that decide; none where Boolean rules or weights do."""
    found = []
    for part in graph.underlying.decision.parts:
        score, threshold = part.score, part.threshold
        if (
            isinstance(score, Probability | Strength)
            and threshold is not None
            and score.formula.family is Family.RANDOM
        ):
            if isinstance(score, Strength):
                threshold = probability_of(max(0.0, threshold))
            found.append(Noisy(part.class_index, score.formula, threshold))
    return found


def has_conditions(graph: RuleGraph) -> bool:
    """Whether probabilities decide, so that conditions of hidden bits count in a row."""
    return bool(noisy_formulas(graph))


def together(
    noisy: list[Noisy], rules: tuple[Rule, ...], values: list[npt.NDArray[Any]], labels: Indices, ranked: bool
) -> dict[int, list[int]]:
    """Per row of a class with no rule that is enough alone: the fewest that are together, most probable first.

    Of rules that are joined otherwise than by or: all that can fire.
    """
    found: dict[int, list[int]] = {}
    for part in noisy:
        own = [j for j, rule in enumerate(rules) if rule.class_index == part.class_index]
        mine = [j for j in own if rules[j].connective not in CONTRARY]
        if not mine:
            continue
        chance = np.column_stack([values[j] for j in mine]).astype(np.float64)
        # What is left of a probability where nothing inhibits.
        spared = np.prod([1.0 - values[j] for j in own if rules[j].connective == INHIBITS], axis=0)
        decided = labels >= part.class_index if ranked else labels == part.class_index
        # a rule that fired says it all, unless the threshold is so high that it is not enough alone
        joined_by_or = rules[mine[0]].connective == "or"
        least = max(part.threshold, _HALF)
        alone = (
            (chance * np.reshape(spared, (-1, 1)) > least).any(axis=1) if joined_by_or else (chance > _HALF).all(axis=1)
        )
        rows = np.flatnonzero(decided & ~alone)
        order = np.argsort(-chance[rows], axis=1, kind="stable")
        ordered = np.take_along_axis(chance[rows], order, axis=1)
        count = np.count_nonzero(ordered > 0, axis=1)
        if joined_by_or:
            left = np.broadcast_to(spared, len(chance))[rows, np.newaxis]
            reached = (1.0 - np.cumprod(1.0 - ordered, axis=1)) * left > part.threshold
            count = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, count)
        for i, first, many in zip(rows.tolist(), order.tolist(), count.tolist(), strict=True):
            found.setdefault(i, []).extend(mine[k] for k in first[:many])
    return found
