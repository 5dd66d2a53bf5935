"""The report of a model: its sections in their order, made from one subject."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rulekit.audit.checks.checking import check_model
from rulekit.audit.report.blocks import ReportSection
from rulekit.audit.report.column_sections import columns_section, missing_section
from rulekit.audit.report.evidence import KINDS, attached_section, checks_section, verification_section
from rulekit.audit.report.limits import limits_of, limits_section, summary_section
from rulekit.audit.report.measured_sections import bounds_section, groups_section, parities_of, performance_section
from rulekit.audit.report.origins import annex_section, history_section, purpose_section, sizes_section
from rulekit.audit.report.rule_sections import (
    coverage_section,
    probability_section,
    rule_entries,
    rules_section,
    score_section,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.words import name
from rulekit.limits import NO_LIMIT, Deadline

FORMAT, VERSION = "rulekit report", 1
SEARCHING = 0.6  # of a limit of time; the rest is for the sections


@dataclass(frozen=True)
class Document:
    """A title, what stands under it, and sections; every layout shows these."""

    title: str
    subtitle: str
    sections: tuple[ReportSection, ...]
    digest: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The content as JSON values, section by section."""
        contents: Mapping[str, Any] = {section.id: dict(section.data) for section in self.sections}
        return {"format": FORMAT, "version": VERSION, "title": self.title, "digest": self.digest, **contents}

    def section(self, section_id: str) -> ReportSection:
        """The section of an id."""
        return next(section for section in self.sections if section.id == section_id)


def document(subject: Subject, version: str, deadline: Deadline = NO_LIMIT) -> Document:
    """The report of a subject; version: of rulekit. What is not proved by the deadline is open."""
    graph, said = subject.graph, subject.said
    searching = deadline if deadline.seconds is None else deadline.within(SEARCHING * deadline.left)
    checked = check_model(graph, deadline=searching)
    deadline.tell("the sections", 0.0)
    groups = parities_of(subject)
    rules = rule_entries(subject)
    limits = limits_of(subject, checked, groups, rules)
    performance = performance_section(subject)
    sections = [
        summary_section(subject, performance.data, checked, groups, limits),
        purpose_section(subject, version),
        rules_section(subject, rules),
        score_section(subject),
        missing_section(subject, checked),
        coverage_section(subject),
        performance,
        bounds_section(subject),
        groups_section(subject, groups),
        columns_section(subject),
        checks_section(checked),
        verification_section(subject),
        probability_section(subject),
        sizes_section(subject),
        history_section(subject),
        *(attached_section(subject, kind) for kind in KINDS),
        limits_section(limits),
    ]
    sections.append(annex_section({section.id: section.title for section in sections}))
    title = said.title or f"Rules for {name(graph.schema.target)}"
    parts = [part for part in (said.author, said.date) if part]
    subtitle = ", ".join([*parts, f"model {graph.digest[:12]}"])
    return Document(title, subtitle, tuple(sections), graph.digest)


def json_text(document: Document) -> str:
    """The content as JSON text; the same for the same subject."""
    return json.dumps(document.data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
