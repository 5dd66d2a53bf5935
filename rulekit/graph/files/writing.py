"""The model file as it is written: a rule graph as JSON, and the digest of what decides (docs/format.md).

Written for people and diffs: one node a line, children before parents, ids that are prefixes of node digests (so that
a change in one rule leaves the lines of the others alone), floats as the shortest decimal that gives them back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.decisions import Decision
from rulekit.graph.files.fields import (
    DECISION_FIELDS,
    NODE_FIELDS,
    OVERRIDE,
    Codec,
    Ids,
    plain_value,
    write_classes,
    write_schema,
)
from rulekit.graph.files.safe_files import dump, without_known_columns
from rulekit.graph.model_parts import Ladder, ModelParts
from rulekit.graph.nodes import Node, short_ids, topological

FORMAT = "rulekit"
VERSION = 1
MEASURED = ("size", "error", "standard_error", "macro_f1")


def to_json(graph: ModelParts) -> str:
    """The model file of a graph; raises FormatError if a name cannot be written as Unicode text."""
    nodes = topological(graph.written)
    ids = short_ids(nodes)
    schema = write_schema(graph.schema)
    columns = schema.pop("features")
    parts = {
        "format": dump(FORMAT),
        "version": dump(VERSION),
        "digest": dump(digest_of(graph)),
        "schema": dump(schema)[:-1] + ', "features": ' + _lines(columns) + "}",
        "classes": dump(write_classes(graph.classes)),
        "default": dump(int(graph.default)),
        "nodes": _lines(_node_lines(nodes, ids)),
        "decision": dump(_write_decision(graph.decision, ids)),
        "probability": dump([ids[node] for node in graph.probability]),
        **({"required": _lines(_write_required(graph, ids))} if graph.required else {}),
        **({"overrides": _lines(_write_overrides(graph, ids))} if graph.overrides else {}),
        "provenance": _spread(plain_value(graph.provenance, "provenance")),
        "statistics": _spread(plain_value(graph.statistics, "statistics")),
        **({} if graph.ladder is None else {"ladder": _write_ladder(graph, graph.ladder, ids)}),
    }
    return "{\n" + ",\n".join(f'"{key}": {text}' for key, text in parts.items()) + "\n}\n"


def digest_of(graph: ModelParts) -> str:
    """SHA-256 over all but provenance, statistics and ladder, as hex."""
    return graph.once(_digest)


def _digest(graph: ModelParts) -> str:
    return hashlib.sha256(json.dumps(digest_content(graph), sort_keys=True).encode()).hexdigest()


def digest_content(graph: ModelParts) -> dict[str, Any]:
    """What the digest covers: all beside provenance, statistics and ladder, with nodes by their digests."""
    digests = {node: node.digest.hex() for node in graph.written}
    required = {"required": _write_required(graph, digests)} if graph.required else {}
    overrides = {"overrides": _write_overrides(graph, digests)} if graph.overrides else {}
    return {
        "format": FORMAT,
        "schema": write_schema(graph.schema),
        "classes": write_classes(graph.classes),
        "default": int(graph.default),
        "decision": _write_decision(graph.decision, digests),
        "probability": [digests[node] for node in graph.probability],
        **required,
        **overrides,
    }


def _node_lines(nodes: Iterable[Node], ids: Ids) -> list[dict[str, Any]]:
    lines = []
    for node in nodes:
        kind = type(node).__name__
        if kind not in NODE_FIELDS:
            raise FormatError(f"the file format has no node type {kind}")
        lines.append({"id": ids[node], **_written(node, NODE_FIELDS[kind], ids)})
    return lines


def _write_required(graph: ModelParts, ids: Ids) -> list[dict[str, Any]]:
    return [{"class": promise.class_index, "condition": ids[promise.condition]} for promise in graph.required]


def _write_overrides(graph: ModelParts, ids: Ids) -> list[dict[str, Any]]:
    held = [
        {key: getattr(each, "class_index" if key == "class" else key) for key in OVERRIDE} for each in graph.overrides
    ]
    return [{key: OVERRIDE[key].write(item, ids) for key, item in each.items() if item is not None} for each in held]


def _write_decision(decision: Decision, ids: Ids) -> dict[str, Any]:
    return _written(decision, DECISION_FIELDS[type(decision).__name__], ids)


def _written(value: object, fields: Mapping[str, Codec], ids: Ids) -> dict[str, Any]:
    written = {key: codec.write(getattr(value, key), ids) for key, codec in fields.items()}
    return {"type": type(value).__name__, **written}


def _write_ladder(graph: ModelParts, ladder: Ladder, ids: Ids) -> str:
    """The rows of a ladder; the one that the model itself is without its model, of the others what differs from it."""
    every = topological([root for rung in ladder.rungs for root in (*graph.written, *rung.model.roots)])
    further = [node for node in every if node not in ids]
    long_ids = short_ids(every)
    known = {**{node: long_ids[node] for node in further}, **ids}
    rungs = []
    for rung in ladder.rungs:
        model, measured = rung.model, {name: getattr(rung, name) for name in MEASURED}
        if rung.size == ladder.chosen:
            rungs.append(measured)
            continue
        notes = {key: note for key, note in model.provenance.items() if graph.provenance.get(key) != note}
        rungs.append(
            {
                **measured,
                "digest": model.digest,
                "default": int(model.default),
                "decision": _write_decision(model.decision, known),
                "probability": [known[node] for node in model.probability],
                "provenance": plain_value(notes, "provenance"),
                "statistics": plain_value(without_known_columns(model.statistics, graph.statistics), "statistics"),
            }
        )
    head = dump({"chosen": ladder.chosen, "smallest": ladder.smallest, "why": ladder.why})[:-1]
    return f'{head}, "nodes": {_lines(_node_lines(further, known))}, "rungs": {_lines(rungs)}}}'


def _lines(values: list[Any]) -> str:
    """A list with one item a line."""
    return "[\n" + ",\n".join(map(dump, values)) + "\n]" if values else "[]"


def _spread(value: Any) -> str:
    """A free value with one object, or one entry that holds others, a line."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(part, dict | list) for part in parts):
        return dump(value)
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(_spread, value)) + "\n]"
    return "{\n" + ",\n".join(f"{dump(key)}: {_spread(item)}" for key, item in value.items()) + "\n}"
