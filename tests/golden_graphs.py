"""Small models of every kind for the golden files and the tests of the text and Python targets."""

from __future__ import annotations

from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    Column,
    Compare,
    Hidden,
    IsTrue,
    Linear,
    Logistic,
    Missing,
    Or,
    Probability,
    Step,
    Strength,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

INCOME = Schema(
    (
        Feature("age", display="integer"),
        Feature("capital_gain", display="money", unit="USD"),
        Feature("education_num"),
        Feature("marital_status", "categorical", ("Divorced", "Married-AF-spouse", "Married-civ-spouse")),
        Feature("veteran", "boolean"),
        Feature("grade", "categorical", ("1", "2", "3"), ordered=True, missing_tokens=("?",), unseen="missing"),
        Feature("since", display="date"),
        Feature("account", precision="float64", missing_tokens=("-999",)),
    ),
    target="income",
)
CLAUSES = (
    Compare("capital_gain", ">", 5100.0),
    And(
        (
            Compare("age", ">", 28.5),
            Among("marital_status", ("Married-civ-spouse", "Married-AF-spouse")),
            Compare("education_num", ">", 12.5),
        )
    ),
)


def income() -> RuleGraph:
    """A deterministic decision with figures, and the weighted rules behind its probability."""
    bits = (Hidden("h1", CLAUSES[0], strength_of(0.93)), Hidden("h2", CLAUSES[1], strength_of(0.7), strength_of(0.01)))
    graph = RuleGraph(INCOME, ("<=50K", ">50K"), Fires(Or(CLAUSES)), (Probability(Or(bits)),))
    shares = ((0.041, 0.986), (0.11, 0.732))
    entries = [
        {"id": rule.id, "n": round(1000 * c), "coverage": c, "precision": p}
        for rule, (c, p) in zip(rules_of(graph), shares, strict=True)
    ]
    return graph.with_(statistics={"rules": entries})


def score() -> RuleGraph:
    """A boosted score: merged stumps, a clipped column, Boolean and categorical terms, a logistic report."""
    linear = Linear(
        (
            (1.0, Step("age", (20.5, 40.5), (-0.5, 0.25, 0.75), -0.125)),
            (0.5, IsTrue("veteran")),
            (-0.25, Among("grade", ("2", "3"), unseen=True)),
            (0.125, Column("account", 0.0, -4.0, 4.0, 0.25)),
            (0.375, Missing("since")),
        ),
        -0.25,
    )
    return RuleGraph(INCOME, (False, True), Fires(Above(linear, 0.0)), (Logistic(linear),))


def grades() -> RuleGraph:
    """Three classes with a rule set each."""
    scores = (
        Compare("age", "<=", 30.5, missing=True),
        Or((And((Compare("age", ">", 30.5), IsTrue("veteran"))), Among("grade", ("1",)))),
        Compare("since", ">", 12000.0),
    )
    return RuleGraph(INCOME, ("low", "mid", "high"), ArgMax(scores, (0.5, 0.5, 0.5), (1, 0, 2)), default=2)


def ranks() -> RuleGraph:
    """Three ordered classes by the median of two noisy decisions."""
    bits = (Hidden("a", CLAUSES[0], strength_of(0.8)), Hidden("b", IsTrue("veteran", missing=True), strength_of(0.6)))
    above = (Above(Probability(Or(bits)), 0.5), Above(Strength(Or(bits)), strength_of(0.9)))
    schema = Schema(INCOME.features, "income", ordered_classes=True)
    return RuleGraph(schema, (1, 2, 3), Median(above))


MODELS = {"income": income, "score": score, "grades": grades, "ranks": ranks}
