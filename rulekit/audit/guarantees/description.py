"""The code of what a model decides, in bits, under a rule that was fixed before any row was seen (docs/bounds.md).

Known beforehand are the columns that rules may read, their kinds, precision and levels, and the classes. No code begins
another one, so that the sum of 2^-length over all decisions is at most 1 (Kraft's inequality). Only the decision is
written: what is reported, promised or counted beside it changes no error. Each of the N nodes of a graph is written
once, from the roots on; where it stands again, a reference of ceil(log2 N) bits does. Its width hangs on N alone, so
that no code becomes longer where nodes are taken away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from rulekit.graph import node as kinds
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.leaves import column_of
from rulekit.graph.node import BOOLEAN, RANDOM, Family, Node
from rulekit.graph.nodes import Vocabulary
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit.numbers import canonical_threshold
from rulekit.schema import Schema

Part = str | tuple[Node, tuple[Family, ...]]
"""Bits, or a node that stands where nodes of these families may."""


def code_of(graph: RuleGraph) -> str:
    """The code of the decision of a legal graph, of `0` and `1`; its length is the description length in bits."""
    decision = graph.decision
    known = _Known(graph.schema, len(topological(decision.roots)))
    forms = [form for form in DECISIONS.values() if len(graph.classes) == 2 or form is not DECISIONS["Fires"]]
    head = choice(forms.index(type(decision)), len(forms)) + elias(_width(known.n_nodes) + 1)
    default = choice(graph.default, len(graph.classes)) if decision.has_default else ""
    return head + "".join(_written(known.fields(decision), known)) + default


def _written(parts: list[Part], known: _Known) -> list[str]:
    """The bits of parts and of all nodes below them; a leaf is written again where a reference is longer."""
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
            leaves[node] = "".join(map(str, known.fields(node)))
        if node in numbers and (node.children or len(leaves[node]) > _width(known.n_nodes)):
            written += [choice(0, len(types) + 1), choice(numbers[node], known.n_nodes)]
            continue
        numbers.setdefault(node, len(numbers))
        written.append(choice(1 + types.index(type(node)), len(types) + 1))
        waiting += known.fields(node)[::-1] if node.children else [leaves[node]]
    return written


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


@dataclass(slots=True, eq=False)
class _Known:
    """What is known at every field: the schema, how many nodes there are, and the numbers of names."""

    schema: Schema
    n_nodes: int
    hidden: dict[str, int] = field(default_factory=dict)
    _numbers: dict[Any, dict[str, int]] = field(default_factory=dict)

    def fields(self, node: Any) -> list[Part]:
        """The fields of a node or decision in order."""
        column, items = column_of(node), kinds.kinds_of(type(node)).items()
        return [part for name, kind in items for part in _PARTS[type(kind)](self, kind, getattr(node, name), column)]

    def numbered(self, whose: Any, names: Iterable[str]) -> dict[str, int]:
        """The names by number."""
        if whose not in self._numbers:
            self._numbers[whose] = {name: number for number, name in enumerate(names)}
        return self._numbers[whose]


def _column(known: _Known, kind: Any, held: str, _: Any) -> list[Part]:
    readable = (one.name for one in known.schema if one.kind in kind.columns and one.role == "use")
    columns = known.numbered(kind.columns, readable)
    return [choice(columns[held], len(columns))]


def _finite(known: _Known, kind: Any, held: float, column: Any) -> list[Part]:
    """A number; a cut as the shortest decimal that means the same in the precision of its column."""
    return [number(canonical_threshold(held, known.schema[column].precision) if kind.cuts else held)]


def _levels(known: _Known, _: Any, held: Sequence[str], column: Any) -> list[Part]:
    """Levels by their numbers, or a bit for each level of the column; the tokens of a text as their bytes."""
    many = elias(len(held) + 1)
    if known.schema[column].kind == "text":
        tokens = [token.encode() for token in held]
        return [many, *(elias(len(t) + 1) + "".join(f"{byte:08b}" for byte in t) for t in tokens)]
    levels, within = known.numbered(column, known.schema[column].levels), set(held)
    if len(many) + len(held) * _width(len(levels)) < len(levels):
        return ["0", many, *(choice(levels[level], len(levels)) for level in held)]
    return ["1", *("1" if level in within else "0" for level in levels)]


def _thresholds(_: Any, __: Any, held: Any, ___: Any) -> list[Part]:
    """The thresholds of the classes; the first bit says whether one stands for all."""
    same = len(set(held)) == 1
    return [choice(same, 2), *map(_extended, held[:1] if same else held)]


def _each(one: _Code) -> _Code:
    """How many items there are, then each."""
    return lambda known, kind, held, column: [
        elias(len(held) + 1),
        *(part for item in held for part in one(known, kind, item, column)),
    ]


_Code = Callable[[_Known, Any, Any, Any], list[Part]]
_PARTS: dict[type[kinds.Kind], _Code] = {
    kinds.Text: lambda known, _, held, __: [choice(known.hidden.setdefault(held, len(known.hidden)), known.n_nodes)],
    kinds.Reads: _column,
    kinds.OneOf: lambda _, kind, held, __: [choice(kind.words.index(held), len(kind.words))],
    kinds.Truth: lambda _, __, held, ___: [choice(held, 2)],
    kinds.Count: lambda _, __, held, ___: [_signed(held)],
    kinds.Counts: lambda _, __, held, ___: [choice(each, len(held)) for each in held[:-1]],  # an order of the classes
    kinds.Finite: _finite,
    kinds.Numbers: _each(_finite),
    kinds.Extended: lambda _, __, held, ___: [_extended(held)],
    kinds.Extendeds: _thresholds,
    kinds.Levels: _levels,
    kinds.LevelNumbers: lambda known, kind, held, column: [
        *_levels(known, kind, [level for level, _ in held], column),
        *(number(points) for _, points in held),
    ],
    kinds.Child: lambda _, kind, held, __: [(held, kind.families)],
    kinds.Children: _each(lambda _, kind, held, __: [(held, kind.families)]),
    kinds.Terms: _each(lambda _, kind, held, __: [number(held[0]), (held[1], kind.families)]),
}
