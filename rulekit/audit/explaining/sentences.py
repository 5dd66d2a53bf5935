"""All that is explained of a row, as plain sentences that a letter can be written from; the nearest rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.audit.explaining.noisy_formulas import Noisy, causes_of, noisy_formulas, without_strengths
from rulekit.audit.explaining.phrases import Phrases, conditions, unknown
from rulekit.graph.decisions import Part
from rulekit.graph.language.sentences import sentence_of
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, listed, quoted, share, weight
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Family, Node, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import CONTRARY, Rule, rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import column_title, printable
from rulekit.search.nearest import ColumnChange, NearestChange
from rulekit.shown.score_cards import Card, card_of, has_scores, sum_of, threshold_words
from rulekit.tables.table import Array, Table

MOST_RULES = 2
SURELY = 20  # rows that are explained whatever the time


@dataclass(frozen=True, slots=True)
class NearRule:
    """A rule that does not hold: its conditions in the way and those that hold, each with the values of the row.

    alike: how many more rules have as few conditions in the way.
    """

    rule: Rule
    in_the_way: tuple[str, ...]
    holding: tuple[str, ...]
    alike: int = 0

    def as_dict(self, graph: RuleGraph) -> dict[str, Any]:
        return {
            "id": self.rule.id,
            "class": graph.classes[self.rule.class_index],
            "in_the_way": list(self.in_the_way),
            "holding": list(self.holding),
        }


def nearest_rules(
    graph: RuleGraph, table: Table, labels: Array, phrases: Phrases | None = None, deadline: Deadline = NO_LIMIT
) -> list[tuple[NearRule, ...]]:
    """Of each row [n] the nearest rules whose holding would change its decision; none where no plain rules decide.

    After the deadline only the first rows have some.
    """
    words = Phrases(graph, table) if phrases is None else phrases
    plain = (rule for rule in rules_of(graph) if rule.connective == "or" and not rule.nested)
    rules = [rule for rule in plain if rule.node.family is Family.BOOLEAN]
    found: list[tuple[NearRule, ...]] = [()] * table.n_rows
    if not rules:
        return found
    parts = [conditions(rule.node) for rule in rules]
    words.evaluate(part for own in parts for part in own)
    failing = np.column_stack([sum((~words.of(part).astype(bool)).astype(int) for part in own) for own in parts])
    failing = np.where(_would_change(graph, rules, labels, words), failing, 0)
    least = np.where(failing > 0, failing, np.iinfo(failing.dtype).max).min(axis=1)
    for i in range(table.n_rows):
        if i >= SURELY and deadline.over:
            break
        nearest = np.flatnonzero(failing[i] == least[i]).tolist()
        alike = max(0, len(nearest) - MOST_RULES)
        near = []
        for j in nearest[:MOST_RULES]:
            way = tuple(words.clause(part, i, needed=True) for part in parts[j] if not words.holds(part, i))
            held = tuple(words.clause(part, i) for part in parts[j] if words.holds(part, i))
            near.append(NearRule(rules[j], way, held, alike))
        found[i] = tuple(near)
    return found


def _would_change(graph: RuleGraph, rules: list[Rule], labels: Array, words: Phrases) -> Array:
    """Whether a row would be decided otherwise if a rule held [n, rules].

    Of ranked classes the next higher one is asked for; of several in an order those before the class of the row, and
    all others where that is the default.
    """
    classes = np.array([rule.class_index for rule in rules])
    found: Array = classes[None, :] == labels[:, None] + 1 if graph.decision.ordered else classes > labels[:, None]
    if graph.decision.ordered or not graph.decision.ranked:
        return found
    order = [k for k, _, _ in graph.decision.ranked]
    place = np.array([order.index(k) for k in range(len(graph.classes))])
    own = [np.zeros(len(labels), dtype=bool) for _ in graph.classes]
    for rule in rules:
        own[rule.class_index] = own[rule.class_index] | words.of(rule.node).astype(bool)
    by_rule = np.column_stack(own)[np.arange(len(labels)), labels]
    earlier = place[classes][None, :] < place[labels][:, None]
    found = (classes[None, :] != labels[:, None]) & (earlier | ~by_rule[:, None])
    return found


MOST_CONDITIONS = 5


@dataclass(frozen=True, eq=False)
class Why:
    """What is known of a model beforehand; rules: by class index and id."""

    graph: RuleGraph
    phrases: Phrases
    rules: Mapping[tuple[int, str], Rule] = field(default_factory=dict)
    noisy: Sequence[Noisy] = ()
    cards: Sequence[tuple[Part, Card]] = ()

    @classmethod
    def of(cls, graph: RuleGraph, phrases: Phrases) -> Why:
        rules = {(rule.class_index, rule.id): rule for rule in rules_of(graph)}
        made = ((part, card_of(part.score, graph.schema)) for part in graph.decision.parts if has_scores(graph))
        cards = [(part, card) for part, card in made if card is not None]
        return cls(graph, phrases, rules, tuple(noisy_formulas(graph)), tuple(cards))

    def sentences(self, row: Mapping[str, Any], label: int, i: int) -> Iterator[str]:
        """What decided row i."""
        if self.cards:
            yield from self._points(label, i)
        elif self.noisy:
            yield from self._probabilities(row, label, i)
        else:
            yield from self._rules(row, label, i)

    def class_words(self, class_index: int) -> str:
        """A class, of ranks it or a higher one."""
        graph = self.graph
        higher = graph.decision.ordered and class_index < len(graph.classes) - 1
        return quoted(graph.classes[class_index]) + " or higher" * higher

    # Plain rules -----------------------------------------------------------------------------------------------------

    def _rules(self, row: Mapping[str, Any], label: int, i: int) -> Iterator[str]:
        held = [self._rule(view) for view in row["rules"] if "override" not in view]
        own = [rule for rule in held if self._speaks(rule, label)]
        for rule in own:
            yield f"Rule {rule.id} for {self.class_words(rule.class_index)} holds: {self._true(rule.node, i)}."
        if self.graph.decision.ordered:
            if label + 1 < len(self.graph.classes):
                yield f"No rule for {self.class_words(label + 1)} holds."
        elif not own:
            yield self._no_rule(label)
        for k in dict.fromkeys(rule.class_index for rule in held if not self._speaks(rule, label)):
            ids = listed([rule.id for rule in held if rule.class_index == k])
            first = quoted(self.graph.classes[label])
            yield f"Rule {ids} for {self.class_words(k)} holds as well, but {first} is decided first."

    def _rule(self, view: Mapping[str, Any]) -> Rule:
        return self.rules[self.graph.classes.index(view["class"]), view["id"]]

    def _speaks(self, rule: Rule, label: int) -> bool:
        return rule.class_index <= label if self.graph.decision.ordered else rule.class_index == label

    def _no_rule(self, label: int) -> str:
        classes = self.graph.classes
        if len(classes) == 2 and not self.graph.decision.ranked:
            return f"No rule for {quoted(classes[1])} holds, and so the decision is {quoted(classes[label])}."
        return f"No rule of any class holds, and so the decision is {quoted(classes[label])}, the default."

    def _true(self, node: Node, i: int) -> str:
        """The conditions of a true rule, behind its sentence where it has quantifiers."""
        said = "; ".join(self.phrases.clause(part, i) for part in conditions(node)) or "always"
        sentence = sentence_of(node, self.graph.schema)
        return said if sentence is None else f"{sentence}, since {said}"

    # Probabilities of formulas ---------------------------------------------------------------------------------------

    def _probabilities(self, row: Mapping[str, Any], label: int, i: int) -> Iterator[str]:
        for part in self.noisy:
            chance = float(self.phrases.of(Probability(part.formula))[i])
            said = self.class_words(part.class_index)
            verb = "exceeds" if chance > part.threshold else "does not exceed"
            yield f"The probability of the rules for {said} is {share(chance)}, which {verb} {share(part.threshold)}."
        for view in (view for view in row["rules"] if "override" not in view):
            yield self._random_rule(view, i)
        if together := [view for view in row["rules"] if view.get("together")]:
            ids = listed([view["id"] for view in together])
            yield f"None of these is enough alone; {ids} {'are' if len(together) > 1 else 'is'} enough with the others."
        causes = {
            (self.graph.classes[part.class_index], names): cause
            for part in self.noisy
            for cause, names in causes_of(part.formula).items()
        }
        counting = []
        for condition in row.get("conditions", ())[:MOST_CONDITIONS]:
            cause = causes[condition["class"], condition["id"]]
            counting.append(f"{self.phrases.clause(cause, i)} ({condition['change']:.2g})")
        if counting:
            what = "; ".join(counting)
            yield f"What counts most, and by how much the probability would be another without it: {what}."

    def _random_rule(self, view: Mapping[str, Any], i: int) -> str:
        rule = self._rule(view)
        node = without_strengths(rule.node) if rule.nested else rule.node
        for_class = f"{'against' if rule.connective in CONTRARY else 'for'} {self.class_words(rule.class_index)}"
        chance = f" is true with probability {share(view['probability'])}" if "probability" in view else " holds"
        return f"Rule {rule.id} {for_class}{chance}: {self._true(node, i)}."

    # Sums ------------------------------------------------------------------------------------------------------------

    def _points(self, label: int, i: int) -> Iterator[str]:
        totals = {part.class_index: float(self.phrases.of(sum_of(part.score))[i]) for part, _ in self.cards}
        graph = self.graph
        if len(self.cards) == 1:
            (total,) = totals.values()
            test = threshold_words(graph)
            yield f"The points add up to {weight(total)}{f'; the decision is {test}' if test else ''}."
            shown = list(self.cards)
        elif graph.decision.ordered:
            shown = [(part, card) for part, card in self.cards if part.class_index in (label, label + 1)]
            for part, _ in shown:
                least = "" if part.threshold is None else f", where more than {weight(part.threshold)} are needed"
                words = self.class_words(part.class_index)
                yield f"The points for {words} add up to {weight(totals[part.class_index])}{least}."
        else:
            said = listed([f"{quoted(graph.classes[k])} {weight(total)}" for k, total in totals.items()])
            yield f"The points by class are {said}; the class with the most is decided."
            shown = [(part, card) for part, card in self.cards if part.class_index == label]
        for part, card in shown:
            yield from self._lines(part, card, i, len(shown) > 1)

    def _lines(self, part: Part, card: Card, i: int, several: bool) -> Iterator[str]:
        brought = [(entry.points * float(self.phrases.of(entry.node)[i]), entry.node) for entry in card.entries]
        lines = sorted(((points, node) for points, node in brought if points), key=lambda line: -abs(line[0]))
        whose = f" for {self.class_words(part.class_index)}" if several else ""
        if card.bias:
            yield f"{card.bias:+.6g}{whose} for every row."
        for points, node in lines:
            yield printable(f"{points:+.6g}{whose}: {self._line(node, i)}.")

    def _line(self, node: Node, i: int) -> str:
        if node.family is Family.BOOLEAN:
            return self._true(node, i)
        column = column_of(node)
        shown = print_node(node, self.graph.schema)
        return self.phrases.values(node, i) if column is not None else f"{shown} ({self.phrases.values(node, i)})"


def sentences_of_rows(
    graph: RuleGraph,
    phrases: Phrases,
    rows: Sequence[Mapping[str, Any]],
    near: Sequence[tuple[NearRule, ...]],
    changes: Sequence[NearestChange] | None,
    wished: bool,
    deadline: Deadline,
) -> list[list[str]]:
    """The sentences of each row [n], of what `explain` found of it."""
    why = Why.of(graph.underlying, phrases)
    classes = {repr(label): k for k, label in enumerate(graph.classes)}
    found = []
    for i, row in enumerate(rows):
        if i >= SURELY and deadline.over:
            found.append([f"This row has no sentences: {deadline.reason}."])
            continue
        deadline.tell("sentences", i / len(rows))
        said = [_decision(graph, row, classes[repr(row["label"])])]
        said += _sentences(why, row, classes[repr(row.get("beneath", row["label"]))], near[i], i)
        if changes is not None:
            said.append(change_sentence(graph, changes[i], wished))
        if "reasons" in row:
            said += _reasons(row)
        found.append([printable(sentence) for sentence in said])
    return found


def _sentences(why: Why, row: Mapping[str, Any], label: int, near: Sequence[NearRule], i: int) -> Iterator[str]:
    if missing := unknown(why.phrases, i):
        yield f"Not known of this row: {listed(missing)}."
    yield from override_sentences(row)
    yield from why.sentences(row, label, i)
    for rule in near:
        yield from _nearest(why, rule)
    if near and near[0].alike:
        yield f"{counted(near[0].alike, 'more rule')} with as few conditions in the way."


def _decision(graph: RuleGraph, row: Mapping[str, Any], label: int) -> str:
    said = f"The decision is {quoted(graph.classes[label])}"
    if not graph.probability:
        return f"{said}."
    return f"{said}; its reported probability is {share(row['probabilities'][label])}."


def _nearest(why: Why, near: NearRule) -> Iterator[str]:
    words = why.class_words(near.rule.class_index)
    yield f"Rule {near.rule.id} for {words} does not apply: {'; '.join(near.in_the_way)}."
    if near.holding:
        yield f"Its other conditions hold: {'; '.join(near.holding)}."


def _reasons(row: Mapping[str, Any]) -> Iterator[str]:
    for reason in row["reasons"]:
        yield f"Reason {reason['code']}: {reason['text']} ({listed([column_title(c) for c in reason['columns']])})."
    counting = row["counting"]
    if not row["reasons"]:
        columns = listed([column_title(column) for column in counting["columns"]])
        if columns:
            yield f"No reason of the catalogue applies; what counts is {columns}."
        elif counting["complete"]:
            yield "No reason applies: no change of values turns the decision."
        else:
            yield "We could not find out which columns matter for this row (search limit reached)."
            return
    if not counting["complete"]:
        yield "Not every smallest change could be looked at, so that more columns may count."


def override_sentences(row: Mapping[str, Any]) -> Iterator[str]:
    """Of the rules of an explained row those with `override` (author, date, expires, reason), in their order.

    The first of them decides. `beneath` of the row is what would be decided without them.
    """
    said = [view for view in row["rules"] if "override" in view]
    for place, view in enumerate(said):
        signed = view["override"]
        until = f" until {signed['expires']}" if signed.get("expires") else ""
        verb = "decides" if place == 0 else "holds as well, and would decide"
        reason = signed["reason"].rstrip(".")
        by = f"by {signed['author']}, since {signed['date']}{until}"
        yield f"Override {view['id']} {verb} {quoted(view['class'])}, where {view['text']} ({by}): {reason}."
    if said and "beneath" in row:
        yield f"Without overrides the decision would be {quoted(row['beneath'])}."


def change_sentence(graph: RuleGraph, change: NearestChange, wished: bool = False) -> str:
    """What turns a decision, how far that is, and whether no smaller change does; wished: only some were allowed."""
    allowed = "allowed " if wished else ""
    if change.class_index is None:
        if change.proved:
            return f"No {allowed}change of values turns the decision; that is proved."
        return f"No {allowed}change was found that turns the decision: {change}."
    label = quoted(graph.classes[change.class_index])
    if not change.columns:
        return f"The decision is {label} already, so that nothing need change."
    moves = listed([_move(graph, moved) for moved in change.columns])
    n = len(change.columns)
    far = counted(n, "column")
    if _has_distance(graph, change):
        far += f", {change.distance:.2g} of {'its spread' if n == 1 else 'their spreads, added up'}"
    proved = f"Proved: no smaller {allowed}change does." if change.proved else "Not proved: a smaller one may do."
    if change.stopped:
        proved = f"Not proved, as {change.stopped}: a smaller one may do."
    return f"The smallest {allowed}change that turns it to {label}: {moves} ({far}). {proved}"


def _has_distance(graph: RuleGraph, change: NearestChange) -> bool:
    """Whether some number changes that was known; of all else the distance is the number of columns."""
    known = [moved.column for moved in change.columns if moved.before is not None]
    return any(column in graph.schema and graph.schema[column].kind == "numeric" for column in known)


def _move(graph: RuleGraph, moved: ColumnChange) -> str:
    """`income from 21000 to above 24900`; a word of a text would have to come or go."""
    text, contains, word = moved.column.partition(" contains ")
    if moved.column not in graph.schema and contains:
        return f"{column_title(text)} {'with' if moved.after else 'without'} the word {quoted(word)}"
    if moved.column not in graph.schema:
        return f"{column_title(moved.column.removesuffix(' is missing'))} that is not missing"
    before, _, after = moved.text.removeprefix(f"{moved.column}: ").partition(" -> ")
    return f"{column_title(moved.column)} from {before} to {after}"
