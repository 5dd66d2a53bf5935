"""The program of a model as a list of steps in JSON, for an evaluator in any language: scoring/evaluator.js is one.

A step is a list of its name and its operands: numbers, texts, names of columns, and the places of earlier steps. Only
the elementary steps are left (rulekit.program.elementary), in which float32 thresholds are resolved into doubles, so
that an evaluator that compares doubles and adds them from left to right decides as the model does, to the last bit.
Reported probabilities may differ by what two exponential functions differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rulekit.audit.report.blocks import Block, ReportSection, ScoringForm, Text
from rulekit.audit.report.subject import Subject
from rulekit.errors import Unsupported
from rulekit.graph.language.words import quoted
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Constant,
    Contains,
    Family,
    Hidden,
    IsTrue,
    Missing,
    Node,
    Not,
    Odd,
    Or,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.traversal import topological
from rulekit.names import label_text
from rulekit.program.elementary import elementary
from rulekit.program.lower import alike, lower, lower_nodes, members
from rulekit.program.nodes import Arithmetic, Choice, Count, Exponential, Greater, Number, RawCompare, RawNumber, Sum
from rulekit.schema import Feature, Schema
from rulekit.tokens import SEPARATORS, UPPER_CASE

MOST_STEPS = 20_000

Places = Mapping[Node, int]
Step = list[Any]


def program_json(graph: RuleGraph, texts: Mapping[str, str]) -> dict[str, Any] | None:
    """Steps, columns, classes and rules of a model; None of one with more than 20,000 steps.

    texts: of the rules, by id. Raises Unsupported for a node that has no elementary steps. `steps` as above; `label`:
    the place of the step whose value is the number of the class; `probabilities`: those of the probabilities, class by
    class; `rules`: ids, texts and the place of the step that says whether each holds; `columns`: how cells are read.
    """
    program = lower(graph, elementary)
    conditions = {rule.node: _condition(rule.node) for rule in rules_of(graph)}
    stated = {node: condition for node, condition in conditions.items() if condition is not None}
    lowered = lower_nodes(stated.values(), graph.schema, elementary)
    roots = (program.label, *program.probabilities, *(lowered[condition] for condition in stated.values()))
    order = topological(roots)
    if len(order) > MOST_STEPS:
        return None
    places = {node: place for place, node in enumerate(order)}
    used = [graph.schema[name] for name in graph.used_features]
    return {
        "target": graph.schema.target,
        "classes": [label_text(label) for label in graph.classes],
        "columns": [_column(feature) for feature in used],
        "steps": [_step(node, places, graph.schema) for node in order],
        "label": places[program.label],
        "probabilities": [places[node] for node in program.probabilities],
        "rules": [
            {
                "id": rule.id,
                "class": quoted(graph.classes[rule.class_index]),
                "text": texts.get(rule.id, ""),
                "points": rule.weight if rule.connective == "sum" else None,
                "holds": places[lowered[stated[rule.node]]],
            }
            for rule in rules_of(graph)
            if rule.node in stated
        ],
        "tokens": _tokens() if any(feature.kind == "text" for feature in used) else None,
    }


def _condition(node: Node) -> Node | None:
    """What holds or not where a rule does; None where that is a matter of probabilities or numbers."""
    if isinstance(node, Hidden):
        return node.cause
    return node if node.family is Family.BOOLEAN else None


def _column(feature: Feature) -> dict[str, Any]:
    """How the cell of a column is read from what is typed."""
    own: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "unit": feature.unit}
    if feature.kind == "numeric":
        own["display"] = feature.display if feature.display in ("date", "datetime") else "number"
        own["missing"] = list(feature.missing_numbers)
    if feature.has_text_cells:
        own["missing"] = list(feature.missing_tokens)
    if feature.kind == "categorical":
        own["levels"] = list(feature.levels)
        own["strict"] = feature.unseen == "error"
    return own


def _tokens() -> dict[str, Any]:
    """The tables by which texts are parted into words (rulekit.tokens)."""
    return {"separators": [list(pair) for pair in SEPARATORS], "capitals": [list(run) for run in UPPER_CASE]}


# Steps ---------------------------------------------------------------------------------------------------------------


def _step(node: Node, places: Places, schema: Schema) -> Step:
    return _RULES[type(node)](node, [places[child] for child in node.children], schema)


def number_json(value: float) -> float | str:
    """A double; JSON has no infinity, so that it is a text."""
    return value if math.isfinite(value) else repr(value)


def _among(node: Among, schema: Schema) -> Step:
    feature = schema[node.feature]
    texts = alike(members(node, feature), feature)
    return ["among", node.feature, [text for text in texts if text is not None], None in texts]


_RULES: Mapping[type[Node], Callable[[Any, list[int], Schema], Step]] = {
    RawCompare: lambda node, below, schema: ["compare", node.feature, node.op, number_json(node.value), node.missing],
    IsTrue: lambda node, below, schema: ["compare", node.feature, ">", 0.5, node.missing],
    Missing: lambda node, below, schema: ["absent", node.feature],
    RawNumber: lambda node, below, schema: ["cell", node.feature],
    Among: lambda node, below, schema: _among(node, schema),
    Contains: lambda node, below, schema: ["contains", node.feature, list(node.tokens), node.missing],
    Constant: lambda node, below, schema: ["constant", node.value],
    Not: lambda node, below, schema: ["not", *below],
    And: lambda node, below, schema: ["at least", len(below), below],
    Or: lambda node, below, schema: ["at least", 1, below],
    AtLeast: lambda node, below, schema: ["at least", node.k, below],
    Odd: lambda node, below, schema: ["odd", below],
    Number: lambda node, below, schema: ["number", number_json(node.value)],
    Choice: lambda node, below, schema: ["choice", *below],
    Sum: lambda node, below, schema: ["sum", below],
    Arithmetic: lambda node, below, schema: [node.operator, *below],
    Count: lambda node, below, schema: ["count", below],
    Greater: lambda node, below, schema: ["greater", *below],
    Exponential: lambda node, below, schema: ["exp", *below],
}


SAID = (
    "Type the values of a row; an empty field is a missing value. The page runs the very steps of the model, so it "
    "decides as the model does. Nothing that is typed leaves it."
)


def score_section(subject: Subject) -> ReportSection:
    """The form with the program of the model, or why there is none."""
    try:
        program = program_json(subject.graph, {row.id: row.text for part in subject.parts for row in part.rows})
        why = "" if program is not None else "The model has too many steps for a page."
    except Unsupported as error:
        program, why = None, f"The page cannot run this model: {error}."
    blocks: tuple[Block, ...] = (Text(why, "note"),)
    if program is not None:
        blocks = (Text(SAID), ScoringForm(program))
    return ReportSection("score", "Score a row", blocks, {"program": program})
