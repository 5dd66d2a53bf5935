"""Writing the report of a model: one file for those who question it and sign it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rulekit.audit.report.document import Document, document, json_text
from rulekit.audit.report.layouts import html, markdown
from rulekit.audit.report.subject import MeasuredRows, Said, Subject
from rulekit.errors import FormatError, InputError
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import decode, parse_json, read_bounded, write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.verification.report import parse_report, read_report
from rulekit.version import __version__
from rulekit.work.evaluating import rows_and_groups
from rulekit.work.models import verify

_LAYOUTS = {".html": html, ".json": json_text, ".md": markdown}
MAX_BYTES = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class WrittenReport:
    """The report, and what was noticed in the rows."""

    document: Document
    notes: tuple[str, ...] = ()


def report(
    model: Path,
    data: Path | None = None,
    *,
    outputs: Sequence[Path] = (),
    by: Sequence[str] = (),
    verifications: Sequence[Path] = (),
    artifacts: Sequence[Path] = (),
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
    **beside: Any,
) -> WrittenReport:
    """Make the report of a model, and write it to files in .html, .json or .md; what is not proved by then is open.

    data: labelled rows on which it is measured. by: columns by whose groups, beside those of the role audit.
    verifications: reports that `rulekit verify --report` wrote; artifacts: are verified now. beside: title, purpose,
    author and date, as its author says them (the date is none of a clock); stability, comparison and drift, files that
    the commands of these names wrote with --json. Raises InputError for files that are none.
    """
    attached = {kind: beside.pop(kind, ()) for kind in ("stability", "comparison", "drift")}
    check_outputs(outputs, model, data, *verifications, *artifacts, *chain(*attached.values()))
    for path in outputs:
        if path.suffix.lower() not in _LAYOUTS:
            fix = f"call it {path.stem}.html, {path.stem}.json or {path.stem}.md"
            raise InputError(f"a report is no {path.suffix or 'file without an ending'}", where=str(path), fix=fix)
    if by and data is None:
        raise InputError("groups are of rows, and none are given", where="--by", fix="give DATA")
    graph = load(model)
    rows = None if data is None else _measured(graph, data, by, reading)
    files = {kind: _attached(paths, kind) for kind, paths in attached.items() if paths}
    said, verified = dict[str, Mapping[str, Any]](), dict[str, Mapping[str, Any]]()
    for path in verifications:
        said[_free(said, path.name)] = read_report(path)
    for path in artifacts:
        found = verify(model, path, data, reading=replace(reading, target=None, weight=None), deadline=deadline)
        verified[_free(said | verified, path.name)] = parse_report(found.to_json())
    subject = Subject(graph, Said(**beside), rows, said | verified, files, frozenset(verified), __version__, deadline)
    made = document(subject)
    for path in outputs:
        write_atomically(path, _LAYOUTS[path.suffix.lower()](made).encode())
    return WrittenReport(made, () if rows is None else rows.notes)


def _measured(graph: RuleGraph, data: Path, by: Sequence[str], reading: ReadingOptions) -> MeasuredRows:
    """The rows, with the groups that were asked for and those of audit columns that the file has."""
    audit = [feature.name for feature in graph.schema if feature.role == "audit" and feature.kind != "text"]
    if audit:
        there = read_columns(data, reading, columns=audit).known_names
        audit = [name for name in audit if name in there]
    found, groups = rows_and_groups(graph, data, (*audit, *by), reading)
    return MeasuredRows(graph, found.rows, data.name, found.overlap, reading.weight or "", groups, found.notes)


def _attached(paths: Sequence[Path], kind: str) -> tuple[tuple[str, Any], ...]:
    """JSON files by their names; raises FormatError for what is none."""
    found = []
    for path in paths:
        try:
            found.append((path.name, parse_json(decode(read_bounded(path, MAX_BYTES)))))
        except FormatError as error:
            raise FormatError(error.what, where=error.where or f"--{kind} {path}", fix=error.fix) from None
    return tuple(found)


def _free(taken: Mapping[str, Any], name: str) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
