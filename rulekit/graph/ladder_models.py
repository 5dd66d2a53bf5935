"""What a ladder of sizes says of its models: their rules, the score of rare classes, and the model of another size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rulekit.arrays import Floats
from rulekit.errors import InputError
from rulekit.graph.ladder import Ladder, Rung
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, counts, counts_by_class, rules_of

RARE = 0.1
"""The share of the rows below which a class is rare: always another one is right on nearly all, and finds none."""


def macro_f1(right: Floats, decided: Floats, true: Floats) -> Floats:
    """The mean [...] of the F1 scores of K classes, by weights [..., K]: decided rightly, decided so, and of the class.

    A class that neither occurs nor is decided has the score 0.
    """
    return np.asarray((2.0 * right / np.maximum(decided + true, 1e-300)).mean(axis=-1))


def rung_of(size: int, measured: Sequence[float | None], model: RuleGraph) -> Rung:
    """A row with the counts of its model; measured: error, standard error and macro F1."""
    error, standard_error, macro_f1 = measured
    total, by_class = counts(model.underlying), counts_by_class(model.underlying)
    most = max((each.rules for each in by_class.values()), default=0)
    return Rung(size, error, standard_error, macro_f1, total.rules, total.literals, most, model)


def added_rules(ladder: Ladder) -> tuple[tuple[Rule, ...], ...]:
    """By row the rules that the row before does not have."""
    found, before = [], frozenset[tuple[int, object]]()
    for rung in ladder.rungs:
        rules = rules_of(rung.model.underlying)
        found.append(tuple(rule for rule in rules if (rule.class_index, rule.node) not in before))
        before = frozenset((rule.class_index, rule.node) for rule in rules)
    return tuple(found)


def resized(graph: RuleGraph, size: int) -> RuleGraph:
    """The model of another row of a model's ladder, which stays with it; raises InputError where there is none."""
    ladder = graph.ladder
    if ladder is None:
        raise InputError("the model has no ladder of sizes", fix="train it anew, or with --size")
    if size == ladder.chosen:
        return graph
    wanted = ladder.at(size)
    kept = [
        replace(rung, model=graph.with_(ladder=None)) if rung.size == ladder.chosen else rung for rung in ladder.rungs
    ]
    model: RuleGraph = wanted.model.with_(ladder=replace(ladder, rungs=tuple(kept), chosen=size, why="asked for"))
    return model
