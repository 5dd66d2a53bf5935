"""Promises and rules of the model, each proved, broken by a row, or open: as `rulekit check` says it."""

from __future__ import annotations

from rulekit.audit.checks.check_lines import check_lines
from rulekit.audit.checks.checking import Checked
from rulekit.audit.report.blocks import Block, Cell, Column, Section, Table, Text, Tone, cells
from rulekit.graph.language.readable import counted

_TONES: dict[str, Tone] = {"proved": "good", "FAILS": "bad", "open": "note", "not proved": "note"}
_WORDS = {"FAILS": "broken"}


def checks_section(checked: Checked) -> Section:
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
    blocks.append(Table("", (Column("outcome"), Column("what", "rule")), lines))
    return Section("checks", "Constraints and checks", tuple(blocks), checked.as_dict())
