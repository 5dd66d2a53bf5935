"""A graph as sections for people: when each class is decided, by which rules, and with which figures.

A section has a heading, rows and a closing line. Everything that text formats print comes from here, so that the view,
the tables and the C5.0-like form cannot say different things.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.language import print_node
from rulekit.graph.nodes import And, Family, Hidden, Linear, Logistic, Node, Probability, Step
from rulekit.graph.printing import chance
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, rule_ids, rules_of
from rulekit.graph.words import label, name, number, one_line
from rulekit.schema import Schema


@dataclass(frozen=True, slots=True)
class Row:
    """A rule as a reader sees it.

    conditions: joined by "and". weight: its part of a sum, or None. n, coverage, precision: None where unknown.
    """

    id: str
    class_index: int
    conditions: tuple[str, ...]
    weight: float | None = None
    n: int | None = None
    coverage: float | None = None
    precision: float | None = None

    @property
    def text(self) -> str:
        return " and ".join(self.conditions)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading; `decides` says whether they decide the label or are reported only."""

    heading: str
    rows: tuple[Row, ...] = ()
    decides: bool = True


def sections(graph: RuleGraph) -> tuple[Section, ...]:
    """The deciding rules, class by class, then, where they differ, the weighted rules behind the probabilities."""
    entries = figures(graph)
    by_class = {k: list(rules) for k, rules in groupby(rules_of(graph), key=lambda rule: rule.class_index)}
    found = []
    for k, heading in _headings(graph, by_class):
        rows = tuple(_row(rule, graph.schema, entries.get(rule.id, {})) for rule in by_class.get(k, []))
        found.append(Section(heading, (*rows, *_missing_rows(graph, k))))
    return (*found, *_reported(graph))


def closing(graph: RuleGraph) -> str:
    """What happens where no rule decides, and where classes tie."""
    labels, decision = list(map(quoted, graph.classes)), graph.decision
    if isinstance(decision, ArgMax):
        order = ", ".join(labels[k] for k in decision.preference)
        return f"of several the first of {order}; otherwise {labels[graph.default]}."
    return f"otherwise {labels[0]}."


def missing_note(graph: RuleGraph) -> str:
    """What a missing value means to the columns that the rules read."""
    accepting = {_feature(node) for node in graph.nodes() if getattr(node, "missing", False) is True}
    valued = {_feature(node) for node in graph.nodes() if node.family is Family.REAL}
    told = {_feature(node) for node in graph.nodes() if type(node).__name__ == "Missing"}
    never = [name(f) for f in graph.used_features if f not in accepting | valued | told]
    rest = [name(f) for f in graph.used_features if f in accepting | told]
    plain = all(_is_clause(rule.node) for rule in rules_of(graph))
    listed = ", ".join(never)
    never_text = f"{listed} missing never satisfy a rule" if plain else f"a condition on {listed} fails"
    parts = [never_text] if never else []
    parts += [f"{', '.join(rest)} where a rule says so"] if rest else []
    return f"Missing: {'; '.join(parts)}." if parts else ""


def quoted(value: object) -> str:
    """A class label; text in quotation marks."""
    plain = value.item() if hasattr(value, "item") else value
    return one_line(json.dumps(plain, ensure_ascii=False)) if isinstance(plain, str) else label(plain)


def figures(graph: RuleGraph) -> Mapping[str, Mapping[str, Any]]:
    """Statistics of each rule by its id: those of held-out rows where there are some, else those of training rows."""
    blocks = list(_blocks(graph.statistics))
    found: dict[str, Mapping[str, Any]] = {}
    for _, entries in sorted(blocks, key=lambda block: block[0] != "train"):
        found.update({str(e["id"]): e for e in entries if isinstance(e, Mapping) and "id" in e})
    return found


