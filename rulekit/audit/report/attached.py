"""What other commands wrote in JSON, shown as it stands: facts, lists and tables of it, however it is built.

Stability, comparisons with other models and drift are given as files. A report knows no more of them than that they are
JSON values, and shows every value up to a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rulekit.audit.report.blocks import Block, Column, Facts, Heading, Items, Section, Table, Text, cells
from rulekit.audit.report.numbers import NONE, number_text
from rulekit.audit.report.subject import Subject

MOST_ROWS, MOST_COLUMNS, MOST_ITEMS, DEEPEST = 100, 10, 100, 3
KINDS = {
    "stability": ("Stability", "how often the rules come back when the model is learned from other rows"),
    "comparison": ("Comparison", "where another model decides otherwise"),
    "drift": ("Drift", "how rows of later days differ from those of training"),
}
_COMMANDS = {"stability": "stability", "comparison": "compare", "drift": "monitor"}


def attached_section(subject: Subject, kind: str) -> Section:
    """The files of one kind, or how to make one."""
    title, meaning = KINDS[kind]
    files = subject.attachments.get(kind, ())
    blocks: list[Block] = []
    if not files:
        command = _COMMANDS[kind]
        said = f"Not given: `rulekit {command} ... --json` says {meaning}, and `--{kind} FILE` shows it here."
        blocks.append(Text(said, "note"))
    for name, content in files:
        blocks += [Heading(name)] if len(files) > 1 else [Text(f"From {name}.", "quiet")]
        blocks += shown_json(content)
    return Section(kind, title, tuple(blocks), {"files": [{"name": n, "content": c} for n, c in files]})


def shown_json(value: Any, depth: int = 0) -> list[Block]:
    """JSON values as blocks: scalars of an object as facts, its lists and objects below headings of their own."""
    if isinstance(value, Mapping):
        plain = [(_words(key), scalar_text(item)) for key, item in value.items() if _is_short(item)]
        blocks: list[Block] = [Facts(tuple(plain))] if plain else []
        for key, item in value.items():
            if not _is_short(item) and item:
                blocks.append(Heading(_words(key)))
                blocks += [Text(_nested(item))] if depth >= DEEPEST else shown_json(item, depth + 1)
        return blocks
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, Mapping) for item in value):
            return [_table(value)]
        more = len(value) - MOST_ITEMS
        items = [_nested(item) for item in value[:MOST_ITEMS]] + ([f"and {more} more"] if more > 0 else [])
        return [Items(tuple(items))] if items else [Text("none")]
    return [Text(scalar_text(value))]


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Objects as the rows of a table whose columns are their keys."""
    keys = list(dict.fromkeys(key for row in rows[:MOST_ROWS] for key in row))
    hidden = keys[MOST_COLUMNS:]
    keys = keys[:MOST_COLUMNS]
    numeric = {key: all(_is_number(row.get(key)) or row.get(key) is None for row in rows) for key in keys}
    titles = tuple(Column(_words(key), "number" if numeric[key] else "text") for key in keys)
    lines = tuple(cells(*(_nested(row.get(key)) for key in keys)) for row in rows[:MOST_ROWS])
    notes = [f"and {len(rows) - MOST_ROWS} more rows"] if len(rows) > MOST_ROWS else []
    notes += [f"not shown: {', '.join(map(_words, hidden))}"] if hidden else []
    return Table("", titles, lines, "; ".join(notes))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_short(value: Any) -> bool:
    """Whether a value is said in a few words: a scalar, or a short list of scalars."""
    if isinstance(value, list | tuple):
        plain = all(not isinstance(item, Mapping | list | tuple) for item in value)
        return plain and len(value) <= 8 and len(_nested(value)) <= 120
    return not isinstance(value, Mapping)


def scalar_text(value: Any) -> str:
    """A scalar, or a short list of them, as people read it."""
    if isinstance(value, list | tuple):
        return ", ".join(map(scalar_text, value)) or "none"
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number_text(float(value)) if math.isfinite(value) else str(value)
    return str(value)


def _nested(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{_words(key)} {_nested(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        more = len(value) - MOST_ITEMS
        return ", ".join(map(_nested, value[:MOST_ITEMS])) + (f" and {more} more" if more > 0 else "")
    return scalar_text(value)


def _words(key: Any) -> str:
    return str(key).replace("_", " ")
