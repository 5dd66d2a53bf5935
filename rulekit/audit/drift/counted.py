"""How often each rule fired, as an artifact counted it where the rows are: SQL as CSV, Python as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import label_text

_FIX = "give what count_rules of a Python export returns, as JSON, or the result of a query with --counts, as CSV"


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """So many rows, by id on how many each rule fired, and for how many each class [K] was decided; None: not known."""

    rows: int
    rules: Mapping[str, int]
    classes: tuple[int, ...] | None = None


def read_counts(text: str, graph: RuleGraph, where: str) -> RuleCounts:
    """The counts of a JSON or CSV text; raises InputError where it is neither, or of other rules than the model's."""
    entries = list(_of_json(text, where) if text.lstrip().startswith("{") else _of_csv(text, where))
    rules = {name: count for what, name, count in entries if what == "rule"}
    classes = {name: count for what, name, count in entries if what == "class"}
    totals = [count for what, _, count in entries if what == "rows"]
    ids, labels = {rule.id for rule in rules_of(graph)}, [label_text(label) for label in graph.classes]
    strange = [name for name in rules if name not in ids] or [name for name in classes if name not in labels]
    if strange:
        raise InputError(
            f"{strange[0]!r} is no rule or class of the model", where=where, fix="count with its own export"
        )
    rows = totals[0] if totals else sum(classes.values())
    if rows < 1 or any(count > rows for count in (*rules.values(), *classes.values())):
        raise InputError("the number of rows is missing, or too small for the counts", where=where, fix=_FIX)
    complete = set(classes) == set(labels) and sum(classes.values()) == rows
    return RuleCounts(rows, rules, tuple(classes[label] for label in labels) if complete else None)


def _of_json(text: str, where: str) -> Iterable[tuple[str, str, int]]:
    try:
        found = json.loads(text)
    except ValueError:
        raise InputError("this is no JSON", where=where, fix=_FIX) from None
    yield "rows", "", _count(found.get("rows"), where)
    for what, key in (("rule", "rules"), ("class", "classes")):
        part = found.get(key, {})
        if not isinstance(part, Mapping):
            raise InputError(f"{key!r} is no object", where=where, fix=_FIX)
        for name, count in part.items():
            yield what, str(name), _count(count, where)


def _of_csv(text: str, where: str) -> Iterable[tuple[str, str, int]]:
    reader = csv.DictReader(io.StringIO(text))
    if not {"what", "name", "count"} <= set(reader.fieldnames or ()):
        raise InputError("there are no columns what, name and count", where=where, fix=_FIX)
    for row in reader:
        yield str(row["what"]), str(row["name"] or ""), _count(row["count"], where)


def _count(value: Any, where: str) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if count < 0 or isinstance(value, bool):
        raise InputError(f"{value!r} is no count", where=where, fix=_FIX)
    return count
