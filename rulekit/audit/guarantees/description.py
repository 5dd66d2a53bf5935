"""The code of what a model decides, in bits, under a rule that was fixed before any row was seen (docs/bounds.md).

Known beforehand are the columns that rules may read, with their kinds, precision and levels, and the classes. No code
begins another one, so that over all decisions the sum of 2^-length is at most 1 (Kraft's inequality). Written is the
decision alone: what is reported, promised, counted or remembered beside it does not change an error.

A graph of N different nodes is written from its roots, each node once; a node that stood before is a reference of
ceil(log2 N) bits. References of one width make no code longer where nodes are taken away, whatever stood before them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from rulekit.graph.decisions import DECISIONS
from rulekit.graph.leaves import column_of
from rulekit.graph.node import (
    BOOLEAN,
    RANDOM,
    Child,
    Children,
    Count,
    Counts,
    Extended,
    Extendeds,
    Family,
    Finite,
    Kind,
    LevelNumbers,
    Levels,
    Numbers,
    OneOf,
    Reads,
    Terms,
    Text,
    Truth,
)
from rulekit.graph.nodes import Hidden, Node, Vocabulary, kinds_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit.numbers import canonical_threshold
from rulekit.schema import Schema

Families = tuple[Family, ...]
Part = str | tuple[Node, Families]
"""Bits, or a node that stands where nodes of these families may."""


def code_of(graph: RuleGraph) -> str:
    """The code of the decision of a legal graph, of `0` and `1`; its length is the description length in bits."""
    decision, order = graph.decision, topological(graph.decision.roots)
    hidden = dict.fromkeys(node.name for node in order if isinstance(node, Hidden))
    writer = _Writer(graph.schema, {name: number for number, name in enumerate(hidden)})
    width = _width(len(order))
    forms = [form for form in DECISIONS.values() if len(graph.classes) == 2 or form is not DECISIONS["Fires"]]
    head = [choice(forms.index(type(decision)), len(forms)), elias(width + 1), elias(_width(len(hidden)) + 1)]
    default = [choice(graph.default, len(graph.classes))] if decision.has_default else []
    return "".join(head + _written(writer.fields(decision), writer, width) + default)


def _written(parts: list[Part], writer: _Writer, width: int) -> list[str]:
    """The bits of parts and of all nodes below them; width: of a reference."""
    written: list[str] = []
    numbers: dict[Node, int] = {}
    leaves: dict[Node, str] = {}
    waiting = parts[::-1]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        node, types = part[0], _types(part[1])
        if node not in numbers and not node.children:
            leaves[node] = "".join(str(bits) for bits in writer.fields(node))
        if node in numbers and (node.children or len(leaves[node]) > width):
            written += [choice(0, len(types) + 1), _bits(numbers[node], width)]
            continue
        numbers.setdefault(node, len(numbers))
        written.append(choice(1 + types.index(type(node)), len(types) + 1))
        waiting += writer.fields(node)[::-1] if node.children else [leaves[node]]
    return written


@cache
def _types(families: Families) -> list[type[Node]]:
    """The types of node that may stand where nodes of these families may; logic is Boolean or random."""
    logic = BOOLEAN in families or RANDOM in families
    return [cls for cls in Vocabulary.TYPES.values() if cls.FAMILY in families or (logic and cls.FAMILY is None)]


# Numbers -------------------------------------------------------------------------------------------------------------


def elias(n: int) -> str:
    """The delta code of n >= 1 (P. Elias, Universal codeword sets and representations of the integers, 1975)."""
    length = n.bit_length()
    return "0" * (length.bit_length() - 1) + f"{length:b}" + f"{n:b}"[1:]


def choice(index: int, many: int) -> str:
    """One of so many things that are known beforehand."""
    return _bits(index, _width(many))


def number(value: float) -> str:
    """A finite double as it is printed, digits times a power of ten; or as an odd number times a power of two.

    The first bit says which of the two follows, the shorter one.
    """
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    printed = elias(int("".join(map(str, digits))) + 1)
    if value == 0.0:
        return "0" + printed
    sign = "1" if value < 0 else "0"
    over, under = abs(value).as_integer_ratio()
    twos = (over & -over).bit_length() - 1
    dyadic = elias(((over >> twos) + 1) // 2) + sign + _signed(twos - under.bit_length() + 1)
    return min("0" + printed + sign + _signed(int(exponent)), "1" + dyadic, key=len)


def _signed(n: int) -> str:
    return elias(2 * n + 1 if n >= 0 else -2 * n)


def _extended(value: float) -> str:
    return "1" + choice(value > 0, 2) if math.isinf(value) else "0" + number(value)


def _width(many: int) -> int:
    """The bits that tell so many things apart."""
    return max(many - 1, 0).bit_length()


def _bits(value: int, width: int) -> str:
    return f"{value:0{width}b}" if width else ""


# Fields --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Writer:
    """What is known at every field: the schema, and the hidden bits by number."""

    schema: Schema
    hidden: dict[str, int]
    _columns: dict[tuple[str, ...], dict[str, int]] = field(default_factory=dict)
    _levels: dict[str, dict[str, int]] = field(default_factory=dict)

    def fields(self, node: Any) -> list[Part]:
        """The fields of a node or decision in order."""
        column = column_of(node)
        items = kinds_of(type(node)).items()
        return [part for name, kind in items for part in _PARTS[type(kind)](self, kind, getattr(node, name), column)]

    def column(self, kind: Any, held: str) -> str:
        """A column among those that the node may read."""
        known = self._columns.get(kind.columns)
        if known is None:
            names = [one.name for one in self.schema if one.kind in kind.columns and one.role == "use"]
            known = self._columns[kind.columns] = {name: index for index, name in enumerate(names)}
        return choice(known[held], len(known))

    def finite(self, kind: Any, value: float, column: str | None) -> str:
        """A number; a cut as the shortest decimal that means the same in the precision of its column."""
        return number(canonical_threshold(value, self.schema[column].precision) if kind.cuts and column else value)

    def levels(self, held: Sequence[str], column: str) -> str:
        """Levels by their numbers, or a bit for each level of the column; the tokens of a text as their bytes."""
        if self.schema[column].kind == "text":
            tokens = [token.encode() for token in held]
            return elias(len(tokens) + 1) + "".join(map(_token, tokens))
        if column not in self._levels:
            self._levels[column] = {level: index for index, level in enumerate(self.schema[column].levels)}
        known = self._levels[column]
        if len(elias(len(held) + 1)) + len(held) * _width(len(known)) < len(known):
            return "0" + elias(len(held) + 1) + "".join(choice(known[level], len(known)) for level in held)
        within = set(held)
        return "1" + "".join("1" if level in within else "0" for level in known)


_Field = Callable[[_Writer, Any, Any, Any], list[Part]]


def _token(content: bytes) -> str:
    return elias(len(content) + 1) + "".join(f"{byte:08b}" for byte in content)


def _each(one: _Field) -> _Field:
    """The code of how many items there are, then of each."""

    def parts(writer: _Writer, kind: Any, held: Any, column: Any) -> list[Part]:
        return [elias(len(held) + 1), *(part for item in held for part in one(writer, kind, item, column))]

    return parts


def _thresholds(_writer: Any, _kind: Any, held: Any, _column: Any) -> list[Part]:
    """The thresholds of the classes; the first bit says whether one stands for all."""
    same = len(set(held)) == 1
    return [choice(same, 2), *map(_extended, held[:1] if same else held)]


_PARTS: dict[type[Kind], _Field] = {
    Text: lambda writer, _, held, __: [choice(writer.hidden[held], len(writer.hidden))],
    Reads: lambda writer, kind, held, _: [writer.column(kind, held)],
    OneOf: lambda _, kind, held, __: [choice(kind.words.index(held), len(kind.words))],
    Truth: lambda _, __, held, ___: [choice(held, 2)],
    Count: lambda _, __, held, ___: [_signed(held)],
    Counts: lambda _, __, held, ___: [choice(item, len(held)) for item in held[:-1]],  # an order: the last one is left
    Finite: lambda writer, kind, held, column: [writer.finite(kind, held, column)],
    Numbers: _each(lambda writer, kind, held, column: [writer.finite(kind, held, column)]),
    Extended: lambda _, __, held, ___: [_extended(held)],
    Extendeds: _thresholds,
    Levels: lambda writer, _, held, column: [writer.levels(held, column)],
    LevelNumbers: lambda writer, _, held, column: [
        writer.levels([level for level, _ in held], column),
        *(number(points) for _, points in held),
    ],
    Child: lambda _, kind, held, __: [(held, kind.families)],
    Children: _each(lambda _, kind, held, __: [(held, kind.families)]),
    Terms: _each(lambda _, kind, held, __: [number(held[0]), (held[1], kind.families)]),
}
