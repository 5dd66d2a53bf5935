"""What rules do on all rows: never true, changing nothing, silent or true together, satisfied by a missing value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice

from rulekit.audit.checks.findings import Finding, Open, examples
from rulekit.audit.checks.model_searches import Searches, without_rule
from rulekit.audit.zero_one import tendencies
from rulekit.graph.decisions import Decision
from rulekit.graph.language.words import name, quoted
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Node
from rulekit.graph.variants import with_overrides
from rulekit.search.row_search import Claim, Sought


def unreachable(model: Searches) -> Iterator[Finding | Open]:
    """Rules that are never true."""
    for statement in model.each_rule("unreachable", "whether {} can be true"):
        if isinstance(statement, Open):
            yield statement
        else:
            yield from _never(model, statement.rule.id, statement.rule.id, statement.node)


def _never(model: Searches, what: str, own: str, node: Node) -> Iterator[Finding | Open]:
    """Whether a rule or override, whose id is `own`, is never true."""
    reached = model.search(node).find(Claim(node))
    if reached == Sought(None):
        yield Finding("unreachable", f"{what} is never true", (own,))
    elif reached.cells is None:
        yield Open("unreachable", f"whether {what} can be true", reached.reason)


def shadowed(model: Searches) -> Iterator[Finding | Open]:
    """Rules without which every row is decided the same, those that are never true aside."""
    for statement in model.each_rule("shadowed", "whether {} change a decision"):
        if isinstance(statement, Open):
            yield statement
            continue
        rule = statement.rule.id
        for found in _changes_nothing(model, rule, rule, without_rule(model.graph, statement)):
            if isinstance(found, Open) or model.search(statement.node).find(Claim(statement.node)) != Sought(None):
                yield found


def _changes_nothing(model: Searches, what: str, own: str, rest: Decision) -> Iterator[Finding | Open]:
    """Whether no row is decided otherwise by the rest of a decision, without a rule or override."""
    reason = ""
    for k in range(len(model.graph.classes)):
        found = model.whole.find(model.label(k), model.label(k, decision=rest).contrary())
        if found.cells is not None:
            return
        reason = reason or found.reason
    if reason:
        yield Open("shadowed", f"whether {what} changes a decision", reason)
    else:
        yield Finding("shadowed", f"{what} changes no decision: without it every row is decided the same", (own,))


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
    for statement in model.each_rule("missing", "whether a missing or new value satisfies {}"):
        if isinstance(statement, Open):
            yield statement
        else:
            yield from _by_missing(model, statement.rule.id, statement.rule.id, statement.node)


def _by_missing(model: Searches, what: str, own: str, node: Node) -> Iterator[Finding | Open]:
    for column, pair, reason in model.satisfied_by_missing(node):
        said = f"a missing or new value of {name(column)} satisfies {what}"
        if pair is not None:
            yield Finding("missing", said, (own,), examples(model.graph, model.search(node), pair[:1]), column)
        elif reason:
            yield Open("missing", f"whether {said}", reason)


def tending(model: Searches) -> Iterator[Finding | Open]:
    """Where the truth of rules with quantifiers tends as a structure gets more objects."""
    for found in tendencies(model.graph, model.deadline):
        if found.limit.outcome == "undecided":
            yield Open("size", f"where {found.rule} tends as objects are added", found.limit.text)
        else:
            yield Finding("size", found.text, (found.rule,))
    if model.graph.schema.atoms and model.deadline.over:
        yield Open("size", "where the other rules tend as objects are added", model.deadline.reason, many=True)


MOST_PAIRS = 2_000


def overlaps(model: Searches) -> Iterator[Finding | Open]:
    """Pairs of rules of different classes that hold on one row; of classes without ranks."""
    graph = model.graph
    if graph.decision.ordered:
        return
    ordered = graph.decision.rule_sets
    place = {k: n for n, (k, _, _) in enumerate(graph.decision.ranked)}
    of_class = Counter(statement.rule.class_index for statement in model.said)
    total = (len(model.said) ** 2 - sum(many**2 for many in of_class.values())) // 2
    if not total:  # of one class, whose pairs are not even gone through
        return
    pairs = (
        sorted(pair, key=lambda statement: place[statement.rule.class_index] if ordered else 0)
        for pair in combinations(model.said, 2)
        if pair[0].rule.class_index != pair[1].rule.class_index
    )
    question = "{:,} of {:,} pairs of rules of different classes"
    if total > MOST_PAIRS:
        yield Open("overlap", question.format(total - MOST_PAIRS, total))
    for done, (one, other) in enumerate(islice(pairs, MOST_PAIRS)):
        if model.deadline.over:
            yield Open("overlap", question.format(min(total, MOST_PAIRS) - done, total), model.deadline.reason)
            return
        model.deadline.tell("which rules of different classes meet", done / min(total, MOST_PAIRS))
        search, ids = model.search(one.node, other.node), (one.rule.id, other.rule.id)
        found = search.find(Claim(one.node), Claim(other.node))
        if found.cells is not None:
            classes = graph.classes[one.rule.class_index], graph.classes[other.rule.class_index]
            names = f"{ids[0]} ({quoted(classes[0])}) and {ids[1]} ({quoted(classes[1])}) hold together"
            text = f"{names}; the order decides {quoted(classes[0])} first" if ordered else names
            rows = examples(graph, search, (found.cells,))
            yield Finding("overlap", text, ids, rows, classes=classes, ordered=ordered)
        elif found.reason:
            yield Open("overlap", f"whether {ids[0]} and {ids[1]} can hold together", found.reason)


def crossing_ranks(model: Searches) -> Iterator[Finding | Open]:
    """A rank that is passed where a lower one is not."""
    graph = model.graph
    roots = graph.decision.roots if graph.decision.ordered else ()
    for k in range(1, len(roots)):
        low, high = quoted(graph.classes[k - 1]), quoted(graph.classes[k])
        said = f"above {high} and not above {low}"
        found = model.whole.find(Claim(roots[k]), Claim(roots[k - 1], False))
        if found.cells is not None:
            rows = examples(graph, model.whole, (found.cells,))
            yield Finding("contradiction", f"the rules say {said}", (), rows)
        elif found.reason:
            yield Open("contradiction", f"whether rules can say {said}", found.reason)


def override_findings(model: Searches) -> Iterator[Finding | Open]:
    """Overrides that never hold, that change no decision, and that a missing or new value satisfies."""
    graph = model.graph
    for override in graph.overrides:
        what = f"override {override.id}"
        never = list(_never(model, what, override.id, override.condition))
        yield from never
        if any(isinstance(found, Finding) for found in never):
            continue
        rest = with_overrides(graph.with_(ladder=None), [each for each in graph.overrides if each.id != override.id])
        yield from _changes_nothing(model, what, override.id, rest.decision)
        yield from _by_missing(model, what, override.id, override.condition)
