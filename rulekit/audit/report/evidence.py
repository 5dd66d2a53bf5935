"""What is proved of the model and its artifacts, and what other commands wrote of it in JSON, shown as it stands.

Stability, comparisons with other models and drift are given as files. A report knows no more of them than that they are
JSON values, and shows every value up to a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rulekit.audit.checks.checking import check_lines
from rulekit.audit.report.blocks import Block, Cell, Facts, Items, ReportSection, ReportTable, Text, Tone, table
from rulekit.audit.report.subject import Subject
from rulekit.graph.files.safe_files import count, mapping, number
from rulekit.graph.language.figures import UNKNOWN, number_text, rows_text, share_text
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import RuleGraph

_TONES: dict[str, Tone] = {"proved": "good", "FAILS": "bad", "open": "note", "not proved": "note"}
_MEANING_OF_PROVED = (
    "Proved means for every row that there can be, not for the rows that were seen; broken is shown by a row. "
    "Nothing is guessed: what could not be decided is said."
)


def checks_section(subject: Subject) -> ReportSection:
    """A line for each promise, for what is proved of all rules, for each kind of finding and for what is open."""
    checked = subject.checked
    rows: list[tuple[Cell, list[tuple[int, str]]]] = []
    for word, text in check_lines(checked):
        if word:
            outcome = Cell("broken" if word == "FAILS" else word, tone=_TONES.get(word, "plain"))
            rows.append((outcome, [(0, text.replace(" (--all)", ""))]))
        else:
            rows[-1][1].append((1, text.strip()))
    broken = sum(verdict.outcome == "fails" for verdict in checked.verdicts)
    said = [Text(f"{counted(broken, 'promise')} broken.", "bad")] * bool(broken)
    lines = [(outcome, Cell(lines=own)) for outcome, own in rows]
    blocks: list[Block] = [Text(_MEANING_OF_PROVED), *said, table("", ("outcome", ("what", "rule")), lines)]
    return ReportSection("checks", "Constraints and checks", blocks, checked.as_dict())


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
        blocks += [Text(f"{name}: {content.get('target')}", "heading"), *_verdict_of(subject, name, content)]
    return ReportSection("verification", "Verification of artifacts", blocks, {"reports": dict(found)})


def foreign(content: Mapping[str, Any], digest: str) -> bool:
    """Whether a report is of another model."""
    return content.get("digest") != digest


def _verdict_of(subject: Subject, name: str, content: Mapping[str, Any]) -> list[Block]:
    here = name in subject.verified  # so that nobody need believe its file
    blocks: list[Block] = [] if here else [Text(NOT_REPEATED, "note")]
    if foreign(content, subject.graph.digest):
        blocks.append(Text("This report is of another model, and says nothing of this one.", "bad"))
    different, cells = content.get("different_decisions"), content.get("proof_cells")
    if content.get("ok") is not True:
        reason = content.get("not_run") or f"{different} decisions differ"
        blocks.append(Text(f"It does not decide as the model does, or says what is not so: {reason}.", "bad"))
    elif content.get("proof") == "proved":
        said = f" ({rows_text(cells)} cells)" if type(cells) is int and cells else ""
        method = _METHODS.get(str(content.get("proof_method")), "")
        said = f"Proved: it decides every possible row as the model does; {method}{said}."
        blocks.append(Text(said, "good" if here else "note"))
    else:
        why = content.get("proof_reason")
        blocks.append(Text(f"It decided every row that was tried as the model does. Not proved: {why}.", "note"))
    probabilities = "proved on every cell" if content.get("proof_probabilities") is True else "compared on these rows"
    gap = content.get("largest_gap")
    within = f"{gap:.1g}" if number(gap) is not None else "not stated"
    versions = ", ".join(f"{k} {v}" for k, v in mapping(content.get("versions")).items())
    pairs = [
        ("rows made beside every cut", _rows(content.get("adversarial_rows"))),
        ("rows of a table", _rows(content.get("given_rows"))),
        ("different decisions", _rows(different)),
        ("probabilities", f"within {within}, {probabilities}"),
        ("rules inside the artifact", str(content.get("carried"))),
        ("versions", versions or "not stated"),
        ("sha256 of the artifact", str(content.get("sha256"))),
        ("signature", "there is one, which was not checked here" if content.get("signature") else "none"),
    ]
    return [*blocks, Facts(pairs, frozenset({"sha256 of the artifact"}))]


def _rows(value: Any) -> str:
    return rows_text(value) if count(value) is not None else "not stated"


# What other commands wrote -------------------------------------------------------------------------------------------

MOST_ROWS, MOST_COLUMNS, MOST_ITEMS, MOST_IN_CELL, DEEPEST = 100, 10, 100, 8, 3
KINDS = {
    "stability": ("Stability", "stability", "how often the rules come back when the model is learned from other rows"),
    "comparison": ("Comparison", "compare", "where another model decides otherwise"),
    "drift": ("Drift", "monitor", "how rows of later days differ from those of training"),
}
"""By kind the title of its section, the command that writes its files, and what that says."""
_SAY: Mapping[tuple[str, Any], str] = {
    ("comparison", True): "The two models decide every row alike.",
    ("comparison", False): "The two models do not decide every row alike.",
    ("drift", True): "The rows are like those of training.",
    ("drift", False): "The rows are not like those of training.",
}
SHARES = {"share", "then", "now", "missing_then", "missing_now", "new_share", "mean", "never_in_doubt"} | {
    "rows_decided_alike",
    "false_alarm_rate",
    "tolerance",
    "largest_gap_of_probabilities",
}
"""Keys of numbers that are shares, which are said in percent."""


def attached_section(subject: Subject, kind: str) -> ReportSection:
    """The files of one kind, or how to make one."""
    title, command, meaning = KINDS[kind]
    files = subject.attachments.get(kind, ())
    blocks: list[Block] = []
    if not files:
        said = f"Not given. rulekit {command} says {meaning}; what it writes in JSON is shown here by --{kind} FILE."
        blocks.append(Text(said, "note"))
    for name, content in files:
        blocks.append(Text(name, "heading") if len(files) > 1 else Text(f"From {name}.", "quiet"))
        if isinstance(content, Mapping) and not of_this_model(kind, content, subject.graph):
            blocks.append(Text("This file is of another model, and says nothing of this one.", "bad"))
        blocks += [Text(said, tone) for said, tone in _verdict(kind, content)] + shown_json(content)
    return ReportSection(kind, title, blocks, {"files": [{"name": n, "content": c} for n, c in files]})


def _verdict(kind: str, content: Any) -> list[tuple[str, Tone]]:
    """What the file says in one sentence, where it is as its command writes it."""
    found = mapping(content)
    alike, agree = found.get({"comparison": "equal", "drift": "alike"}.get(kind, "")), found.get("dice_sorensen")
    if kind == "stability" and _is_number(agree):
        said = f"The rules of two of these models agree by {number_text(agree, 2)} (Dice-Sørensen)"
        return [(f"{said}, where 1 is all of them and 0 none.", "plain")]
    few = kind == "drift" and alike is True and found.get("few_rows") is True
    said = "These are too few rows to compare with those of training." if few else _SAY.get((kind, alike), "")
    return [(f"The file says: {said}", "note")] * isinstance(alike, bool)


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
        blocks: list[Block] = [Facts(plain)] if plain else []
        for key, item in value.items():
            if not _is_short(item) and item:
                words = _words(key)
                blocks.append(Text(f"{words[:1].upper()}{words[1:]}", "heading"))
                blocks += [Text(_said("", item))] if depth >= DEEPEST else shown_json(item, depth + 1)
        return blocks
    if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
        return [_table(value)]
    if isinstance(value, list | tuple):
        return [Items(items)] if (items := _some(value, MOST_ITEMS)) else [Text("none")]
    return [Text(_said("", value))]


def _some(values: Sequence[Any], most: int) -> list[str]:
    """Values in a line each, and how many more there are."""
    more = [f"and {len(values) - most} more"] if len(values) > most else []
    return [*(_said("", value) for value in values[:most]), *more]


def _table(rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    """Objects as the rows of a table whose columns are their keys."""
    every = dict.fromkeys(key for row in rows[:MOST_ROWS] for key in row)
    keys = [key for key in every if any(row.get(key) not in (None, "", [], {}) for row in rows[:MOST_ROWS])]
    keys, hidden = keys[:MOST_COLUMNS], keys[MOST_COLUMNS:]
    numeric = {key: all(_is_number(row.get(key)) or row.get(key) is None for row in rows) for key in keys}
    titles = [(_words(key), "number" if numeric[key] else "text") for key in keys]
    notes = [f"and {len(rows) - MOST_ROWS} more rows"] if len(rows) > MOST_ROWS else []
    notes += [f"not shown: {', '.join(map(_words, hidden))}"] if hidden else []
    lines = ([_cell(key, row.get(key)) for key in keys] for row in rows[:MOST_ROWS])
    return table("", titles, lines, "; ".join(notes))


def _cell(key: Any, value: Any) -> Cell:
    """A value in a cell: a line for each entry of an object, and for each object of a list."""
    if isinstance(value, Mapping):
        return Cell(lines=[(0, f"{_words(inner)} {_said(inner, item)}") for inner, item in value.items()])
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        return Cell(lines=[(0, text) for text in _some(value, MOST_IN_CELL)])
    return Cell(_said(key, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_short(value: Any) -> bool:
    """Whether a value is said in a few words: a scalar, or a short list of scalars."""
    if isinstance(value, list | tuple):
        plain = all(not isinstance(item, Mapping | list | tuple) for item in value)
        return plain and len(value) <= 8 and len(_said("", value)) <= 120
    return not isinstance(value, Mapping)


def _said(key: Any, value: Any) -> str:
    """The value of a key in one line, in percent where the key names a share."""
    if isinstance(value, Mapping):
        return "; ".join(f"{_words(inner)} {_said(inner, item)}" for inner, item in value.items())
    if isinstance(value, list | tuple):
        more = len(value) - MOST_ITEMS
        shown = ", ".join(_said("", item) for item in value[:MOST_ITEMS])
        return f"{shown} and {more} more" if more > 0 else shown
    if value is None or isinstance(value, bool):
        return {None: UNKNOWN, True: "yes", False: "no"}[value]
    if not isinstance(value, int | float) or not math.isfinite(value):
        return str(value)
    return share_text(float(value)) if key in SHARES and 0.0 <= value <= 1.0 else number_text(float(value))


def _words(key: Any) -> str:
    return str(key).replace("_", " ")
