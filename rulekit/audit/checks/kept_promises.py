"""What a model promises, each promise proved or broken by rows: `verdicts`, and `override_verdicts` of overrides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rulekit.audit.checks.findings import Example, examples
from rulekit.audit.checks.model_searches import Cells, Searches, only_statements
from rulekit.graph.check import forbidden_meetings
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import name, quoted
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.graph.variants import over_anything
from rulekit.search.row_search import Claim, Label, RowSearch, Sought
from rulekit.shown.promises import Promise, promises

Outcome = Literal["proved", "fails", "not proved"]

_NO_ORDER = "classes without an order do not rise or fall"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a promise is kept. rows: that break it, or which show why; reason: why it is not proved."""

    promise: Promise
    outcome: Outcome
    rows: tuple[Example, ...] = ()
    reason: str = ""
    rules: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "promise": self.promise.text,
            "kind": self.promise.kind,
            "outcome": self.outcome,
            **({"reason": self.reason} if self.reason else {}),
            **({"rules": list(self.rules)} if self.rules else {}),
            **({"rows": [row.as_dict() for row in self.rows]} if self.rows else {}),
        }


def verdicts(model: Searches) -> tuple[Verdict, ...]:
    """A verdict for each promise of a model, in the order of `promises`."""
    return tuple(_verdict(model, promise) for promise in promises(model.graph))


def _verdict(model: Searches, promise: Promise) -> Verdict:
    if promise.kind in ("together", "apart"):
        return _meetings(model, promise)
    if promise.kind == "monotone":
        return _monotone(model, promise)
    if promise.kind == "missing":
        return _missing(model, promise)
    assert promise.required is not None
    return _required(model, promise, promise.required)


def _meetings(model: Searches, promise: Promise) -> Verdict:
    broken = [
        rule
        for rule in forbidden_meetings(model.graph)
        if promise.kind == "together" or len(columns_of(rule.node) & set(promise.groups[0])) > 1
    ]
    if promise.kind == "together":
        groups = [set(group) for group in promise.groups]
        broken = [r for r in broken if not any(columns_of(r.node) <= group for group in groups)]
    if not broken:
        return Verdict(promise, "proved")
    ids = tuple(rule.id for rule in broken)
    return Verdict(promise, "fails", rules=ids)


def _monotone(model: Searches, promise: Promise) -> Verdict:
    column = promise.column
    if column not in readers(model.graph.decision.roots):
        return Verdict(promise, "proved")
    if model.ranks is None:
        return Verdict(promise, "not proved", reason=_NO_ORDER)
    rises = model.graph.schema[column].monotone > 0
    parts = [part for part in model.independent_parts() if column in columns_of(part)]
    steps = (model.step(model.search(part), column, [Claim(part)], rises) for part in parts)
    if parts and all(pair is None and not reason for pair, reason in steps):
        # What each rule keeps, their disjunction keeps, and so does the number of ranks that are passed.
        return Verdict(promise, "proved")
    for claims in model.decided_by:
        pair, reason = model.step(model.whole, column, claims, rises)
        if pair is None and not reason:
            break
    return _of_rows(model, promise, pair, reason)


def _of_rows(
    model: Searches, promise: Promise, cells: Sequence[Cells] | None, reason: str, search: RowSearch | None = None
) -> Verdict:
    """The verdict where the whole decision was searched for rows that break a promise."""
    if cells is not None:
        rows = examples(model.graph, search or model.whole, cells)
        kept = model.graph.classes[promise.required.class_index] if promise.required else rows[-1].decision
        if rows[0].decision != kept:
            return Verdict(promise, "fails", rows)
        reason = "the rows that were found do not show it"
    return Verdict(promise, "not proved" if reason else "proved", reason=reason)


def _missing(model: Searches, promise: Promise) -> Verdict:
    reasons = []
    for statement in model.said:
        for column, pair, reason in model.satisfied_by_missing(statement.node):
            if pair is not None:
                rows = examples(model.graph, model.search(statement.node), pair)
                why = f"a missing or new value of {name(column)} satisfies {statement.rule.id}"
                return Verdict(promise, "fails", rows, why, (statement.rule.id,))
            reasons.append(reason)
    if model.independent_parts() and not any(reasons):
        return Verdict(promise, "proved")  # what no rule does, their disjunction does not
    if model.ranks is None:
        if not all(map(only_statements, model.graph.underlying.decision.parts)):
            reasons.append("conditions count together, and classes without an order are not helped")
    else:
        for axis, _, pairs in model.whole.unknown_and_known():
            for claims in model.decided_by:
                pair, reason = model.turned(model.whole, axis, pairs, claims)
                if pair is None and not reason:
                    break
            if pair is not None:
                return _of_rows(model, promise, pair, "")
            reasons.append(reason)
    return _of_rows(model, promise, None, next(filter(None, reasons), ""))


def _required(model: Searches, promise: Promise, required: Required) -> Verdict:
    condition = Claim(required.condition)
    if required.class_index == 1 and len(model.graph.classes) == 2:
        for part in model.independent_parts():
            if model.search(required.condition, part).find(condition, Claim(part, False)) == Sought(None):
                return Verdict(promise, "proved")
    search = model.search(*model.graph.decision.roots, required.condition)
    found = search.find(condition, model.label(required.class_index).contrary())
    return _of_rows(model, promise, None if found.cells is None else (found.cells,), found.reason, search)


def override_verdicts(model: Searches) -> tuple[Verdict, ...]:
    """For each override whether it decides every row on which it holds and none before it does.

    A row on which another class is decided is looked for, whatever the conditions and the model beneath may be.
    """
    return tuple(_of_overrides(model)) if model.graph.overrides else ()


def _of_overrides(model: Searches) -> Iterator[Verdict]:
    graph, conditions = over_anything(model.graph)
    search = model.searching(graph, [*graph.decision.roots, *conditions])
    for place, override in enumerate(model.graph.overrides):
        others = Label(graph.decision, frozenset(range(len(graph.classes))) - {override.class_index})
        before = [Claim(condition, False) for condition in conditions[:place]]
        found = search.find(Claim(conditions[place]), *before, Claim(others))
        promise, reason = Promise("override", promised(model.graph, place)), found.reason
        if found.cells is not None:  # never, by the making of the decision
            yield Verdict(promise, "fails", reason="the decision is not made of its overrides")
        else:
            yield Verdict(promise, "not proved" if reason else "proved", reason=reason)


def promised(graph: RuleGraph, place: int) -> str:
    """What the override at a place decides, as a sentence."""
    override = graph.overrides[place]
    where = print_node(override.condition, graph.schema, None)
    first = " and no override before it does" if place else ""
    label = quoted(graph.classes[override.class_index])
    return f"override {override.id} wins: where {where}{' holds' * bool(first)}{first}, the decision is {label}"
