"""What a model promises and what its rules do, each proved or shown by a row: `check_model` (docs/check.md).

Promises: directions, columns apart, missing values, required decisions. Of the rules: which are never true, which
change no decision, where no rule speaks, where rules of different classes meet, and which a missing or new value can
satisfy. Nothing is guessed: what cannot be decided is said, and every row that is shown has been decided by the model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from typing import Any, NamedTuple, TypeVar

from rulekit.audit import Said
from rulekit.audit.checks.findings import Finding, FindingKind, Open, examples
from rulekit.audit.checks.kept_promises import Searches, Verdict, override_verdicts, verdicts, without_rule
from rulekit.audit.zero_one import tendencies
from rulekit.graph.decisions import Decision
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Node
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.variants import with_overrides
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.search.row_search import Claim, RowSearch

Found = Iterator[Finding | Open]


class _Asked(NamedTuple):
    """A rule that speaks by itself or an override: its words, its id, its condition, and the decision without it."""

    words: str
    id: str
    node: Node
    rest: Callable[[], Decision]


def _never(model: Searches, asked: _Asked) -> Found:
    reached = model.search(asked.node).find(Claim(asked.node))
    if reached == Sought(None):
        yield Finding("unreachable", f"{asked.words} is never true", (asked.id,))
    elif reached.reason:
        yield Open("unreachable", f"whether {asked.words} can be true", reached.reason)


def _changes_nothing(model: Searches, asked: _Asked) -> Found:
    """Whether every row is decided the same without it; what is never true aside."""
    if model.search(asked.node).find(Claim(asked.node)) == Sought(None):
        return
    reason, rest = "", asked.rest()
    for k in range(len(model.graph.classes)):
        found = model.whole.find(model.label(k), model.label(k, decision=rest).contrary())
        if found.cells is not None:
            return
        reason = reason or found.reason
    said = f"{asked.words} changes no decision: without it every row is decided the same"
    if reason:
        yield Open("shadowed", f"whether {asked.words} changes a decision", reason)
    else:
        yield Finding("shadowed", said, (asked.id,))


def _by_missing(model: Searches, asked: _Asked) -> Found:
    """Whether a missing or new value of a column satisfies it, where a known one in its place would not."""
    for column, pair, reason in model.satisfied_by_missing(asked.node):
        said = f"a missing or new value of {name(column)} satisfies {asked.words}"
        if pair is not None:
            rows = examples(model.graph, model.search(asked.node), pair[:1])
            yield Finding("missing", said, (asked.id,), rows, column)
        elif reason:
            yield Open("missing", f"whether {said}", reason)


_OF_EACH: Mapping[FindingKind, tuple[Callable[[Searches, _Asked], Found], str, str]] = {
    "unreachable": (_never, "which rules can be true", "whether {} can be true"),
    "shadowed": (_changes_nothing, "which rules change a decision", "whether {} change a decision"),
    "missing": (_by_missing, "which rules a missing value satisfies", "whether a missing or new value satisfies {}"),
}


def of_each_rule(model: Searches, kind: FindingKind) -> Found:
    """What is found of each rule that speaks by itself; those that the deadline leaves out are one question."""
    found, doing, question = _OF_EACH[kind]
    said = list({statement.rule.id: statement for statement in model.said}.values())
    for done, statement in enumerate(said):
        if model.deadline.over:
            left = counted(len(said) - done, "rule")
            yield Open(kind, question.format(f"{left} of {len(said):,}"), model.deadline.reason, many=True)
            return
        model.deadline.tell(doing, done / len(said))
        id_ = statement.rule.id
        yield from found(model, _Asked(id_, id_, statement.node, partial(without_rule, model.graph, statement)))


def override_findings(model: Searches) -> Found:
    """Overrides that never hold, that change no decision, and that a missing or new value satisfies."""
    beneath = model.graph.with_(ladder=None)

    def without(own: Override) -> Decision:
        return with_overrides(beneath, [each for each in model.graph.overrides if each.id != own.id]).decision

    for own in model.graph.overrides:
        for found, *_ in _OF_EACH.values():
            yield from found(model, _Asked(f"override {own.id}", own.id, own.condition, partial(without, own)))


def _shown(model: Searches, search: RowSearch, sought: Sought, finding: Finding, question: str) -> Found:
    if sought.cells is not None:
        yield replace(finding, rows=examples(model.graph, search, (sought.cells,)))
    elif sought.reason:
        yield Open(finding.kind, question, sought.reason)


def gaps(model: Searches) -> Found:
    """A row on which no rule speaks, of several classes."""
    graph = model.graph
    if graph.decision.has_default:
        ranked = graph.decision.ranked
        found = model.whole.find(*(Claim(_takes_part(score, least), False) for _, score, least in ranked))
        default = quoted(graph.classes[graph.default])
        said = Finding("gap", f"no rule speaks for some rows, which are decided {default} by default")
        yield from _shown(model, model.whole, found, said, "whether some rows are decided by default alone")


def _takes_part(score: Node, threshold: float) -> Node:
    """The Boolean node that holds where a class takes part in an arg-max."""
    if threshold < 0 and score.family is not Family.REAL:
        return TRUE
    if score.family is Family.BOOLEAN:
        return score if threshold < 1.0 else FALSE
    return TRUE if threshold == float("-inf") else Above(score, threshold)


def tending(model: Searches) -> Found:
    """Where the truth of rules with quantifiers tends as a structure gets more objects."""
    for found in tendencies(model.graph, model.deadline):
        if found.limit.outcome == "undecided":
            yield Open("size", f"where {found.rule} tends as objects are added", found.limit.text)
        else:
            yield Finding("size", found.text, (found.rule,))
    if model.graph.schema.atoms and model.deadline.over:
        yield Open("size", "where the other rules tend as objects are added", model.deadline.reason, many=True)


MOST_PAIRS = 2_000


def overlaps(model: Searches) -> Found:
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
        classes = graph.classes[one.rule.class_index], graph.classes[other.rule.class_index]
        text = f"{ids[0]} ({quoted(classes[0])}) and {ids[1]} ({quoted(classes[1])}) hold together"
        text += f"; the order decides {quoted(classes[0])} first" * ordered
        finding = Finding("overlap", text, ids, classes=classes, ordered=ordered)
        found = search.find(Claim(one.node), Claim(other.node))
        yield from _shown(model, search, found, finding, f"whether {ids[0]} and {ids[1]} can hold together")


def crossing_ranks(model: Searches) -> Found:
    """A rank that is passed where a lower one is not."""
    roots = model.graph.decision.roots if model.graph.decision.ordered else ()
    for k in range(1, len(roots)):
        low, high = quoted(model.graph.classes[k - 1]), quoted(model.graph.classes[k])
        said = f"above {high} and not above {low}"
        found = model.whole.find(Claim(roots[k]), Claim(roots[k - 1], False))
        finding = Finding("contradiction", f"the rules say {said}")
        yield from _shown(model, model.whole, found, finding, f"whether rules can say {said}")


_CLEAR: Mapping[FindingKind, str] = {
    "unreachable": "every rule can be true",
    "shadowed": "every rule changes some decision",
    "gap": "on every row some rule speaks",
    "overlap": "no two rules of different classes hold on one row",
    "contradiction": "no rank is passed where a lower one is not",
    "missing": "no missing or new value satisfies a rule",
}
_ALL_FINDINGS: Mapping[FindingKind, Callable[[Searches], Found]] = {
    "unreachable": partial(of_each_rule, kind="unreachable"),
    "shadowed": partial(of_each_rule, kind="shadowed"),
    "gap": gaps,
    "overlap": overlaps,
    "contradiction": crossing_ranks,
    "missing": partial(of_each_rule, kind="missing"),
    "size": tending,
}
_LONGEST = "shadowed"  # searched last, as a limit of time should leave open what takes longest


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
    of_kind = {kind: list(_ALL_FINDINGS[kind](beneath)) for kind in sorted(_ALL_FINDINGS, key=_LONGEST.__eq__)}
    said = [*override_findings(model), *(found for kind in _ALL_FINDINGS for found in of_kind[kind])]
    findings = tuple(found for found in said if isinstance(found, Finding))
    left = tuple(found for found in said if isinstance(found, Open))
    clear = tuple(_clear(model, {found.kind for found in said}))
    return Checked(kept, findings, left, clear, len(model.rules))


def unproved(graph: RuleGraph) -> tuple[Verdict, ...]:
    """The promises of a model that are broken or not proved."""
    model = Searches(graph)
    return tuple(found for found in (*verdicts(model), *override_verdicts(model)) if found.outcome != "proved")


def _clear(model: Searches, odd: Collection[str]) -> Iterator[str]:
    """What there is no finding of, and nothing open; of all rules only where each speaks by itself."""
    decision = model.graph.decision
    asked = {"gap": decision.has_default, "overlap": bool(decision.ranked), "contradiction": decision.ordered}
    asked["shadowed"] = "unreachable" not in odd  # a rule that is never true changes no decision either
    if model.said and len(model.said) == len(rules_of(model.graph.underlying)):
        yield from (text for kind, text in _CLEAR.items() if kind not in odd and asked.get(kind, True))


T = TypeVar("T")
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
    for kind, findings in _grouped(checked.findings, lambda finding: finding.kind).items():
        if len(findings) > 1 and kind in _SUMMARY and not everything:
            yield from _summary(findings)
            continue
        for finding in findings:
            yield "found", finding.text
            yield from (("", f"  {row.text}") for row in finding.rows)
    for left in _grouped(checked.open, lambda left: left if everything else (left.kind, left.reason)).values():
        more = f"{left[0].question}, and {counted(len(left) - 1, 'question')} like this"
        said = f"{more}: {left[0].reason}" if left[0].reason else more
        if left[-1].many:  # what a limit of time left out stands last
            said = f"{left[-1].text}; also {left[0].question}"
        yield "open", said if len(left) > 1 else left[0].text


def _grouped(items: Sequence[T], key: Callable[[T], Hashable]) -> Mapping[Hashable, list[T]]:
    found: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


_SUMMARY: Mapping[Hashable, str] = {
    "unreachable": "{rules} are never true",
    "shadowed": "{rules} change no decision, each by itself: without any one of them every row is decided the same",
    "overlap": "{n} pairs of rules of different classes hold together{how}: {groups}",
    "missing": "rules that a missing or new value satisfies: of {groups}",
}


def _summary(findings: Sequence[Finding]) -> Iterator[Said]:
    """Several findings of one kind: how many, by pair of classes or column (the most frequent first), a row of each."""
    groups = sorted(_grouped(findings, lambda found: found.classes or found.column).values(), key=len, reverse=True)
    between, how = (" before ", "; the order decides") if findings[0].ordered else (" and ", "")
    named = [
        f"{between.join(map(quoted, own[0].classes))} ({counted(len(own), 'pair')})"
        if own[0].classes
        else f"{name(own[0].column)} ({_rules(own)})"
        for own in groups
    ]
    said = _SUMMARY[findings[0].kind]
    yield "found", said.format(rules=_rules(findings), n=len(findings), how=how, groups=_few(named))
    for own in groups[:MOST_NAMED]:
        shown = next((found for found in own if found.rows and found.rows[0].decision in found.classes[:1]), own[0])
        yield from (("", f"  {' and '.join(shown.ids)}: {row.text}") for row in shown.rows)


def _rules(findings: Sequence[Finding]) -> str:
    return _few([rule for finding in findings for rule in finding.ids])


def _few(items: Sequence[str]) -> str:
    """The first items, and how many more there are."""
    more = len(items) - MOST_NAMED
    return f"{', '.join(items[:MOST_NAMED])} and {more} more (--all)" if more > 0 else listed(items)
