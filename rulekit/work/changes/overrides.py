"""Overrides of a model: put on, taken off, and listed, with what they change and what is proved of them.

The date is told, never taken from the clock, which only says what has expired: a model decides alike whenever it runs.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rulekit.audit.checks.kept_promises import Searches, override_verdicts
from rulekit.errors import GraphError, InputError
from rulekit.graph.check import check, check_meetings
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import decode, read_bounded
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.variants import with_overrides
from rulekit.learners.promises.kept import parse_rule
from rulekit.names import suggestion
from rulekit.schema import Schema
from rulekit.shown.sections import signature
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.reading import read_table
from rulekit.work.changes.editing import Change, change_of, listed_overrides
from rulekit.work.changes.hand_edits import expired_notes
from rulekit.work.evaluating import broken_promises

WHERE = "override"
MAX_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Written:
    """An override as a person writes it. rule: `amount > 9000 -> yes`; id: "" for the next free one of o1, o2, ..."""

    rule: str
    author: str
    date: str
    reason: str
    expires: str | None = None
    id: str = ""


def override(
    model: Path,
    add: Sequence[Written] = (),
    *,
    remove: Sequence[str] = (),
    author: str = "",
    date: str = "",
    reason: str = "",
    first: bool = False,
    data: Path | None = None,
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> Change:
    """The model with the overrides that are asked for; written where `output` says.

    remove: ids of those that are taken off; author, date and reason are recorded with that. first: the new ones win
    over those that there are. data: rows whose labels are compared before and after. Raises InputError for a rule that
    cannot be read, an id that there is not, or what has no author, date or reason.
    """
    check_outputs([], data, model=output)
    graph = load(model)
    if not add and not remove:
        raise InputError("nothing to change", fix='give a rule such as "amount > 9000 -> yes", --from, or --remove')
    ids = [each.id for each in graph.overrides]
    for name in remove:
        if name not in ids:
            fix = suggestion(name, ids, "overrides") if ids else "it has none"
            raise InputError(f"the model has no override {name!r}", where=WHERE, fix=fix)
    kept = tuple(each for each in graph.overrides if each.id not in remove)
    new = bound(add, graph.schema, graph.classes, ids)
    changed = put_on(graph, (*new, *kept) if first else (*kept, *new))
    table = None
    if data is not None:
        used = tuple(dict.fromkeys((*graph.used_features, *changed.used_features)))
        table = read_table(data, reading, schema=graph.schema, used=used)
    found = change_of(graph, changed, table, {*(each.id for each in new), *remove})
    notes = [
        {"author": each.author, "reason": each.reason, "date": each.date, "added": [each.id], "removed": []}
        for each in new
    ]
    if remove:
        notes.append({"author": author, "reason": reason, "date": date, "added": [], "removed": list(remove)})
    rows = {} if found.rows is None else {"rows_changed": len(found.rows), "rows": found.n_rows}
    beside = {"override": True, "base": graph.digest, **rows, "rest_proved": found.unchanged.proved}
    edits = [*graph.provenance.get("edits", ()), *({**note, **beside} for note in notes)]
    made = changed.with_(provenance={**graph.provenance, "edits": edits})
    broken = (f"with these overrides the model breaks a promise: {text}" for text in broken_promises(graph, made))
    said = (*expired_notes(made.overrides), *broken)
    if output is not None:
        made.save(output)
    return replace(found, model=made, verdicts=override_verdicts(Searches(made)), notes=said)


def put_on(graph: RuleGraph, overrides: Sequence[Override]) -> RuleGraph:
    """The model with these overrides alone, once it is seen that they fit; raises InputError where they do not."""
    try:
        changed = with_overrides(graph, overrides)
        check(changed)
        check_meetings(changed)
    except GraphError as error:
        raise InputError(str(error), where=WHERE) from None
    return changed


def bound(
    written: Sequence[Written], schema: Schema, classes: Sequence[ClassLabel], taken: Sequence[str] = ()
) -> tuple[Override, ...]:
    """What a person wrote as overrides of a model; taken: ids that others have. Raises InputError."""
    found: list[Override] = []
    used = set(taken)
    for one in written:
        rule = parse_rule(one.rule, schema, classes, WHERE)
        name = one.id or next(new for j in range(1, len(used) + 2) if (new := f"o{j}") not in used)
        if name in used:
            raise InputError(f"there is an override {name!r} already", where=WHERE, fix="give another id")
        used.add(name)
        for what in ("author", "date", "reason"):
            if not getattr(one, what):
                raise InputError(f"{one.rule!r} has no {what}", where=WHERE, fix=f"give --{what}")
        try:
            made = Override(name, rule.class_index, rule.condition, one.author, one.date, one.reason, one.expires)
        except GraphError as error:
            raise InputError(str(error)) from None
        found.append(made)
    return tuple(found)


def read_written(path: Path) -> tuple[Written, ...]:
    """The overrides of a TOML file: tables `[[override]]` with rule, author, date, reason, expires and id.

    Raises InputError for another file, an unknown key, or a value that is no text or date.
    """
    try:
        content = tomllib.loads(decode(read_bounded(path, MAX_BYTES)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is no TOML: {error}", where=str(path)) from None
    tables = content.get("override")
    if set(content) != {"override"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        what = "this file has no tables [[override]], or others"
        raise InputError(what, where=str(path), fix="see docs/overrides.md")
    return tuple(_written(table, f"{path}, override {number}") for number, table in enumerate(tables, start=1))


def _written(table: Mapping[str, Any], where: str) -> Written:
    known = [item.name for item in fields(Written)]
    unknown = next((key for key in table if key not in known), None)
    if unknown is not None:
        raise InputError(f"no key {unknown[:40]!r}", where=where, fix=suggestion(unknown, known, "keys"))
    lacking = next((name for name in ("rule", "author", "date", "reason") if name not in table), None)
    if lacking is not None:
        raise InputError(f"it has no {lacking}", where=where, fix="rule, author, date and reason are needed")
    texts = {}
    for key, value in table.items():
        plain = type(value) is datetime.date
        if not plain and not isinstance(value, str):
            raise InputError(f"{key} is neither a text nor a date", where=where, fix="write it in quotes")
        texts[key] = value.isoformat() if plain else value
    return Written(**texts)


def list_overrides(model: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The overrides of a model file as JSON values, and two lines of each."""
    graph = load(model)
    found, lines = listed_overrides(graph), list[str]()
    for override, each in zip(graph.overrides, found, strict=True):
        expired = "   EXPIRED" if each["expired"] else ""
        lines += [f"{override.id}  {each['condition']} -> {each['class']}{expired}", f"    {signature(override)}"]
    return found, lines
