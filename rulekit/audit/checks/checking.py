"""What a model promises and what its rules do, each proved or shown by a row: `check_model` (docs/check.md).

Promises: directions, columns apart, missing values, required decisions. Of the rules: which are never true, which
change no decision, where no rule speaks, where rules of different classes meet, and which a missing or new value can
satisfy. Nothing is guessed: what cannot be decided is said, and every row that is shown has been decided by the model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, TypeVar

from rulekit.audit.checks.findings import Finding, FindingKind, Open, examples
from rulekit.audit.checks.kept_promises import Searches, Statement, Verdict, override_verdicts, verdicts, without_rule
from rulekit.audit.zero_one import tendencies
from rulekit.graph.decisions import Decision
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.variants import with_overrides
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.search.row_search import Claim, RowSearch


def unreachable(model: Searches) -> Iterator[Finding | Open]:
    """Rules that are never true."""
    question = "whether {} can be true"
    yield from model.of_each("unreachable", question, lambda said: _never(model, said.rule.id, said.rule.id, said.node))


def _never(model: Searches, what: str, own: str, node: Node) -> Iterator[Finding | Open]:
    """Whether a rule or override, whose id is `own`, is never true."""
    reached = model.search(node).find(Claim(node))
    if reached == Sought(None):
        yield Finding("unreachable", f"{what} is never true", (own,))
    elif reached.cells is None:
        yield Open("unreachable", f"whether {what} can be true", reached.reason)


def shadowed(model: Searches) -> Iterator[Finding | Open]:
    """Rules without which every row is decided the same, those that are never true aside."""

    def found(said: Statement) -> Iterator[Finding | Open]:
        rule = said.rule.id
        for each in _changes_nothing(model, rule, rule, without_rule(model.graph, said)):
            if isinstance(each, Open) or model.search(said.node).find(Claim(said.node)) != Sought(None):
                yield each

    yield from model.of_each("shadowed", "whether {} change a decision", found)


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
    question = "whether a missing or new value satisfies {}"
    yield from model.of_each(
        "missing", question, lambda said: _by_missing(model, said.rule.id, said.rule.id, said.node)
    )


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


_CLEAR: Mapping[FindingKind, str] = {
    "unreachable": "every rule can be true",
    "shadowed": "every rule changes some decision",
    "gap": "on every row some rule speaks",
    "overlap": "no two rules of different classes hold on one row",
    "contradiction": "no rank is passed where a lower one is not",
    "missing": "no missing or new value satisfies a rule",
}
_ALL_FINDINGS = (unreachable, shadowed, gaps, overlaps, crossing_ranks, missing_values, tending)
_LONGEST = shadowed  # searched last, as a limit of time should leave open what takes longest


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found; open: what could not be decided, and why; clear: what is proved of all rules, in sentences.

    findings: each rule, pair of rules or column by itself. rules: how many there are.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    open: tuple[Open, ...]
    clear: tuple[str, ...]
    rules: int

    @property
    def ok(self) -> bool:
        """Whether no promise is broken."""
        return all(verdict.outcome != "fails" for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """JSON values: promises, findings and what is open."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "promises": [verdict.as_dict() for verdict in self.verdicts],
            "findings": [finding.as_dict() for finding in self.findings],
            "proved_of_all_rules": list(self.clear),
            "open": [left.text for left in self.open],
        }


def check_model(
    graph: RuleGraph, searching: Callable[..., RowSearch] = RowSearch, deadline: Deadline = NO_LIMIT
) -> Checked:
    """Prove each promise and examine each rule, or say what could not be decided; searching: makes the searches.

    What is found of rules is found of the model beneath its overrides, and of each override by itself. What is not
    settled by the deadline is open.
    """
    model = Searches(graph, searching, deadline)
    kept = (*verdicts(model), *override_verdicts(model))
    beneath = Searches(graph.underlying, searching, deadline) if graph.overrides else model
    of_kind = {kind: list(kind(beneath)) for kind in sorted(_ALL_FINDINGS, key=lambda kind: kind is _LONGEST)}
    said = [*override_findings(model), *(found for kind in _ALL_FINDINGS for found in of_kind[kind])]
    findings = tuple(found for found in said if isinstance(found, Finding))
    left = tuple(found for found in said if isinstance(found, Open))
    clear = tuple(_clear(model, {found.kind for found in said}))
    return Checked(kept, findings, left, clear, len(model.rules))


def unproved(graph: RuleGraph) -> tuple[Verdict, ...]:
    """The promises of a model that are broken or not proved."""
    model = Searches(graph)
    return tuple(found for found in (*verdicts(model), *override_verdicts(model)) if found.outcome != "proved")


