"""Overrides of a model: put on, taken off, and listed, with what they change and what is proved of them.

The date is told, never taken from the clock, which only says what has expired: a model decides alike whenever it runs.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rulekit.audit.checks.checking import unproved
from rulekit.audit.checks.kept_promises import Searches, Verdict, override_verdicts
from rulekit.errors import GraphError, InputError
from rulekit.graph.check import check, check_meetings
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import decode, read_bounded
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import label
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import ModelSize, Rule, counts
from rulekit.graph.variants import with_overrides
from rulekit.learners.promises.kept import parse_rule
from rulekit.names import suggestion
from rulekit.schema import Schema
from rulekit.shown.promises import promises
from rulekit.shown.sections import signature
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.changes.editing import ChangedRow, Unchanged, changed_rows, changed_rules, prove_unchanged
from rulekit.work.changes.hand_edits import expired_notes, today
from rulekit.work.outputs import check_outputs

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


@dataclass(frozen=True, slots=True)
class OverrideRequest:
    """What to put on a model and what to take off.

    first: the new ones win over those that there are. remove: ids; author, date and reason are recorded with that.
    data: rows whose labels are compared before and after.
    """

    model: Path
    add: tuple[Written, ...] = ()
    remove: tuple[str, ...] = ()
    author: str = ""
    date: str = ""
    reason: str = ""
    first: bool = False
    data: Path | None = None
    output: Path | None = None
    reading: ReadingOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True, eq=False)
class Overridden:
    """The model under its overrides, and what has changed.

    added, removed: overrides as rules. rows: those of the data that change, of `n_rows`; None without data. verdicts:
    for each override whether it is proved to decide wherever it holds. unchanged: whether all else is.
    """

    model: RuleGraph
    size: ModelSize
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    rows: tuple[ChangedRow, ...] | None
    n_rows: int
    verdicts: tuple[Verdict, ...]
    unchanged: Unchanged
    notes: tuple[str, ...] = ()

    def lines(self, most_rows: int | None = None) -> Iterator[str]:
        """What the overrides do, for people; most_rows: how many changed rows are shown."""
        signed = {override.id: signature(override) for override in self.model.overrides}
        for word, rules in (("added", self.added), ("removed", self.removed)):
            for rule in rules:
                rows = f"{print_node(rule.node, self.model.schema)} -> {label(self.model.classes[rule.class_index])}"
                yield f"{word:9}{rule.id}  {rows}"
                if word == "added":
                    yield f"{'':9}{'':{len(rule.id)}}  {signed[rule.id]}"
        if self.rows is not None:
            yield f"{len(self.rows)} of {self.n_rows} rows change"
            yield from (f"  {row}" for row in self.rows[:most_rows])
            if most_rows is not None and len(self.rows) > most_rows:
                yield f"  and {len(self.rows) - most_rows} more"
        for verdict in self.verdicts:
            yield f"{verdict.outcome}: {verdict.promise.text}" + (f" ({verdict.reason})" if verdict.reason else "")
        yield str(self.unchanged)

    def as_dict(self) -> dict[str, Any]:
        """JSON values, all changed rows among them."""
        return {
            "digest": self.model.digest,
            "overrides": listed_overrides(self.model),
            "added": [rule.id for rule in self.added],
            "removed": [rule.id for rule in self.removed],
            "rows": None if self.rows is None else self.n_rows,
            "changed": None if self.rows is None else [asdict(row) for row in self.rows],
            "proofs": [verdict.as_dict() for verdict in self.verdicts],
            "rest": {"proved": self.unchanged.proved, "reason": self.unchanged.reason},
        }


def override(request: OverrideRequest) -> Overridden:
    """The model with the overrides that are asked for; written where `output` says.

    Raises InputError for a rule that cannot be read, an id that there is not, or what has no author, date or reason.
    """
    check_outputs([], request.data, model=request.output)
    graph = load(request.model)
    if not request.add and not request.remove:
        raise InputError("nothing to change", fix='give a rule such as "amount > 9000 -> yes", --from, or --remove')
    made = _overridden(graph, request)
    if request.output is not None:
        made.model.save(request.output)
    return made


def _overridden(graph: RuleGraph, request: OverrideRequest) -> Overridden:
    ids = [each.id for each in graph.overrides]
    for name in request.remove:
        if name not in ids:
            fix = suggestion(name, ids, "overrides") if ids else "it has none"
            raise InputError(f"the model has no override {name!r}", where=WHERE, fix=fix)
    kept = tuple(each for each in graph.overrides if each.id not in request.remove)
    new = bound(request.add, graph.schema, graph.classes, ids)
    changed = put_on(graph, (*new, *kept) if request.first else (*kept, *new))
    added, removed = changed_rules(graph, changed)
    added = tuple(rule for rule in added if rule.id in {each.id for each in new})
    removed = tuple(rule for rule in removed if rule.id in request.remove)
    unchanged = prove_unchanged(graph, changed, added, removed)
    rows, n_rows = None, 0
    if request.data is not None:
        from rulekit.tables.reading import read_table

        used = tuple(dict.fromkeys((*graph.used_features, *changed.used_features)))
        table = read_table(request.data, request.reading, schema=graph.schema, used=used)
        rows, n_rows = changed_rows(graph, changed, added, removed, table), table.n_rows
    counted = {} if rows is None else {"rows_changed": len(rows), "rows": n_rows}
    beside = {"base": graph.digest, **counted, "rest_proved": unchanged.proved}
    notes = [
        {
            **{"author": each.author, "reason": each.reason, "date": each.date},
            **{"added": [each.id], "removed": [], "override": True},
            **beside,
        }
        for each in new
    ]
    if request.remove:
        signed = {"author": request.author, "reason": request.reason, "date": request.date}
        notes.append({**signed, "added": [], "removed": list(request.remove), "override": True, **beside})
    edits = [*graph.provenance.get("edits", ()), *notes]
    model = changed.with_(provenance={**graph.provenance, "edits": edits})
    said = (*expired_notes(model.overrides), *broken_by(graph, model))
    proofs = override_verdicts(Searches(model))
    return Overridden(model, counts(model), added, removed, rows, n_rows, proofs, unchanged, said)


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
        raise InputError(
            "this file has no tables [[override]], or others", where=str(path), fix="see docs/overrides.md"
        )
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


# What there is --------------------------------------------------------------------------------------------------------


def overrides_of(model: Path) -> RuleGraph:
    """The model whose overrides are listed."""
    return load(model)


def listed_overrides(graph: RuleGraph, day: str | None = None) -> list[dict[str, Any]]:
    """The overrides of a model in their order, as JSON values; day: an ISO date, today by default."""
    return [
        {
            "id": each.id,
            "class": graph.classes[each.class_index],
            "condition": print_node(each.condition, graph.schema, None),
            **{"author": each.author, "date": each.date, "reason": each.reason, "expires": each.expires},
            "expired": each.expired(day or today()),
        }
        for each in graph.overrides
    ]


def broken_by(before: RuleGraph, after: RuleGraph) -> tuple[str, ...]:
    """A line for each promise that a model breaks under its overrides and did not break before."""
    if not promises(after):
        return ()
    old = {verdict.promise.text for verdict in unproved(before) if verdict.outcome == "fails"}
    found = (v for v in unproved(after) if v.outcome == "fails" and v.promise.text not in old)
    return tuple(f"with these overrides the model breaks a promise: {verdict.promise.text}" for verdict in found)
