"""How the rules cover the rows: how many rules hold on a row, and which pairs of rules hold together."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from rulekit.audit.report.blocks import Block, ReportSection, ReportTable, TableColumn, Text, cells, columns
from rulekit.audit.report.subject import MeasuredRows, Subject
from rulekit.graph.language.figures import rows_text, share_text
from rulekit.graph.language.words import quoted

MOST_PAIRS = 2_000
MOST_SHOWN = 20
_MOST_COUNTED = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rules: on how many rows both hold, and on how many of those each holds alone against the other.

    of_first, of_second: the share of the rows of the one on which the other holds too. same_class: whether they speak
    for one class.
    """

    first: str
    second: str
    together: int
    of_first: float
    of_second: float
    same_class: bool


def coverage_section(subject: Subject) -> ReportSection:
    """How many rows have no rule, one, or several, and how many rows each pair covers together."""
    rows, rules = subject.rows, subject.rules
    if rows is None or not rules:
        why = "No labelled rows were given, so it is not counted which rules hold together." if rules else ""
        return ReportSection("coverage", "Coverage and overlaps", (Text(why or "The model has no rules.", "note"),), {})
    held = np.bincount(rows.fired.sum(axis=1))
    pairs = pairs_of(subject, rows)
    meeting = [pair for pair in pairs if pair.together]
    blocks: list[Block] = [
        Text(f"On {rows_text(len(rows))} rows of {rows.name}; a row counts once, whatever it weighs."),
        _held_table(held, len(rows)),
    ]
    if len(rules) > 1:
        none = len(pairs) - len(meeting)
        said = (
            f"{none} of {len(pairs)} pairs of rules hold on no row together"
            if none
            else "Every pair of rules holds together on some row"
        )
        blocks.append(Text(f"{said}."))
    if meeting:
        blocks.append(_pairs_table(subject, meeting))
    data = {
        "rows": len(rows),
        "rows_by_number_of_rules": held.tolist(),
        "pairs": [asdict(pair) for pair in meeting],
        "pairs_looked_at": len(pairs),
    }
    return ReportSection("coverage", "Coverage and overlaps", tuple(blocks), data)


def pairs_of(subject: Subject, rows: MeasuredRows) -> list[Pair]:
    """The pairs of the first rules, those that meet most often first."""
    rules = subject.rules[: int((2 * MOST_PAIRS) ** 0.5)]
    active = rows.fired[:, : len(rules)].astype(np.float32)
    both = np.rint(active.T @ active).astype(np.int64)
    own = both.diagonal()
    found = [
        Pair(
            rules[i].id,
            rules[j].id,
            int(both[i, j]),
            float(both[i, j] / max(1, own[i])),
            float(both[i, j] / max(1, own[j])),
            rules[i].class_index == rules[j].class_index,
        )
        for i in range(len(rules))
        for j in range(i + 1, len(rules))
    ]
    return sorted(found, key=lambda pair: -pair.together)


def _held_table(held: np.ndarray, n_rows: int) -> ReportTable:
    counts = held.tolist()
    if len(counts) > _MOST_COUNTED:
        counts = [*counts[: _MOST_COUNTED - 1], sum(counts[_MOST_COUNTED - 1 :])]
    names = ["no rule", "one rule", *(f"{k} rules" for k in range(2, len(counts)))]
    if len(counts) == _MOST_COUNTED < len(held):
        names[-1] = f"{_MOST_COUNTED - 1} rules or more"
    lines = [cells(name, rows_text(n), share_text(n / n_rows)) for name, n in zip(names, counts, strict=False)]
    titles = columns("rows on which hold", "rows#", "share#")
    return ReportTable("Rules that hold on a row", titles, tuple(lines))


def _pairs_table(subject: Subject, meeting: list[Pair]) -> ReportTable:
    labels = {rule.id: quoted(subject.graph.classes[rule.class_index]) for rule in subject.rules}
    several = len({*labels.values()}) > 1

    def said(rule: str) -> str:
        return f"{rule} ({labels[rule]})" if several else rule

    lines = tuple(
        cells(
            said(pair.first),
            said(pair.second),
            rows_text(pair.together),
            share_text(pair.of_first),
            share_text(pair.of_second),
        )
        for pair in meeting[:MOST_SHOWN]
    )
    titles = columns(
        TableColumn("rule", "id"), TableColumn("and rule", "id"), "rows of both#", "of the first's#", "of the second's#"
    )
    more = len(meeting) - MOST_SHOWN
    return ReportTable(
        "Pairs of rules that hold together", titles, lines, f"and {more} pairs with fewer rows" if more > 0 else ""
    )
