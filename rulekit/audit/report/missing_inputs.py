"""What happens when an input is missing, or is a value that training never saw."""

from __future__ import annotations

from typing import Any

from rulekit.audit.checks.checking import Checked
from rulekit.audit.report.blocks import Block, Column, Section, Table, Text, cells
from rulekit.audit.report.numbers import NONE, share_text
from rulekit.audit.report.subject import Subject
from rulekit.audit.sections import missing_note
from rulekit.graph.language.words import name
from rulekit.schema import Feature

_POLICIES = {
    "unseen": "belongs to no set, but where a rule names unseen levels",
    "missing": "is taken for missing",
    "error": "is refused with an error",
}


def missing_section(subject: Subject, checked: Checked) -> Section:
    """What the rules say of missing values, and of each column how often they occurred."""
    graph = subject.measured
    note = missing_note(graph)
    told = [finding for finding in checked.findings if finding.kind == "missing"]
    by_column: dict[str, list[str]] = {}
    for finding in told:
        by_column.setdefault(finding.column, []).extend(finding.rules)
    shares = {table: _shares(block) for table, block in _tables(graph.statistics)}
    blocks: list[Block] = [Text(note or "No column is read, so nothing can be missing.")]
    if not told and any("missing" in text for text in checked.clear):
        blocks.append(Text("Proved: no missing or new value satisfies a rule.", "good"))
    lines = []
    for column in graph.used_features:
        rules = list(dict.fromkeys(by_column.get(column, [])))
        lines.append(
            cells(
                name(column),
                ", ".join(rules) if rules else "none",
                _new_value(graph.schema[column]),
                *(share_text(known.get(column)) if column in known else NONE for known in shares.values()),
            )
        )
    titles = (
        Column("input"),
        Column("rules satisfied", "id"),
        Column("a new level"),
        *(Column(f"missing, {table}", "number") for table in shares),
    )
    if lines:
        blocks.append(
            Table(
                "Which rules a missing or new value satisfies, and how often values are missing", titles, tuple(lines)
            )
        )
    data: dict[str, Any] = {
        "note": note,
        "columns": {
            column: {
                "rules_satisfied": list(dict.fromkeys(by_column.get(column, []))),
                "new_level": graph.schema[column].unseen if graph.schema[column].kind == "categorical" else None,
                "missing": {table: known.get(column) for table, known in shares.items()},
            }
            for column in graph.used_features
        },
    }
    return Section("missing", "When an input is missing", tuple(blocks), data)


def _new_value(feature: Feature) -> str:
    return _POLICIES[feature.unseen] if feature.kind == "categorical" else ""


def _tables(statistics: Any) -> list[tuple[str, Any]]:
    """The name and the figures of columns of each table of rows."""
    named = {"training": statistics}
    named |= {"held out" if title == "held_out" else title: block for title, block in statistics.items()}
    return [
        (title, block["columns"])
        for title, block in named.items()
        if isinstance(block, dict) and isinstance(block.get("columns"), dict)
    ]


def _shares(columns: Any) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for column, entry in columns.items():
        value = entry.get("missing") if isinstance(entry, dict) else None
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        found[column] = float(value) if fits else None  # type: ignore[arg-type]
    return found
