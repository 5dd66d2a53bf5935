"""What other commands wrote in JSON, shown as it stands: facts, lists and tables of it, however it is built.

Stability, comparisons with other models and drift are given as files. A report knows no more of them than that they are
JSON values, and shows every value up to a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Heading,
    Items,
    ReportSection,
    ReportTable,
    TableColumn,
    Text,
    cells,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import UNKNOWN, number_text, share_text
from rulekit.graph.rule_graph import RuleGraph

MOST_ROWS, MOST_COLUMNS, MOST_ITEMS, MOST_IN_CELL, DEEPEST = 100, 10, 100, 8, 3
KINDS = {
    "stability": ("Stability", "how often the rules come back when the model is learned from other rows"),
    "comparison": ("Comparison", "where another model decides otherwise"),
    "drift": ("Drift", "how rows of later days differ from those of training"),
}
SHARES = {"share", "then", "now", "missing_then", "missing_now", "new_share", "mean", "never_in_doubt"} | {
    "rows_decided_alike",
    "false_alarm_rate",
    "tolerance",
    "largest_gap_of_probabilities",
}
"""Keys of numbers that are shares, which are said in percent."""
_COMMANDS = {"stability": "stability", "comparison": "compare", "drift": "monitor"}


def attached_section(subject: Subject, kind: str) -> ReportSection:
    """The files of one kind, or how to make one."""
    title, meaning = KINDS[kind]
    files = subject.attachments.get(kind, ())
    blocks: list[Block] = []
    if not files:
        command = _COMMANDS[kind]
        said = f"Not given. rulekit {command} says {meaning}; what it writes in JSON is shown here by --{kind} FILE."
        blocks.append(Text(said, "note"))
    for name, content in files:
        blocks += [Heading(name)] if len(files) > 1 else [Text(f"From {name}.", "quiet")]
        blocks += _verdict(kind, content, subject.graph)
        blocks += shown_json(content)
    return ReportSection(kind, title, tuple(blocks), {"files": [{"name": n, "content": c} for n, c in files]})


def _verdict(kind: str, content: Any, graph: RuleGraph) -> list[Block]:
    """What the file says in one sentence, where it is as its command writes it, and whether it is of this model."""
    if not isinstance(content, Mapping):
        return []
    blocks: list[Block] = []
    if not of_this_model(kind, content, graph):
        blocks.append(Text("This file is of another model, and says nothing of this one.", "bad"))
    if kind == "stability" and _is_number(content.get("dice_sorensen")):
        said = f"The rules of two of these models agree by {number_text(content['dice_sorensen'], 2)} (Dice-Sørensen)"
        blocks.append(Text(f"{said}, where 1 is all of them and 0 none."))
    elif kind == "comparison" and isinstance(content.get("equal"), bool):
        equal = content["equal"]
        said = "The two models decide every row alike." if equal else "The two models do not decide every row alike."
        blocks.append(Text(f"The file says: {said}", "note"))
    elif kind == "drift" and isinstance(content.get("alike"), bool):
        alike = content["alike"]
        if alike and content.get("few_rows") is True:
            return [*blocks, Text("The file says: These are too few rows to compare with those of training.", "note")]
        said = "The rows are like those of training." if alike else "The rows are not like those of training."
        blocks.append(Text(f"The file says: {said}", "note"))
    return blocks


def of_this_model(kind: str, content: Mapping[str, Any], graph: RuleGraph) -> bool:
    """Whether a file names this model, that beneath its overrides, or none."""
    named: list[Any] = [content.get("digest")]
    models = content.get("models")
    if kind == "comparison" and isinstance(models, list):
        named = [model.get("digest") for model in models if isinstance(model, Mapping)]
    known = [each for each in named if isinstance(each, str)]
    return not known or graph.digest in known or graph.underlying.digest in known


def shown_json(value: Any, depth: int = 0) -> list[Block]:
    """JSON values as blocks: scalars of an object as facts, its lists and objects below headings of their own."""
    if isinstance(value, Mapping):
        plain = [(_words(key), _said(key, item)) for key, item in value.items() if _is_short(item) and item != ""]
        blocks: list[Block] = [Facts(tuple(plain))] if plain else []
        for key, item in value.items():
            if not _is_short(item) and item:
                words = _words(key)
                blocks.append(Heading(f"{words[:1].upper()}{words[1:]}"))
                blocks += [Text(_nested(item))] if depth >= DEEPEST else shown_json(item, depth + 1)
        return blocks
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, Mapping) for item in value):
            return [_table(value)]
        more = len(value) - MOST_ITEMS
        items = [_nested(item) for item in value[:MOST_ITEMS]] + ([f"and {more} more"] if more > 0 else [])
        return [Items(tuple(items))] if items else [Text("none")]
    return [Text(scalar_text(value))]


def _table(rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    """Objects as the rows of a table whose columns are their keys."""
    every = dict.fromkeys(key for row in rows[:MOST_ROWS] for key in row)
    keys = [key for key in every if any(row.get(key) not in (None, "", [], {}) for row in rows[:MOST_ROWS])]
    hidden = keys[MOST_COLUMNS:]
    keys = keys[:MOST_COLUMNS]
    numeric = {key: all(_is_number(row.get(key)) or row.get(key) is None for row in rows) for key in keys}
    titles = tuple(TableColumn(_words(key), "number" if numeric[key] else "text") for key in keys)
    lines = tuple(cells(*(_cell(key, row.get(key)) for key in keys)) for row in rows[:MOST_ROWS])
    notes = [f"and {len(rows) - MOST_ROWS} more rows"] if len(rows) > MOST_ROWS else []
    notes += [f"not shown: {', '.join(map(_words, hidden))}"] if hidden else []
    return ReportTable("", titles, lines, "; ".join(notes))


def _cell(key: Any, value: Any) -> Cell:
    """A value in a cell: a line for each entry of an object, and for each object of a list."""
    if isinstance(value, Mapping):
        return Cell(lines=tuple((0, f"{_words(inner)} {_said(inner, item)}") for inner, item in value.items()))
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        more = len(value) - MOST_IN_CELL
        shown = [(0, _nested(item)) for item in value[:MOST_IN_CELL]]
        return Cell(lines=(*shown, *([(0, f"and {more} more")] if more > 0 else [])))
    return Cell(_said(key, value))


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
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number_text(float(value)) if math.isfinite(value) else str(value)
    return str(value)


def _nested(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{_words(key)} {_said(key, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        more = len(value) - MOST_ITEMS
        return ", ".join(map(_nested, value[:MOST_ITEMS])) + (f" and {more} more" if more > 0 else "")
    return scalar_text(value)


def _said(key: Any, value: Any) -> str:
    """The value of a key in one line, in percent where the key names a share."""
    if key in SHARES and _is_number(value) and 0.0 <= value <= 1.0:
        return share_text(float(value))
    return _nested(value)


def _words(key: Any) -> str:
    return str(key).replace("_", " ")
