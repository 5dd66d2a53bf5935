"""Looked-up parts of a circuit have the bits of the steps carried out row by row."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.graph.evaluation import circuit_values as module
from rulekit.graph.evaluation.circuit_values import Lookup, circuit_values, prepare
from rulekit.graph.evaluation.oracle import run_circuit
from rulekit.graph.nodes import And, AtLeast, Compare, Hidden, Node, Not, Or
from rulekit.graph.probability.circuits import build_circuit
from rulekit.numbers import strength_of


def bit(i: int, rng: np.random.Generator) -> Node:
    return Hidden(f"H{i}", Compare(f"x{i}", ">", 0.5), strength_of(rng.random()), strength_of(rng.random() / 3))


def chain(n: int, rng: np.random.Generator) -> Node:
    return Or([bit(i, rng) for i in range(n)])


def nested(n: int, rng: np.random.Generator) -> Node:
    bits = [bit(i, rng) for i in range(n)]
    while len(bits) > 1:
        join = (Or, And)[int(rng.integers(2))]
        bits = [join(bits[:3]), *bits[3:]] if rng.random() < 0.5 else [*bits[3:], Not(join(bits[:3]))]
    return bits[0]


def shared(n: int, rng: np.random.Generator) -> Node:
    bits = [bit(i, rng) for i in range(n)]
    return Or((AtLeast(n // 2, bits), And(bits[: n // 2]), And((bits[0], Not(bits[-1])))))


@pytest.mark.parametrize("shape", [chain, nested, shared])
@pytest.mark.parametrize("n", [1, 2, 8, 9, 12, 13, 30])
def test_values_are_those_of_the_steps_to_the_last_bit(shape, n):
    rng = np.random.default_rng(n)
    formula = shape(n, rng)
    circuit = prepare(formula)
    truths = [rng.random(50) < 0.5 for _ in circuit.causes]
    found = circuit_values(circuit, truths, 50)
    rows = [{cause: truth[i] for cause, truth in zip(circuit.causes, truths, strict=True)} for i in range(50)]
    assert found.tolist() == [run_circuit(build_circuit(formula), row) for row in rows]


@pytest.mark.parametrize("most", [1, 4, 8, 16])
def test_the_size_of_the_tables_does_not_show(most):
    rng = np.random.default_rng(most)
    formula = nested(20, rng)
    truths = [rng.random(40) < 0.3 for _ in range(20)]
    expected = circuit_values(prepare(formula), truths, 40)
    smaller = prepare(formula, (most, 1))
    assert max(len(step.causes) for step in smaller.steps if isinstance(step, Lookup)) <= most
    np.testing.assert_array_equal(circuit_values(smaller, truths, 40), expected)


def test_long_chains_have_one_table_and_then_single_steps():
    circuit = prepare(chain(1000, np.random.default_rng(0)))
    sizes = [len(step.values) for step in circuit.steps if isinstance(step, Lookup)]
    assert max(sizes) == 4096
    assert sizes.count(4096) == 1
    assert len(circuit.steps) < 2 * 1000


def test_a_circuit_of_many_wide_parts_gets_small_tables(monkeypatch):
    formula = shared(24, np.random.default_rng(0))
    wide = prepare(formula)
    monkeypatch.setattr(module, "_MOST_WORK", 1000)
    narrow = prepare.__wrapped__(formula)

    def filled(circuit):
        return sum(len(step.values) for step in circuit.steps if isinstance(step, Lookup))

    assert filled(narrow) < filled(wide)
