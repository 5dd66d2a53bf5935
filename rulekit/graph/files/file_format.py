"""The model file: a rule graph as JSON, and back (docs/format.md is the reference, `json_schema` the schema).

Written for people and diffs: one node a line, children before parents, ids that are prefixes of node digests (so that
a change in one rule leaves the lines of the others alone), floats as the shortest decimal that gives them back.
Reading trusts nothing: every value is checked by hand, and every fault is one FormatError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rulekit.errors import FormatError, RulekitError
from rulekit.graph.decisions import DECISIONS, Decision
from rulekit.graph.files.node_fields import (
    DECISION_FIELDS,
    NODE_FIELDS,
    Codec,
    Ids,
    Nodes,
    found,
    read_count,
    read_list,
    read_node,
    read_object,
    read_text,
)
from rulekit.graph.files.notes import check_notes, read_rate, with_known_columns, without_known_columns
from rulekit.graph.files.schema_format import plain_value, read_class, read_schema, write_classes, write_schema
from rulekit.graph.files.strict_json import parse_json
from rulekit.graph.ladder import Ladder, Rung
from rulekit.graph.nodes import Node, Vocabulary
from rulekit.graph.overrides import MAX_OVERRIDES, Override
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.traversal import short_ids, topological

FORMAT = "rulekit"
VERSION = 1
READABLE = (1,)  # every earlier version stays loadable
MAX_NODES = 2_000_000
_KEYS = (
    *("format", "version", "digest", "schema", "classes", "default", "nodes", "decision", "probability"),
    *("required", "overrides", "provenance", "statistics", "ladder"),
)
_OPTIONAL = ("required", "overrides", "provenance", "statistics", "ladder")
_OVERRIDE = ("id", "class", "condition", "author", "date", "reason", "expires")
MAX_RUNGS = 64
_MEASURED = ("size", "error", "standard_error", "macro_f1")
_RUNG = (*_MEASURED, "digest", "default", "decision", "probability", "provenance", "statistics")
_ACCEPT = "if the change is meant, accept it with `rulekit import`"
# Characters that a reader cannot see, that break lines or turn their direction, and halves of surrogate pairs.
_INVISIBLE = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


# Writing -----------------------------------------------------------------------------------------------------------


def to_json(graph: RuleGraph) -> str:
    """The model file of a graph; raises FormatError if a name cannot be written as Unicode text."""
    nodes = topological(graph.written)
    ids = short_ids(nodes)
    schema = write_schema(graph.schema)
    columns = schema.pop("features")
    parts = {
        "format": dump(FORMAT),
        "version": dump(VERSION),
        "digest": dump(graph.digest),
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


def node_to_json(node: Node) -> str:
    """One node and all below it as JSON text; see `node_from_json`."""
    nodes = topological([node])
    ids = short_ids(nodes)
    return f'{{"nodes": {_lines(_node_lines(nodes, ids))}, "root": {dump(ids[node])}}}'


def digest_content(graph: RuleGraph) -> dict[str, Any]:
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


def _write_required(graph: RuleGraph, ids: Ids) -> list[dict[str, Any]]:
    return [{"class": promise.class_index, "condition": ids[promise.condition]} for promise in graph.required]


def _write_overrides(graph: RuleGraph, ids: Ids) -> list[dict[str, Any]]:
    return [
        {
            "id": override.id,
            "class": override.class_index,
            "condition": ids[override.condition],
            "author": override.author,
            "date": override.date,
            "reason": override.reason,
            **({} if override.expires is None else {"expires": override.expires}),
        }
        for override in graph.overrides
    ]


def _write_decision(decision: Decision, ids: Ids) -> dict[str, Any]:
    return _written(decision, DECISION_FIELDS[type(decision).__name__], ids)


def _written(value: object, fields: Mapping[str, Codec], ids: Ids) -> dict[str, Any]:
    """The type of a node or decision, and its fields."""
    written = {key: codec.write(getattr(value, key), ids) for key, codec in fields.items()}
    return {"type": type(value).__name__, **written}


def _write_ladder(graph: RuleGraph, ladder: Ladder, ids: Ids) -> str:
    """The rows of a ladder; the one that the model itself is without its model, of the others what differs from it."""
    every = topological([root for rung in ladder.rungs for root in (*graph.written, *rung.model.roots)])
    further = [node for node in every if node not in ids]
    long_ids = short_ids(every)
    known = {**{node: long_ids[node] for node in further}, **ids}
    rungs = []
    for rung in ladder.rungs:
        model, measured = rung.model, {name: getattr(rung, name) for name in _MEASURED}
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


def dump(value: Any) -> str:
    """One JSON value on one line, with every character that a reader cannot see escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if _SPLIT_PAIR.search(text):
        raise FormatError(f"{text[:60]} holds two halves of a character, which no Unicode text can hold")
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


