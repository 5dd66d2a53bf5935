"""The rules of a model as rows for a reader, single ones and lines of a score card, and which of them a person wrote.

A nested condition is an indented outline, one line for each condition, so that it can be read from the top down. A part
that several others use, or that lies very deep, is printed once, after the rest, under a name; so an outline grows with
the graph and never with the number of its paths. Nothing recurses.

An edit (`rulekit import --base`, `rulekit override`) is a note with author, date and reason, and the ids of the rules
that it added and removed. The id of a rule is the beginning of a digest, as long as its model needs it: ids of which
one begins with the other are the same rule.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rulekit.graph import nodes as rg
from rulekit.graph.files.safe_files import entries
from rulekit.graph.language.figures import RuleFigures
from rulekit.graph.language.sentences import sentence_of
from rulekit.graph.language.text import print_node
from rulekit.graph.language.wordings import ForPeople
from rulekit.graph.language.words import MOST_LEVELS, chance, grouped, lone_value, name
from rulekit.graph.leaves import column_of, levels_of_leaf
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, OVERRIDES, Rule, literals, rules_of
from rulekit.names import printable
from rulekit.schema import Schema
from rulekit.shown.score_cards import ALWAYS, UNSEEN, Card, Entry, is_unseen

DEEPEST = 10
MOST_IN_LINE = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `any of`, or a condition with its weight (`0.95 (else 0.24)`, or nothing) before it.

    depth: levels below the top of the outline.
    """

    depth: int
    text: str
    weight: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """How conditions are worded: under which schema, and how many levels of a set stand (None: every one)."""

    schema: Schema
    most_levels: int | None = MOST_LEVELS
    _texts: dict[rg.Node, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, roots: Iterable[rg.Node], schema: Schema, full: bool = False) -> Words:
        """The words for some nodes: long level sets are cut, but never so that two different ones look alike."""
        if full:
            return cls(schema, None)
        sets = [node for node in rg.topological(list(roots)) if levels_of_leaf(node)]
        columns = {name for name in map(column_of, sets) if name is not None and name in schema}
        longest = max((len(schema[name].levels) for name in columns), default=0)
        words = cls(schema)
        while words.most_levels is not None and len(set(map(words.text, sets))) < len(sets):
            words = cls(schema, 2 * words.most_levels if words.most_levels < longest else None)
        return words

    def text(self, node: rg.Node) -> str:
        """A node on one line."""
        if node not in self._texts:
            self._texts[node] = printable(print_node(node, self.schema, self.most_levels))
        return self._texts[node]

    def quantified(self, node: rg.Node) -> bool:
        """Whether one sentence with quantifiers says the same as a node."""
        return self.most_levels is not None and sentence_of(node, self.schema) is not None


# Outlines ------------------------------------------------------------------------------------------------------------


def outline(node: rg.Node, words: Words) -> Iterator[Line]:
    """The lines of a condition, the first at depth 0, then those of the parts that it calls by name, each once."""
    order = rg.topological([node])
    uses, ids, size = Counter(child for part in order for child in part.children), rg.short_ids(order), literals(order)

    def compound(node: rg.Node) -> bool:
        """Whether a condition takes a line of its own above lines for its parts."""
        body = node.child if isinstance(node, rg.Not) else node
        if not isinstance(body, rg.And | rg.Or | rg.AtLeast | rg.Odd) or not body.children:
            return isinstance(node, rg.Not) and node.family is rg.Family.RANDOM
        nested = any(len(child.children) > 1 for child in body.children) and size[body] > MOST_IN_LINE
        return node.family is rg.Family.RANDOM or (nested and not words.quantified(node))

    waiting = deque([(node, "")])
    called = {node}
    while waiting:
        root, title = waiting.popleft()
        stack = [(root, 0)]
        while stack:
            part, depth = stack.pop()
            before = title if part is root else ""
            body, weight = (part.cause, _weight(part)) if isinstance(part, rg.Hidden) else (part, "")
            if not compound(body):
                same = f" (bit {printable(part.name)})" if isinstance(part, rg.Hidden) and uses[part] > 1 else ""
                yield Line(depth, f"{before}{' and '.join(conditions_of(body, words))}{same}", weight)
            elif part is not root and (uses[part] > 1 or depth >= DEEPEST):
                yield Line(depth, f"$r{ids[part]}")
                if part not in called:
                    called.add(part)
                    waiting.append((part, f"$r{ids[part]}: "))
            else:
                above, children = _opening(body)
                yield Line(depth, before + above, weight)
                # What a list says itself comes before the lists in it, else it would stand far from its opening.
                stack.extend((child, depth + 1) for child in sorted(children, key=compound)[::-1])


def _opening(node: rg.Node) -> tuple[str, tuple[rg.Node, ...]]:
    """The line above the parts of a compound condition, and the parts, without constants that say nothing in them."""
    body, denied = (node.child, True) if isinstance(node, rg.Not) else (node, False)
    if isinstance(body, rg.And | rg.Or):
        children = [part for part, _ in _parts(body)] if isinstance(body, rg.And) else body.children
        telling = tuple(child for child in children if child is not rg.Constant(isinstance(body, rg.And)))
        words = ("all of", "not all of") if isinstance(body, rg.And) else ("any of", "none of")
        return words[denied], telling or body.children
    if denied:
        return "not", node.children
    return f"at least {node.k} of" if isinstance(node, rg.AtLeast) else "an odd number of", node.children


