"""What is proved: promises and rules of the model, and whether its artifacts decide as it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.audit.checks.checking import Checked, check_lines
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Heading,
    ReportSection,
    ReportTable,
    TableColumn,
    Text,
    Tone,
    cells,
    columns,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.files.json_values import count, mapping, number
from rulekit.graph.language.figures import rows_text
from rulekit.graph.language.words import counted

_TONES: dict[str, Tone] = {"proved": "good", "FAILS": "bad", "open": "note", "not proved": "note"}
_WORDS = {"FAILS": "broken"}


def checks_section(checked: Checked) -> ReportSection:
    """A line for each promise, for what is proved of all rules, for each kind of finding and for what is open."""
    rows: list[tuple[str, list[str]]] = []
    for word, text in check_lines(checked):
        if word:
            rows.append((word, [text.replace(" (--all)", "")]))
        else:
            rows[-1][1].append(text.strip())
    lines = tuple(
        cells(
            Cell(_WORDS.get(word, word), tone=_TONES.get(word, "plain")),
            Cell(lines=((0, texts[0]), *((1, text) for text in texts[1:]))),
        )
        for word, texts in rows
    )
    broken = sum(verdict.outcome == "fails" for verdict in checked.verdicts)
    blocks: list[Block] = [
        Text(
            "Proved means for every row that there can be, not for the rows that were seen; broken is shown by a row. "
            "Nothing is guessed: what could not be decided is said."
        ),
    ]
    if broken:
        blocks.append(Text(f"{counted(broken, 'promise')} broken.", "bad"))
    blocks.append(ReportTable("", columns("outcome", TableColumn("what", "rule")), lines))
    return ReportSection("checks", "Constraints and checks", tuple(blocks), checked.as_dict())


NONE_GIVEN = (
    "No verification was given: `rulekit verify MODEL ARTIFACT --report parity.json` writes one, and `rulekit report "
    "--verification parity.json`, or `--artifact ARTIFACT`, shows it here."
)
NOT_REPEATED = (
    "So says the file that was given; this report did not repeat it. --artifact ARTIFACT verifies one now, and "
    "`rulekit verify ARTIFACT --against REPORT` repeats a report and checks its signature."
)
_METHODS = {
    "cells": "every cell of the inputs was run",
    "normal form": "its operators, read back, are the same formula",
    "solver": "a solver found no difference",
}


def verification_section(subject: Subject) -> ReportSection:
    """The verdict, the proof and the rows of each report; a report of another model is named as such."""
    found = subject.verifications
    blocks: list[Block] = [] if found else [Text(NONE_GIVEN, "note")]
    for name, content in found.items():
        blocks += _shown(name, content, subject.graph.digest, name in subject.verified)
    return ReportSection("verification", "Verification of artifacts", tuple(blocks), {"reports": dict(found)})


def foreign(content: Mapping[str, Any], digest: str) -> bool:
    """Whether a report is of another model."""
    return content.get("digest") != digest


def _shown(name: str, content: Mapping[str, Any], digest: str, here: bool) -> list[Block]:
    """here: whether the verification was made for this report, so that nobody need believe its file."""
    blocks: list[Block] = [Heading(f"{name}: {content.get('target')}")]
    if not here:
        blocks.append(Text(NOT_REPEATED, "note"))
    if foreign(content, digest):
        blocks.append(Text("This report is of another model, and says nothing of this one.", "bad"))
    different = content.get("different_decisions")
    proved = content.get("proof") == "proved"
    if content.get("ok") is True:
        method = _METHODS.get(str(content.get("proof_method")), "")
        cells = content.get("proof_cells")
        cells_said = f" ({rows_text(cells)} cells)" if type(cells) is int and cells else ""
        said = f"Proved: it decides every possible row as the model does; {method}{cells_said}."
        if not proved:
            said = f"It decided every row that was tried as the model does. Not proved: {content.get('proof_reason')}."
        blocks.append(Text(said, "good" if proved and here else "note"))
    else:
        reason = content.get("not_run") or f"{different} decisions differ"
        blocks.append(Text(f"It does not decide as the model does, or says what is not so: {reason}.", "bad"))
    probabilities = "proved on every cell" if content.get("proof_probabilities") is True else "compared on these rows"
    pairs = [
        ("rows made beside every cut", _rows(content.get("adversarial_rows"))),
        ("rows of a table", _rows(content.get("given_rows"))),
        ("different decisions", _rows(different)),
        ("probabilities", f"within {_gap(content.get('largest_gap'))}, {probabilities}"),
        ("rules inside the artifact", str(content.get("carried"))),
        ("versions", ", ".join(f"{k} {v}" for k, v in mapping(content.get("versions")).items()) or "not stated"),
        ("sha256 of the artifact", str(content.get("sha256"))),
        ("signature", "there is one, which was not checked here" if content.get("signature") else "none"),
    ]
    blocks.append(Facts(tuple(pairs), frozenset({"sha256 of the artifact"})))
    return blocks


def _rows(value: Any) -> str:
    return rows_text(value) if count(value) is not None else "not stated"


def _gap(value: Any) -> str:
    return f"{value:.1g}" if number(value) is not None else "not stated"
