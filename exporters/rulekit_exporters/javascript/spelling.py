"""JavaScript's spelling of a program, for the cells of one row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rulekit.graph.nodes import Column, Logistic, Node
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.numbers import float32, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.program.spelling import Rule
from rulekit.schema import Feature, Schema
from rulekit.target_kit import CHOICE, LOW, MIDDLE, PRODUCT, Body, Expression, Spelling, alike, atom, elementary

MAX_INLINE = 8


def finished(step: Node, schema: Schema) -> Node:
    """A step by simpler ones, but for those that JavaScript has functions for."""
    return step if isinstance(step, Column | Logistic | Exponentials) else elementary(step, schema)


def literal(value: Any) -> str:
    """A value of JSON, on one line of ASCII that no parser of HTML can take for a tag."""
    text = json.dumps(value, allow_nan=True)
    return text.replace("<", "\\u003c").replace("&", "\\u0026") if isinstance(value, str | list) else text


def below(value: float) -> float:
    """The largest float32 number that is no larger than a double: x > it where x > the double, of float32 numbers x."""
    nearest = float32(value)
    return -next_float32(-nearest) if nearest > value else nearest


class JavaScript(Spelling):
    """For cells as the module reads them: numbers, of float32 columns rounded; texts or null; sets of words."""

    conjunction, disjunction, negation = ("&&", MIDDLE), ("||", LOW), ("!", "", PRODUCT, PRODUCT)
    missing, exponential = "Number.isNaN({name})", "Math.exp({x})"
    assignment, ending = "const {variable} = ", ";"

    def literal(self, value: object) -> str:
        return literal(value)

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        return self._member(body, feature, alike(texts, feature))

    def _member(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        name, listed = body.cell(feature.name), literal(list(texts))
        if len(texts) == 1:
            return atom(f"{name} === {literal(texts[0])}", self.comparison)
        if len(texts) <= MAX_INLINE:
            return atom(f"{listed}.includes({name})")
        return atom(f"{body.constant(feature.name, 'levels', atom(f'new Set({listed})'))}.has({name})")

    def containing(self, body: Body, feature: Feature, tokens: tuple[str, ...], missing: bool) -> Expression:
        wanted, name = [*tokens, *([None] if missing else [])], body.cell(feature.name)
        if len(wanted) == 1:
            return atom(f"{name}.has({literal(wanted[0])})")
        return atom(f"{literal(wanted)}.some((word) => {name}.has(word))")

    def compared(self, body: Body, node: RawCompare) -> Expression:
        """A cell that was rounded is compared with the float32 threshold."""
        single = body.feature(node).precision == "float32"
        return self.above(
            body.cell(node.feature), below(node.value) if single else node.value, node.op == ">", node.missing
        )

    def cleaned(self, body: Body, node: Column) -> Expression:
        numbers = ", ".join(map(literal, (node.missing, node.low, node.high, node.step)))
        return atom(f"cleaned({body.cell(node.feature)}, {numbers})")

    def linked(self, body: Body, node: Logistic) -> Expression:
        return atom(f"1.0 / (1.0 + Math.exp(-({body.text(node.linear, CHOICE)})))", PRODUCT)

    def exponentials(self, body: Body, node: Exponentials) -> Expression:
        none, *some = (body.text(child, CHOICE) for child in node.children)
        return atom(" * ".join([f"Math.exp(-({none}))", *(f"-Math.expm1(-({text}))" for text in some)]), PRODUCT)

    own: Mapping[type[Node], Rule] = {
        RawCompare: compared,
        Column: cleaned,
        Logistic: linked,
        Exponentials: exponentials,
    }


JAVASCRIPT = JavaScript()