def _blocks(statistics: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    for title, block in {"train": statistics, **statistics}.items():
        entries = block.get("rules") if isinstance(block, Mapping) else None
        if isinstance(entries, list | tuple):
            yield title, entries


def _row(rule: Rule, schema: Schema, entry: Mapping[str, Any]) -> Row:
    def figure(key: str) -> float | None:
        value = entry.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    n = figure("n")
    return Row(
        rule.id,
        rule.class_index,
        conditions_of(rule.node, schema),
        rule.weight if rule.connective == "sum" else None,
        int(n) if n is not None else None,
        figure("coverage"),
        figure("precision"),
    )


def conditions_of(node: Node, schema: Schema) -> tuple[str, ...]:
    """The literals of a clause, or the whole condition as one text."""
    if isinstance(node, Hidden):
        cause = conditions_of(node.cause, schema)
        beside = f" (else {chance(node.off)})" if node.off else ""
        return (f"fires with probability {chance(node.on)}{beside} when {cause[0]}", *cause[1:])
    if node.family is Family.REAL:
        return (f"times {one_line(print_node(node, schema))}",)
    if isinstance(node, And) and len(node.children) > 1 and node.family is Family.BOOLEAN:
        return tuple(_bound(child, schema) for child in node.children)
    return (one_line(print_node(node, schema)),)


def _bound(node: Node, schema: Schema) -> str:
    """A condition as part of a conjunction."""
    text = one_line(print_node(node, schema))
    return text if not node.children else f"({text})"


def _missing_rows(graph: RuleGraph, k: int) -> list[Row]:
    """What the step functions in the score of a class give where their column is missing."""
    decision = graph.decision
    if isinstance(decision, Median):
        part: Any = decision.above[k - 1]
        score: Node = part.formula if isinstance(part, Fires) else part.score
    else:
        score = decision.scores[k] if isinstance(decision, ArgMax) else decision.roots[0]
    score = score.linear if isinstance(score, Logistic) else score
    terms = score.terms if isinstance(score, Linear) else ((1.0, score),)
    return [
        Row("", k, (f"{name(node.feature)} is missing",), weight * node.missing)
        for weight, node in terms
        if isinstance(node, Step) and weight * node.missing != 0
    ]


def _is_clause(node: Node) -> bool:
    if isinstance(node, Hidden) and node.off == 0.0:
        node = node.cause
    return not node.children or (isinstance(node, And) and all(not child.children for child in node.children))


def _feature(node: Node) -> str:
    return str(getattr(node, "feature", ""))


# Headings ------------------------------------------------------------------------------------------------------------


def _headings(graph: RuleGraph, by_class: Mapping[int, Sequence[Rule]]) -> list[tuple[int, str]]:
    target, labels, decision = name(graph.schema.target), list(map(quoted, graph.classes)), graph.decision
    if isinstance(decision, Fires | Exceeds):
        return [(1, f"{target} is {labels[1]} when {_test(decision, by_class.get(1, []))}")]
    if isinstance(decision, Median):
        return [
            (k + 1, f"{target} is above {labels[k]} when {_test(part, by_class.get(k + 1, []))}")
            for k, part in enumerate(decision.above)
        ]
    assert isinstance(decision, ArgMax)
    if is_rule_sets(decision):
        return [(k, f"{target} is {labels[k]} when {_any_of(by_class.get(k, []))}") for k in range(len(labels))]
    return [
        (k, f"{target} is {labels[k]} by {_measure(score, by_class.get(k, []))}{_above(threshold)}")
        for k, (score, threshold) in enumerate(zip(decision.scores, decision.thresholds, strict=True))
    ]


def is_rule_sets(decision: ArgMax) -> bool:
    """Whether every class has a Boolean rule set, so that scores are 0 and 1."""
    boolean = all(score.family is Family.BOOLEAN for score in decision.scores)
    return boolean and all(0 <= threshold < 1 for threshold in decision.thresholds)


def _above(threshold: float) -> str:
    return "" if threshold == float("-inf") else f", if above {number(threshold)}; the largest decides"


def _any_of(rules: Sequence[Rule]) -> str:
    return "any of" if len(rules) > 1 else "this holds" if rules else "nothing holds (no rule)"


def _test(part: Fires | Exceeds, rules: Sequence[Rule]) -> str:
    if isinstance(part, Fires):
        return _any_of(rules)
    if part.scale == "log-complement":
        return f"the probability that any of these fires exceeds {chance(max(0.0, part.threshold))}"
    return f"{_measure(part.score, rules)} exceeds {number(part.threshold)}"


def _measure(score: Node, rules: Sequence[Rule]) -> str:
    """The score as words that its rules can stand under."""
    if isinstance(score, Logistic):
        return f"the logistic of {_measure(score.linear, rules)}"
    if score.family is Family.REAL:
        bias = score.bias if isinstance(score, Linear) else 0.0
        return f"the sum of {number(bias)} and these"
    if not isinstance(score, Probability):
        return "1 where any of these holds, else 0"
    connective = rules[0].connective if rules else "or"
    count = {"or": "any", "and": "all"}.get(connective, connective)
    return f"the probability that {count} of these fire{'s' if count == 'any' else ''}"


def _reported(graph: RuleGraph) -> tuple[Section, ...]:
    """The weighted rules behind a reported probability that does not decide itself."""
    found = []
    for k, node in enumerate(graph.probability):
        if node in graph.decision.roots or not isinstance(node, Probability | Logistic):
            continue
        shown = quoted(graph.classes[1 if len(graph.probability) == 1 else k])
        alone = RuleGraph(graph.schema, (False, True), Exceeds(node, 0.5, "probability"))
        rules = rules_of(alone)
        ids = rule_ids(rule.node for rule in rules)
        rows = tuple(_row(rule, graph.schema, {}) for rule in rules if rule.node in ids)
        found.append(Section(f"probability of {shown}: {_measure(node, rules)}", rows, decides=False))
    return tuple(found)
