"""Overrides: each proved to decide wherever it holds, and those that never hold or change nothing found."""

from __future__ import annotations

from collections.abc import Iterator

from rulekit.audit.checks.checked_rows import examples
from rulekit.audit.checks.findings import Finding, Open
from rulekit.audit.checks.kept_promises import Verdict
from rulekit.audit.checks.model_searches import Searches
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import name, quoted
from rulekit.graph.overriding import over_anything, with_overrides
from rulekit.graph.rule_graph import RuleGraph
from rulekit.search.row_search import Claim, Label, Sought
from rulekit.shown.promises import Promise


def override_verdicts(model: Searches) -> tuple[Verdict, ...]:
    """For each override whether it decides every row on which it holds and none before it does.

    A row on which another class is decided is looked for, whatever the conditions and the model beneath may be.
    """
    return tuple(_verdicts(model)) if model.graph.overrides else ()


def _verdicts(model: Searches) -> Iterator[Verdict]:
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


def override_findings(model: Searches) -> Iterator[Finding | Open]:
    """Overrides that never hold, that change no decision, and that a missing or new value satisfies."""
    for override in model.graph.overrides:
        condition, ids = override.condition, (override.id,)
        reached = model.search(condition).find(Claim(condition))
        if reached == Sought(None):
            yield Finding("unreachable", f"override {override.id} is never true", ids)
            continue
        if reached.cells is None:
            yield Open("unreachable", f"whether override {override.id} can be true", reached.reason)
        yield from _shadowed(model, override.id)
        search = model.search(condition)
        for axis, column, pairs in search.unknown_and_known():
            pair, reason = model.turned(search, axis, pairs, [Claim(condition)])
            said = f"a missing or new value of {name(column)} satisfies override {override.id}"
            if pair is not None:
                yield Finding("missing", said, ids, examples(model.graph, search, pair[:1]), column)
            elif reason:
                yield Open("missing", f"whether {said}", reason)


def _shadowed(model: Searches, own: str) -> Iterator[Finding | Open]:
    graph = model.graph
    rest = with_overrides(graph.with_(ladder=None), [each for each in graph.overrides if each.id != own])
    reason = ""
    for k in range(len(graph.classes)):
        found = model.whole.find(model.label(k), model.label(k, decision=rest.decision).contrary())
        if found.cells is not None:
            return
        reason = reason or found.reason
    if reason:
        yield Open("shadowed", f"whether override {own} changes a decision", reason)
    else:
        text = f"override {own} changes no decision: without it every row is decided the same"
        yield Finding("shadowed", text, (own,))
