"""What single rules do on all rows: never true, changing nothing, silent together, satisfied by a missing value."""

from __future__ import annotations

from collections.abc import Iterator

from rulekit.audit.checks.checked_rows import examples
from rulekit.audit.checks.findings import Finding, Open
from rulekit.audit.checks.model_searches import Searches
from rulekit.audit.checks.statements import Statement, without_rule
from rulekit.graph.language.words import name, quoted
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Node
from rulekit.verification.proof.row_search import Claim, Sought


def unreachable_and_shadowed(model: Searches) -> Iterator[Finding | Open]:
    """Rules that are never true, and those without which every row is decided the same."""
    for statement in model.said:
        rule = statement.rule.id
        reached = model.search(statement.node).find(Claim(statement.node))
        if reached == Sought(None):
            yield Finding("unreachable", f"{rule} is never true", (rule,))
            continue
        if reached.cells is None:
            yield Open("unreachable", f"whether {rule} can be true", reached.reason)
        yield from _shadowed(model, statement)


def _shadowed(model: Searches, statement: Statement) -> Iterator[Finding | Open]:
    rule, decision = statement.rule.id, without_rule(model.graph, statement)
    reason = ""
    for k in range(len(model.graph.classes)):
        found = model.whole.find(model.label(k), model.label(k, decision=decision).contrary())
        if found.cells is not None:
            return
        reason = reason or found.reason
    if not reason:
        yield Finding("shadowed", f"{rule} changes no decision: without it every row is decided the same", (rule,))
    else:
        yield Open("shadowed", f"whether {rule} changes a decision", reason)


def gaps(model: Searches) -> Iterator[Finding | Open]:
    """A row on which no rule speaks, of several classes."""
    graph = model.graph
    if not graph.decision.has_default:
        return
    found = model.whole.find(*(Claim(_takes_part(score, least), False) for _, score, least in graph.decision.ranked))
    if found.cells is not None:
        default = quoted(graph.classes[graph.default])
        rows = examples(graph, model.whole, (found.cells,))
        yield Finding("gap", f"no rule speaks for some rows, which are decided {default} by default", (), rows)
    elif found.reason:
        yield Open("gap", "whether some rows are decided by default alone", found.reason)


def _takes_part(score: Node, threshold: float) -> Node:
    """The Boolean node that holds where a class takes part in an arg-max."""
    if threshold < 0 and score.family is not Family.REAL:
        return TRUE
    if score.family is Family.BOOLEAN:
        return score if threshold < 1.0 else FALSE
    return TRUE if threshold == float("-inf") else Above(score, threshold)


def missing_values(model: Searches) -> Iterator[Finding | Open]:
    """Rules that a missing or new value of a column satisfies, where a known one in its place would not."""
    for statement in model.said:
        rule = statement.rule.id
        for column, pair, reason in model.satisfied_by_missing(statement):
            said = f"a missing or new value of {name(column)} satisfies {rule}"
            if pair is not None:
                rows = examples(model.graph, model.search(statement.node), pair[:1])
                yield Finding("missing", said, (rule,), rows, column)
            elif reason:
                yield Open("missing", f"whether {said}", reason)
