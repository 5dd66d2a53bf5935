"""Comparing two model files or artifacts: what changed in their rules, and on which rows they decide otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rulekit.errors import InputError, RulekitError
from rulekit.graph.files.model_files import load
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.schema import require_column
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.targets import find_target_for

if TYPE_CHECKING:
    from rulekit.audit.differences.results import Compared
    from rulekit.tables.raw.columns import RawTable

MADE_ROWS = 2_000
"""On which an artifact is run, to see that it decides as the rules that it carries."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Two models or artifacts, rows on which both are run, and columns of these by whose values flips are counted."""

    first: Path
    second: Path
    data: Path | None = None
    by: tuple[str, ...] = ()
    reading: ReadingOptions = DEFAULT_OPTIONS


def compare(request: ComparisonRequest, deadline: Deadline = NO_LIMIT) -> Compared:
    """What differs between two models; raises InputError and FormatError for files that cannot be compared.

    Of an artifact the rules that it carries are compared, and it is verified that it decides as they do; where it does
    not, or that is not proved, the models are not said to be equal. What is not settled by the deadline is open.
    """
    from rulekit.audit.differences.compared import compare

    if request.by and request.data is None:
        raise InputError("groups of which rows?", where="--by", fix="give --data FILE")
    graphs = [load(path, meetings=False) for path in (request.first, request.second)]
    raw = None if request.data is None else _rows(request, graphs)
    names = str(request.first), str(request.second)
    compared = compare(graphs[0], graphs[1], raw, request.by, names=names, deadline=deadline)
    faults = [
        fault
        for path, graph in zip((request.first, request.second), graphs, strict=True)
        if (fault := _fault(path, graph, deadline))
    ]
    return compared.with_faults(faults)


def _rows(request: ComparisonRequest, graphs: list[RuleGraph]) -> RawTable:
    from rulekit.tables.reading import read_columns

    assert request.data is not None
    used = {name for graph in graphs for name in graph.used_features}
    texts = {feature.name for graph in graphs for feature in graph.schema if feature.reads_text}
    raw = read_columns(request.data, request.reading, columns=used | set(request.by), keep_text=texts)
    for column in request.by:
        require_column(column, raw.known_names, raw.source)
    return replace(raw, source=request.data.name)


def _fault(path: Path, graph: RuleGraph, deadline: Deadline) -> str:
    """Why an artifact may not decide as the rules that it carries, "" where it is proved that it does."""
    from rulekit.verification.parity import verify

    try:
        target = find_target_for(str(path))
    except InputError:  # a model file
        return ""
    if target.name == "text":  # the text is the model
        return ""
    try:
        report = verify(graph, path, rows=MADE_ROWS, deadline=deadline)
    except RulekitError as error:
        return f"{path} could not be verified: {error}"
    if not report.ok:
        why = str(report).partition("\n")[0]
        return f"{path} does not decide as the rules that it carries ({report.failure.lower()}): {why}"
    if report.proof != "proved":
        return f"that {path} decides as the rules that it carries is {report.conclusion}"
    return ""
