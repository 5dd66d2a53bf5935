"""What counts as a rule and a literal, and which rules fire."""

from __future__ import annotations

import math

import numpy as np
import pytest
from random_tables import random_table

from rulekit.audit.explaining.explanations import explain
from rulekit.conformance.models import random_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.nodes import FALSE, TRUE, Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, columns_of, counts, fired, literals, rule_ids, rules_of
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

SCHEMA = Schema((Feature("x"), Feature("b", "boolean"), Feature("c", "categorical", ("red", "blue"))))
A, B, C = rg.Compare("x", ">", 0.0), rg.IsTrue("b"), rg.Among("c", ("red",))
H1, H2, H3 = (rg.Hidden(f"h{i}", cause, strength_of(0.75)) for i, cause in enumerate((A, B, C)))
TABLE = Table(
    SCHEMA.features,
    (
        np.array([-1.0, 1.0, 3.0, np.nan], dtype=np.float32),
        np.array([1.0, 0.0, 1.0, np.nan], dtype=np.float32),
        np.array([2, 3, 1, 0], dtype=np.int32),
    ),
    4,
)


def graph(decision, classes=("no", "yes"), probability=(), default=0):
    return RuleGraph(SCHEMA, classes, decision, probability, default)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (A, 1),
        (rg.Missing("x"), 1),
        (TRUE, 0),
        (rg.Not(rg.And((A, B))), 2),
        (rg.AtLeast(2, (A, B, rg.Or((A, C)))), 4),  # as written out
        (rg.LinearThreshold(((0.5, A), (0.0, B), (-1.0, C)), 0.0), 2),  # live weights
        (H1, 1),
        (rg.Hidden("h", rg.And((A, B)), 1.0), 3),
        (rg.Hidden("h", TRUE, 1.0), 1),
        (rg.Column("x", 0.0, 0.0, 1.0), 1),
        (rg.Step("x", (0.0, 1.0), (1.0, 2.0, 3.0), 0.0), 3),
        (rg.LevelPoints("c", (("red", 1.0), ("blue", -1.0), ("green", 1.0)), 2.0, 3.0), 2),
        (rg.LevelPoints("c", (), 2.0), 1),
    ],
)
def test_literals(node, expected):
    assert literals([node])[node] == expected


@pytest.mark.parametrize(
    ("formula", "connective", "count"),
    [
        (rg.Or((H1, H2, H3)), "or", 3),
        (rg.And((H1, rg.Or((H2, H3)))), "and", 2),
        (rg.AtLeast(2, (H1, H2, H3)), "at least 2", 3),
        (rg.Odd((H1, H2, H3)), "odd", 3),
        (rg.Not(rg.And((H1, H2))), "or", 1),
        (H1, "or", 1),
    ],
)
def test_the_children_of_the_outermost_connective_are_rules(formula, connective, count):
    rules = rules_of(graph(Fires(rg.Above(rg.Probability(formula), 0.5))))
    assert [rule.connective for rule in rules] == [connective] * count
    assert all(rule.nested for rule in rules)
    assert sum(rule.literals for rule in rules) == len({H1, H2, H3}.intersection(topological([formula])))


CLAUSE = rg.And((B, C))
POINTS = rg.LevelPoints("c", (("red", 1.5), ("blue", -1.0), ("green", 1.5)), missing=4.0)
STEP = rg.Step("x", (0.0, 2.0), (-1.0, 0.5, 2.0), 9.0)
PARTS = [rg.Compare("x", "<=", 0.0), rg.And((A, rg.Compare("x", "<=", 2.0))), rg.Compare("x", ">", 2.0)]
NOISY = rg.Probability(rg.Or((H1, rg.And((H1, H2)), WEAK := rg.Hidden("weak", TRUE, strength_of(0.5)))))
SURE = rg.Hidden("h", A, math.inf)
RED, BLUE = rg.Among("c", ("green", "red")), rg.Among("c", ("blue",))
SUM = rg.Linear(((2.0, STEP), (0.0, A), (-3.0, CLAUSE)), 0.0)


@pytest.mark.parametrize(
    ("node", "rules", "where"),
    [
        (rg.Or((A, CLAUSE)), [(A, 1, 1.0), (CLAUSE, 2, 1.0)], ["0110", "1000"]),
        (CLAUSE, [(CLAUSE, 2, 1.0)], ["1000"]),
        (FALSE, [], []),
        (TRUE, [(TRUE, 0, 1.0)], ["1111"]),
        (  # levels with the same points
            rg.Above(rg.Linear(((2.0, POINTS), (-3.0, A)), 0.0), 0.0),
            [(RED, 1, 3.0), (BLUE, 1, -2.0), (A, 1, -3.0)],
            ["1000", "0100", "0110"],
        ),
        (  # segments, none of which holds where the column is missing
            rg.Above(SUM, 0.0),
            [*zip(PARTS, (1, 1, 1), (-2.0, 1.0, 4.0), strict=True), (CLAUSE, 2, -3.0)],
            ["1000", "0100", "0010", "1000"],
        ),
        (  # likelier than not: exactly one half does not fire
            rg.Above(NOISY, 0.5),
            [(H1, 1, 1.0), (rg.And((H1, H2)), 2, 1.0), (WEAK, 1, 1.0)],
            ["0110", "0010", "0000"],
        ),
        (rg.Above(rg.Probability(rg.Or((SURE, H2))), 0.5), [(SURE, 1, 1.0), (H2, 1, 1.0)], ["0110", "1010"]),
    ],
)
def test_the_rules_of_a_decision_and_where_they_fire(node, rules, where):
    model = graph(Fires(node))
    assert [(rule.node, rule.literals, rule.weight) for rule in rules_of(model)] == rules
    assert ["".join(map(str, own)) for own in fired(model, TABLE).T.astype(int).tolist()] == where
    assert fired(model, TABLE).shape == (4, len(rules))


