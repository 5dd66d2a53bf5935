"""Exact probability: circuits against the sum over all states of the hidden bits."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from rulekit.errors import BudgetError, GraphError
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.oracle import evaluate_node, probability_by_states, run_circuit
from rulekit.graph.nodes import TRUE, Node, topological
from rulekit.graph.probability.circuits import Bit, Complement, Fixed, Given, Mix, Product, build_circuit
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

INF = math.inf
INPUTS = tuple(rg.IsTrue(f"b{i}") for i in range(3))


def bit(name: str, cause: Node = TRUE, p: float = 0.5, off: float = 0.0) -> rg.Hidden:
    return rg.Hidden(name, cause, strength_of(p), strength_of(off))


def probability(formula: Node, truth: dict[Node, bool] | None = None) -> float:
    return run_circuit(build_circuit(formula), {TRUE: True, **(truth or {})})


def random_dag(draw: random.Random, pool: list[Node], depth: int) -> Node:
    """A formula in which nodes of the pool stand any number of times."""
    kind = draw.random()
    if depth == 0 or kind < 0.2:
        return draw.choice(pool)
    if kind < 0.35:
        return rg.Not(random_dag(draw, pool, depth - 1))
    children = [random_dag(draw, pool, depth - 1) for _ in range(draw.randint(0, 4))]
    if kind < 0.6:
        node: Node = rg.And(children)
    elif kind < 0.8:
        node = rg.Or(children)
    elif kind < 0.9:
        node = rg.Odd(children)
    else:
        node = rg.AtLeast(draw.randint(-1, len(children) + 1), children)
    if draw.random() < 0.3:
        pool.append(node)
    return node


def test_a_circuit_is_the_sum_over_all_states():
    strengths = (0.0, INF, 0.3, 1e-9, 2.5, 1e-300, 40.0)
    schema = Schema(tuple(Feature(node.feature, "boolean") for node in INPUTS))
    mixed = 0
    for seed in range(400):
        draw = random.Random(seed)
        bits = [
            rg.Hidden(f"h{i}", draw.choice((*INPUTS, TRUE)), draw.choice(strengths), draw.choice(strengths))
            for i in range(draw.randint(2, 6))
        ]
        pool = [*bits, *INPUTS, rg.Not(INPUTS[0])]
        formula = random_dag(draw, [*pool, *(random_dag(draw, pool, 2) for _ in range(4))], 3)
        truth = {node: draw.random() < 0.7 for node in INPUTS}
        row = {node.feature: truth[node] for node in INPUTS}
        for node in topological([formula]):
            if node.family.value == "Boolean":
                truth[node] = bool(evaluate_node(node, schema, row))
        expected = probability_by_states(formula, truth)
        assert probability(formula, truth) == pytest.approx(expected, rel=1e-12, abs=1e-15), seed
        mixed += any(isinstance(step, Mix) for step in build_circuit(formula).steps)
    assert mixed > 30  # decision diagrams were at work


# What a formula of each kind is worth --------------------------------------------------------------------------------


def test_noisy_or_noisy_and_and_noisy_and_not():
    """The noisy-logical distributions of Yuille and Lu (2008): P(y | x1, x2) in closed form."""
    a, b = INPUTS[:2]
    w1, w2 = 0.7, 0.4
    h1, h2 = bit("h1", a, w1), bit("h2", b, w2)
    for x1, x2 in itertools.product((0, 1), repeat=2):
        truth = {a: bool(x1), b: bool(x2)}
        assert probability(rg.Or((h1, h2)), truth) == pytest.approx(1 - (1 - w1 * x1) * (1 - w2 * x2), abs=1e-15)
        assert probability(rg.And((h1, h2)), truth) == pytest.approx(w1 * x1 * w2 * x2, abs=1e-15)
        assert probability(rg.And((h1, rg.Not(h2))), truth) == pytest.approx(w1 * x1 * (1 - w2 * x2), abs=1e-15)


@pytest.mark.parametrize("strength", [0.0, 5e-324, 1e-300, 1e-17, 1e-9, 36.0, 700.0, INF])
def test_extreme_strengths(strength):
    h, g = rg.Hidden("h", TRUE, strength), rg.Hidden("g", TRUE, INF)
    p = h.probability_on
    assert probability(h) == p
    assert probability(rg.And((h, g))) == p
    assert probability(rg.Or((h, g))) == 1.0
    assert probability(rg.Not(h)) == 1.0 - p
    assert probability(rg.Or((rg.And((h, g)), rg.And((g, h, h))))) == p


def test_five_thousand_small_misses():
    formula = rg.Or([bit(f"h{i}", p=1e-4) for i in range(5000)])
    assert probability(formula) == pytest.approx(-math.expm1(5000 * math.log1p(-1e-4)), rel=1e-12)


# The steps -----------------------------------------------------------------------------------------------------------


def test_products_run_from_left_to_right():
    a, b, c = (bit(name, INPUTS[0], p) for name, p in (("a", 0.1), ("b", 0.2), ("c", 0.3)))
    steps = build_circuit(rg.And((a, b, INPUTS[1], c))).steps
    bits = [Bit(INPUTS[0], h.probability_on, 0.0) for h in (a, b, c)]
    assert steps == (*bits[:2], Product(0, 1), Given(INPUTS[1]), Product(2, 3), bits[2], Product(4, 5))


def test_an_or_is_the_complement_of_a_product_of_complements():
    a, b = bit("a", INPUTS[0], 0.1), bit("b", INPUTS[0], 0.2)
    steps = build_circuit(rg.Or((a, b))).steps
    assert [type(s) for s in steps] == [Bit, Complement, Bit, Complement, Product, Complement]
    assert steps[-2:] == (Product(1, 3), Complement(4))


def test_shared_boolean_nodes_do_not_make_a_group():
    """Given the row a Boolean node is a constant, so clauses that share one are independent."""
    a, b = bit("a", INPUTS[0]), bit("b", INPUTS[0])
    steps = build_circuit(rg.Or((rg.And((INPUTS[1], a)), rg.And((INPUTS[1], b))))).steps
    assert not any(isinstance(s, Mix) for s in steps)
    assert sum(isinstance(s, Given) for s in steps) == 1


def test_equal_subcircuits_are_computed_once():
    a, b, c = (bit(name, INPUTS[0], 0.3) for name in "abc")
    once = build_circuit(rg.Or((a, b))).steps
    assert len(build_circuit(rg.Or((a, b, c))).steps) == len(once) + 1  # one more product: the bits are alike
    assert len(set(once)) == len(once)


def test_what_is_impossible_or_sure_is_one_constant():
    h = bit("h", p=0.3)
    assert build_circuit(rg.And((h, rg.Not(h)))).steps == (Fixed(0.0),)
    assert build_circuit(rg.Or((h, rg.Not(h)))).steps == (Fixed(1.0),)


def test_only_the_children_that_share_bits_form_a_group():
    a, b, c, d = (bit(name, INPUTS[0], p) for name, p in (("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.4)))
    steps = build_circuit(rg.Or((rg.And((a, b)), d, rg.And((a, c))))).steps
    assert steps[-1] == Complement(len(steps) - 2)
    assert sum(isinstance(s, Product) for s in steps) == 2  # a * (b or c); group * d
    assert sum(isinstance(s, Mix) for s in steps) == 1


def test_a_module_is_one_variable():
    """A read-once part inside a group does not enter its decision diagram."""
    a = bit("a", INPUTS[0], 0.1)
    wide = rg.AtLeast(20, [bit(f"w{i}", INPUTS[0], 0.3) for i in range(40)])
    formula = rg.And((rg.Or((a, wide)), rg.Or((rg.Not(a), wide, bit("c")))))
    assert len(build_circuit(formula, max_nodes=2000).steps) < 1000
    alone = probability(wide, {INPUTS[0]: True})
    expected = alone + (1 - alone) * 0.1 * 0.5
    assert probability(formula, {INPUTS[0]: True}) == pytest.approx(expected, rel=1e-12)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_two_bits_of_one_name_are_refused():
    with pytest.raises(GraphError, match="'h'"):
        build_circuit(rg.Or((bit("h", p=0.5), bit("h", p=0.6))))


def test_a_real_node_has_no_place():
    with pytest.raises(GraphError, match="Column"):
        build_circuit(rg.And((bit("h"), rg.Column("x", 0.0, 0.0, 1.0))))


def test_too_large_a_diagram_is_a_named_error():
    draw = random.Random(0)
    bits = [bit(f"h{i}", p=draw.random()) for i in range(60)]
    formula = rg.Or([rg.And(draw.sample(bits, 3)) for _ in range(60)])
    with pytest.raises(BudgetError, match="500 nodes"):
        build_circuit(formula, max_nodes=500)
    with pytest.raises(BudgetError, match="AtLeast"):
        build_circuit(rg.AtLeast(30, bits), max_nodes=100)


# Depth ---------------------------------------------------------------------------------------------------------------


def test_three_thousand_levels_read_once():
    formula: Node = bit("h", p=0.5)
    expected = 0.5
    for i in range(3_000):
        next_bit = bit(f"h{i}", p=0.25)
        formula = rg.Or((formula, next_bit)) if i % 2 else rg.And((rg.Not(formula), next_bit))
        expected = expected + 0.25 - expected * 0.25 if i % 2 else (1 - expected) * 0.25
    assert probability(formula) == pytest.approx(expected, rel=1e-9)


def test_two_thousand_levels_that_share_a_bit():
    """A bit that returns on every level: the order of first occurrence is quadratic, the nearest-first order is not."""
    shared = bit("z", p=0.4)
    formula: Node = shared
    for i in range(2_000):
        formula = rg.Or((rg.And((formula, bit(f"h{i}", rg.Compare("x", ">", i)))), shared))
    circuit = build_circuit(formula)
    assert len(circuit.steps) < 20
    truth = dict.fromkeys(circuit.causes, True)
    assert run_circuit(circuit, truth) == pytest.approx(0.4, abs=1e-12)  # the shared bit absorbs everything
