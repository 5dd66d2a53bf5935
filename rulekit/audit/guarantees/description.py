"""The code of what a model decides, in bits, under a rule that was fixed before any row was seen (docs/bounds.md).

Known beforehand are the columns that rules may read, their kinds, precision and levels, and the classes. No code begins
another one, so that the sum of 2^-length over all decisions is at most 1 (Kraft's inequality). Only the decision is
written: what is reported, promised or counted beside it changes no error. Each of the N nodes of a graph is written
once, from the roots on; where it stands again, a reference of ceil(log2 N) bits does. Its width hangs on N alone, so
that no code becomes longer where nodes are taken away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from rulekit.graph import node as kinds
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.leaves import column_of
from rulekit.graph.node import BOOLEAN, RANDOM, Family, Node
from rulekit.graph.nodes import Vocabulary, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold
from rulekit.schema import Schema

Part = str | tuple[Node, tuple[Family, ...]]  # bits, or a node that stands where nodes of these families may


def code_of(graph: RuleGraph) -> str:
    """The code of the decision of a legal graph, of `0` and `1`; its length is the description length in bits."""
    decision, n_classes = graph.decision, len(graph.classes)
    n_nodes = len(topological(decision.roots))
    forms = [form for form in DECISIONS.values() if n_classes == 2 or form is not DECISIONS["Fires"]]
    head = choice(forms.index(type(decision)), len(forms)) + elias(_width(n_nodes) + 1)
    default = choice(graph.default, n_classes) if decision.has_default else ""
    return head + _Writer(graph.schema, n_nodes).written(decision) + default


@dataclass(slots=True, eq=False)
class _Writer:
    """Knows the schema, how many nodes there are, and the numbers of the hidden bits."""

    schema: Schema
    n_nodes: int
    hidden: dict[str, int] = field(default_factory=dict)

    def written(self, decision: Any) -> str:
        """The bits of a decision and all nodes below it; a leaf is written again where a reference is longer."""
        bits: list[str] = []
        before: dict[Node, tuple[int, list[Part]]] = {}
        waiting = [*self.fields(decision)][::-1]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                bits.append(part)
                continue
            node, types = part[0], _types(part[1])
            again = node in before
            number, fields = before.setdefault(node, (len(before), [] if again else [*self.fields(node)]))
            if again and (node.children or sum(map(len, fields)) > _width(self.n_nodes)):
                bits += [choice(0, len(types) + 1), choice(number, self.n_nodes)]
            else:
                bits.append(choice(1 + types.index(type(node)), len(types) + 1))
                waiting += fields[::-1]
        return "".join(bits)

    def fields(self, node: Any) -> Iterator[Part]:
        """The fields of a node or decision in order; of several items first how many there are."""
        column: Any = column_of(node)
        for name, kind in kinds.kinds_of(type(node)).items():
            held = getattr(node, name)
            if isinstance(kind, kinds.Numbers | kinds.Children | kinds.TermsField):
                yield elias(len(held) + 1)
            match kind:
                case kinds.Reads():
                    names = [one.name for one in self.schema if one.kind in kind.columns and one.role == "use"]
                    yield choice(names.index(held), len(names))
                case kinds.Levels():
                    yield self.levels(held, column)
                case kinds.LevelNumbers():
                    yield self.levels([level for level, _ in held], column)
                    yield from (number(points) for _, points in held)
                case kinds.TextField():
                    yield choice(self.hidden.setdefault(held, len(self.hidden)), self.n_nodes)
                case kinds.OneOf():
                    yield choice(kind.words.index(held), len(kind.words))
                case kinds.Truth():
                    yield choice(held, 2)
                case kinds.CountField():
                    yield _signed(held)
                case kinds.CountsField():  # an order of the classes
                    yield from (choice(each, len(held)) for each in held[:-1])
                case kinds.Extended():
                    yield _extended(held)
                case kinds.Extendeds():
                    same = len(set(held)) == 1
                    yield choice(same, 2)
                    yield from map(_extended, held[:1] if same else held)
                case kinds.Finite():
                    # a cut is the shortest decimal that means the same in the precision of its column
                    precision = self.schema[column].precision if kind.cuts else "float64"
                    values = held if isinstance(kind, kinds.Numbers) else [held]
                    yield from (number(canonical_threshold(value, precision)) for value in values)
                case kinds.Child():
                    if isinstance(kind, kinds.TermsField):
                        yield from (number(weight) for weight, _ in held)
                    yield from ((child, kind.families) for child in kind.nodes(held))
                case _:
                    raise TypeError(f"a field of kind {type(kind).__name__} has no code")

    def levels(self, held: Any, column: str) -> str:
        """Levels by their numbers, or a bit for each level of the column; the tokens of a text as their bytes."""
        known, many, within = self.schema[column], elias(len(held) + 1), set(held)
        if known.kind == "text":
            tokens = [token.encode() for token in held]
            return many + "".join(elias(len(t) + 1) + "".join(f"{byte:08b}" for byte in t) for t in tokens)
        ticked = "1" + "".join("1" if level in within else "0" for level in known.levels)
        numbers = [number for number, level in enumerate(known.levels) if level in within]
        return min(ticked, "0" + many + "".join(choice(number, len(known.levels)) for number in numbers), key=len)


@cache
def _types(families: tuple[Family, ...]) -> list[type[Node]]:
    """The types of node that may stand where nodes of these families may; logic is Boolean or random."""
    logic = BOOLEAN in families or RANDOM in families
    return [cls for cls in Vocabulary.TYPES.values() if cls.FAMILY in families or (logic and cls.FAMILY is None)]


def elias(n: int) -> str:
    """The delta code of n >= 1 (P. Elias, Universal codeword sets and representations of the integers, 1975)."""
    length = n.bit_length()
    return "0" * (length.bit_length() - 1) + f"{length:b}" + f"{n:b}"[1:]


def choice(index: int, many: int) -> str:
    """One of so many things that are known beforehand."""
    return f"{index:0{_width(many)}b}" if many > 1 else ""


def number(value: float) -> str:
    """A finite double as printed, digits times a power of ten, or as an odd number times a power of two if shorter."""
    _, digits, tens = Decimal(repr(value)).normalize().as_tuple()
    printed = elias(int("".join(map(str, digits))) + 1)
    if value == 0.0:
        return "0" + printed
    over, under = abs(value).as_integer_ratio()
    sign, twos = choice(value < 0, 2), (over & -over).bit_length() - 1
    dyadic = elias(((over >> twos) + 1) // 2) + sign + _signed(twos - under.bit_length() + 1)
    return min("0" + printed + sign + _signed(int(tens)), "1" + dyadic, key=len)


def _signed(n: int) -> str:
    return elias(2 * n + 1 if n >= 0 else -2 * n)


def _extended(value: float) -> str:
    return "1" + choice(value > 0, 2) if math.isinf(value) else "0" + number(value)


def _width(many: int) -> int:
    return max(many - 1, 0).bit_length()