def _clear(model: Searches, odd: Collection[FindingKind]) -> Iterator[str]:
    """What there is no finding of, and nothing open; of all rules only where each speaks by itself.

    A rule that is never true changes no decision either.
    """
    decision = model.graph.decision
    asked = {"gap": decision.has_default, "overlap": bool(decision.ranked), "contradiction": decision.ordered}
    asked["shadowed"] = "unreachable" not in odd
    if model.said and len(model.said) == len(rules_of(model.graph.underlying)):
        yield from (text for kind, text in _CLEAR.items() if kind not in odd and asked.get(kind, True))


T = TypeVar("T")
Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_NAMED = 6


def check_lines(checked: Checked, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: each finding by itself, and all that is open."""
    for verdict in checked.verdicts:
        yield ("FAILS" if verdict.outcome == "fails" else verdict.outcome), verdict.promise.text
        why = verdict.reason or (f"broken by {', '.join(verdict.rules)}" if verdict.rules else "")
        yield from (("", f"  {line}") for line in [*filter(None, [why]), *(row.text for row in verdict.rows)])
    if not checked.verdicts:
        yield "no promise", "is declared; rulekit train --monotone, --forbid, --require, --missing-never-helps do so"
    yield from (("proved", text) for text in checked.clear)
    for of_one_kind in _grouped(checked.findings, lambda finding: finding.kind).values():
        if everything or len(of_one_kind) == 1:
            for finding in of_one_kind:
                yield "found", finding.text
                yield from (("", f"  {row.text}") for row in finding.rows)
        else:
            yield from _summary(of_one_kind)
    for left in _grouped(checked.open, lambda left: left if everything else (left.kind, left.reason)).values():
        yield "open", left[0].text if len(left) == 1 else _several_open(left)


def _grouped(items: Sequence[T], key: Callable[[T], Hashable]) -> Mapping[Hashable, list[T]]:
    found: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


def _overlaps(findings: Sequence[Finding]) -> Iterator[Said]:
    """How many pairs there are, which class is decided before which, and a row for each of the first of these."""
    by_classes = list(_grouped(findings, lambda finding: finding.classes).values())
    by_classes.sort(key=len, reverse=True)
    between = " before " if findings[0].ordered else " and "
    named = [f"{between.join(map(quoted, pairs[0].classes))} ({counted(len(pairs), 'pair')})" for pairs in by_classes]
    how = "; the order decides" if findings[0].ordered else ""
    yield "found", f"{len(findings)} pairs of rules of different classes hold together{how}: {_few(named)}"
    for pairs in by_classes[:MOST_NAMED]:
        shown = next((pair for pair in pairs if pair.rows[0].decision == pair.classes[0]), pairs[0])
        yield "", f"  {' and '.join(shown.rules)}: {shown.rows[0].text}"


def _missing(findings: Sequence[Finding]) -> Iterator[Said]:
    """Columns, the one that satisfies most rules first, each with its rules and a row."""
    by_column = list(_grouped(findings, lambda finding: finding.column).values())
    by_column.sort(key=len, reverse=True)
    rules = len({finding.rules for finding in findings})
    named = [f"{name(found[0].column)} ({_rules(found)})" for found in by_column]
    verb = "rule is" if rules == 1 else "rules are"
    yield "found", f"{rules} {verb} satisfied by a missing or new value: of {_few(named)}"
    yield from (("", f"  {row.text}") for found in by_column[:MOST_NAMED] for row in found[0].rows)


def _summary(findings: Sequence[Finding]) -> Iterator[Said]:
    """Several findings of one kind in few lines."""
    match findings[0].kind:
        case "unreachable":
            yield "found", f"{_rules(findings)} are never true"
        case "shadowed":
            why = "without any one of them every row is decided the same"
            yield "found", f"{_rules(findings)} change no decision, each by itself: {why}"
        case "overlap":
            yield from _overlaps(findings)
        case "missing":
            yield from _missing(findings)
        case "size":
            yield from (("found", finding.text) for finding in findings)
        case _:
            yield "found", f"{findings[0].text}, and {len(findings) - 1} more like this"
            yield from (("", f"  {row.text}") for row in findings[0].rows)


def _several_open(left: Sequence[Open]) -> str:
    if left[-1].many:  # what a limit of time left out stands last
        return f"{left[-1].text}; also {left[0].question}"
    more = f"{left[0].question}, and {counted(len(left) - 1, 'question')} like this"
    return f"{more}: {left[0].reason}" if left[0].reason else more


def _rules(findings: Sequence[Finding]) -> str:
    return _few([rule for finding in findings for rule in finding.rules])


def _few(items: Sequence[str]) -> str:
    """The first items, and how many more there are."""
    more = len(items) - MOST_NAMED
    return f"{', '.join(items[:MOST_NAMED])} and {more} more (--all)" if more > 0 else listed(items)