def test_each_class_has_its_rules():
    scores = (rg.Or((A, B)), rg.Probability(rg.Or((H1, H2))), rg.Linear(((1.0, C),), 0.0))
    model = graph(ArgMax(scores, (0.5, 0.5, 0.5), (0, 1, 2)), ("a", "b", "c"))
    assert [rule.class_index for rule in rules_of(model)] == [0, 0, 1, 1, 2]
    model = graph(Median((A, rg.Above(rg.Probability(H1), 0.5))), ("a", "b", "c"))
    assert [(rule.class_index, rule.node) for rule in rules_of(model)] == [(1, A), (2, H1)]


def test_counts():
    noisy = rg.Probability(rg.Or((H1, rg.And((H2, H3)))))
    assert counts(graph(Fires(rg.Or((A, CLAUSE))))) == ModelSize(2, 3, 2)
    assert counts(graph(Fires(rg.Above(noisy, 0.5)), probability=(noisy,))) == ModelSize(2, 3, 3)
    assert counts(graph(Fires(rg.Above(rg.Linear(((1.0, A), (2.0, rg.And((A, B)))), 0.0), 0.0)))) == ModelSize(2, 3, 2)
    assert counts(graph(Fires(rg.Above(rg.Logistic(rg.Linear(((1.0, A),), 0.0)), 0.5)))) == ModelSize(1, 1, 1)


@pytest.mark.parametrize("seed", range(40))
def test_a_boolean_decision_is_the_union_of_its_rules(seed):
    rng = np.random.default_rng(seed)
    model = random_graph(rng)
    if isinstance(model.decision, Fires) and not isinstance(model.decision.formula, rg.Above):
        table = random_table(rng, model.schema, 30)
        assert fired(model, table).any(axis=1).tolist() == decide(model, table).astype(bool).tolist()


def test_an_explanation_says_label_probabilities_and_rules():
    score = rg.Probability(rg.Or((H1, rg.And((H2, H3)))))
    model = graph(Fires(rg.Above(score, 0.5)), probability=(score,))
    rules = rules_of(model)
    rows = explain(model, TABLE)
    assert [row["label"] for row in rows] == ["yes", "yes", "yes", "no"]
    assert rows[1]["probabilities"] == pytest.approx([0.25, 0.75])
    assert [entry["id"] for entry in rows[1]["rules"]] == [rules[0].id]
    assert rows[1]["rules"][0]["probability"] == pytest.approx(0.75)
    assert rows[1]["rules"][0]["class"] == "yes"
    assert "x" in rows[1]["rules"][0]["text"]
    assert (rows[3]["label"], rows[3]["probabilities"], rows[3]["rules"]) == ("no", [1.0, 0.0], [])
    assert [row["rules"] for row in explain(graph(Fires(FALSE)), TABLE)] == [[]] * 4


def test_an_explanation_of_a_sum_says_the_weights():
    model = graph(Fires(rg.Above(rg.Linear(((2.0, A), (-1.0, B)), 0.0), 0.0)))
    assert [entry["weight"] for entry in explain(model, TABLE)[2]["rules"]] == [2.0, -1.0]


def test_ids_are_the_shortest_unique_prefixes_of_the_digests():
    nodes = [rg.Compare("x", ">", i / 8) for i in range(20_000)]  # some share six digits
    names = rule_ids(nodes)
    assert len(set(names.values())) == len(nodes)
    assert all(name[0] == "r" and node.digest.hex().startswith(name[1:]) for node, name in names.items())
    assert {len(name) for name in names.values()} >= {7, 8}
    digests = [node.digest.hex() for node in nodes]
    for node, name in names.items():
        if len(name) > 7:  # not one digit longer than it must be
            assert sum(digest.startswith(name[1:-1]) for digest in digests) > 1
            assert node.digest.hex().startswith(name[1:])
            break


def test_an_id_depends_on_the_rule_alone():
    assert rule_ids([A])[A] == rule_ids([A, B, C])[A] == "r" + A.digest.hex()[:6]


def test_the_columns_of_a_rule():
    assert columns_of(rg.And((A, rg.Not(C), rg.Hidden("h", B, 1.0)))) == {"x", "b", "c"}


def test_ten_thousand_nodes_deep():
    node: Node = A
    for _ in range(10_000):
        node = rg.Not(rg.And((node, B)))
    model = graph(Fires(node))
    assert counts(model) == ModelSize(1, 10_001, 1)
    assert fired(model, TABLE)[:, 0].tolist() == evaluate_nodes([node], TABLE)[node].tolist()


def test_a_formula_shared_at_every_level_is_counted_without_writing_it_out():
    node: Node = A
    for _ in range(200):
        node = rg.And((node, node))
    assert literals([node])[node] == 2**200
