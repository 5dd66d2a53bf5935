"""A noisy-parity beside its definition: the probability by a product, the decision by signs and a sum on a grid."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import TRUE, Hidden, IsTrue, Node, Odd, Probability
from rulekit.graph.probability.circuits import build_circuit
from rulekit.graph.probability.deciding import parity_decision
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

K = 4
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(K)))
CHANCES = (0.0, 0.03, 0.3, 0.5, 0.5, 0.7, 0.98, 1.0)


def patterns() -> np.ndarray:
    return np.array(list(itertools.product((0.0, 1.0), repeat=K)), dtype=np.float32)


@pytest.mark.parametrize("seed", range(40))
def test_the_decision_is_that_of_the_exact_probability(seed: int) -> None:
    """Bits as likely to fire as not, and sure ones, are among them; t = 1/2 is decided by signs alone."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(CHANCES, (K, 2)).tolist()
    bits = [Hidden(f"h{i}", IsTrue(f"w{i}"), *map(strength_of, p)) for i, p in enumerate(drawn)]
    bits.append(Hidden("leak", TRUE, strength_of(float(rng.choice(CHANCES[1:-1])))))
    graph = RuleGraph(SCHEMA, (0, 1), Fires(parity_decision(bits, 0.5)), (Probability(Odd(bits)),))
    table = graph.table({f"w{i}": column for i, column in enumerate(patterns().T)})
    thresholds = (0.5, 0.21, 0.8, 0.04)
    nodes: list[Node] = [parity_decision(bits, t) for t in thresholds]
    found = evaluate_nodes([*nodes, graph.probability[0]], table)
    for row, held in enumerate(patterns()):
        product = Fraction(1)
        for bit, holds in zip(bits, [*held, 1.0], strict=True):
            product *= 1 - 2 * Fraction(bit.probability_on if holds else bit.probability_off)
        exact = (1 - product) / 2
        assert found[graph.probability[0]][row] == pytest.approx(float(exact), abs=1e-15)
        for node, t in zip(nodes, thresholds, strict=True):
            assert bool(found[node][row]) == (exact > Fraction(t))


def test_a_parity_of_many_bits_needs_no_diagram_and_its_sign_does_not_underflow() -> None:
    bits = [Hidden(f"h{i}", IsTrue(f"w{i % K}"), strength_of(0.501)) for i in range(2_001)]
    assert len(build_circuit(Odd(bits)).steps) < 3 * len(bits)
    table = RuleGraph(SCHEMA, (0, 1), Fires(parity_decision(bits))).table({f"w{i}": np.ones(1) for i in range(K)})
    (decided,) = evaluate_nodes([parity_decision(bits)], table).values()
    assert decided.tolist() == [True]


def test_thresholds_that_are_always_or_never_exceeded_are_refused() -> None:
    for threshold in (0.0, 1.0):
        with pytest.raises(ValueError, match="lies above 0 and below 1"):
            parity_decision([], threshold)
