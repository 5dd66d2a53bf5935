"""The JavaScript of a graph: the spelling of its steps, and the whole module."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from rulekit import tokens
from rulekit.dates import is_dated
from rulekit.graph.nodes import Column, Logistic, Node
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.program.spelling import Rule
from rulekit.schema import Feature, Schema
from rulekit.target_kit import (
    CHOICE,
    LOW,
    MIDDLE,
    PRODUCT,
    Body,
    Expression,
    Names,
    Spelling,
    alike,
    atom,
    context_of,
    elementary,
    firing_steps,
    label_texts,
    lower,
    reached,
)

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


RESERVED = """
    arguments await break case catch class const continue debugger default delete do else enum eval export extends false
    finally for function if implements import in instanceof interface let new null package private protected public
    return static super switch this throw true try typeof undefined var void while with yield NaN Infinity Number Math
    Set Object Array String BigInt Date JSON TypeError model DIGEST CLASSES USED RULES SEPARATORS UPPER_CASE SHORTEST
"""
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|([A-Za-z_]\w*)')
_PIECE = re.compile(r"(?:export )?(?:const|function) (\w+)")


def module_lines(graph: RuleGraph) -> Iterator[str]:
    """The lines of a graph's module; raises Unsupported for a node that has no steps."""
    program, firing = lower(graph, finished), firing_steps(graph, finished)
    context = context_of(graph, program, Names({*RESERVED.split(), *(name for name, _ in _pieces())}), "// ")
    roots = (program.label, *program.probabilities, *firing.values())
    body = Body(context, JAVASCRIPT, roots, indent=2)
    label, *values = [body.text(root) for root in roots]
    chances, holds = values[: len(graph.classes)], values[len(graph.classes) :]
    code = [
        f"// A rule model that decides {literal(graph.schema.target)}.",
        "// decide(row) gives the label of a row, an object of cells by column, and predict(rows) those of many rows;",
        "// score(row) gives the probabilities too, and which of RULES hold.",
        "",
        f"export const CLASSES = {literal(list(label_texts(graph)))};",
        f"export const RULES = {literal(list(firing))};",
        *(f"const {name} = {value.text};" for name, value in context.constants.items()),
        "// Columns that the rules read: name, how a cell is read, texts that mean missing.",
        "const USED = [",
        *(f"  {_column(graph.schema[name])}," for name in graph.used_features),
        "];",
        "",
        f"function model({', '.join(context.columns.values())}) {{",
        *_readings(graph, context.columns),
        *body.lines,
        f"  return [{label}, [{', '.join(chances)}], [{', '.join(holds)}]];",
        "}",
    ]
    yield from code
    yield from _runtime_for("\n".join(code))


def _readings(graph: RuleGraph, columns: Mapping[str, str]) -> Iterator[str]:
    """Statements that round the cells of float32 columns, and make NaN of numbers that mean missing."""
    for name, column in columns.items():
        feature = graph.schema[name]
        if feature.has_text_cells:
            continue
        value = f"Math.fround({column})" if feature.kind == "numeric" and feature.precision == "float32" else column
        if feature.missing_numbers:
            value = f"{literal(list(feature.missing_numbers))}.includes({column}) ? NaN : {value}"
        if value != column:
            yield f"  {column} = {value};"


def _column(feature: Feature) -> str:
    """How the cells of a column are read."""
    given = [list(feature.missing_tokens)]
    if feature.kind == "categorical":
        reader = "strict" if feature.unseen == "error" else "level"
        given += [list(feature.levels)] + [["", *feature.codes_of_texts]] * (reader == "strict")
    elif feature.kind == "text":
        reader = "words"
    elif is_dated(feature):
        reader = "day" if feature.display == "date" else "moment"
    else:
        reader = "flag" if feature.kind == "boolean" else "number"
    return f"[{literal(feature.name)}, {reader}, {', '.join(map(literal, given))}]"


@cache
def _pieces() -> tuple[tuple[str, str], ...]:
    """The name and text of each function and constant of the run-time, with the comment above it."""
    source = files("rulekit_exporters.javascript").joinpath("runtime.mjs").read_text("utf-8")
    found = [(match[1], part) for part in source.strip().split("\n\n") if (match := _PIECE.search(part))]
    tables = ("SEPARATORS", "UPPER_CASE", "SHORTEST")
    return (*((name, f"const {name} = {json.dumps(getattr(tokens, name))};") for name in tables), *found)


def _runtime_for(code: str) -> Iterator[str]:
    """The pieces that the code needs, directly or by way of one another, and those that a user calls."""
    texts = dict(_pieces())
    mentions = {name: _WORD.findall(text) for name, text in texts.items()}
    needed = reached(["score", "decide", "predict", *_WORD.findall(code)], mentions)
    for name, text in texts.items():
        if name in needed:
            yield ""
            yield from text.split("\n")
