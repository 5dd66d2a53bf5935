"""Modules: subformulas that contain every occurrence of their hidden bits."""

from __future__ import annotations

from rulekit.graph.nodes import TRUE, And, Hidden, IsTrue, Node, Not, Or
from rulekit.graph.probability.diagrams import modules_below

A, B, C, D = (Hidden(name, TRUE, 1.0) for name in "abcd")


def modules(*roots: Node) -> set[Node]:
    return set(modules_below(roots))


def test_a_part_with_bits_of_its_own_is_a_module():
    inner = Or((B, C))
    assert modules(And((A, inner)), Not(A)) == {inner}


def test_a_part_that_stands_twice_is_a_module():
    inner = Or((B, C))
    assert modules(And((A, inner)), And((D, inner)), Or((A, D))) == {inner}


def test_a_part_whose_bit_stands_elsewhere_is_none():
    assert modules(And((A, Or((B, C)))), Or((B, A))) == set()


def test_boolean_nodes_do_not_break_a_module():
    known = IsTrue("x")
    inner = And((B, known))
    assert modules(Or((A, inner)), And((A, known))) == {inner}


def test_modules_within_modules():
    inner = Not(B)
    outer = Or((inner, C))
    assert modules(And((A, outer)), Not(A)) == {inner, outer}
