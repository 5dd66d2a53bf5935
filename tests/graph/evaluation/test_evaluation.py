"""The numpy evaluator agrees with the oracle, whatever the blocks, the depth and the order of the columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import random_table
from table_rows import row_of

from rulekit.conformance.models import random_formula, random_graph, random_schema
from rulekit.errors import GraphError, InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.evaluation import evaluator
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.evaluation.oracle import evaluate_node, evaluate_row
from rulekit.graph.nodes import FALSE, TRUE, Node, Vocabulary
from rulekit.graph.probability.circuits import build_circuit
from rulekit.graph.probability.exponentials import Exponentials, Tails
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

DEPTH = 3_000
SCHEMA = Schema((Feature("x"), Feature("b", "boolean"), Feature("c", "categorical", ("red", "blue"))))


def small_table(n: int = 7) -> Table:
    return random_table(np.random.default_rng(n), SCHEMA, n)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_labels_and_probabilities_are_the_oracle_s(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    table = random_table(rng, graph.schema, 12)
    rows = [evaluate_row(graph, row_of(table, i)) for i in range(table.n_rows)]
    assert decide(graph, table).tolist() == [label for label, _ in rows]
    found = probabilities(graph, table)
    assert found.shape == (12, len(graph.classes))
    np.testing.assert_allclose(found, [p for _, p in rows], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_every_node_has_the_oracle_s_value_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    table = random_table(rng, graph.schema, 6)
    nodes = [n for n in graph.nodes() if n.family.value != "Random" and type(n).__name__ != "Logistic"]
    values = evaluate_nodes(nodes, table)
    for i in range(table.n_rows):
        row = row_of(table, i)
        assert [values[node][i] for node in nodes] == [evaluate_node(node, graph.schema, row) for node in nodes]


def test_circuits_with_shared_bits_have_the_oracle_s_value_to_the_last_bit():
    """Arrays that are overwritten once they are no longer needed must not be needed any more."""
    steps = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        schema = random_schema(rng)
        node = rg.Probability(random_formula(rng, schema, bits=5, shared=True))
        table = random_table(rng, schema, 5)
        expected = [evaluate_node(node, schema, row_of(table, i)) for i in range(table.n_rows)]
        assert evaluate_nodes([node], table)[node].tolist() == expected
        steps |= {type(step).__name__ for step in build_circuit(node.formula).steps}
    assert steps >= {"Bit", "Given", "Complement", "Product", "Mix"}


def test_arg_max_takes_scores_strictly_above_their_thresholds():
    table = Table((Feature("x"),), (np.array([0.5, 1.0, 2.0, 3.0, np.nan], dtype=np.float32),), 5)
    x = rg.Column("x", 1.0, 0.0, 2.0)
    schema = Schema(table.features)
    decision = ArgMax((rg.Linear((), 0.75), x, rg.Linear((), 1.0)), (0.75, 1.0, -np.inf), (1, 0, 2))
    graph = RuleGraph(schema, ("a", "b", "c"), decision)
    assert decide(graph, table).tolist() == [2, 2, 1, 1, 2]
    assert [evaluate_row(graph, row_of(table, i))[0] for i in range(5)] == [2, 2, 1, 1, 2]


def test_the_rules_cover_the_vocabulary():
    assert set(evaluator._RULES) == {*Vocabulary.TYPES.values(), Exponentials, Tails} - {rg.Hidden}


@pytest.mark.parametrize("seed", range(6))
def test_blocks_do_not_show(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    table = random_table(rng, graph.schema, 50)
    whole = decide(graph, table), probabilities(graph, table)
    monkeypatch.setattr(evaluator, "ROWS_PER_BLOCK", 7)
    assert decide(graph, table).tolist() == whole[0].tolist()
    np.testing.assert_array_equal(probabilities(graph, table), whole[1])


def test_no_rows_give_no_labels():
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Compare("x", ">", 0.0)))
    table = small_table(3).take(np.zeros(0, dtype=np.int64))
    assert decide(graph, table).shape == (0,)
    assert probabilities(graph, table).shape == (0, 2)


def test_columns_are_found_by_name_in_any_order():
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Or((rg.Compare("x", ">", 0.0), rg.Among("c", ("blue",))))))
    table = small_table(40)
    turned = Table(table.features[::-1], table.arrays[::-1], table.n_rows)
    assert decide(graph, turned).tolist() == decide(graph, table).tolist()


@pytest.mark.parametrize(
    "feature", [Feature("c", "categorical", ("blue", "red")), Feature("c", "boolean"), Feature("other")]
)
def test_a_table_of_another_encoding_is_refused(feature):
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Among("c", ("blue",))))
    array = np.zeros(2, dtype=np.int32 if feature.kind == "categorical" else np.float32)
    with pytest.raises(InputError, match="'c'"):
        decide(graph, Table((feature,), (array,), 2))


class Puzzle(Node, family=FALSE.family):
    """A node type that nobody knows."""


@pytest.mark.parametrize(
    "node",
    [
        *(Puzzle(), rg.Hidden("h", TRUE, 1.0), rg.Or((rg.Hidden("h", TRUE, 1.0),))),
        *(rg.Compare("c", ">", 0.0), rg.Among("x", ("red",)), rg.IsTrue("x")),  # on the wrong kind of column
        *(rg.Step("b", (), (1.0,), 0.0), rg.LevelPoints("x", ())),
    ],
)
def test_a_node_without_values_is_refused_by_name(node):
    with pytest.raises(GraphError, match=type(node).__name__):
        evaluate_nodes([node], small_table())


@pytest.mark.parametrize("count", [1, 31, 32, 33, 300])
def test_a_step_function_of_any_length(count):
    rng = np.random.default_rng(count)
    cuts = tuple(np.unique(np.round(rng.normal(size=2 * count), 3))[:count].tolist())
    node = rg.Step("x", cuts, tuple(float(i) for i in range(count + 1)), -1.0)
    x = np.concatenate([np.array(cuts, dtype=np.float32), rng.normal(size=50), [np.nan, np.inf, -np.inf]])
    table = Table((Feature("x"),), (x.astype(np.float32),), len(x))
    expected = [evaluate_node(node, Schema(table.features), row_of(table, i)) for i in range(len(x))]
    assert evaluate_nodes([node], table)[node].tolist() == expected


def test_an_at_least_of_more_children_than_a_byte_counts():
    node = rg.AtLeast(300, (rg.Compare("x", ">", 0.0),) * 299 + (rg.Missing("x"), rg.Not(rg.Missing("x"))))
    table = Table((Feature("x"),), (np.array([1.0, -1.0], dtype=np.float32),), 2)
    assert evaluate_nodes([node], table)[node].tolist() == [True, False]


def test_thousands_of_nodes_deep():
    boolean: Node = rg.Compare("x", ">", 0.0)
    random: Node = rg.Hidden("h", boolean, 1.0)
    real: Node = rg.Column("x", 0.0, -1.0, 1.0)
    for i in range(DEPTH):
        boolean = rg.And((rg.Not(boolean), TRUE)) if i % 2 else rg.Not(boolean)
        random = rg.Not(rg.Or((random, FALSE)))
        real = rg.Linear(((-1.0, real),), 0.0)
    score = rg.Probability(random)
    table = small_table(2)
    for decision, probability in ((Fires(boolean), (score,)), (Fires(rg.Above(real, 0.0)), ())):
        graph = RuleGraph(SCHEMA, (0, 1), decision, probability)
        rows = [evaluate_row(graph, row_of(table, i)) for i in range(table.n_rows)]
        assert decide(graph, table).tolist() == [label for label, _ in rows]
        np.testing.assert_allclose(probabilities(graph, table), [p for _, p in rows], atol=1e-14)


def test_memory_stays_bounded_on_a_deep_graph():
    """Values are freed after their last use: a long chain over many rows needs a few arrays, not one per node."""
    import tracemalloc

    node: Node = rg.Compare("x", ">", 0.0)
    for _ in range(2000):
        node = rg.Not(rg.Or((node, rg.Missing("x"))))
    n = 100_000
    table = Table((Feature("x"),), (np.zeros(n, dtype=np.float32),), n)
    tracemalloc.start()
    evaluate_nodes([node], table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_schemas_of_every_kind_are_drawn():
    """The property tests above say nothing about a kind of column that is never drawn."""
    schemas = [random_schema(np.random.default_rng(seed)) for seed in range(40)]
    assert {f.kind for s in schemas for f in s} == {"numeric", "boolean", "categorical"}
    assert {f.precision for s in schemas for f in s} == {"float32", "float64"}
