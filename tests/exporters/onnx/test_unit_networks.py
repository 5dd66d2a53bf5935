"""Trees and other networks of linear threshold units: exactly the graph, and proved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_cases import assert_formulations_agree, operator_kinds
from rulekit_exporters.onnx import emit
from unit_trees import nested, paths

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import (
    Among,
    And,
    Column,
    Compare,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Sided,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.parity import verify
from rulekit.verification.rows import adversarial_rows

BOOLEANS, NUMBERS = 50, 30
FLAGS = tuple(Feature(f"b{j}", "boolean") for j in range(BOOLEANS))
COLUMNS = tuple(Feature(f"x{j}") for j in range(NUMBERS))
COLOUR = Feature("colour", "categorical", ("red", "green", "blue"))


def literal(rng: np.random.Generator, j: int) -> Node:
    """A Boolean column, or `not x` that is false where x is missing, spelt in one of two ways."""
    way = rng.integers(4)
    if way < 2:
        return IsTrue(f"b{j}")
    if way == 2:
        return Not(IsTrue(f"b{j}", missing=True))
    return And([Not(IsTrue(f"b{j}")), Not(Missing(f"b{j}"))])


def boolean_unit(rng: np.random.Generator, most: int = BOOLEANS) -> LinearThreshold:
    """Integer weights on 5 to 50 literals, the threshold at an attainable sum."""
    chosen = rng.permutation(most)[: rng.integers(5, most + 1)].tolist()
    weights = [float(rng.choice([-2, -1, 1, 2, 3])) for _ in chosen]
    return LinearThreshold(
        [(weight, literal(rng, j)) for weight, j in zip(weights, chosen, strict=True)], -float(sum(weights) // 2)
    )


def column_unit(rng: np.random.Generator, alike: bool = True) -> LinearThreshold:
    """Weights in multiples of 1/64 on cleaned columns."""
    columns = [Column(f"x{j}", 0.0, -4.0, 4.0, 2.0 ** -(8 if alike else j % 5)) for j in range(NUMBERS)]
    weights = (np.rint(rng.normal(0, 0.4, NUMBERS + 1) * 64) / 64).tolist()
    return LinearThreshold(list(zip(weights[1:], columns, strict=True)), weights[0])


def mixed_unit(rng: np.random.Generator) -> LinearThreshold:
    """Boolean columns, levels and cleaned columns."""
    terms: list[tuple[float, Node]] = [(float(rng.integers(1, 4)), literal(rng, j)) for j in range(6)]
    terms += [(float(rng.integers(-64, 64)) / 64, Column(f"x{j}", 0.5, -4.0, 4.0, 2.0**-6)) for j in range(6)]
    terms.append((float(rng.integers(1, 3)), Among("colour", ("red",) if rng.random() < 0.5 else ("green", "blue"))))
    return LinearThreshold(terms, -6.0)


def chain(units: list[LinearThreshold]) -> Node:
    """Or, and-not, or, ... of one unit after another."""
    found: Node = units[-1]
    for k, unit in reversed(list(enumerate(units[:-1]))):
        found = And([Not(unit), found]) if k % 2 else Or([unit, found])
    return found


def model(formula: Node, *features: Feature) -> RuleGraph:
    return RuleGraph(Schema(features, "y"), (0, 1), Fires(formula))


def assert_exact(graph: RuleGraph, rows: int = 200) -> None:
    assert_formulations_agree(graph, adversarial_rows(graph, rows).table)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [nested, paths, chain])
@pytest.mark.parametrize("kind", [boolean_unit, column_unit, mixed_unit])
def test_networks_decide_as_their_graph_and_are_proved(shape, kind):
    rng = np.random.default_rng(3)
    graph = model(shape([kind(rng) for _ in range(3)]), *FLAGS, *COLUMNS, COLOUR)
    assert_exact(graph, 60)
    report = verify(graph, emit(graph, {"input": "columns"}).main, target="onnx", rows=60)
    assert report.ok
    assert report.proof == "proved"
    assert report.proof_probabilities


@pytest.mark.parametrize("connective", [And, Or])
def test_a_single_gate_is_one_count(connective):
    rng = np.random.default_rng(6)
    units = [boolean_unit(rng, 12) for _ in range(5)]
    graph = model(connective([units[0], Not(units[1]), *units[2:]]), *FLAGS[:12])
    kinds = operator_kinds(emit(graph, {"input": "tensor"}).main)
    assert kinds.count("Gemm") == 2  # all units, and the pair of what is decided
    assert_exact(graph)


def test_units_beside_literals():
    rng = np.random.default_rng(7)
    units = [boolean_unit(rng, 12) for _ in range(3)]
    test = Compare("x0", ">", 0.5)
    graph = model(Or([And([units[0], Or([units[1], test])]), And([Not(units[0]), units[2]])]), *FLAGS[:12], COLUMNS[0])
    assert_exact(graph)


def formulas(units: list[LinearThreshold]) -> st.SearchStrategy[Node]:
    """Logic over units, nested in any way."""
    leaves = st.sampled_from(units).flatmap(lambda unit: st.sampled_from([unit, Not(unit)]))
    several = lambda inner: st.lists(inner, min_size=2, max_size=3)  # noqa: E731
    return st.recursive(
        leaves, lambda inner: st.one_of(several(inner).map(And), several(inner).map(Or), inner.map(Not)), max_leaves=10
    )


@given(formulas([boolean_unit(np.random.default_rng(8 + k), 6) for k in range(4)]))
@settings(max_examples=25, deadline=None)
def test_any_logic_over_units_is_exact(formula):
    assert_exact(model(formula, *FLAGS[:6]), 60)


def test_odds_by_path_are_a_sum_that_hangs_on_the_units():
    """A count of units stood in the product of the units itself, which never ended."""
    rng = np.random.default_rng(4)
    first, second = column_unit(rng), column_unit(rng)
    paths_of = [(4.0, first), (2.5, And([Not(first), second])), (-3.25, And([Not(first), Not(second)]))]
    rule = Or([first, second])
    report = (Sided(Logistic(Linear(paths_of, 0.0)), rule, 0.501, 0.499),)
    graph = RuleGraph(Schema(COLUMNS, "y"), (0, 1), Fires(rule), report)
    assert_exact(graph, 60)
