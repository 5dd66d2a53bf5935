"""The SELECT of a model: a spelling of the steps, and the stages in which their values become columns.

What is missing is NULL, and a comparison with NULL holds nowhere: `IS NOT TRUE` denies it. A step that is used more
than once is a column of a stage (a MATERIALIZED common table expression), computed once for each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rulekit.errors import InputError, Unsupported
from rulekit.graph.nodes import Column, Logistic, Node, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.numbers import crossing
from rulekit.program.expressions import ATOM, Expression, atom, bracketed, joined, layout, parenthesised
from rulekit.program.lower import lower
from rulekit.program.nodes import Largest, Number, Sum
from rulekit.program.spelling import HIGH, LOW, MIDDLE, SUM, Body, Context, Names, Spelling, cases, context_of
from rulekit.schema import MISSING_CODE, Feature
from rulekit_exporters.sql.dialects import DIALECTS, Dialect

WORD = re.compile(r"\w+")
GROUP = 100  # SQLite allows expressions of depth 1,000
LARGEST_FLOAT32 = float(2**128 - 2**103)  # from here on a float32 is infinite


class Sql(Spelling):
    """The steps as SQL of one dialect."""

    conjunction, disjunction, truths = ("AND", MIDDLE), ("OR", LOW), ("FALSE", "TRUE")
    max_depth, max_length = 50, 10**6

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def literal(self, value: object) -> str:
        if isinstance(value, float):
            if math.isinf(value):
                return self.dialect.infinity if value > 0 else f"-{self.dialect.infinity}"
            return self.dialect.number(value + 0.0)
        return "NULL" if value is None else quoted(str(value), "'")

    def _joined(self, operator: tuple[str, int], parts: tuple[Expression, ...]) -> Expression:
        while len(parts) > GROUP:
            groups = (parts[i : i + GROUP] for i in range(0, len(parts), GROUP))
            parts = tuple(joined(*operator, HIGH, group) for group in groups)
        return super()._joined(operator, parts)

    def negated(self, part: Expression) -> Expression:
        inner = parenthesised(part, ATOM)
        return replace(
            inner, text=f"{inner.text} IS NOT TRUE", suffix=f"{inner.suffix} IS NOT TRUE", rank=self.comparison
        )

    def absent(self, name: str) -> Expression:
        return atom(f"{name} IS NULL", self.comparison)

    def within(self, body: Any, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        name, codes = body.cell(feature.name), feature.codes_of_texts
        wanted = {codes[text] for text in texts if text and codes[text] != MISSING_CODE}
        levels = [text for text, code in codes.items() if code in wanted]
        inside = atom(f"{name} IN ({', '.join(map(self.literal, levels))})", self.comparison)
        parts = [*([inside] if levels else []), *([self.absent(name)] if None in texts else [])]
        return self.any_of(tuple(parts))

    def counted(self, parts: tuple[Expression, ...]) -> Expression:
        ones = (self.choose(part, "1", "0") for part in parts)
        return parenthesised(joined("+", SUM, SUM, (atom("0"), *ones)), ATOM)

    def added(self, body: Any, node: Sum) -> Expression:
        terms = [body.expression(child) for child in node.children]
        while len(terms) > GROUP:
            variable = atom(body.fresh("value"))
            body.assign(variable.text, joined("+", SUM, SUM, tuple(terms[:GROUP])))
            terms = [variable, *terms[GROUP:]]
        return joined("+", SUM, SUM, tuple(terms))

    def largest(self, body: Any, node: Largest) -> Expression:
        """The result of the first of the largest numbers; of more classes than a function takes arguments in groups."""
        names = [atom(body.assigned("score", body.expression(child))) for child in node.children]
        best = body.assigned("best", self._greatest(tuple(names)))
        firsts = " ".join(f"WHEN {name.text} = {best} THEN {k}" for name, k in zip(names, node.results, strict=True))
        return atom(f"CASE WHEN {best} = {self.literal(-math.inf)} THEN {node.otherwise} {firsts} END")

    def _greatest(self, parts: tuple[Expression, ...]) -> Expression:
        while len(parts) > 1:
            groups = [parts[i : i + GROUP] for i in range(0, len(parts), GROUP)]
            parts = tuple(bracketed(f"{self.dialect.greatest}(", group, ")") for group in groups)
        return parts[0]

    def cleaned(self, body: Any, node: Column) -> Expression:
        """A number rounded to float32, clipped, and rounded half to even to the step."""
        x, literal = body.rounded(body.feature(node)), self.literal
        low, high = literal(node.low), literal(node.high)
        clipped = f"WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        value = f"CASE WHEN {x} IS NULL THEN {literal(node.missing)} {clipped}"
        if node.step == 0.0:
            return atom(value)
        if max(abs(node.low), abs(node.high)) / node.step >= 2.0**51:
            raise Unsupported("Column", "sql", "a column with fewer steps")
        x, whole = body.assigned("value", atom(value)), literal(1.5 * 2.0**52 * node.step)
        return atom(f"CASE WHEN {body.cell(node.feature)} IS NULL THEN {x} ELSE {x} + {whole} - {whole} END")

    def stepped(self, body: Any, node: Step) -> Expression:
        x, precision = body.cell(node.feature), body.feature(node).precision
        pairs = reversed(list(zip(node.cuts, node.values[1:], strict=True)))
        above = " ".join(f"WHEN {x} > {self.literal(crossing(c, precision))} THEN {self.literal(v)}" for c, v in pairs)
        first = self.literal(node.values[0])
        return atom(f"CASE WHEN {x} IS NULL THEN {self.literal(node.missing)} {above} ELSE {first} END")

    def linked(self, body: Any, node: Logistic) -> Expression:
        """1 / (1 + exp(-z)); where the exponential would be infinite or nothing, the limit."""
        z, one = body.assigned("value", body.expression(node.linear)), self.literal(1.0)
        low, high = self.literal(-709.78), self.literal(745.0)
        inside = f"{one} / ({one} + exp(-{z}))"
        return atom(f"CASE WHEN {z} < {low} THEN {self.literal(0.0)} WHEN {z} > {high} THEN {one} ELSE {inside} END")


class Query(Body):
    """The values that are columns of a stage, in the order in which they are needed."""

    def __init__(self, context: Context, spelling: Sql, roots: Iterable[Node]) -> None:
        super().__init__(context, spelling, roots)
        self.columns: list[tuple[str, Expression]] = []
        self._rounded: dict[str, str] = {}

    def assign(self, variable: str, expression: Expression) -> None:
        self.columns.append((variable, expression))

    def rounded(self, feature: Feature) -> str:
        """The column of a number in its own width, float32 by t - (t - x) with t = 2^29 x, half to even."""
        name, literal = self.cell(feature.name), self.spelling.literal
        if feature.precision == "float32" and feature.name not in self._rounded:
            tiny, scale, edge = (literal(v) for v in (1.5 * 2.0**-97, 2.0**29, LARGEST_FLOAT32))
            large = f"WHEN abs({name}) >= {edge} THEN sign({name}) * {literal(math.inf)}"
            normal = f"WHEN abs({name}) >= {literal(2.0**-126)} THEN {name} * {scale} - ({name} * {scale} - {name})"
            case = f"CASE {large} {normal} ELSE {name} + {tiny} - {tiny} END"
            self._rounded[feature.name] = self.assigned("value", atom(case))
        return self._rounded.get(feature.name, name)

    def assigned(self, wish: str, expression: Expression) -> str:
        """The name of a new column with that value."""
        name = self.fresh(wish)
        self.assign(name, expression)
        return name

    def stages(self) -> list[list[tuple[str, Expression]]]:
        """The columns by stage: each reads columns of earlier stages only."""
        level: dict[str, int] = {}
        for name, expression in self.columns:
            level[name] = 1 + max((level[word] for word in WORD.findall(expression.text) if word in level), default=-1)
        stages: list[list[tuple[str, Expression]]] = [[] for _ in range(1 + max(level.values(), default=-1))]
        for name, expression in self.columns:
            stages[level[name]].append((name, expression))
        return stages


def quoted(text: str, sign: str = '"') -> str:
    """An identifier, or with `'` a text; raises InputError for NUL, which engines do not take."""
    if "\0" in text:
        raise InputError(f"{text!r} holds a NUL character, which SQL cannot write", fix="export to another target")
    return sign + text.replace(sign, 2 * sign) + sign


def select(graph: RuleGraph, dialect: str, table: str, keep: Sequence[str], fired: bool) -> list[str]:
    """The lines of the query: cells, stages, and the columns of its result."""
    program, spelling = lower(graph), Sql(DIALECTS[dialect])
    context = context_of(graph, program, Names(()), "-- ")
    context = replace(context, columns={name: quoted(column) for name, column in context.columns.items()})
    rules = [rule for rule in rules_of(graph) if rule.node in context.program.lowered] if fired else []
    roots = [program.label, *program.probabilities, *(program.lowered[rule.node] for rule in rules)]
    body = Query(context, spelling, roots)
    results = [layout("", _label(body, graph), ' AS "label"', 4)]
    for name, node in zip(label_texts(graph), program.probabilities, strict=True):
        results.append(layout("", body.expression(node), f" AS {quoted(f'probability({name})')}", 4))
    if fired:
        ids = (spelling.choose(body.expression(program.lowered[rule.node]), f"'{rule.id} '", "''") for rule in rules)
        results.append(layout("trim(", joined("||", SUM, SUM, (atom("''"), *ids)), ') AS "rules"', 4))
    cells = [[f"    {_cell(spelling, graph.schema[name])} AS {column}"] for name, column in context.columns.items()]
    cells += [[f"    {quoted(name)} AS {quoted(f'keep {name}')}"] for name in keep]
    lines = ["WITH cells AS MATERIALIZED (", "  SELECT", *_listed(cells or [["    1"]]), f"  FROM {quoted(table)}", ")"]
    source = "cells"
    for number, stage in enumerate(body.stages(), 1):
        made = [[*(f"    {c}" for c in e.comment.splitlines()), *layout("", e, f" AS {name}", 4)] for name, e in stage]
        lines[-1] = "),"
        lines += [f"stage{number} AS MATERIALIZED (", "  SELECT", *_listed([["    *"], *made]), f"  FROM {source}", ")"]
        source = f"stage{number}"
    kept = [[f"    {quoted(f'keep {name}')} AS {quoted(name)}"] for name in keep]
    return [*lines, "SELECT", *_listed([*kept, *results]), f"FROM {source};"]


def _listed(items: Sequence[list[str]]) -> list[str]:
    """Items of several lines with commas between them; a comment stands above, never at the end."""
    return [line for item in items[:-1] for line in (*item[:-1], f"{item[-1]},")] + list(items[-1])


def _label(body: Query, graph: RuleGraph) -> Expression:
    """The label of the class that is decided."""
    chain, last = cases(body.context.program.label)
    labels = [spelled_label(graph, k) for k in range(len(graph.classes))]
    if isinstance(last, Number):
        whens = []
        for condition, result in chain:
            assert isinstance(result, Number)
            whens.append(f"WHEN {body.expression(condition).text} THEN {labels[int(result.value)]}")
        return atom(f"CASE {' '.join(whens)} ELSE {labels[int(last.value)]} END" if whens else labels[int(last.value)])
    whens = [f"WHEN {k} THEN {label}" for k, label in enumerate(labels)]
    return atom(f"CASE {body.assigned('chosen', body.expression(body.context.program.label))} {' '.join(whens)} END")


def spelled_label(graph: RuleGraph, k: int) -> str:
    """A class as a value of SQL: an integer where all classes are integers, else a text."""
    if all(isinstance(c, int) and not isinstance(c, bool) for c in graph.classes):
        return str(graph.classes[k])
    return quoted(label_texts(graph)[k], "'")


def label_texts(graph: RuleGraph) -> list[str]:
    """The classes as texts; raises InputError where two are one text."""
    texts = [str(c).lower() if isinstance(c, bool) else str(c) for c in graph.classes]
    if len(set(texts)) < len(texts):
        raise InputError(f"two classes have one text: {', '.join(texts)}", where="sql", fix="rename one")
    return texts


def _cell(spelling: Sql, feature: Feature) -> str:
    """A column of the table as the rules take it, NULL where it is missing."""
    dialect, x = spelling.dialect, quoted(feature.name)
    if feature.kind == "categorical":
        codes = feature.codes_of_texts
        truths = codes.get("true") is None and codes.get("1") is not None
        return _without((dialect.truth if truths else dialect.text).format(x=x), feature.missing_tokens)
    kind = {"date": dialect.day, "datetime": dialect.moment}.get(feature.display, dialect.double)
    value = (dialect.flag if feature.kind == "boolean" else kind).format(x=x)
    for number in feature.missing_numbers:
        value = f"NULLIF({value}, {spelling.literal(number)})"
    if not feature.missing_tokens:
        return value
    texts = f"CAST({x} AS {dialect.text_type}) IN ({', '.join(map(spelling.literal, feature.missing_tokens))})"
    return f"CASE WHEN {texts} THEN NULL ELSE {value} END"


def _without(value: str, tokens: Sequence[str]) -> str:
    for token in tokens:
        value = f"NULLIF({value}, {quoted(token, chr(39))})" if token else value
    return value
