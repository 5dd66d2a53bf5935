"""Model files and artifacts: any of them read into a rule graph, and artifacts written."""

from __future__ import annotations

import os
from typing import Any

from rulekit.errors import FormatError, InputError, RulekitError
from rulekit.graph.check import check, check_meetings
from rulekit.graph.files.file_format import from_json
from rulekit.graph.files.safe_files import AnyPath, decode, read_bounded, write_all
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, find_target, find_target_for


def load(path: AnyPath, *, verify: bool = True, meetings: bool = True) -> RuleGraph:
    """Read the rule graph of a model file (.json) or of an exported artifact that carries it.

    Parameters
    ----------
    path : str or path
        The file; its ending says what it is.
    verify : bool
        Refuse a model file whose digest is not that of its content.
    meetings : bool
        Refuse a rule over columns that the model declares may not meet.

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
        graph = _read(name, data, verify)
        _check(graph, meetings)
    except RulekitError as error:
        kind = InputError if isinstance(error, InputError) else FormatError
        raise kind(str(error).removeprefix(f"{name}: "), where=name) from error
    return graph


def _read(name: str, data: bytes, verify: bool) -> RuleGraph:
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
    return target.read(data)


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
