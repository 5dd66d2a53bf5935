"""How far the error of a model may lie from the errors that were counted."""

from __future__ import annotations

from dataclasses import asdict

from rulekit.audit.guarantees.bounds import bound_lines, bounds_of
from rulekit.audit.report.blocks import Heading, Section, Text
from rulekit.audit.report.subject import Subject


def bounds_section(subject: Subject) -> Section:
    """What `rulekit bounds` says of the same rows."""
    found = bounds_of(subject.graph, subject.rows)
    lines = ((line.startswith(" "), line.lstrip()) for line in bound_lines(found))
    blocks = tuple((Text if below else Heading)(text[0].upper() + text[1:]) for below, text in lines)
    return Section("bounds", "How sure the error is", blocks, asdict(found))
