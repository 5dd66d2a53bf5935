"""How many of several independent hidden bits fire: the probabilities of at least 0, 1, 2, ... at once.

The circuit of "at least k of n" takes a step for each count and bit, and one for k + 1 most of them once more. All
counts together are one row of numbers, which each bit changes in a few operations on the whole row:

    tails[0] = 1;  for each bit, the last one first:  tails[j] = p * tails[j - 1] + (1 - p) * tails[j]

These are the operations of the circuit in its own order, so the numbers have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable

from rulekit.graph.node import PROBABILITY, REAL, Child, Children, CountField, of
from rulekit.graph.nodes import AtLeast, Node, Probability
from rulekit.graph.probability.compilation import inputs, is_count
from rulekit.graph.traversal import topological


class Tails(Node, family=REAL):
    """For each count up to `most` the probability that at least so many of independent events happen.

    parts: the probabilities of the events. Its value is a row of numbers; it stands in no model.
    """

    most: int = of(CountField("a largest count"))
    parts: tuple[Node, ...] = of(Children(families=(PROBABILITY, REAL)))


class Tail(Node, family=PROBABILITY):
    """The probability that at least k of the events of a `Tails` happen; it stands in no model."""

    k: int = of(CountField("a count"))
    tails: Node = of(Child(families=(REAL,)))


class Counted:
    """The counts below some nodes: each formula that counts, as an entry of the row of numbers over its bits."""

    def __init__(self, roots: Iterable[Node]) -> None:
        formulas = [node.formula for node in topological(roots) if isinstance(node, Probability)]
        counts = [(formula, formula.k) for formula in formulas if isinstance(formula, AtLeast) and is_count(formula)]
        most: dict[tuple[Node, ...], int] = {}
        for formula, k in counts:
            most[formula.children] = max(most.get(formula.children, 0), k)
        rows = {children: Tails(k, tuple(map(Probability, children))) for children, k in most.items()}
        self._entry: dict[Node, Tail] = {Probability(formula): Tail(k, rows[formula.children]) for formula, k in counts}

    def entry(self, node: Node) -> Tail | None:
        """The entry that is the probability of a count; None for another node."""
        return self._entry.get(node)

    def inputs(self, node: Node) -> tuple[Node, ...]:
        """As `rulekit.graph.probability.compilation.inputs`, of a count its row of numbers."""
        entry = self._entry.get(node)
        return inputs(node) if entry is None else entry.children
