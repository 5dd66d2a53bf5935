"""The view for people: rules under a heading, wrapped and aligned to the width of the terminal."""

from __future__ import annotations

import shutil
import textwrap

from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.words import one_line
from rulekit_exporters.text.sections import Row, Section, closing, missing_note, sections

NARROWEST = 40


def show(graph: RuleGraph, width: int | None = None) -> str:
    """The rules of a graph for people; not a format to be read back (that is the rule language).

    width: columns of text, at least 40; None asks the terminal. Ends with a line break.
    """
    columns = max(NARROWEST, width or shutil.get_terminal_size((100, 24)).columns)
    parts = sections(graph)
    lines = [line for part in parts if part.decides for line in _section(part, columns)]
    ending = [closing(graph), *filter(None, [missing_note(graph)])]
    fits = len("   ".join(ending)) <= columns
    for text in ["   ".join(ending)] if fits else ending:
        lines += _wrapped(text, columns, "  ")
    for part in parts:
        if not part.decides:
            lines += ["", *_section(part, columns)]
    return "\n".join(one_line(line).rstrip() for line in lines) + "\n"


def _section(section: Section, width: int) -> list[str]:
    """Heading and rules; figures stand beside the last line of a rule, or below it where they do not fit."""
    ids = max((len(row.id) for row in section.rows), default=0)
    weights = max((len(_weight(row)) for row in section.rows), default=0)
    margin = 2 + ids + 2 + (weights + 2 if weights else 0)
    bodies = [_conditions(row, width - margin) for row in section.rows]
    notes = [_note(row) for row in section.rows]
    room = width - max(map(len, notes), default=0) - 2
    lines = _wrapped(section.heading, width, "    ")
    placed: list[tuple[int, str]] = []
    for row, note, body in zip(section.rows, notes, bodies, strict=True):
        head = f"  {row.id:{ids}}  " + (f"{_weight(row):>{weights}}  " if weights else "")
        lines += [
            (head if i == 0 else " " * (margin - 2 * text.startswith("and "))) + text for i, text in enumerate(body)
        ]
        if note and len(lines[-1]) > room:
            lines.append(" " * margin)
        placed += [(len(lines) - 1, note)] * bool(note)
    column = max((len(lines[i]) for i, _ in placed), default=0) + 2
    for i, note in placed:
        lines[i] = f"{lines[i]:{column}}{note}"
    return lines


def _conditions(row: Row, room: int) -> list[str]:
    """Conditions joined by `and`, as many on a line as there is room; a continued line begins with `and`."""
    lines: list[str] = []
    current = ""
    for i, condition in enumerate(row.conditions):
        piece = condition if i == 0 else f"and {condition}"
        if current and len(current) + 1 + len(piece) > room:
            lines += _wrapped(current, room, "    ")
            current = piece
        else:
            current = f"{current} {piece}" if current else piece
    return lines + _wrapped(current, room, "    ")


def _weight(row: Row) -> str:
    if row.weight is None:
        return ""
    short = f"{row.weight:+.4g}"
    return short if float(short) else f"{row.weight:+}"


def _note(row: Row) -> str:
    said = (("covers", row.coverage), ("right", row.precision))
    return ", ".join(f"{what} {share * 100:.1f} %" for what, share in said if share is not None)


def _wrapped(text: str, width: int, hanging: str) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )
