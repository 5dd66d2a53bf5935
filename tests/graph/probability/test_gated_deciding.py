"""Tangents decide as the probability of a gated noisy-or does, but near the threshold, and are read as that."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires, Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import TRUE, Node, topological, with_children
from rulekit.graph.probability.deciding import WITHIN, denied, formula_on_grid, gated_decision, gated_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import simplify
from rulekit.tables.table import Table

COLUMNS = 8
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(COLUMNS)), target="y")
ROWS = np.array(np.meshgrid(*[[0.0, 1.0]] * COLUMNS, indexing="ij"), dtype=np.float32).reshape(COLUMNS, -1)
TABLE = Table(SCHEMA.features, tuple(ROWS), ROWS.shape[1])


def bits(name: str, strengths: list[float], off: float) -> list[rg.Hidden]:
    return [
        *(
            rg.Hidden(f"{name}{i}", rg.IsTrue(f"w{(i + len(name)) % COLUMNS}"), s, off * s)
            for i, s in enumerate(strengths)
        ),
        rg.Hidden(f"{name}leak", TRUE, strengths[0] / 50.0),
    ]


@given(
    st.lists(st.floats(1e-3, 5.0), min_size=1, max_size=6),
    st.lists(st.floats(1e-3, 5.0), min_size=1, max_size=6),
    st.sampled_from([1.0, 1e-4, 1e-9]),
    st.floats(0.003, 0.9),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(WITHIN),
)
@settings(max_examples=20)
def test_tangents_decide_as_the_probability_and_are_read_as_it(own, other, size, threshold, off, within):
    causes, inhibitors = bits("c", [s * size for s in own], off), bits("ii", other, off)
    threshold = float(f"{threshold * size:.3g}")
    formula = rg.And([rg.Or(causes), rg.Not(rg.Or(inhibitors))])
    decision = gated_decision(causes, inhibitors, threshold, within)
    values = evaluate_nodes([decision, rg.Probability(formula)], TABLE)
    chance, decided = values[rg.Probability(formula)], values[decision]
    clear = np.abs(np.log(np.maximum(chance, 1e-300)) - math.log(threshold)) > within * 1.000001 + 1e-9
    assert (decided == (chance > threshold))[clear].all()
    if decision.children:
        assert gated_of(decision) == (formula_on_grid(formula), threshold)
        part = Part.of(1, denied(decision))
        assert part.score == rg.Probability(rg.Not(formula_on_grid(formula)))
        assert part.threshold == pytest.approx(1.0 - threshold)
        assert len(list(decision.children)) < 400


def test_simplification_leaves_all_tangents() -> None:
    """It dropped those that decide none of few rows, and what was left could be read no more."""
    decision = denied(gated_decision(bits("c", [1.8], 0.0), bits("ii", [3.0, 0.7], 0.0)))
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(decision), ())
    assert gated_of(simplify(graph).decision.roots[0]) is not None


def test_what_is_no_complete_set_of_tangents_is_not_read_as_one() -> None:
    """A decision that someone has changed is shown as it is, and not as a probability that it no longer is near to."""
    decision = gated_decision(bits("c", [1.0, 2.0], 0.0), bits("ii", [1.0, 2.0], 0.0))
    assert isinstance(decision, rg.And)
    assert gated_of(rg.And(decision.children[::2])) is None

    def moved(node: Node) -> Node:
        return type(node)(node.score, node.threshold + 1e-3)  # type: ignore[attr-defined,call-arg]

    assert gated_of(rg.And([moved(decision.children[0]), *decision.children[1:]])) is None
    (linear,) = {node for node in topological([decision.children[0]]) if isinstance(node, rg.Linear)}
    turned = with_children(linear, linear.children[::-1])
    assert gated_of(with_children(decision.children[0], [turned])) is None


def test_an_infinite_strength_lies_on_no_grid() -> None:
    with pytest.raises(ValueError, match="finite"):
        gated_decision([rg.Hidden("a", rg.IsTrue("w0"), math.inf)], [rg.Hidden("b", rg.IsTrue("w1"), 1.0)])
