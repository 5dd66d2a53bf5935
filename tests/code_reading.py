"""Reads the code of a decision bit by bit: that this can be done shows that no code begins another one."""

from __future__ import annotations

import math
from typing import Any

from rulekit.audit.guarantees import _types, _width
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.node import (
    Child,
    Children,
    CountField,
    CountsField,
    Extended,
    Extendeds,
    Family,
    Finite,
    LevelNumbers,
    Levels,
    Numbers,
    OneOf,
    Reads,
    TermsField,
    TextField,
    Truth,
    kinds_of,
)
from rulekit.graph.nodes import Node
from rulekit.schema import Schema


class CodeReader:
    """Reads decisions over a schema from the front of a text of bits; place: how many were read."""

    def __init__(self, bits: str, schema: Schema, n_classes: int) -> None:
        self.bits, self.schema, self.n_classes, self.place = bits, schema, n_classes, 0
        self.nodes: list[Node | None] = []

    def decision(self) -> tuple[Any, int | None]:
        """The decision, and the default class where it has one; hidden bits are called `0`, `1`, ..."""
        forms = [form for form in DECISIONS.values() if self.n_classes == 2 or form is not DECISIONS["Fires"]]
        form = forms[self.choice(len(forms))]
        self.width = self.elias() - 1
        found = form(*self.fields(form))
        return found, self.choice(self.n_classes) if found.has_default else None

    def node(self, families: tuple[Family, ...]) -> Node:
        types = _types(families)
        tag = self.choice(len(types) + 1)
        if tag == 0:
            node = self.nodes[self.take(self.width)]
            assert node is not None
            return node
        number = len(self.nodes)
        self.nodes.append(None)
        node = types[tag - 1](*self.fields(types[tag - 1]))
        if not node.children and node in self.nodes:  # a leaf that was written again
            self.nodes.pop()
        else:
            self.nodes[number] = node
        return node

    def fields(self, cls: type) -> list[Any]:
        found: list[Any] = []
        column = None
        for kind in kinds_of(cls).values():
            found.append(self.field(kind, column, found))
            column = found[-1] if isinstance(kind, Reads) else column
        return found

    def field(self, kind: Any, column: str | None, before: list[Any]) -> Any:
        """A field; before: the fields that stood before it."""
        match kind:
            case Reads(columns=columns):
                names = [one.name for one in self.schema if one.kind in columns and one.role == "use"]
                return names[self.choice(len(names))]
            case OneOf(words=words):
                return words[self.choice(len(words))]
            case Levels():
                return self.levels(str(column))
            case LevelNumbers():
                return tuple((level, self.number()) for level in sorted(self.levels(str(column))))
            case TextField():
                return str(self.take(self.width))
            case Truth():
                return self.choice(2) == 1
            case CountField():
                return self.signed()
            case CountsField():
                order = [self.choice(self.n_classes) for _ in range(self.n_classes - 1)]
                return (*order, *set(range(self.n_classes)) - set(order))
            case Extended():
                return self.extended()
            case Extendeds():
                many = len(before[0])
                return (self.extended(),) * many if self.choice(2) else tuple(self.extended() for _ in range(many))
            case Numbers():
                return tuple(self.number() for _ in range(self.elias() - 1))
            case Finite():
                return self.number()
            case TermsField(families=families):
                weights = [self.number() for _ in range(self.elias() - 1)]
                return tuple((weight, self.node(families)) for weight in weights)
            case Children(families=families):
                return tuple(self.node(families) for _ in range(self.elias() - 1))
            case Child(families=families):
                return self.node(families)
        raise AssertionError(kind)

    def levels(self, column: str) -> tuple[str, ...]:
        feature = self.schema[column]
        if feature.kind == "text":
            return tuple(self.token() for _ in range(self.elias() - 1))
        if self.choice(2):
            return tuple(level for level in feature.levels if self.choice(2))
        return tuple(feature.levels[self.choice(len(feature.levels))] for _ in range(self.elias() - 1))

    def token(self) -> str:
        return bytes(self.take(8) for _ in range(self.elias() - 1)).decode()

    def take(self, width: int) -> int:
        found = self.bits[self.place : self.place + width]
        if len(found) < width:
            raise IndexError("the code has an end")
        self.place += width
        return int(found, 2) if width else 0

    def choice(self, many: int) -> int:
        return self.take(_width(many))

    def elias(self) -> int:
        zeros = 0
        while not self.take(1):
            zeros += 1
        length = 1 << zeros | self.take(zeros)
        return 1 << (length - 1) | self.take(length - 1)

    def signed(self) -> int:
        coded = self.elias()
        return coded // 2 if coded % 2 else -(coded // 2)

    def number(self) -> float:
        if self.take(1):
            odd, sign, twos = 2 * self.elias() - 1, self.take(1), self.signed()
            value = odd * 2.0**twos if twos > -1074 else math.ldexp(odd, twos)
        else:
            digits = self.elias() - 1
            if digits == 0:
                return 0.0
            sign, tens = self.take(1), self.signed()
            value = float(f"{digits}e{tens}")
        return -value if sign else value

    def extended(self) -> float:
        if self.take(1):
            return math.inf if self.take(1) else -math.inf
        return self.number()
