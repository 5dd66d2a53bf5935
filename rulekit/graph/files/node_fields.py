"""How each kind of field of a node or decision looks in the model file: written, read, and said in the JSON Schema.

A node is written field by field under the names of its constructor's arguments (`rulekit.graph.nodes.kinds_of`).
Codecs refuse everything that is not of their kind with a FormatError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.node import (
    Child,
    Children,
    CountField,
    CountsField,
    Extended,
    Extendeds,
    Finite,
    Kind,
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
    """The reader of values of one JSON type."""

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


def _two(value: object, what: str) -> list[list[Any]]:
    """A list of lists of two; raises FormatError."""
    pairs = [read_list(pair) for pair in read_list(value)]
    if any(len(pair) != 2 for pair in pairs):
        raise FormatError(f"expected {what}")
    return pairs


def _read_terms(value: object, nodes: Nodes) -> tuple[tuple[float, Node], ...]:
    pairs = _two(value, "terms as lists of a weight and an id")
    return tuple((read_number(weight), read_node(child, nodes)) for weight, child in pairs)


def _read_pairs(value: object) -> tuple[tuple[str, float], ...]:
    pairs = _two(value, "points as lists of a level and a number")
    return tuple((read_text(level), read_number(number)) for level, number in pairs)


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

_CODECS: dict[type[Kind], Codec] = {
    TextField: TEXT,
    Reads: TEXT,
    Truth: plain(read_truth, {"type": "boolean"}),
    CountField: _COUNT,
    Finite: _NUMBER,
    Extended: _EXTENDED,
    Child: _NODE,
    TermsField: Codec(
        lambda terms, ids: [[weight, ids[node]] for weight, node in terms],
        _read_terms,
        {"type": "array", "items": _TERM},
    ),
    Levels: TEXTS,
    LevelNumbers: plain(_read_pairs, {"type": "array", "items": _PAIR}, lambda pairs: [list(pair) for pair in pairs]),
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
