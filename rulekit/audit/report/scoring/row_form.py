"""The form that scores a row in the page: its fields, and the model as the JavaScript target writes it.

The target is asked for by its name, so that nothing here knows an exporter; without it the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.audit.report.blocks import Block, ReportSection, ScoringForm, Text
from rulekit.audit.report.subject import Subject
from rulekit.errors import InputError, Unsupported
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import label_text
from rulekit.schema import Feature
from rulekit.targets import find_target

LARGEST_CODE = 2_000_000

SAID = (
    "Type the values of a row; an empty field is a missing value. The page runs the very steps of the model, so it "
    "decides as the model does. Nothing that is typed leaves it."
)


def row_form(graph: RuleGraph, texts: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Fields, classes and rules as JSON values, and the code of the module, without its comments.

    texts: of the rules, by id. The code has no tag of HTML: its texts are escaped, all else is written by the target.
    Raises Unsupported for a node that JavaScript has no steps for, or code that is too large; InputError without the
    target.
    """
    module = find_target("javascript").emit(graph).main.decode()
    code = "\n".join(line for line in module.split("\n") if not line.lstrip().startswith("//"))
    if len(code) > LARGEST_CODE:
        raise Unsupported(f"a module of {len(code)} characters", "a page", "score rows with the model itself")
    fields = {
        "target": graph.schema.target,
        "classes": [label_text(label) for label in graph.classes],
        "columns": [_column(graph.schema[name]) for name in graph.used_features],
        "rules": [
            {
                "id": rule.id,
                "class": quoted(graph.classes[rule.class_index]),
                "text": texts.get(rule.id, ""),
                "points": rule.weight if rule.connective == "sum" else None,
            }
            for rule in rules_of(graph)
        ],
    }
    return fields, code


def _column(feature: Feature) -> dict[str, Any]:
    """What the field of a column shows."""
    own: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "unit": feature.unit}
    if feature.kind == "numeric":
        own["display"] = feature.display if feature.display in ("date", "datetime") else "number"
    if feature.kind == "categorical":
        own |= {"levels": list(feature.levels), "missing": list(feature.missing_tokens)}
    return own


def score_section(subject: Subject) -> ReportSection:
    """The form with the model, or why there is none."""
    try:
        fields, code = row_form(subject.graph, {row.id: row.text for part in subject.parts for row in part.rows})
    except (Unsupported, InputError) as error:
        return ReportSection("score", "Score a row", (Text(f"The page cannot run this model: {error}.", "note"),), {})
    blocks: tuple[Block, ...] = (Text(SAID), ScoringForm(fields, code))
    return ReportSection("score", "Score a row", blocks, {"form": fields})
