"""The view for people: rules under a heading, wrapped and aligned to the width of the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from rulekit.graph.language.figures import worded
from rulekit.graph.language.text import promises
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable, wrapped
from rulekit.shown.rule_rows import Line, Row
from rulekit.shown.score_cards import rounds_lines, table_lines, total_table
from rulekit.shown.sections import Section, closing, legend_of, links, missing_note, reported, sections, summary

NARROWEST = 40
MIN_ROOM = 20


def show(graph: RuleGraph, width: int | None = None, full: bool = False) -> str:
    """The rules of a graph for people; not a format to be read back (that is the rule language).

    width: columns of text, at least 40; None asks the terminal. full: every level of every category, and the weighted
    rules behind reported probabilities that do not decide; otherwise long level lists are cut, and a line says that
    there are such rules. Ends with a line break.
    """
    columns = max(NARROWEST, width or shutil.get_terminal_size((80, 24)).columns)
    parts = sections(graph, full)
    lines = [line for part in parts for line in _section(part, columns)]
    ending = [closing(graph), *filter(None, [missing_note(graph)])]
    fits = len("   ".join(ending)) <= columns
    for text in ["   ".join(ending)] if fits else ending:
        lines += wrapped(text, columns, "  ")
    meaning = legend_of(parts)
    lines += wrapped(meaning, columns, "  ") * bool(meaning)
    stated = promises(graph)
    if stated:
        lines += ["", *wrapped("Promised (rulekit check proves each, or shows a row that breaks it):", columns, "  ")]
        lines += [line for promise in stated for line in wrapped(f"  {promise.text}", columns, "    ")]
    behind = reported(graph) if full else ()
    for part in behind:
        lines += ["", *_section(part, columns)]
    if not meaning and (other := legend_of(behind)):
        lines += wrapped(other, columns, "  ")
    beside = [links(graph), "" if full else summary(graph)]
    for text in filter(None, beside):
        lines += ["", *wrapped(text, columns, "  ")]
    totals = total_table(graph)
    if totals is not None:
        lines += ["", *table_lines(totals, columns, full)]
    lines += rounds_lines(graph, columns, full)
    return "\n".join(printable(line).rstrip() for line in lines) + "\n"


def _section(section: Section, width: int) -> list[str]:
    """Heading and rules; figures stand at the right, a line for each table that says something of the rule.

    The first beside the last line of a conjunction, or the first of an outline.
    """
    ids = max((len(row.id) for row in section.rows), default=0)
    points = _points(section.rows)
    weights = max(map(len, points), default=0)
    indent = 2 + 2 * any(row.group for row in section.rows)
    margin = indent + ids + 2 + (weights + 2 if weights else 0)
    # The weights of rules that are one line each are aligned.
    single = max((len(row.outline[0].weight) for row in section.rows if len(row.outline) == 1), default=0)
    beside = max(MIN_ROOM, width - margin - 2)
    # Of a nested rule that never fires by itself nothing is told.
    told = [() if row.outline and not any(f.n for f in row.figures) else worded(row.figures) for row in section.rows]
    notes = [[piece for note in each for piece in wrapped(note, beside, "  ")] for each in told]
    room = width - max((len(note) for row in notes for note in row), default=0) - 2
    lines = wrapped(section.heading, width, "    ")
    beside_heading = "; ".join(filter(None, (section.signs, section.base_rates)))
    if beside_heading:
        lines += wrapped(f"  ({beside_heading})", width, "   ")
    placed: list[tuple[int, str]] = []
    group = ""
    for row, written, found in zip(section.rows, points, notes, strict=True):
        pieces = outlined(row.outline, width - margin, single) if row.outline else [_conditions(row, width - margin)]
        body, upper_lines = [line for piece in pieces for line in piece], len(pieces[0])
        if row.group != group:
            group = row.group
            lines += wrapped(f"  {group}", width, "    ")
        head = f"{'':{indent}}{row.id:{ids}}  " + (f"{written:{weights}}  " if weights else "")
        below = [" " * (margin - 2 * text.startswith("and ")) + text for text in body[1:]]
        upper, lower = [head + body[0], *below[: upper_lines - 1]], below[upper_lines - 1 :]
        if found and len(upper[-1]) > room:
            upper.append(" " * margin)
        lines += upper
        for number, note in enumerate(found):
            lines += [" " * margin] * bool(number)
            placed.append((len(lines) - 1, note))
        lines += lower
        if row.signed:
            lines += wrapped(f"{'':{margin}}{printable(row.signed)}", width, " " * (margin + 2))
    column = max((len(lines[i]) for i, _ in placed), default=0) + 2
    for i, note in placed:
        lines[i] = f"{lines[i]:{column}}{note}"
    return lines


def _conditions(row: Row, room: int) -> list[str]:
    """Conditions joined by `and`, as many on a line as there is room; a continued line begins with `and`."""
    lines: list[str] = []
    current, *rest = row.under or row.conditions
    for condition in rest:
        if len(f"{current} and {condition}") > room:
            lines += wrapped(current, room, "    ")
            current = f"and {condition}"
        else:
            current += f" and {condition}"
    return lines + wrapped(current, room, "    ")


def outlined(lines: Sequence[Line], room: int, least: int = 0) -> list[list[str]]:
    """For each line of an outline its text, in several pieces where it is long.

    Two spaces deeper for each level, the weights of one list aligned; least: columns for a weight at the top.
    """
    last, lists, longest = dict[int, int](), list[tuple[int, int]](), dict[tuple[int, int], int]()
    for i, line in enumerate(lines):
        last[line.depth] = i
        lists.append((line.depth, last.get(line.depth - 1, -1)))  # a list stands below the last line above its depth
        longest[lists[i]] = max(longest.get(lists[i], 0 if line.depth else least), len(line.weight))
    written: list[list[str]] = []
    for line, of in zip(lines, lists, strict=True):
        indent = "  " * line.depth
        weight = f"{line.weight:{longest[of]}}  " if line.weight else ""
        free = room - len(indent) - len(weight)
        if free >= MIN_ROOM:
            first, *rest = wrapped(line.text, free, "  ")
            written.append([indent + weight + first, *(indent + " " * len(weight) + piece for piece in rest)])
        else:
            pieces = wrapped(f"{line.weight}  {line.text}".strip(), max(1, room - len(indent)), "  ")
            written.append([indent + piece for piece in pieces])
    return written


def _points(rows: Sequence[Row]) -> list[str]:
    """The weights of rows with their signs, one point below the other; "" of none."""
    parts = [("" if row.weight is None else _signed(row.weight)).partition(".") for row in rows]
    before, behind = (max((len(part[k]) for part in parts), default=0) for k in (0, 2))
    room = behind + 1 if behind else 0
    return [f"{whole:>{before}}{point + fraction:{room}}" if whole else "" for whole, point, fraction in parts]


def _signed(points: float) -> str:
    short = f"{points:+.4g}" if points else "0"
    return short if float(short) or not points else f"{points:+}"
