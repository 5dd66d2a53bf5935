"""Writing the report of a model: one file for those who question it and sign it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import FormatError, InputError
from rulekit.graph.files.json_values import parse_json
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import decode, read_bounded, write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.evaluating import groupings, labelled_rows
from rulekit.work.outputs import check_outputs

if TYPE_CHECKING:
    from rulekit.audit.report.document import Document
    from rulekit.audit.report.subject import MeasuredRows

ENDINGS = (".html", ".json", ".md")
MAX_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What to report of which model.

    data: labelled rows on which it is measured. by: columns by whose groups, beside those of the role audit. title,
    purpose, author, date: what its author says; the date is none of a clock. verifications: reports that `rulekit
    verify --report` wrote; artifacts: are verified now. stability, comparison, drift: what the commands of these names
    wrote with --json. outputs: files to write, .html, .json or .md.
    """

    model: Path
    data: Path | None = None
    outputs: tuple[Path, ...] = ()
    by: tuple[str, ...] = ()
    title: str = ""
    purpose: str = ""
    author: str = ""
    date: str = ""
    verifications: tuple[Path, ...] = ()
    artifacts: tuple[Path, ...] = ()
    stability: tuple[Path, ...] = ()
    comparison: tuple[Path, ...] = ()
    drift: tuple[Path, ...] = ()
    reading: ReadingOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True, eq=False)
class WrittenReport:
    """The report, and what was noticed in the rows."""

    document: Document
    notes: tuple[str, ...] = ()


def report(request: ReportRequest, deadline: Deadline = NO_LIMIT) -> WrittenReport:
    """Make the report, and write it where the request says; what is not proved by the deadline is open.

    Raises InputError for files that are none.
    """
    from rulekit.audit.report.document import document
    from rulekit.audit.report.subject import Said, Subject
    from rulekit.version import __version__

    _checked(request)
    graph = load(request.model)
    said = Said(request.title, request.purpose, request.author, request.date)
    rows = None if request.data is None else _measured(graph, request.data, request)
    attached = {kind: _attached(getattr(request, kind), kind) for kind in ("stability", "comparison", "drift")}
    written, verified = _verifications(request, deadline)
    files = {kind: found for kind, found in attached.items() if found}
    made = document(Subject(graph, said, rows, written | verified, files, frozenset(verified), __version__, deadline))
    for path in request.outputs:
        write_atomically(path, content(made, path).encode())
    return WrittenReport(made, () if rows is None else rows.notes)


def content(made: Document, path: Path) -> str:
    """The text of a report in the layout that the ending of its file names."""
    ending = path.suffix.lower()
    if ending == ".json":
        from rulekit.audit.report.document import json_text

        return json_text(made)
    if ending == ".md":
        from rulekit.audit.report.layouts import markdown

        return markdown(made)
    from rulekit.audit.report.layouts import html

    return html(made)


def _checked(request: ReportRequest) -> None:
    read = (*request.verifications, *request.artifacts, *request.stability, *request.comparison, *request.drift)
    check_outputs(request.outputs, request.model, request.data, *read)
    for path in request.outputs:
        if path.suffix.lower() not in ENDINGS:
            fix = f"call it {path.stem}.html, {path.stem}.json or {path.stem}.md"
            raise InputError(f"a report is no {path.suffix or 'file without an ending'}", where=str(path), fix=fix)
    if request.by and request.data is None:
        raise InputError("groups are of rows, and none are given", where="--by", fix="give DATA")


def _measured(graph: RuleGraph, data: Path, request: ReportRequest) -> MeasuredRows:
    """The rows, with the groups that were asked for and those of audit columns that the file has."""
    from rulekit.audit.report.subject import MeasuredRows
    from rulekit.tables.reading import read_columns

    reading = request.reading
    audit = [feature.name for feature in graph.schema if feature.role == "audit" and feature.kind != "text"]
    if audit:
        there = read_columns(data, reading, columns=audit).known_names
        audit = [name for name in audit if name in there]
    by = tuple(dict.fromkeys((*audit, *request.by)))
    known = tuple(name for name in by if name in graph.schema)
    found = labelled_rows(graph, data, reading, known)
    groups = groupings(graph, found.rows, by, data, reading)
    return MeasuredRows(graph, found.rows, data.name, found.overlap, reading.weight or "", groups, found.notes)


def _verifications(
    request: ReportRequest, deadline: Deadline
) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """What files say of artifacts, and what is found of others now, by the names of files."""
    from rulekit.verification.report import parse_report, read_report
    from rulekit.work.comparing import VerificationRequest, verify

    written: dict[str, Mapping[str, Any]] = {}
    verified: dict[str, Mapping[str, Any]] = {}
    for path in request.verifications:
        written[_free(written, path.name)] = read_report(path)
    for path in request.artifacts:
        own = VerificationRequest(
            request.model, path, request.data, reading=replace(request.reading, target=None, weight=None)
        )
        made = verify(own, deadline)
        verified[_free(written | verified, path.name)] = parse_report(made.to_json())
    return written, verified


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
