"""Rules that decide and a sum that reports on their side: one comparison, the graph's decisions, its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_cases import NARROW, THRESHOLDS, assert_formulations_agree, dnf, every_formulation, literal, operator_kinds
from rulekit_exporters.onnx import emit
from rulekit_exporters.onnx.conditions import NotOfBitsError
from rulekit_exporters.onnx.tables import MOST_RULES, counted_rules

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import (
    Among,
    And,
    Compare,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Rescaled,
    Sided,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.parity import verify

CITY = Schema((*NARROW, Feature("city", "categorical", ("Rome", "3", "ünï"), missing_tokens=("?",))), "y")
STEP = Step("x0", (-1.5, 0.0, 0.1), (-2.0, 0.5, 0.0, 1.25), missing=0.75)
POINTS = LevelPoints("city", (("Rome", 1.5), ("3", -0.25)), missing=-1.0, unseen=0.5)
RULE = Or(
    [
        And([Compare("x0", "<=", 0.1, missing=True), Compare("x1", ">", -1.5)]),
        And([Not(IsTrue("flag")), Missing("x2"), Among("city", ("Rome", "ünï"), unseen=True)]),
        And([Not(Among("city", ("3",), missing=True)), Compare("x3", "<=", 0.0)]),
    ]
)
CARD = Linear([(1.0, STEP), (1.0, POINTS), (-0.75, Compare("x1", "<=", 0.0)), (0.5, Not(Missing("x3")))], -0.25)


CHANCE = Probability(Hidden("z", RULE, 1.0, 0.0))


def reporting(rule: Node, linear: Node, above: float = 0.5001, below: float = 0.4999, odds: float = 1.0) -> RuleGraph:
    chance: Node = Logistic(linear)
    chance = Rescaled(chance, odds) if odds != 1.0 else chance
    return RuleGraph(CITY, ("no", "yes"), Fires(rule), (Sided(chance, rule, above, below),))


GRAPHS = {
    "rules and a card": reporting(RULE, CARD),
    "bounds far from 1/2": reporting(RULE, CARD, 0.95, 0.02),
    "bounds on sums": reporting(RULE, CARD, 0.5, 0.5),
    "certain": reporting(RULE, CARD, 1.0, 0.0),
    "weighted classes": reporting(RULE, CARD, 0.3001, 0.2999, 0.3 / 0.7),
    "a scaled sum": reporting(RULE, Linear([(0.3, CARD)], 0.1)),
    "a sum turned round": reporting(RULE, Linear([(-0.3, CARD)], 0.1)),
    "a card of rules": reporting(RULE, Linear([*CARD.terms, (1.5, RULE.children[0]), (-0.5, RULE.children[2])], 0.5)),
    "points of rules": reporting(RULE, Linear([(0.1, Linear([(12.0, each) for each in RULE.children], -9.0))], 0.0)),
    "one literal": reporting(Compare("x0", ">", 3.4028234663852886e38), CARD),
    "a sum beyond float32": reporting(RULE, Linear([*CARD.terms, (2.0**30, Missing("x4"))], 2.0**-10)),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("form", ["columns", "codes"])
def test_labels_are_proved_and_probabilities_the_graphs(graph: RuleGraph, form: str) -> None:
    model = every_formulation(graph, form)["rules"]

    report = verify(graph, model, target="onnx", rows=2_000)

    assert (report.proof, report.different_decisions) == ("proved", 0)
    assert report.largest_gap <= 1.2e-7
    assert "Softmax" in operator_kinds(model)


@pytest.mark.parametrize("seed", range(12))
def test_random_rules_over_a_tensor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule = dnf(rng, rng.integers(1, 5, rng.integers(1, 6)))
    cuts = sorted(set(rng.choice(THRESHOLDS, 3).tolist()))
    step = Step("x5", tuple(cuts), tuple(rng.integers(-9, 9, len(cuts) + 1) / 4), float(rng.integers(-9, 9)))
    terms = [(float(rng.integers(-16, 16)) / 8, literal(rng)) for _ in range(6)]
    chance = Sided(Logistic(Linear([(1.0, step), *terms], -0.5)), rule, 0.51, 0.49)
    graph = RuleGraph(NARROW, (0, 1), Fires(rule), (chance,))

    assert "rules" in assert_formulations_agree(graph)


def test_the_form_that_is_written_is_small() -> None:
    model = onnx.ModelProto.FromString(emit(GRAPHS["rules and a card"]).main)

    assert len(model.graph.node) == 17
    assert model.graph.ByteSize() < 2500


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: RuleGraph(CITY, ("no", "yes"), Fires(RULE)), "on the side of the rules"),
        (lambda: reporting(Or([Compare("x0", ">", j / 8) for j in range(MOST_RULES + 1)]), CARD), "more than 16 rules"),
        (lambda: reporting(RULE, Linear([(1.0, RULE)], 0.0)), "something else"),
        (lambda: RuleGraph(CITY, ("no", "yes"), Fires(RULE), (Sided(CHANCE, RULE, 0.6, 0.4),)), "no logistic function"),
    ],
)
def test_other_graphs_say_why(change: Any, why: str) -> None:
    with pytest.raises(NotOfBitsError, match=why):
        counted_rules(change())
