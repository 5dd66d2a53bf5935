"""The view for people: rules under a heading, wrapped and aligned to the width of the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from rulekit.graph.language.figures import worded
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable, wrapped
from rulekit.shown.boosting_rounds import rounds_lines
from rulekit.shown.outline import Line, legend
from rulekit.shown.promises import promises
from rulekit.shown.rule_rows import Row
from rulekit.shown.score_cards import table_lines, total_table
from rulekit.shown.sections import Section, closing, links, missing_note, reported, sections, summary

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
    lines += _legend(parts, columns)
    stated = promises(graph)
    if stated:
        lines += ["", *wrapped("Promised (rulekit check proves each, or shows a row that breaks it):", columns, "  ")]
        lines += [line for promise in stated for line in wrapped(f"  {promise.text}", columns, "    ")]
    behind = reported(graph) if full else ()
    for part in behind:
        lines += ["", *_section(part, columns)]
    if not _legend(parts, columns):
        lines += _legend(behind, columns)
    beside = [links(graph), "" if full else summary(graph)]
    for text in filter(None, beside):
        lines += ["", *wrapped(text, columns, "  ")]
    totals = total_table(graph)
    if totals is not None:
        lines += ["", *table_lines(totals, columns, full)]
    lines += rounds_lines(graph, columns, full)
    return "\n".join(printable(line).rstrip() for line in lines) + "\n"


def _legend(parts: Sequence[Section], width: int) -> list[str]:
    weights = [line.weight for part in parts for row in part.rows for line in row.outline if line.weight]
    return wrapped(legend(weights), width, "  ") if weights else []


def _section(section: Section, width: int) -> list[str]:
    """Heading and rules; figures stand at the right, a line for each table that says something of the rule.

    The first beside the last line of a conjunction, or the first of an outline.
    """
    ids = max((len(row.id) for row in section.rows), default=0)
    points = _points(section.rows)
    weights = max(map(len, points), default=0)
    indent = 2 + 2 * any(row.group for row in section.rows)
    margin = indent + ids + 2 + (weights + 2 if weights else 0)
    bodies = _bodies(section.rows, width - margin)
    beside = max(MIN_ROOM, width - margin - 2)
    notes = [[piece for note in _notes(row) for piece in wrapped(note, beside, "  ")] for row in section.rows]
    room = width - max((len(note) for row in notes for note in row), default=0) - 2
    lines = wrapped(section.heading, width, "    ")
    beside_heading = "; ".join(filter(None, (section.signs, section.base_rates)))
    if beside_heading:
        lines += wrapped(f"  ({beside_heading})", width, "   ")
    placed: list[tuple[int, str]] = []
    group = ""
    for row, written, found, (body, upper_lines) in zip(section.rows, points, notes, bodies, strict=True):
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
        lines += [
            *lower,
            *(wrapped(f"{'':{margin}}{printable(row.signed)}", width, " " * (margin + 2)) if row.signed else []),
        ]
    column = max((len(lines[i]) for i, _ in placed), default=0) + 2
    for i, note in placed:
        lines[i] = f"{lines[i]:{column}}{note}"
    return lines


def _bodies(rows: Sequence[Row], room: int) -> list[tuple[list[str], int]]:
    """The lines of each rule, and beside which of them, from the first, its figures stand.

    The weights of rules that are one line each are aligned.
    """
    single = max((len(row.outline[0].weight) for row in rows if len(row.outline) == 1), default=0)
    bodies = []
    for row in rows:
        pieces = _pieces(row.outline, room, single) if row.outline else [_conditions(row, room)]
        bodies.append(([line for piece in pieces for line in piece], len(pieces[0])))
    return bodies


def _conditions(row: Row, room: int) -> list[str]:
    """Conditions joined by `and`, as many on a line as there is room; a continued line begins with `and`."""
    lines: list[str] = []
    current = ""
    for i, condition in enumerate(row.under or row.conditions):
        piece = condition if i == 0 else f"and {condition}"
        if current and len(current) + 1 + len(piece) > room:
            lines += wrapped(current, room, "    ")
            current = piece
        else:
            current = f"{current} {piece}" if current else piece
    return lines + wrapped(current, room, "    ")


def outlined(lines: Sequence[Line], room: int, least: int = 0) -> list[str]:
    """An outline as text: two spaces deeper for each level, the weights of one list aligned, long conditions wrapped.

    least: columns for the weight of a line at the top.
    """
    return [text for pieces in _pieces(lines, room, least) for text in pieces]


def _pieces(lines: Sequence[Line], room: int, least: int) -> list[list[str]]:
    """For each line of an outline its text, in several pieces where it is long."""
    written: list[list[str]] = []
    for line, column in zip(lines, _weight_columns(lines, least), strict=True):
        indent = "  " * line.depth
        weight = f"{line.weight:{column}}  " if line.weight else ""
        free = room - len(indent) - len(weight)
        if free >= MIN_ROOM:
            pieces = wrapped(line.text, free, "  ")
            blank = " " * len(weight)
            written.append([f"{indent}{blank if number else weight}{piece}" for number, piece in enumerate(pieces)])
        else:
            pieces = wrapped(f"{line.weight}  {line.text}".strip(), max(1, room - len(indent)), "  ")
            written.append([indent + piece for piece in pieces])
    return written


def _weight_columns(lines: Sequence[Line], least: int) -> list[int]:
    """For each line the width of the longest weight among the lines of its list."""
    columns = [0] * len(lines)
    lists: dict[int, list[int]] = {}
    for i, line in enumerate([*lines, Line(-1, "")]):
        for depth in [d for d in lists if d > line.depth]:  # a list ends where a shallower line comes
            members = lists.pop(depth)
            longest = max(len(lines[j].weight) for j in members)
            for j in members:
                columns[j] = max(longest, least) if depth == 0 else longest
        lists.setdefault(line.depth, []).append(i)
    return columns


def _points(rows: Sequence[Row]) -> list[str]:
    """The weights of rows with their signs, one point below the other; "" of none."""
    texts = ["" if row.weight is None else _signed(row.weight) for row in rows]
    wholes, _, fractions = zip(*(text.partition(".") for text in texts), strict=True) if texts else ((), (), ())
    before, behind = max(map(len, wholes), default=0), max(map(len, fractions), default=0)
    room = behind + 1 if behind else 0
    return [
        f"{whole:>{before}}{('.' + fraction) * bool(fraction):{room}}" if text else ""
        for text, whole, fraction in zip(texts, wholes, fractions, strict=True)
    ]


def _signed(points: float) -> str:
    short = f"{points:+.4g}" if points else "0"
    return short if float(short) or not points else f"{points:+}"


def _notes(row: Row) -> tuple[str, ...]:
    """What tables say of a rule; of a nested one that never fires by itself nothing."""
    if row.outline and not any(figures.n for figures in row.figures):
        return ()
    return worded(row.figures)
