"""The JavaScript target: an ES module without dependencies, which decides rows that are objects.

Modules run by Node.js in a bounded process: rows and answers travel as JSON.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from rulekit import tokens
from rulekit.errors import FormatError
from rulekit.graph.nodes import Column, Logistic, Node
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32, next_float32
from rulekit.program.body import Body
from rulekit.program.lower import alike, firing_steps, lower
from rulekit.program.naming import Names, context_of, label_texts, reached
from rulekit.program.nodes import RawCompare, elementary
from rulekit.program.spelling import CHOICE, LOW, MIDDLE, PRODUCT, Expression, Rule, Spelling, atom
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table
from rulekit.targets import BY_ROW, Answer, Columns, Feed, Outcome, Runtime, raw_rows, rows_by_name
from rulekit.verification.isolated import answer_of
from rulekit.verification.proof.respelling import text_target
from rulekit.verification.rows import raw_columns

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
    given = [list(feature.missing_tokens)]
    if feature.kind == "categorical":
        reader = "strict" if feature.unseen == "error" else "level"
        given += [list(feature.levels)] + [["", *feature.codes_of_texts]] * (reader == "strict")
    elif feature.kind == "text":
        reader = "words"
    elif feature.dated:
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


MEMORY = 1 << 40  # of address space, which Node.js reserves without using it
LARGEST_ANSWER = 1 << 28

# Each table is answered by itself: the rows' classes, probabilities and labels again, or why a row is refused.
_WORKER = """
import { readFileSync, writeFileSync } from "node:fs";
import { predict, score, CLASSES, DIGEST } from "./artifact.mjs";
const answer = (rows) => {
  try {
    const found = rows.map(score);
    const labels = predict(rows).map((label) => CLASSES.indexOf(label));
    const chances = found.map(({ probabilities }) => probabilities);
    return { labels, scored: found.map(({ index }) => index), chances };
  } catch (error) {
    return String(error.message);
  }
};
writeFileSync("answers", JSON.stringify(JSON.parse(readFileSync("rows", "utf8")).map(answer)));
"""


def _answers(artifact: bytes, tables: Sequence[Sequence[Mapping[str, Any]]], seconds: float = 300.0) -> list[Any]:
    """What the module says of each table, rows as objects."""
    sources = {"artifact.mjs": artifact, "main.mjs": _WORKER.encode()}
    sources["rows"] = json.dumps(tables).replace("Infinity", "1e999").encode()
    bounds = {"seconds": seconds, "memory": MEMORY, "what": "the module"}
    found = json.loads(answer_of(["node", "main.mjs"], sources, LARGEST_ANSWER, **bounds))
    if not isinstance(found, list) or len(found) != len(tables):
        raise FormatError("the module's answer is not one for each table")
    return found


def _outcome(graph: RuleGraph, found: Any, n_rows: int) -> Outcome:
    if isinstance(found, str):
        raise FormatError(f"the module refuses a row: {found}")
    k = len(graph.classes)
    labels = np.array(found["labels"], dtype=np.int64).reshape(n_rows)
    if found["labels"] != found["scored"] or (n_rows and not 0 <= labels.min() <= labels.max() < k):
        raise FormatError("the module answered with labels that the model does not have, or with two for one row")
    return Outcome(labels, np.array(found["chances"], dtype=np.float64).reshape(n_rows, k))


def _objects(graph: RuleGraph, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = graph.used_features
    return [dict(zip(names, row, strict=True)) for row in raw_rows(graph, columns)]


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """Labels and probabilities of cells as a user holds them."""
    rows = _objects(graph, columns)
    return _outcome(graph, _answers(artifact, [rows])[0], len(rows))


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """The same of the rows of an encoded table."""
    return run_raw(artifact, graph, raw_columns(table))


def run_both(artifact: bytes, graph: RuleGraph, table: Table, columns: Mapping[str, Any]) -> list[Outcome]:
    """Encoded and raw rows in one process."""
    tables = [_objects(graph, raw_columns(table)), _objects(graph, columns)]
    found = _answers(artifact, tables, 600.0)
    return [_outcome(graph, each, len(rows)) for each, rows in zip(found, tables, strict=True)]


def run_typed(artifact: bytes, graph: RuleGraph, tables: Sequence[Mapping[str, list[Any]]]) -> list[Outcome]:
    """Cells of any type that JSON has, NaN as null."""
    rows = list(map(_typed, tables))
    return [_outcome(graph, each, len(table)) for each, table in zip(_answers(artifact, rows), rows, strict=True)]


def run_cells(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
    """What the module says of tables that may be wrong, rows as objects."""
    found = _answers(artifact, list(map(_typed, tables)))
    return [answer if isinstance(answer, str) else answer["labels"] for answer in found]


def _typed(table: Columns) -> list[dict[str, Any]]:
    return [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows_by_name(table)]


def holds(feature: Feature, cell: Any) -> str:
    """Why JSON has no place for a cell, or JavaScript another value for it."""
    if type(cell) not in (type(None), bool, int, float, str):
        return "JSON has no such cell"
    if type(cell) is int and abs(cell) > 2**53:
        return "a number of JavaScript is a double"
    return ""


NODE = Runtime(
    "node",
    run,
    run_raw,
    run_both,
    run_typed,
    missing=lambda: "" if shutil.which("node") else "node is not installed",
    feeds=(Feed("rows as objects", run_cells, holds, without=BY_ROW),),
)


TARGET = text_target(
    "javascript",
    "an ES module without dependencies, for browsers and Node.js",
    (".mjs",),
    "//",
    lambda graph, options: module_lines(graph),
    (NODE,),
    noun="module",
    summary=lambda options: "no dependencies",
    stamp='export const DIGEST = "{}";',
)
