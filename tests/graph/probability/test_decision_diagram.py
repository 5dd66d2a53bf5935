"""Decision diagrams against truth tables; modules, which contain every occurrence of their hidden bits."""

from __future__ import annotations

import itertools
import random

import pytest

from rulekit.errors import BudgetError
from rulekit.graph.nodes import And, Hidden, IsTrue, Node, Not, Or
from rulekit.graph.probability.diagrams import FALSE, TRUE, Diagram, modules_below

STATES = list(itertools.product((False, True), repeat=5))


def truth_table(diagram: Diagram, edge: int) -> list[bool]:
    table = []
    for state in STATES:
        here = edge
        while here not in (TRUE, FALSE):
            level, high, low = diagram.branches(here)
            here = high if state[level] else low
        table.append(here == TRUE)
    return table


def test_connectives_have_the_truth_tables_of_their_operators():
    draw = random.Random(3)
    diagram = Diagram(100_000)
    known = [(diagram.variable(level), [state[level] for state in STATES]) for level in range(5)]
    for _ in range(400):
        chosen = draw.choices(known, k=draw.randint(0, 4))
        edges, tables = [e for e, _ in chosen], [t for _, t in chosen]
        columns = list(zip(*tables, strict=True)) or [()] * len(STATES)
        k = draw.randint(-1, 5)
        for edge, table in (
            (diagram.conjunction(edges), [all(c) for c in columns]),
            (diagram.disjunction(edges), [any(c) for c in columns]),
            (diagram.at_least(k, edges), [sum(c) >= k for c in columns]),
            (diagram.odd(edges), [sum(c) % 2 == 1 for c in columns]),
        ):
            assert truth_table(diagram, edge) == table
            known.append((edge ^ 1, [not t for t in table]))
    by_table = {tuple(table): edge for edge, table in known}
    assert all(by_table[tuple(table)] == edge for edge, table in known)  # reduced: one edge for each function


def test_a_function_and_its_contrary_are_one_node():
    diagram = Diagram(100)
    x, y, z = (diagram.variable(level) for level in range(3))
    once = diagram.disjunction([x, y ^ 1])
    wide = [diagram.disjunction([x, y ^ 1, z]), diagram.disjunction([x, y ^ 1, z ^ 1])]
    assert diagram.conjunction(wide) == once
    assert diagram.conjunction([x ^ 1, y]) == once ^ 1


def test_branches_come_before_their_edge():
    diagram = Diagram(1000)
    root = diagram.at_least(3, [diagram.variable(level) for level in range(5)])
    order = diagram.below(root)
    assert order[-1] == root
    place = {edge: i for i, edge in enumerate([TRUE, FALSE, *order])}
    assert all(place[branch] < place[edge] for edge in order for branch in diagram.branches(edge)[1:])


def test_the_bound_is_kept():
    diagram = Diagram(20)
    with pytest.raises(BudgetError, match="20 nodes"):
        diagram.at_least(10, [diagram.variable(level) for level in range(20)])
    assert len(diagram) <= 21


def test_no_recursion():
    diagram = Diagram(100_000)
    edges = [diagram.variable(level) for level in range(20_000)]
    root = diagram.conjunction(edges[::-1])
    assert len(diagram.below(root)) == 20_000


A, B, C, D = (Hidden(name, IsTrue("cause"), 1.0) for name in "abcd")


INNER, NOT_B, PLAIN = Or((B, C)), Not(B), And((B, IsTrue("x")))
OUTER = Or((NOT_B, C))


@pytest.mark.parametrize(
    ("roots", "modules"),
    [
        ((And((A, INNER)), Not(A)), {INNER}),
        ((And((A, INNER)), And((D, INNER)), Or((A, D))), {INNER}),  # it stands twice
        ((And((A, INNER)), Or((B, A))), set()),  # its bit stands elsewhere
        ((Or((A, PLAIN)), And((A, IsTrue("x")))), {PLAIN}),  # Boolean nodes do not count
        ((And((A, OUTER)), Not(A)), {NOT_B, OUTER}),
    ],
)
def test_modules_have_every_occurrence_of_their_bits(roots: tuple[Node, ...], modules: set[Node]) -> None:
    assert modules_below(roots) == modules
