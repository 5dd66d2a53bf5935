"""The fields of every node and decision in the model file: one table, used for writing, reading and digests.

A node type is written field by field under the names of its constructor's arguments, so a new node type joins by one
line in `NODE_FIELDS`. Codecs say how a field is spelled in JSON and refuse everything else with a FormatError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.nodes import Node

LARGEST_COUNT = 2**53
Ids = Mapping[Node, str]
Nodes = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Codec:
    """How one kind of field is written to JSON values and read from them (FormatError if it is anything else)."""

    write: Callable[[Any, Ids], Any]
    read: Callable[[Any, Nodes], Any]


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


def read_text(value: object) -> str:
    if not isinstance(value, str):
        raise FormatError(f"expected a text, not {found(value)}")
    return value


def read_truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise FormatError(f"expected true or false, not {found(value)}")
    return value


def read_count(value: object) -> int:
    """A JSON integer of at most 2^53 in magnitude."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_COUNT:
        raise FormatError(f"expected an integer, not {found(value)}")
    return value


def read_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"expected a list, not {found(value)}")
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


def _read_terms(value: object, nodes: Nodes) -> tuple[tuple[float, Node], ...]:
    pairs = [read_list(pair) for pair in read_list(value)]
    if any(len(pair) != 2 for pair in pairs):
        raise FormatError("expected terms as lists of a weight and an id")
    return tuple((read_number(weight), read_node(child, nodes)) for weight, child in pairs)


def _plain(read: Callable[[object], Any]) -> Codec:
    return Codec(lambda value, _: value, lambda value, _: read(value))


def _each(one: Codec) -> Codec:
    return Codec(
        lambda values, ids: [one.write(value, ids) for value in values],
        lambda value, nodes: tuple(one.read(item, nodes) for item in read_list(value)),
    )


def _one_of(*allowed: str) -> Codec:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise FormatError(f"expected one of {', '.join(map(repr, allowed))}, not {found(value)}")
        return value

    return _plain(read)


TEXT = _plain(read_text)
TRUTH = _plain(read_truth)
COUNT = Codec(lambda value, _: int(value), lambda value, _: read_count(value))
NUMBER = Codec(lambda value, _: float(value), lambda value, _: read_number(value))
EXTENDED = Codec(lambda value, _: write_extended(value), lambda value, _: read_extended(value))
NODE = Codec(lambda node, ids: ids[node], read_node)
TERMS = Codec(lambda terms, ids: [[weight, ids[node]] for weight, node in terms], _read_terms)
TEXTS, COUNTS, NUMBERS, NODES, EXTENDEDS = map(_each, (TEXT, COUNT, NUMBER, NODE, EXTENDED))

NODE_FIELDS: dict[str, dict[str, Codec]] = {
    "Compare": {"feature": TEXT, "op": _one_of("<=", ">"), "value": NUMBER, "missing": TRUTH},
    "Among": {"feature": TEXT, "levels": TEXTS, "missing": TRUTH, "unseen": TRUTH},
    "IsTrue": {"feature": TEXT, "missing": TRUTH},
    "Missing": {"feature": TEXT},
    "Constant": {"value": TRUTH},
    "Not": {"child": NODE},
    "And": {"children": NODES},
    "Or": {"children": NODES},
    "AtLeast": {"k": COUNT, "children": NODES},
    "LinearThreshold": {"terms": TERMS, "bias": NUMBER},
    "Above": {"score": NODE, "threshold": NUMBER},
    "Hidden": {"name": TEXT, "cause": NODE, "on": EXTENDED, "off": EXTENDED},
    "Column": {"feature": TEXT, "missing": NUMBER, "low": NUMBER, "high": NUMBER, "step": NUMBER},
    "Step": {"feature": TEXT, "cuts": NUMBERS, "values": NUMBERS, "missing": NUMBER},
    "Linear": {"terms": TERMS, "bias": NUMBER},
    "Strength": {"formula": NODE},
    "Probability": {"formula": NODE},
    "Logistic": {"linear": NODE},
}

DECISION_FIELDS: dict[str, dict[str, Codec]] = {
    "Fires": {"formula": NODE},
    "ArgMax": {"scores": NODES, "thresholds": EXTENDEDS, "preference": COUNTS},
    "Median": {"above": NODES},
}