# Reading -----------------------------------------------------------------------------------------------------------


def from_json(text: str, *, verify: bool = True) -> RuleGraph:
    """The graph of a model file's text; raises FormatError.

    verify: refuse a file whose digest is not that of its content.
    """
    data = parse_json(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError("this is JSON, but no rulekit model", fix='"format" must be "rulekit"')
    version = data.get("version")
    if type(version) is not int or version not in READABLE:
        raise FormatError(f"format version {found(version)}, but this rulekit reads {VERSION}", fix="update rulekit")
    data = _object(data, "the file", _KEYS, optional=_OPTIONAL)
    nodes = _at("nodes", _read_nodes, data["nodes"])
    graph: RuleGraph = _at(
        "the model",
        lambda: RuleGraph(
            schema=_at("schema", read_schema, data["schema"]),
            classes=_at("classes", lambda value: tuple(map(read_class, read_list(value))), data["classes"]),
            decision=_at("decision", _read_decision, data["decision"], nodes),
            probability=_at("probability", _read_roots, data["probability"], nodes),
            default=_at("default", read_count, data["default"]),
            provenance=_at("provenance", read_object, data.get("provenance", {})),
            statistics=_at("statistics", read_object, data.get("statistics", {})),
            required=_at("required", _read_required, data.get("required", []), nodes),
            overrides=_at("overrides", _read_overrides, data.get("overrides", []), nodes),
        ),
    )
    check_notes(graph.provenance, graph.statistics)
    if verify and _at("digest", read_text, data["digest"]) != graph.digest:
        raise FormatError(
            "the digest is not that of the content: the file was edited or damaged",
            fix=_ACCEPT,
        )
    if verify and len(nodes) != len(topological(graph.written)):
        raise FormatError("some nodes are used by nothing, or stand twice: the file was edited or damaged", fix=_ACCEPT)
    if "ladder" not in data:
        return graph
    return graph.with_(ladder=_at("ladder", _read_ladder, data["ladder"], graph, nodes, verify))


def node_from_json(text: str) -> Node:
    """The node that `node_to_json` wrote; raises FormatError."""
    data = _object(parse_json(text), "the node", ("nodes", "root"))
    nodes = _at("nodes", _read_nodes, data["nodes"])
    root: Node = _at("root", _read_roots, [data["root"]], nodes)[0]
    return root


def _at(where: str, read: Any, *values: Any) -> Any:
    """read(*values), with its fault as a FormatError that says where."""
    try:
        return read(*values)
    except RulekitError as error:
        inner = f"{where}: {error}" if where != "the model" else str(error)
        raise FormatError(inner) from None


def _object(value: object, what: str, keys: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object, not {found(value)}")
    known = tuple(keys)
    missing = [key for key in known if key not in value and key not in optional]
    unknown = [key for key in value if key not in known]
    if missing or unknown:
        fault = f"no key {missing[0]!r}" if missing else f"unknown key {unknown[0][:40]!r}"
        raise FormatError(f"{what} has {fault}", fix=f"keys are {', '.join(known)}")
    return value


def _read_nodes(value: object, known: Nodes | None = None) -> Nodes:
    """The nodes by id, with those that are known already."""
    lines = read_list(value)
    if len(lines) > MAX_NODES:
        raise FormatError(f"{len(lines)} nodes are more than the {MAX_NODES} that are read")
    nodes: dict[str, Node] = dict(known or {})
    for number, line in enumerate(lines, 1):
        name, node = _at(f"node {number}", _read_node, line, nodes)
        if name in nodes:
            raise FormatError(f"node {number}: the id {name!r} stands twice")
        nodes[name] = node
    return nodes


def _read_node(line: object, nodes: Nodes) -> tuple[str, Node]:
    data, values = _typed("node", line, NODE_FIELDS, nodes, ("id", "type"))
    return read_text(data["id"]), Vocabulary.TYPES[data["type"]](**values)


def _read_decision(value: object, nodes: Nodes) -> Decision:
    data, values = _typed("decision", value, DECISION_FIELDS, nodes, ("type",))
    return DECISIONS[data["type"]](**values)


def _read_required(value: object, nodes: Nodes) -> tuple[Required, ...]:
    lines = [_object(line, "what is required", ("class", "condition")) for line in read_list(value)]
    return tuple(Required(read_count(line["class"]), read_node(line["condition"], nodes)) for line in lines)


def _read_overrides(value: object, nodes: Nodes) -> tuple[Override, ...]:
    lines = read_list(value)
    if len(lines) > MAX_OVERRIDES:
        raise FormatError(f"{len(lines)} overrides are more than the {MAX_OVERRIDES} that are read")
    return tuple(_at(f"override {number}", _read_override, line, nodes) for number, line in enumerate(lines, 1))


def _read_override(value: object, nodes: Nodes) -> Override:
    data = _object(value, "it", _OVERRIDE, optional=("expires",))
    return Override(
        id=read_text(data["id"]),
        class_index=read_count(data["class"]),
        condition=read_node(data["condition"], nodes),
        author=read_text(data["author"]),
        date=read_text(data["date"]),
        reason=read_text(data["reason"]),
        expires=read_text(data["expires"]) if "expires" in data else None,
    )


def _read_ladder(value: object, graph: RuleGraph, nodes: Nodes, verify: bool) -> Ladder:
    data = _object(value, "the ladder", ("chosen", "smallest", "why", "nodes", "rungs"))
    known = _at("nodes", _read_nodes, data["nodes"], nodes)
    lines = read_list(data["rungs"])
    if len(lines) > MAX_RUNGS:
        raise FormatError(f"{len(lines)} rows are more than the {MAX_RUNGS} that are read")
    chosen = read_count(data["chosen"])
    smallest = None if data["smallest"] is None else read_count(data["smallest"])
    rungs = [_at(f"row {number}", _read_rung, line, chosen, graph, known) for number, line in enumerate(lines, 1)]
    ladder = Ladder(tuple(rungs), chosen, smallest, read_text(data["why"]))
    used = topological([root for rung in rungs for root in (*graph.written, *rung.model.roots)])
    if verify and len(used) != len(known):
        raise FormatError("some nodes are used by no row, or stand twice: the file was edited or damaged", fix=_ACCEPT)
    return ladder


def _read_rung(value: object, chosen: int, graph: RuleGraph, nodes: Nodes) -> Rung:
    """A row; one that is no model of its own must have its digest, since nothing else vouches for it."""
    size = read_count(read_object(value).get("size"))
    data = _object(value, "a row", _MEASURED if size == chosen else _RUNG)
    measured = [None if data[name] is None else read_rate(data[name]) for name in _MEASURED[1:]]
    if size == chosen:
        return Rung.of(size, measured, graph)
    model = graph.with_(
        decision=_at("decision", _read_decision, data["decision"], nodes),
        probability=_at("probability", _read_roots, data["probability"], nodes),
        default=_at("default", read_count, data["default"]),
        provenance={**graph.provenance, **_at("provenance", read_object, data["provenance"])},
    )
    statistics = with_known_columns(
        _at("statistics", read_object, data["statistics"]), graph.statistics, model.used_features
    )
    check_notes(model.provenance, statistics)
    if _at("digest", read_text, data["digest"]) != model.digest:
        raise FormatError("the digest is not that of the row: the file was edited or damaged")
    return Rung.of(size, measured, model.with_(statistics=statistics))


def _typed(
    what: str, value: object, known: Mapping[str, Mapping[str, Codec]], nodes: Nodes, beside: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of a node or decision, and its fields as they were read."""
    kind = read_object(value).get("type")
    if not isinstance(kind, str) or kind not in known:
        raise FormatError(f"unknown {what} type {found(kind)}", fix="update rulekit, or see docs/format.md")
    data = _object(value, kind, (*beside, *known[kind]))
    return data, {key: _at(f"{kind}.{key}", codec.read, data[key], nodes) for key, codec in known[kind].items()}


def _read_roots(value: object, nodes: Nodes) -> tuple[Node, ...]:
    roots: tuple[Node, ...] = NODE_FIELDS["And"]["children"].read(value, nodes)
    return roots
