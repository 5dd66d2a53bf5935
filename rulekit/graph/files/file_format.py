"""The model file as it is read (docs/format.md is the reference, `json_schema` the schema; `writing` writes it).

Reading trusts nothing: every value is checked by hand, and every fault is one FormatError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rulekit.errors import FormatError, RulekitError
from rulekit.graph.decisions import DECISIONS, Decision
from rulekit.graph.files.json_values import parse_json
from rulekit.graph.files.node_fields import (
    DECISION_FIELDS,
    NODE_FIELDS,
    Codec,
    Nodes,
    found,
    read_count,
    read_list,
    read_node,
    read_object,
    read_text,
)
from rulekit.graph.files.notes import check_notes, read_rate, with_known_columns
from rulekit.graph.files.schema_format import read_class, read_schema
from rulekit.graph.files.writing import FORMAT, MEASURED, VERSION
from rulekit.graph.ladder import Ladder, Rung
from rulekit.graph.ladder_models import rung_of
from rulekit.graph.nodes import Node, Vocabulary
from rulekit.graph.overrides import MAX_OVERRIDES, Override
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.traversal import topological

READABLE = (1,)  # every earlier version stays loadable
MAX_NODES = 2_000_000
_KEYS = (
    *("format", "version", "digest", "schema", "classes", "default", "nodes", "decision", "probability"),
    *("required", "overrides", "provenance", "statistics", "ladder"),
)
_OPTIONAL = ("required", "overrides", "provenance", "statistics", "ladder")
_OVERRIDE = ("id", "class", "condition", "author", "date", "reason", "expires")
MAX_RUNGS = 64
_RUNG = (*MEASURED, "digest", "default", "decision", "probability", "provenance", "statistics")
_ACCEPT = "if the change is meant, accept it with `rulekit import`"


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
    data = _object(value, "a row", MEASURED if size == chosen else _RUNG)
    measured = [None if data[name] is None else read_rate(data[name]) for name in MEASURED[1:]]
    if size == chosen:
        return rung_of(size, measured, graph)
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
    return rung_of(size, measured, model.with_(statistics=statistics))


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
