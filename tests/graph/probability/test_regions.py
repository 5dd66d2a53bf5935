"""Modules: subformulas that contain every occurrence of their hidden bits."""

from __future__ import annotations

import pytest

from rulekit.graph.nodes import TRUE, And, Hidden, IsTrue, Node, Not, Or
from rulekit.graph.probability.diagrams import modules_below

A, B, C, D = (Hidden(name, TRUE, 1.0) for name in "abcd")


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
