"""Figures by group of rows, and how far each group is from the one of reference."""

from __future__ import annotations

from dataclasses import asdict

from rulekit.audit.figures.groups import MEASURES, SMALL, Parity, compared_text, parity
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Heading,
    ReportSection,
    ReportTable,
    ShareBar,
    Text,
    cells,
    columns,
)
from rulekit.audit.report.sections.rule_tables import WEIGHTED
from rulekit.audit.report.subject import MeasuredRows, Subject
from rulekit.graph.language.figures import bounded_share, rows_text, share_text
from rulekit.graph.language.words import name, quoted

NONE_ASKED = (
    "No groups were asked for: `--by COL` measures those of a column of the rows, and columns that were given the role "
    "audit in training are measured by themselves."
)
SAID = (
    "A difference is in percentage points, a ratio is a quotient, each against the group of reference, which is the "
    "one of most weight. In brackets 95 % intervals: exact ones of rates, and joined exact limits of differences and "
    "ratios (docs/report.md). With many groups some intervals miss by chance. A difference says nothing of its cause."
)


def parities_of(subject: Subject) -> tuple[Parity, ...]:
    """The figures of every grouping for the positive class, or of more classes for each."""
    rows, graph = subject.rows, subject.graph
    if rows is None:
        return ()
    asked = [1] if subject.binary else range(len(graph.classes))
    return tuple(
        parity(grouping, graph.classes[k], rows.y == k, rows.decided == k, rows.weight)
        for grouping in rows.groups
        for k in asked
    )


def groups_section(subject: Subject, found: tuple[Parity, ...]) -> ReportSection:
    """A table for each grouping and rate."""
    rows = subject.rows
    blocks: list[Block] = []
    if rows is None:
        blocks.append(Text("No labelled rows were given, so no groups are measured.", "note"))
    elif not found:
        blocks.append(Text(NONE_ASKED, "note"))
    else:
        blocks += [Text(SAID, "quiet"), *_weights(rows)]
    for each in found:
        blocks += _shown(each)
    return ReportSection("groups", "Figures by group", tuple(blocks), {"groupings": [_data(each) for each in found]})


def _weights(rows: MeasuredRows) -> list[Block]:
    return [Text(WEIGHTED, "quiet")] if rows.weight is not None else []


def _data(found: Parity) -> dict[str, object]:
    return {**asdict(found), "largest_difference": found.spread}


def _shown(found: Parity) -> list[Block]:
    spread = ", ".join(
        f"{measure} {share_text(value).replace(' %', '')}"
        for measure, value in found.spread.items()
        if value is not None
    )
    blocks: list[Block] = [
        Heading(f"By {name(found.column)}, of {quoted(found.label)}"),
        Text(f"Largest differences between two groups, in percentage points: {spread or 'none'}."),
    ]
    if any(group.effective_n != group.rows for group in found.groups):
        blocks.append(_groups_table(found))
    titles = columns("group", "rows#", "rate#", "|", "difference#", "ratio#")
    for measure in MEASURES:
        base = next(group for group in found.groups if group.name == found.reference).rate(measure)
        lines = []
        for group in found.groups:
            rate = group.rate(measure)
            bar = None if rate.share is None else ShareBar(rate.share, rate.low, rate.high, base.share)
            compared = (
                ("reference", "reference")
                if group.name == found.reference
                else (compared_text(rate.difference, 100.0, signed=True), compared_text(rate.ratio, places=2))
            )
            marks = ("few rows",) if rate.effective_n < SMALL else ()
            lines.append(
                cells(
                    Cell(group.name, marks=marks),
                    rows_text(rate.rows),
                    bounded_share(rate.share, rate.low, rate.high),
                    Cell(bar=bar),
                    *compared,
                )
            )
        blocks.append(ReportTable(f"{measure[0].upper()}{measure[1:]}: {_MEANINGS[measure]}", titles, tuple(lines)))
    return blocks


_MEANINGS = {
    "selection rate": "rows decided for it, of all",
    "true positive rate": "decided for it, of the rows that are",
    "false positive rate": "decided for it, of the rows that are not",
    "accuracy": "decided rightly, of all",
    "precision": "those that are, of the rows decided for it",
}


def _groups_table(found: Parity) -> ReportTable:
    titles = columns("group", "rows#", "share#", "effective rows#")
    lines = tuple(
        cells(
            group.name, rows_text(group.rows), share_text(group.share_of_rows), rows_text(round(group.effective_n, 1))
        )
        for group in found.groups
    )
    return ReportTable("Groups", titles, lines)
