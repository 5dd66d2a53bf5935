"""Counts of hidden bits as rows of numbers: the same bits as the circuit, in every artifact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.errors import Unsupported
from rulekit.graph.decisions import Fires, Median
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.evaluation.oracle import run_circuit
from rulekit.graph.nodes import TRUE, Above, AtLeast, Hidden, IsTrue, Not, Or, Probability
from rulekit.graph.probability.circuits import build_circuit, is_count
from rulekit.graph.probability.exponentials import Counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table
from rulekit.targets import find_target
from rulekit.verification.parity import verify

N = 14
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(N)), target="y")
W = [IsTrue(f"w{i}") for i in range(N)]
ROWS = np.random.default_rng(0).integers(0, 2, (40, N)).astype(np.float32)
TABLE = Table(SCHEMA.features, tuple(ROWS.T), len(ROWS))
CHANCES = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
PARTS = st.one_of(st.tuples(st.sampled_from([*W, TRUE]), CHANCES, CHANCES), st.sampled_from(W))


def _parts(drawn):
    return [
        Hidden(f"part{i}", part[0], strength_of(part[1]), strength_of(part[2])) if isinstance(part, tuple) else part
        for i, part in enumerate(drawn)
    ]


def _hidden(n):
    return [Hidden(f"h{i}", W[i % N], strength_of(0.9 - 0.5 * i / n), strength_of(0.01 * (i % 3))) for i in range(n)]


@settings(max_examples=30)
@given(st.lists(PARTS, min_size=9, max_size=13), st.lists(st.integers(1, 13), min_size=1, max_size=4))
def test_a_row_of_numbers_has_the_bits_of_the_circuits(drawn, counts):
    parts = [*_parts(drawn), *_hidden(1)]  # of conditions alone there is no circuit
    nodes = [Probability(AtLeast(min(k, len(parts)), parts)) for k in counts]
    values = evaluate_nodes(list(dict.fromkeys(nodes)), TABLE)
    for node in nodes:
        circuit = build_circuit(node.formula)
        for i, row in enumerate(ROWS.tolist()):
            truth = {w: bool(x) for w, x in zip(W, row, strict=True)}
            assert values[node][i] == run_circuit(circuit, truth)


def test_counts_over_the_same_bits_share_a_row():
    bits = _hidden(12)
    nodes = [Probability(AtLeast(k, bits)) for k in (2, 5, 3)]
    counted = Counted(nodes)
    (tails,) = {counted.inputs(node)[0] for node in nodes}
    assert tails.most == 5
    assert [counted.entry(node).k for node in nodes] == [2, 5, 3]


def test_what_is_few_or_shares_bits_or_holds_formulas_is_no_row():
    bits = _hidden(12)
    assert is_count(AtLeast(3, bits))
    assert not is_count(AtLeast(3, bits[:8]))
    assert not is_count(AtLeast(3, [*bits, bits[0]]))
    assert not is_count(AtLeast(3, [*bits[:10], Not(bits[10])]))
    assert not is_count(AtLeast(3, [*bits[:10], Or(bits[10:])]))
    assert not is_count(AtLeast(0, bits))
    assert not is_count(AtLeast(3, W))


@pytest.mark.parametrize("name", ["onnx", pytest.param("python", marks=pytest.mark.long)])
def test_a_noisy_add_is_proved_on_its_rows_of_numbers(name):
    """The number of bits that fire, as the class: 12 thresholds of one row of numbers."""
    bits = _hidden(12)
    decision = Median(tuple(Above(Probability(AtLeast(k, bits)), 0.5) for k in range(1, 13)))
    graph = RuleGraph(SCHEMA, tuple(range(13)), decision)
    target = find_target(name)
    artifact = target.emit(graph, {"input": "columns"} if name == "onnx" else {})
    report = verify(graph, artifact, target=target, rows=500)
    assert (report.ok, report.proof) == (True, "proved")


def test_onnx_takes_a_few_operators_a_bit_and_at_most_200_bits():
    onnx = pytest.importorskip("onnx")
    schema = Schema(tuple(Feature(f"x{i}", "boolean") for i in range(201)), target="y")

    def model(n):
        bits = [Hidden(f"h{i}", IsTrue(f"x{i}"), 1.0 + i / n) for i in range(n)]
        chance = Probability(AtLeast(n // 2, bits))
        return RuleGraph(schema, (0, 1), Fires(Above(chance, 0.5)), (chance,))

    target = find_target("onnx")
    nodes = onnx.load_from_string(target.emit(model(60), {}).main).graph.node
    assert len(nodes) < 10 * 60
    with pytest.raises(Unsupported, match="201 hidden bits"):
        target.emit(model(201), {})
