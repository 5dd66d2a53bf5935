"""How the fields of nodes, decisions and columns look in the model file: written, read, and said in the JSON Schema.

A node is written field by field under the names of its constructor's arguments (`rulekit.graph.nodes.kinds_of`).
Codecs refuse everything that is not of their kind with a FormatError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, get_args

import numpy as np

from rulekit.errors import FormatError, GraphError
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.node import (
    Child,
    Children,
    CountField,
    CountsField,
    Extended,
    Extendeds,
    Finite,
    LevelNumbers,
    Levels,
    Numbers,
    OneOf,
    Reads,
    TermsField,
    TextField,
    Truth,
)
from rulekit.graph.nodes import Node, Vocabulary, kinds_of
from rulekit.graph.overrides import MAX_TEXT
from rulekit.schema import Constraints, Display, Feature, Kind, Precision, Role, Schema, Unseen

LARGEST_COUNT = 2**53
Ids = Mapping[Node, str]
Nodes = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Codec:
    """How one kind of field is written to JSON values and read from them (FormatError if it is anything else).

    schema: the JSON Schema of its values.
    """

    write: Callable[[Any, Ids], Any]
    read: Callable[[Any, Nodes], Any]
    schema: dict[str, Any]


def found(value: object) -> str:
    """What a wrong JSON value is, in words, with its text where that is short."""
    words = {dict: "an object", list: "a list", type(None): "null", bool: "true" if value else "false"}
    if type(value) in words:
        return words[type(value)]
    if isinstance(value, str):
        return f"the text {value[:40]!r}" + ("..." if len(value) > 40 else "")
    if isinstance(value, int) and abs(value) > LARGEST_COUNT:
        return "a very large integer"
    return f"{value!r}"


def read_number(value: object) -> float:
    """A finite JSON number as a double."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"expected a number, not {found(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormatError("a number is too large for a double")
    return number


def _only(kind: type, what: str) -> Callable[[object], Any]:
    def read(value: object) -> Any:
        if not isinstance(value, kind):
            raise FormatError(f"expected {what}, not {found(value)}")
        return value

    return read


read_text, read_truth = _only(str, "a text"), _only(bool, "true or false")
read_list, read_object = _only(list, "a list"), _only(dict, "an object")


def read_count(value: object) -> int:
    """A JSON integer of at most 2^53 in magnitude."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_COUNT:
        raise FormatError(f"expected an integer, not {found(value)}")
    return value


def write_extended(value: float) -> float | str:
    """A double, with infinities as text because JSON has none."""
    return repr(float(value)) if math.isinf(value) else float(value)


def read_extended(value: object) -> float:
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    return read_number(value)


def read_node(value: object, nodes: Nodes) -> Node:
    """The node of an id; only ids of earlier lines exist, so a cycle cannot be written."""
    node = nodes.get(value) if isinstance(value, str) else None
    if node is None:
        raise FormatError(f"{found(value)} is no id of a node on an earlier line", fix="list children before parents")
    return node


def _pairs(value: object, first: Callable[[Any], Any], second: Callable[[Any], Any], what: str) -> tuple[Any, ...]:
    pairs = [read_list(pair) for pair in read_list(value)]
    if any(len(pair) != 2 for pair in pairs):
        raise FormatError(f"expected {what}")
    return tuple((first(one), second(other)) for one, other in pairs)


def plain(read: Callable[[object], Any], schema: dict[str, Any], write: Callable[[Any], Any] = lambda v: v) -> Codec:
    return Codec(lambda value, _: write(value), lambda value, _: read(value), schema)


def each(one: Codec) -> Codec:
    return Codec(
        lambda values, ids: [one.write(value, ids) for value in values],
        lambda value, nodes: tuple(one.read(item, nodes) for item in read_list(value)),
        {"type": "array", "items": one.schema},
    )


def _one_of(words: tuple[str, ...]) -> Codec:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise FormatError(f"expected one of {', '.join(map(repr, words))}, not {found(value)}")
        return value

    return plain(read, {"enum": list(words)})


TEXT = plain(read_text, {"type": "string"})
TEXTS = each(TEXT)
_COUNT = plain(read_count, {"type": "integer"}, int)
_NUMBER = plain(read_number, {"type": "number"}, float)
_EXTENDED = plain(read_extended, {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}, write_extended)
_NODE = Codec(lambda node, ids: ids[node], read_node, {"$ref": "#/$defs/id"})
_PAIR = {"type": "array", "prefixItems": [TEXT.schema, _NUMBER.schema], "minItems": 2, "maxItems": 2}
_TERM = {"type": "array", "prefixItems": [_NUMBER.schema, _NODE.schema], "minItems": 2, "maxItems": 2}

_CODECS: dict[type, Codec] = {
    TextField: TEXT,
    Reads: TEXT,
    Truth: plain(read_truth, {"type": "boolean"}),
    CountField: _COUNT,
    Finite: _NUMBER,
    Extended: _EXTENDED,
    Child: _NODE,
    TermsField: Codec(
        lambda terms, ids: [[weight, ids[node]] for weight, node in terms],
        lambda value, nodes: _pairs(
            value, read_number, lambda child: read_node(child, nodes), "terms as lists of a weight and an id"
        ),
        {"type": "array", "items": _TERM},
    ),
    Levels: TEXTS,
    LevelNumbers: plain(
        lambda value: _pairs(value, read_text, read_number, "points as lists of a level and a number"),
        {"type": "array", "items": _PAIR},
        lambda pairs: [list(pair) for pair in pairs],
    ),
    CountsField: each(_COUNT),
    Numbers: each(_NUMBER),
    Extendeds: each(_EXTENDED),
    Children: each(_NODE),
}


def codecs_of(cls: type) -> dict[str, Codec]:
    """The fields of a node type or decision as they stand in a file, in order, each with its codec."""
    return {
        name: _one_of(kind.words) if isinstance(kind, OneOf) else _CODECS[type(kind)]
        for name, kind in kinds_of(cls).items()
    }


NODE_FIELDS = {name: codecs_of(cls) for name, cls in Vocabulary.TYPES.items()}
DECISION_FIELDS = {name: codecs_of(cls) for name, cls in DECISIONS.items()}


MAX_VALUE_DEPTH = 100


def _words(allowed: Any) -> Codec:
    """A field of few words; that a text is none of them is said by Feature."""
    return plain(read_text, {"enum": list(get_args(allowed))})


_TRUTH = plain(read_truth, {"type": "boolean"})
COLUMN = {
    "name": TEXT,
    "kind": _words(Kind),
    "levels": replace(TEXTS, schema={**TEXTS.schema, "uniqueItems": True}),
    "ordered": _TRUTH,
    "precision": _words(Precision),
    "display": _words(Display),
    "unit": TEXT,
    "form": TEXT,
    "missing_tokens": TEXTS,
    "unseen": _words(Unseen),
    "monotone": plain(read_count, {"enum": [-1, 0, 1]}),
    "role": _words(Role),
}
SCHEMA = {
    "target": TEXT,
    "ordered_classes": _TRUTH,
    "together": each(TEXTS),
    "apart": each(TEXTS),
    "missing_never_helps": _TRUTH,
    "features": each(Codec(lambda feature, _: _write_feature(feature), lambda value, _: _feature(value), {})),
}


_SAID = replace(TEXT, schema={"type": "string", "minLength": 1, "maxLength": MAX_TEXT})
_DATE = replace(TEXT, schema={"type": "string", "format": "date"})
OVERRIDE = {
    "id": replace(TEXT, schema={"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,39}$"}),
    "class": replace(_COUNT, schema={"type": "integer", "minimum": 0}),
    "condition": _NODE,
    "author": _SAID,
    "date": _DATE,
    "reason": _SAID,
    "expires": _DATE,
}
"""The fields of an override; only the last may be left out."""


def write_schema(schema: Schema) -> dict[str, Any]:
    """The schema as JSON values; fields at their default are left out, so that a later field changes no old digest."""
    written: dict[str, Any] = {"target": schema.target}
    if schema.ordered_classes:
        written["ordered_classes"] = True
    for item in fields(Constraints):
        value = getattr(schema.constraints, item.name)
        if value:
            written[item.name] = [list(group) for group in value] if isinstance(value, tuple) else value
    written["features"] = [_write_feature(feature) for feature in schema.features]
    return written


def read_schema(value: object) -> Schema:
    """The schema of JSON values; raises FormatError or InputError."""
    read = _read_fields(value, SCHEMA, ("features", "target"))
    constraints = {item.name: read.pop(item.name) for item in fields(Constraints) if item.name in read}
    return Schema(**read, constraints=Constraints(**constraints))


def _write_feature(feature: Feature) -> dict[str, Any]:
    written: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    for item in fields(feature):
        value = getattr(feature, item.name)
        if item.default is not MISSING and item.name not in written and value != item.default:
            written[item.name] = list(value) if isinstance(value, tuple) else value
    return written


def _feature(value: object) -> Feature:
    return Feature(**_read_fields(value, COLUMN, ("name", "kind")))


def _read_fields(value: object, known: Mapping[str, Codec], needed: tuple[str, ...]) -> dict[str, Any]:
    given: dict[str, Any] = read_object(value)
    for key in needed:
        if key not in given:
            raise FormatError(f"no key {key!r}")
    for key in given:
        if key not in known:
            raise FormatError(f"unknown key {key[:40]!r}", fix=f"keys are {', '.join(known)}")
    return {key: known[key].read(item, {}) for key, item in given.items()}


def write_classes(classes: tuple[Any, ...]) -> list[Any]:
    """The class labels as JSON values; a type other than text, integer, number or Boolean is a GraphError."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in classes]
    for label in plain:
        if not isinstance(label, str | bool | int) and not (isinstance(label, float) and math.isfinite(label)):
            raise GraphError(f"a class label is {label!r}, not a text, a finite number or a Boolean")
    return plain


def read_class(value: object) -> str | int | bool | float:
    """A class label of a JSON value; raises FormatError."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return read_count(value)
    return read_number(value)


def plain_value(value: Any, where: str, depth: int = 0) -> Any:
    """A free value as JSON values: numpy becomes plain, NaN becomes null, infinities become text.

    Raises GraphError where a value is no JSON value.
    """
    if depth > MAX_VALUE_DEPTH:
        raise GraphError(f"{where} is nested more than {MAX_VALUE_DEPTH} deep")
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else repr(value) if math.isinf(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, where, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain_value(item, where, depth + 1) for item in items]
    raise GraphError(f"{where} holds a value of the type {type(value).__name__}, which JSON cannot hold")
