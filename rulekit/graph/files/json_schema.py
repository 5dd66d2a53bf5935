"""The JSON Schema of the model file, made of the vocabulary and of what a column may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from rulekit.graph.files.file_format import MAX_RUNGS
from rulekit.graph.files.node_fields import DECISION_FIELDS, NODE_FIELDS, TEXT, Codec
from rulekit.graph.files.schema_format import COLUMN, SCHEMA
from rulekit.graph.files.writing import FORMAT, VERSION
from rulekit.graph.overrides import MAX_OVERRIDES, MAX_TEXT
from rulekit.schema import Feature

_REF = {"$ref": "#/$defs/id"}
_ID = {"type": "string", "description": "The id of a node on an earlier line."}


def model_schema() -> dict[str, Any]:
    """The schema (draft 2020-12); what it cannot say (ids, the digest, composition) is checked on reading."""
    nodes = {name: _typed(name, {"id": TEXT.schema}, codecs) for name, codecs in NODE_FIELDS.items()}
    decisions = {name: _typed(name, {}, codecs) for name, codecs in DECISION_FIELDS.items()}
    column = {item.name: COLUMN[item.name].schema for item in fields(Feature)}
    schema = {key: codec.schema for key, codec in SCHEMA.items()} | {
        "features": {"type": "array", "items": _object(column, 2)}
    }
    parts = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "schema": {**_object(schema), "required": ["features", "target"]},
        "classes": {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 2},
        "default": {"type": "integer", "minimum": 0},
        "nodes": {"type": "array", "items": _any_of(nodes)},
        "decision": _any_of(decisions),
        "probability": {"type": "array", "items": _REF},
        "required": {"type": "array", "items": _object({"class": {"type": "integer"}, "condition": _REF})},
        "overrides": {"type": "array", "items": _object(_override(), -1), "maxItems": MAX_OVERRIDES},
        "provenance": {"type": "object"},
        "statistics": {"type": "object"},
        "ladder": _ladder(_any_of(nodes), _any_of(decisions)),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"rulekit model file, format version {VERSION}",
        **_object(parts, len(parts) - 5),
        "$defs": {"id": _ID, **nodes, **decisions},
    }


def _override() -> dict[str, Any]:
    """One override; only `expires`, the last, may be left out."""
    text, date = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}, {"type": "string", "format": "date"}
    return {
        "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,39}$"},
        "class": {"type": "integer", "minimum": 0},
        "condition": _REF,
        "author": text,
        "date": date,
        "reason": text,
        "expires": date,
    }


def _ladder(node: dict[str, Any], decision: dict[str, Any]) -> dict[str, Any]:
    """The ladder of sizes: its rows, of which that of the model itself has no model."""
    count, rate = {"type": "integer", "minimum": 0}, {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    measured = {"size": count, "error": rate, "standard_error": rate, "macro_f1": rate}
    model = {
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "default": count,
        "decision": decision,
        "probability": {"type": "array", "items": _REF},
        "provenance": {"type": "object"},
        "statistics": {"type": "object"},
    }
    rows = {"anyOf": [_object(measured), _object(measured | model)]}
    return _object(
        {
            "chosen": count,
            "smallest": {"type": ["integer", "null"], "minimum": 0},
            "why": {"type": "string"},
            "nodes": {"type": "array", "items": node},
            "rungs": {"type": "array", "items": rows, "maxItems": MAX_RUNGS},
        }
    )


def _object(properties: dict[str, Any], needed: int | None = None) -> dict[str, Any]:
    """An object with these properties and no others, of which the first `needed` (all) must be there."""
    return {
        "type": "object",
        "required": list(properties)[:needed],
        "additionalProperties": False,
        "properties": properties,
    }


def _typed(name: str, before: dict[str, Any], codecs: Mapping[str, Codec]) -> dict[str, Any]:
    return _object({**before, "type": {"const": name}, **{key: codec.schema for key, codec in codecs.items()}})


def _any_of(names: Iterable[str]) -> dict[str, Any]:
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
