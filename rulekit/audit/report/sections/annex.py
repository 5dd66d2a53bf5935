"""Where in the report a reader finds what rules on documentation ask for; it promises no compliance.

Annex IV of Regulation (EU) 2024/1689 (the AI Act) lists the technical documentation of a high-risk system; SR letter
26-2 of the Board of Governors of the Federal Reserve System (17 April 2026, with the OCC and the FDIC) is guidance on
model risk management, which has themes and no numbered list.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rulekit.audit.report.blocks import Cell, Column, Section, Table, Text, cells

SAID = (
    "The table says where this file answers what each text asks for; what it cannot know is left to its author. It is "
    "a guide for readers and no statement that the model, or this file, complies with anything."
)
BY_THE_AUTHOR = "by its author"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text asks for, and the ids of the sections that speak of it; none: left to the author."""

    source: str
    point: str
    what: str
    sections: tuple[str, ...] = ()


_ANNEX, _GUIDANCE = "AI Act, Annex IV", "SR 26-2"
ASKED = (
    Asked(_ANNEX, "1", "general description: purpose, provider, version", ("purpose", "summary")),
    Asked(_ANNEX, "2 (a)", "methods and steps of development", ("purpose", "sizes", "history")),
    Asked(_ANNEX, "2 (b)", "general logic, design choices, what is optimised", ("rules", "sizes")),
    Asked(_ANNEX, "2 (c)", "architecture: how components build on each other"),
    Asked(_ANNEX, "2 (d)", "data: provenance, scope, main characteristics", ("purpose", "columns")),
    Asked(_ANNEX, "2 (e)", "human oversight, and what helps people to interpret", ("rules", "score", "missing")),
    Asked(_ANNEX, "2 (f)", "changes that were determined beforehand", ("history",)),
    Asked(
        _ANNEX,
        "2 (g)",
        "validation and testing: data, metrics, discriminatory impacts",
        ("performance", "groups", "checks", "verification"),
    ),
    Asked(_ANNEX, "2 (h)", "cybersecurity"),
    Asked(
        _ANNEX,
        "3",
        "capabilities and limits, accuracy for groups of persons, input data",
        ("limits", "groups", "missing", "columns"),
    ),
    Asked(_ANNEX, "4", "why the metrics are appropriate", ("performance",)),
    Asked(_ANNEX, "5", "risk management system"),
    Asked(_ANNEX, "6", "changes through the lifecycle", ("history", "comparison")),
    Asked(_ANNEX, "7, 8", "standards applied, declaration of conformity"),
    Asked(_ANNEX, "9", "monitoring after it is placed on the market", ("drift",)),
    Asked(_GUIDANCE, "development", "purpose, design, data, limitations", ("purpose", "rules", "columns", "limits")),
    Asked(
        _GUIDANCE,
        "validation",
        "conceptual soundness, outcomes, benchmarks",
        ("checks", "performance", "stability", "sizes"),
    ),
    Asked(_GUIDANCE, "implementation", "the model in use is the one that was validated", ("verification",)),
    Asked(_GUIDANCE, "monitoring", "ongoing monitoring, changes", ("drift", "comparison", "history")),
    Asked(_GUIDANCE, "overrides", "expert judgement over the output of a model", ("history", "rules")),
    Asked(_GUIDANCE, "governance", "roles, inventory, materiality, vendors"),
)


def annex_section(titles: dict[str, str]) -> Section:
    """The table of what is asked and where it is answered; titles: of sections by id."""
    lines: dict[str, list[tuple[Cell, ...]]] = {}
    for asked in ASKED:
        known = [section for section in asked.sections if section in titles]
        links = tuple((section, titles[section]) for section in known)
        where = Cell(links=links) if known else Cell(BY_THE_AUTHOR, tone="quiet")
        lines.setdefault(asked.source, []).append(cells(asked.point, asked.what, where))
    columns = (Column("point"), Column("asks for"), Column("answered in", "rule"))
    tables = tuple(Table(source, columns, tuple(rows)) for source, rows in lines.items())
    data = {"asked": [asdict(asked) for asked in ASKED]}
    return Section("annex", "Where to find what Annex IV asks", (Text(SAID), *tables), data)
