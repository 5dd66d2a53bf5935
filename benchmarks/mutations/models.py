"""Small models of the kinds whose usual size cannot be enumerated: sums over few grid values, few merged stumps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rulekit.graph.decisions import ArgMax, Exceeds, Fires
from rulekit.graph.nodes import (
    Among,
    And,
    Column,
    Compare,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Node,
    Not,
    Or,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("a"),
        Feature("b"),
        Feature("c", precision="float64"),
        Feature("flag", "boolean"),
        Feature("kind", "categorical", ("x", "y", "7"), missing_tokens=("-",)),
    ),
    target="y",
)


def _stumps() -> RuleGraph:
    terms = [
        (1.0, Step("a", (-1.5, 0.1, 2.25), (0.5, -0.25, 0.75, -1.0), 0.125)),
        (1.0, Step("b", (0.3, 1.7), (-0.5, 0.25, 1.0), -0.25)),
        (1.0, Step("c", (0.1, 0.2), (0.375, -0.125, 0.5), 0.0)),
    ]
    score = Linear([*terms, (0.25, Among("kind", ("x", "7")))], -0.25)
    return RuleGraph(SCHEMA, (0, 1), Exceeds(score, 0.0, "score"), (Logistic(score),))


def _units() -> RuleGraph:
    first = LinearThreshold([(1.0, Column("a", 0.5, -1.0, 1.0, 1.0)), (-1.5, Column("b", 0.0, 0.0, 2.0, 1.0))], 0.25)
    second = LinearThreshold([(1.0, Column("b", 0.0, 0.0, 2.0, 1.0)), (-0.75, IsTrue("flag"))], -0.5)
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Or((first, And((second, Not(IsTrue("flag"))))))))


def _three_rules() -> RuleGraph:
    scores = (
        And((Compare("a", ">", 0.1), Compare("b", "<=", 0.3, True))),
        Or((Among("kind", ("y",), unseen=True), And((Compare("c", ">", 0.1), Compare("a", "<=", -0.7))))),
        Compare("b", ">", 2.5),
    )
    return RuleGraph(SCHEMA, ("p", "q", "r"), ArgMax(scores, (0.5, 0.5, 0.5), (2, 0, 1)), default=1)


def _crowded(columns: int, cuts: int, rules: int, seed: int) -> RuleGraph:
    """Rules that cover each other in many ways: most faults show on a few cells only."""
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(Feature(f"x{i}") for i in range(columns)), target="y")
    values = [np.round(np.sort(rng.normal(0, 1, cuts)), 2).tolist() for _ in range(columns)]
    clauses = []
    for _ in range(rules):
        literals: list[Node] = []
        for i in rng.choice(columns, int(rng.integers(2, columns + 1)), replace=False).tolist():
            low, high = sorted(rng.choice(cuts, 2, replace=False).tolist())
            literals.append(Compare(f"x{i}", ">", values[i][low], bool(rng.random() < 0.1)))
            literals.append(Compare(f"x{i}", "<=", values[i][min(high, low + cuts // 4)]))
        clauses.append(And(literals))
    return RuleGraph(schema, (0, 1), Fires(Or(clauses)))


SMALL: dict[str, Callable[[], RuleGraph]] = {
    "few stumps": _stumps,
    "few units": _units,
    "rules of three classes": _three_rules,
    "60 rules, 3 columns": partial(_crowded, 3, 24, 60, 1),
    "150 rules, 3 columns": partial(_crowded, 3, 40, 150, 2),
    "100 rules, 4 columns": partial(_crowded, 4, 14, 100, 3),
}
