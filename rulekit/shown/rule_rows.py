"""The rules of a model as rows for a reader, single ones and lines of a score card, and which of them a person wrote.

An edit (`rulekit import --base`, `rulekit override`) is a note with author, date and reason, and the ids of the rules
that it added and removed. The id of a rule is the beginning of a digest, as long as its model needs it: ids of which
one begins with the other are the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rulekit.graph.files.json_values import entries
from rulekit.graph.language.figures import RuleFigures
from rulekit.graph.language.wordings import ForPeople
from rulekit.graph.language.words import chance, grouped, lone_value, name
from rulekit.graph.leaves import column_of, levels_of_leaf
from rulekit.graph.nodes import TRUE, Among, And, Compare, Contains, Family, Hidden, IsTrue, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, OVERRIDES, Rule, rules_of
from rulekit.shown.outline import ALWAYS, Line, Words, conditions_of, outline
from rulekit.shown.score_cards import UNSEEN, Card, Entry, is_unseen


def value_words(node: Node, words: Words) -> str | None:
    """`up to 3`, `above 3 up to 5`, `in {a, b}`, `true`, `missing`; None where only the whole condition says it."""
    if isinstance(node, Missing):
        return "missing"
    if isinstance(node, Not) and isinstance(node.child, Missing):
        return "any value"
    if isinstance(node, Not) and isinstance(node.child, IsTrue):
        return "false" + " or missing" * (not node.child.missing)
    if isinstance(node, IsTrue):
        return "true" + " or missing" * node.missing
    if isinstance(node, Compare):
        return interval_words(node, node, words) + " or missing" * node.missing
    if isinstance(node, And) and all(isinstance(child, Compare) for child in node.children):
        places = grouped(node.children, anywhere=True)
        if len(places) == 1 and len(node.children) == 2:
            lower, upper = (node.children[i] for i in places[0])
            assert isinstance(lower, Compare)
            assert isinstance(upper, Compare)
            return interval_words(lower, upper, words) + " or missing" * (lower.missing and upper.missing)
    if is_unseen(node):
        return UNSEEN
    leaf = node.child if isinstance(node, Not) else node
    if isinstance(leaf, Among | Contains):
        text, column = words.text(node).strip("()"), f"{name(leaf.feature)} "
        return text.removeprefix(column) if text.startswith(column) else None
    return None


def interval_words(lower: Compare, upper: Compare, words: Words) -> str:
    """The values above a lower and up to an upper bound, or of one bound alone, given twice."""
    people, column = ForPeople(words.schema, words.most_levels), lower.feature
    if lower is upper:
        return f"{'up to' if lower.op == '<=' else 'above'} {people.amount(lower.value, column)}"
    whole = lone_value(lower.value, upper.value, people.feature(column), rounded=True)
    if whole is not None:
        return people.amount(whole, column)
    low, high = people.ends(lower.value, upper.value, column)
    return f"above {low} up to {high}"


@dataclass(frozen=True, slots=True)
class Row:
    """A rule as a reader sees it.

    conditions: joined by "and". outline: the lines of a rule that is no plain conjunction, else empty. weight: its part
    of a sum, or None; a term with a negative weight speaks against its class. figures: what each table says of it, the
    training rows first; empty where nothing is known, and of a condition that must hold beside others. group: in a sum
    what the row stands under, a column or "several columns"; under: the conditions as they read there.
    inhibits: it keeps the rules before it from acting. signed: of an override, and of a rule that was changed by hand,
    who answers for it, and why.
    """

    id: str
    class_index: int
    conditions: tuple[str, ...]
    weight: float | None = None
    figures: tuple[RuleFigures, ...] = ()
    outline: tuple[Line, ...] = ()
    group: str = ""
    under: tuple[str, ...] = ()
    inhibits: bool = False
    signed: str = ""

    @property
    def text(self) -> str:
        return " and ".join(self.conditions)


def rule_row(rule: Rule, words: Words, figures: tuple[RuleFigures, ...] = ()) -> Row:
    return Row(
        rule.id,
        rule.class_index,
        _sentence(rule.node, words, "inhibits" if rule.connective == INHIBITS else "fires"),
        rule.weight if rule.connective == "sum" else None,
        figures,
        _outline(rule, words),
        inhibits=rule.connective == INHIBITS,
    )


def _outline(rule: Rule, words: Words) -> tuple[Line, ...]:
    if rule.node.family is Family.BOOLEAN and not any(child.children for child in rule.node.children):
        return ()
    lines = outline(rule.node, words)
    return lines if len(lines) > 1 or lines[0].weight else ()


def _sentence(node: Node, words: Words, verb: str = "fires") -> tuple[str, ...]:
    """A rule in words: its literals, or the whole condition as one text."""
    if isinstance(node, Hidden):
        cause = conditions_of(node.cause, words)
        if node.cause is TRUE:
            return (f"{verb} with probability {chance(node.on)} on every row",)
        beside = f" (else {chance(node.off)})" if node.off else ""
        return (f"{verb} with probability {chance(node.on)}{beside} when {cause[0]}", *cause[1:])
    if is_unseen(node):
        return (f"{name(str(column_of(node)))} is {UNSEEN}",)
    if node.family is Family.REAL:
        return (f"times {words.text(node)}",)
    return conditions_of(node, words)


# Score cards ---------------------------------------------------------------------------------------------------------

SEVERAL = "several columns"


def card_rows(
    card: Card,
    k: int,
    rules: Mapping[Node, Rule],
    words: Words,
    figures: Mapping[tuple[int, str], tuple[RuleFigures, ...]],
) -> tuple[Row, ...]:
    """What counts for every row, then the lines of a sum, column by column; a line that is no rule has no id."""
    rows = [Row("", k, (ALWAYS,), card.bias)] * (card.bias != 0)
    for group in card.groups:
        title = name(group.column) if group.column else SEVERAL
        under = _under(group.entries, words) if group.column else {}
        for entry in group.entries:
            rule = rules.get(entry.node) or Rule("", k, entry.node, 1, connective="sum")
            row = rule_row(rule, words, figures.get((k, rule.id), ()))
            short = under.get(entry.node)
            own = row.conditions if short is None else (short,)
            rows.append(replace(row, weight=entry.points, group=title, under=own))
    return tuple(rows)


def _under(entries: Sequence[Entry], words: Words) -> dict[Node, str]:
    """How lines on one column read below its name; of two long sets that share all levels one is the rest."""
    found = {entry.node: text for entry in entries if (text := value_words(entry.node, words)) is not None}
    distinct = {entry.node for entry in entries if isinstance(entry.node, Among)}
    sets = sorted(distinct, key=lambda node: (len(node.levels), node.levels))
    if len(sets) == 2 and words.most_levels is not None and len(sets[1].levels) > words.most_levels:
        shorter, longer = map(levels_of_leaf, sets)
        if set(words.schema[sets[1].feature].levels) - set(longer) == set(shorter):
            markers = " or missing" * sets[1].missing + " or unseen" * sets[1].unseen
            found[sets[1]] = f"any other level{markers}"
    return found


# Rules that a person wrote -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HandEdit:
    """Who wrote or changed a rule, when and why; "" where that was not told."""

    author: str = ""
    date: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """`changed by hand by A. Auditor on 2026-11-25: policy 7`."""
        by = f" by {self.author}" if self.author else ""
        on = f" on {self.date}" if self.date else ""
        return f"changed by hand{by}{on}{f': {self.reason}' if self.reason else ''}"


def hand_made(graph: RuleGraph) -> dict[str, HandEdit]:
    """By id the rules of a model that a person wrote or changed; overrides, which say so themselves, are none."""
    made: dict[str, HandEdit] = {}
    for note in edits_of(graph):
        if note.get("override"):
            continue
        for gone in _ids(note, "removed"):
            made = {name: edit for name, edit in made.items() if not same_rule(name, gone)}
        said = {key: str(note.get(key) or "") for key in ("author", "date", "reason")}
        made |= dict.fromkeys(_ids(note, "added"), HandEdit(**said))
    return {
        rule.id: edit
        for rule in (rules_of(graph) if made else ())
        for edit in [edit for name, edit in made.items() if same_rule(name, rule.id)][:1]
        if rule.connective != OVERRIDES
    }


def same_rule(one: str, other: str) -> bool:
    """Whether two ids, of rules of two models, are those of one rule."""
    return one.startswith(other) or other.startswith(one)


def _ids(note: Mapping[str, Any], key: str) -> list[str]:
    ids = note.get(key)
    return [name for name in ids if isinstance(name, str) and name] if isinstance(ids, list | tuple) else []


def edits_of(graph: RuleGraph) -> list[Mapping[str, Any]]:
    """The edits that the provenance of a model lists, the first one first."""
    return entries(graph.provenance.get("edits"))


def is_learned(graph: RuleGraph) -> bool:
    """Whether the provenance says which learner made the model: a rule text that was imported has none."""
    return isinstance(graph.provenance.get("learner"), str)


def marks_of(graph: RuleGraph) -> dict[str, tuple[str, ...]]:
    """By id of a rule the words that mark it."""
    if not is_learned(graph):
        return {rule.id: ("no record of learning",) for rule in rules_of(graph)}
    marks = dict.fromkeys(hand_made(graph), "edited by hand") | {each.id: "override" for each in graph.overrides}
    return {rule: (mark,) for rule, mark in marks.items()}
