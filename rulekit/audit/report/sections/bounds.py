"""How far the error of a model may lie from the errors that were counted."""

from __future__ import annotations

from rulekit.audit.guarantees.bound_lines import bound_lines
from rulekit.audit.guarantees.bounds import bounds_of
from rulekit.audit.report.blocks import Block, Heading, Section, Text
from rulekit.audit.report.subject import Subject


def bounds_section(subject: Subject) -> Section:
    """What `rulekit bounds` says of the same rows."""
    found = bounds_of(subject.graph, subject.rows)
    blocks: list[Block] = []
    for line in bound_lines(found):
        text = line.strip()[0].upper() + line.strip()[1:]
        tone = "quiet" if line.startswith("    ") else "plain"
        blocks.append(Text(text, tone) if line.startswith(" ") else Heading(text))  # type: ignore[arg-type]
    return Section("bounds", "How sure the error is", tuple(blocks), found.as_dict())
