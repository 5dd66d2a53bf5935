"""Model files and artifacts read into a rule graph, artifacts written, and the JSON Schema (docs/format.md).

Reading trusts nothing: every value is checked by hand, and every fault is one FormatError. `writing` writes the file.
Nothing is written over a file that is read, and no model under a foreign ending.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rulekit.errors import FormatError, InputError, NoModelError, RulekitError
from rulekit.graph.check import check, check_meetings
from rulekit.graph.decisions import DECISIONS, Decision
from rulekit.graph.files.fields import (
    COLUMN,
    DECISION_FIELDS,
    NODE_FIELDS,
    OVERRIDE,
    SCHEMA,
    TEXT,
    Codec,
    Nodes,
    found,
    read_class,
    read_count,
    read_list,
    read_node,
    read_object,
    read_schema,
    read_text,
)
from rulekit.graph.files.safe_files import (
    AnyPath,
    check_notes,
    decode,
    ensure_writable,
    parse_json,
    read_bounded,
    read_rate,
    with_known_columns,
    write_all,
)
from rulekit.graph.files.writing import FORMAT, MEASURED, VERSION
from rulekit.graph.model_parts import Ladder, Rung
from rulekit.graph.nodes import Node, Vocabulary, topological
from rulekit.graph.overrides import MAX_OVERRIDES, Override
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.rules import rung_of
from rulekit.schema import Feature
from rulekit.targets import Artifact, Target, find_target, find_target_for

READABLE = (1,)  # every earlier version stays loadable
MAX_NODES = 2_000_000
_OPTIONAL = ("required", "overrides", "provenance", "statistics", "ladder")
_KEYS = ("format", "version", "digest", "schema", "classes", "default", "nodes", "decision", "probability", *_OPTIONAL)
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
        raise FormatError("the digest is not that of the content: the file was edited or damaged", fix=_ACCEPT)
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

    def read(value: object) -> Override:
        data = _object(value, "it", OVERRIDE, optional=("expires",))
        told = {key: OVERRIDE[key].read(item, nodes) for key, item in data.items()}
        return Override(class_index=told.pop("class"), **told)

    return tuple(_at(f"override {number}", read, line) for number, line in enumerate(lines, 1))


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
    kind = read_object(value).get("type")
    if not isinstance(kind, str) or kind not in known:
        raise FormatError(f"unknown {what} type {found(kind)}", fix="update rulekit, or see docs/format.md")
    data = _object(value, kind, (*beside, *known[kind]))
    return data, {key: _at(f"{kind}.{key}", codec.read, data[key], nodes) for key, codec in known[kind].items()}


def _read_roots(value: object, nodes: Nodes) -> tuple[Node, ...]:
    roots: tuple[Node, ...] = NODE_FIELDS["And"]["children"].read(value, nodes)
    return roots


def load(path: AnyPath, *, verify: bool = True, meetings: bool = True, names: Sequence[str] = ()) -> RuleGraph:
    """Read the rule graph of a model file (.json), of an exported artifact that carries it, or of a foreign forest.

    Parameters
    ----------
    path : str or path
        The file; its ending says what it is.
    verify : bool
        Refuse a model file whose digest is not that of its content.
    meetings : bool
        Refuse a rule over columns that the model declares may not meet.
    names : sequence of str
        Of the columns of a forest that another program wrote (ONNX), in the order in which it reads them.

    Returns
    -------
    RuleGraph

    Raises
    ------
    InputError
        If the file cannot be opened.
    FormatError
        If it holds no valid model.

    """
    name = os.fspath(path)
    data = read_bounded(name)
    try:
        graph = _read(name, data, verify, names)
        _check(graph, meetings)
    except RulekitError as error:
        kind = InputError if isinstance(error, InputError) else FormatError
        raise kind(str(error).removeprefix(f"{name}: "), where=name) from error
    return graph


def _read(name: str, data: bytes, verify: bool, names: Sequence[str]) -> RuleGraph:
    if name.lower().endswith(".json"):
        return from_json(decode(data), verify=verify)
    try:
        target = find_target_for(name)
    except InputError:
        if data.lstrip()[:1] == b"{":
            return from_json(decode(data), verify=verify)
        raise
    if target.read is None:
        raise FormatError(f"{target.name} files do not carry the model", fix="load the model file (.json)")
    try:
        return target.read(data)
    except NoModelError:
        if target.read_foreign is None:
            raise
        return target.read_foreign(data, names)


def _check(graph: RuleGraph, meetings: bool) -> None:
    others = () if graph.ladder is None else graph.ladder.others
    for model in (graph, *others):
        check(model)
        if meetings:
            check_meetings(model)


def export(graph: RuleGraph, path: AnyPath, to: str, **options: Any) -> Artifact:
    """Write an artifact that decides as the model does; nothing is written where that fails.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    path : str or path
        The file to write.
    to : str
        The export target: javascript, onnx, python, sql, text, or one of another package.
    **options
        Those of `rulekit export --to TARGET`.

    Returns
    -------
    Artifact
        What was written: file contents by suffix, warnings, and the digest of the model.

    Raises
    ------
    Unsupported
        Where the target cannot write a node.
    InputError
        Where there is no such target or option, or a file cannot be written.

    """
    artifact = find_target(to).emit(graph, options)
    name = os.fspath(path)
    write_all({name + suffix: data for suffix, data in artifact.files.items()})
    return artifact


def check_outputs(outputs: Iterable[Path | None], *sources: Path | None, model: Path | None = None) -> None:
    """Raises InputError, before any work, where an output cannot be written, is a source, or is named twice.

    model: an output that is a model file, and must have its ending; a device may bear any name.
    """
    written = [path for path in (*outputs, model) if path is not None]
    for path in written:
        for source in sources:
            if source is not None and path.is_file() and source.is_file() and path.samefile(source):
                raise InputError("this file is read, and would be lost", where=str(path), fix="give another name")
        ensure_writable(path)
    if len({path.resolve() for path in written}) < len(written):
        raise InputError("two results would be written to one file", where=str(written[-1]), fix="give each its own")
    if model is None or (owner := _owner(model)) == "model files" or (model.exists() and not model.is_file()):
        return
    what = f"a model file cannot have the ending of {owner}" if owner else "a model file ends in .json"
    raise InputError(what, where=str(model), fix=f"call it {model.stem}.json; rulekit export writes artifacts")


def check_artifact_ending(output: Path, target: Target) -> None:
    """Raises InputError where every command would take the artifact for a model, or for one of another target."""
    if not output.name.lower().endswith(target.suffixes) and (owner := _owner(output)):
        fix = f"call it {output.stem}{target.suffixes[0]}"
        raise InputError(f"this ending is that of {owner}", where=str(output), fix=fix)


def _owner(path: Path) -> str:
    """What commands take a file of this ending for; "" for an ending that nobody reads by."""
    if path.suffix.lower() == ".json":
        return "model files"
    try:
        return f"{find_target_for(str(path)).name} artifacts"
    except InputError:
        return ""


_REF = {"$ref": "#/$defs/id"}
_ID = {"type": "string", "description": "The id of a node on an earlier line."}


def model_schema() -> dict[str, Any]:
    """The schema (draft 2020-12); what it cannot say (ids, the digest, composition) is checked on reading."""
    nodes = {name: _typed_schema(name, {"id": TEXT.schema}, codecs) for name, codecs in NODE_FIELDS.items()}
    decisions = {name: _typed_schema(name, {}, codecs) for name, codecs in DECISION_FIELDS.items()}
    column = {item.name: COLUMN[item.name].schema for item in fields(Feature)}
    schema = _schemas(SCHEMA) | {"features": {"type": "array", "items": _object_schema(column, 2)}}
    parts = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "schema": {**_object_schema(schema), "required": ["features", "target"]},
        "classes": {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 2},
        "default": {"type": "integer", "minimum": 0},
        "nodes": {"type": "array", "items": _any_of(nodes)},
        "decision": _any_of(decisions),
        "probability": {"type": "array", "items": _REF},
        "required": {"type": "array", "items": _object_schema({"class": {"type": "integer"}, "condition": _REF})},
        "overrides": {"type": "array", "items": _object_schema(_schemas(OVERRIDE), -1), "maxItems": MAX_OVERRIDES},
        "provenance": {"type": "object"},
        "statistics": {"type": "object"},
    }
    parts["ladder"] = _ladder(parts)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"rulekit model file, format version {VERSION}",
        **_object_schema(parts, len(parts) - 5),
        "$defs": {"id": _ID, **nodes, **decisions},
    }


def _ladder(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The ladder of a model with these parts; the row of the model itself has its size and what was measured alone."""
    rate = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    row = {"size": parts["default"], **dict.fromkeys(MEASURED[1:], rate)}
    other = row | {key: parts[key] for key in _RUNG if key in parts}
    rows = {"anyOf": [_object_schema(row), _object_schema(other)]}
    return _object_schema(
        {
            "chosen": parts["default"],
            "smallest": {"type": ["integer", "null"], "minimum": 0},
            "why": {"type": "string"},
            "nodes": parts["nodes"],
            "rungs": {"type": "array", "items": rows, "maxItems": MAX_RUNGS},
        }
    )


def _object_schema(properties: dict[str, Any], needed: int | None = None) -> dict[str, Any]:
    """An object with these properties and no others, of which the first `needed` (all) must be there."""
    return {
        "type": "object",
        "required": list(properties)[:needed],
        "additionalProperties": False,
        "properties": properties,
    }


def _typed_schema(name: str, before: dict[str, Any], codecs: Mapping[str, Codec]) -> dict[str, Any]:
    return _object_schema({**before, "type": {"const": name}, **_schemas(codecs)})


def _schemas(codecs: Mapping[str, Codec]) -> dict[str, Any]:
    return {key: codec.schema for key, codec in codecs.items()}


def _any_of(names: Iterable[str]) -> dict[str, Any]:
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
