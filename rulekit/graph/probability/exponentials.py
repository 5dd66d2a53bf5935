"""Probabilities that are reported as products of exponentials of sums of strengths.

That no hidden bit of a set fires has probability exp(-s), with s the sum of their strengths; that some bit fires
1 - exp(-s). So a conjunction of hidden bits, of Ors of them and of denied Ors, all of different bits, is true with

    exp(-t) * (1 - exp(-s1)) * (1 - exp(-s2)) * ...

A circuit of products and complements takes two steps a bit for that, and 1 - (1 - p) loses the digits of a small p. The
exponential differs between platforms in the last bit, so this form is for what is reported, never for what decides.

`Tails` are how many of several independent bits fire: the probabilities of at least 0, 1, 2, ... in one row of numbers,
which each bit changes in a few operations on the whole row:

    tails[0] = 1;  for each bit, the last one first:  tails[j] = p * tails[j - 1] + (1 - p) * tails[j]

These are the operations of the circuit in its own order, so the numbers have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rulekit.graph import nodes as rg
from rulekit.graph.node import PROBABILITY, REAL, Child, Children, CountField, of, with_children
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.probability.circuits import inputs, is_count
from rulekit.numbers import contrary_strength

_WITHIN = (rg.Rescaled, rg.Difference, rg.Sided)  # what is made of probabilities
_FEWEST_BITS = 2  # the probability of a single bit is a constant, which no exponential need give


class Exponentials(Node, family=PROBABILITY):
    """exp(-s) of the strength `none`, times 1 - exp(-s) of each strength in `some`.

    Like the nodes of `rulekit.program.nodes` it stands in no model: `as_reported` makes it of a `Probability`.
    """

    none: Node = of(Child(families=(REAL,)))
    some: tuple[Node, ...] = of(Children(families=(REAL,)))


NOTHING = rg.Strength(rg.Or(()))  # of what never fires: 0


@lru_cache(maxsize=256)
def as_reported(node: Node) -> Node:
    """A reported probability as it is computed: by exponentials wherever its formulas allow it."""
    if isinstance(node, rg.Probability):
        return exponentials_of(node.formula) or node
    if isinstance(node, _WITHIN):
        return with_children(
            node, [as_reported(child) if child.family is Family.PROBABILITY else child for child in node.children]
        )
    return node


def exponentials_of(formula: Node) -> Exponentials | None:
    """The product of exponentials that is the probability of a formula; None where it is none, or has one bit."""
    silent: list[Node] = []
    some: list[rg.Strength] = []
    stack = [(formula, True)]
    while stack:
        node, wanted = stack.pop()
        while isinstance(node, rg.Not):
            node, wanted = node.child, not wanted
        bit = _bit(node, not wanted)
        if bit is not None:
            silent.append(bit)
        elif isinstance(node, rg.And if wanted else rg.Or):
            stack.extend((child, wanted) for child in reversed(node.children))
        elif isinstance(node, rg.And | rg.Or):
            bits = [_bit(*_turned(child, wanted)) for child in _flat(node)]
            if None in bits:
                return None
            some.append(rg.Strength(rg.Or([bit for bit in bits if bit is not None])))
        else:
            return None
    names = [part.name for each in some for part in each.formula.children if isinstance(part, rg.Hidden)]
    names += [part.name for part in silent if isinstance(part, rg.Hidden)]
    if len(set(names)) < len(names) or len(names) < _FEWEST_BITS:
        return None
    return Exponentials(rg.Strength(rg.Or(silent)) if silent else NOTHING, tuple(some))


def _bit(node: Node, fires: bool) -> Node | None:
    """A hidden bit, or a Boolean node, that fires exactly where the node does (or does not); None for another node."""
    if isinstance(node, rg.Hidden):
        return node if fires else rg.Hidden(node.name, node.cause, *map(contrary_strength, (node.on, node.off)))
    if node.family is Family.BOOLEAN:
        return node if fires else rg.Not(node)
    return None


def _turned(node: Node, fires: bool) -> tuple[Node, bool]:
    """A node without the denials around it, and whether it is wanted to fire."""
    while isinstance(node, rg.Not):
        node, fires = node.child, not fires
    return node, fires


def _flat(node: Node) -> Iterable[Node]:
    """The parts of a connective, those of the same connective within it in its place."""
    stack = list(reversed(node.children))
    while stack:
        part = stack.pop()
        if type(part) is type(node) and part.family is Family.RANDOM:
            stack.extend(reversed(part.children))
        else:
            yield part


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
        formulas = [node.formula for node in topological(roots) if isinstance(node, rg.Probability)]
        counts = [(formula, formula.k) for formula in formulas if isinstance(formula, rg.AtLeast) and is_count(formula)]
        most: dict[tuple[Node, ...], int] = {}
        for formula, k in counts:
            most[formula.children] = max(most.get(formula.children, 0), k)
        rows = {children: Tails(k, tuple(map(rg.Probability, children))) for children, k in most.items()}
        self._entry: dict[Node, Tail] = {
            rg.Probability(formula): Tail(k, rows[formula.children]) for formula, k in counts
        }

    def entry(self, node: Node) -> Tail | None:
        """The entry that is the probability of a count; None for another node."""
        return self._entry.get(node)

    def inputs(self, node: Node) -> tuple[Node, ...]:
        """As `rulekit.graph.probability.circuits.inputs`, of a count its row of numbers."""
        entry = self._entry.get(node)
        return inputs(node) if entry is None else entry.children