def _weight(node: rg.Hidden) -> str:
    """The two probabilities of a hidden bit: `0.95 (else 0.24)`, or `0.95` of a bit that needs its condition."""
    return chance(node.on) + (f" (else {chance(node.off)})" if node.off else "")


def conditions_of(node: rg.Node, words: Words) -> tuple[str, ...]:
    """The literals of a conjunction, or the whole condition as one text."""
    if node is rg.TRUE:
        return (ALWAYS,)
    joined = isinstance(node, rg.And) and len(node.children) > 1 and node.family is rg.Family.BOOLEAN
    if isinstance(node, rg.And) and joined and not words.quantified(node):
        parts = ((words.text(part), one) for part, one in _parts(node))
        return tuple(text if one else f"({text})" for text, one in parts)
    return (words.text(node),)


def _parts(node: rg.And) -> Iterator[tuple[rg.Node, bool]]:
    """What a conjunction joins, two bounds on one column as one, and whether it reads as one condition."""
    for places in grouped(node.children, anywhere=True):
        one, *others = parts = tuple(node.children[i] for i in places)
        yield (rg.And(parts), True) if others else (one, not one.children or isinstance(one, rg.Not))


# Rows ----------------------------------------------------------------------------------------------------------------


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
    node, inhibits, lines = rule.node, rule.connective == INHIBITS, tuple[Line, ...]()
    if node.family is not rg.Family.BOOLEAN or any(child.children for child in node.children):
        lines = tuple(outline(node, words))
        lines = lines if len(lines) > 1 or lines[0].weight else ()
    said = _sentence(node, words, "inhibits" if inhibits else "fires")
    points = rule.weight if rule.connective == "sum" else None
    return Row(rule.id, rule.class_index, said, points, figures, lines, inhibits=inhibits)


def _sentence(node: rg.Node, words: Words, verb: str) -> tuple[str, ...]:
    """A rule in words: its literals, or the whole condition as one text."""
    if isinstance(node, rg.Hidden):
        first, *others = conditions_of(node.cause, words)
        where = "on every row" if node.cause is rg.TRUE else f"when {first}"
        weight = chance(node.on) if node.cause is rg.TRUE else _weight(node)
        return (f"{verb} with probability {weight} {where}", *others)
    if is_unseen(node):
        return (f"{name(str(column_of(node)))} is {UNSEEN}",)
    if node.family is rg.Family.REAL:
        return (f"times {words.text(node)}",)
    return conditions_of(node, words)


# Score cards ---------------------------------------------------------------------------------------------------------

SEVERAL = "several columns"


def card_rows(
    card: Card,
    k: int,
    rules: Mapping[rg.Node, Rule],
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


def _under(entries: Sequence[Entry], words: Words) -> dict[rg.Node, str]:
    """How lines on one column read below its name; of two long sets that share all levels one is the rest."""
    found = {entry.node: text for entry in entries if (text := _value_words(entry.node, words)) is not None}
    distinct = {entry.node for entry in entries if isinstance(entry.node, rg.Among)}
    sets = sorted(distinct, key=lambda node: (len(node.levels), node.levels))
    if len(sets) == 2 and words.most_levels is not None and len(sets[1].levels) > words.most_levels:
        shorter, longer = map(levels_of_leaf, sets)
        if set(words.schema[sets[1].feature].levels) - set(longer) == set(shorter):
            markers = " or missing" * sets[1].missing + " or unseen" * sets[1].unseen
            found[sets[1]] = f"any other level{markers}"
    return found


def _value_words(node: rg.Node, words: Words) -> str | None:
    """`up to 3`, `above 3 up to 5`, `in {a, b}`, `true`, `missing`; None where only the whole condition says it."""
    leaf = node.child if isinstance(node, rg.Not) else node
    if isinstance(leaf, rg.Missing):
        return "missing" if leaf is node else "any value"
    if isinstance(leaf, rg.IsTrue):
        return ("true" if leaf is node else "false") + " or missing" * (leaf.missing is (leaf is node))
    bounds = [part for part in (node.children if isinstance(node, rg.And) else (node,)) if isinstance(part, rg.Compare)]
    pairs = grouped(bounds, anywhere=True) if len(bounds) == max(1, len(node.children)) else []
    if len(pairs) == 1 and len(bounds) <= 2:
        lower, upper = bounds[pairs[0][0]], bounds[pairs[0][-1]]
        return _interval_words(lower, upper, words) + " or missing" * (lower.missing and upper.missing)
    if is_unseen(node):
        return UNSEEN
    if isinstance(leaf, rg.Among | rg.Contains):
        text, column = words.text(node).strip("()"), f"{name(leaf.feature)} "
        return text.removeprefix(column) if text.startswith(column) else None
    return None


def _interval_words(lower: rg.Compare, upper: rg.Compare, words: Words) -> str:
    """The values above a lower and up to an upper bound, or of one bound alone, given twice."""
    people, column = ForPeople(words.schema, words.most_levels), lower.feature
    if lower is upper:
        return f"{'up to' if lower.op == '<=' else 'above'} {people.amount(lower.value, column)}"
    whole = lone_value(lower.value, upper.value, people.feature(column), rounded=True)
    if whole is not None:
        return people.amount(whole, column)
    low, high = people.ends(lower.value, upper.value, column)
    return f"above {low} up to {high}"


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
