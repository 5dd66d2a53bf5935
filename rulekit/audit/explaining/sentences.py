"""All that is explained of a row, as plain sentences that a letter can be written from; the nearest rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.audit.explaining.noisy_formulas import causes_of, noisy_formulas, without_strengths
from rulekit.audit.explaining.phrases import Phrases, conditions, unknown
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
from rulekit.shown.score_cards import cards_of, has_scores, sum_of, threshold_words
from rulekit.tables.table import Array, Table

MOST_RULES = 2
SURELY = 20  # rows that are explained whatever the time


def nearest_rules(
    graph: RuleGraph, table: Table, labels: Array, phrases: Phrases, deadline: Deadline = NO_LIMIT
) -> list[tuple[list[dict[str, Any]], int]]:
    """Of each row [n] the nearest rules whose holding would change its decision; none where no plain rules decide.

    Each has its conditions in the way and those that hold, with the values of the row. The number is how many more
    rules have as few conditions in the way. After the deadline only the first rows have some.
    """
    plain = (rule for rule in rules_of(graph) if rule.connective == "or" and not rule.nested)
    rules = [rule for rule in plain if rule.node.family is Family.BOOLEAN]
    found: list[tuple[list[dict[str, Any]], int]] = [([], 0)] * table.n_rows
    if not rules:
        return found
    parts = [conditions(rule.node) for rule in rules]
    phrases.evaluate(part for own in parts for part in own)
    none = np.zeros(table.n_rows, dtype=int)
    failing = np.column_stack([sum((phrases.of(part) == 0 for part in own), none) for own in parts])
    failing = np.where(_would_change(graph, rules, labels, phrases), failing, 0)
    least = np.where(failing > 0, failing, np.iinfo(failing.dtype).max).min(axis=1)
    for i in range(table.n_rows):
        if i >= SURELY and deadline.over:
            break
        nearest = np.flatnonzero(failing[i] == least[i]).tolist()
        near = [
            {
                "id": rules[j].id,
                "class": graph.classes[rules[j].class_index],
                "in_the_way": [phrases.clause(part, i, needed=True) for part in parts[j] if not phrases.holds(part, i)],
                "holding": [phrases.clause(part, i) for part in parts[j] if phrases.holds(part, i)],
            }
            for j in nearest[:MOST_RULES]
        ]
        found[i] = near, max(0, len(nearest) - MOST_RULES)
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


class Why:
    """What decided the rows of a table, in sentences."""

    def __init__(self, graph: RuleGraph, phrases: Phrases) -> None:
        self.graph, self.phrases = graph, phrases
        self.rules = {(rule.class_index, rule.id): rule for rule in rules_of(graph)}
        self.noisy = noisy_formulas(graph)
        self.cards = cards_of(graph) if has_scores(graph) else []

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
        classes, decision = self.graph.classes, self.graph.decision
        held = [self._rule(view) for view in row["rules"] if "override" not in view]
        own = [r for r in held if r.class_index == label or (decision.ordered and r.class_index < label)]
        for rule in own:
            yield f"Rule {rule.id} for {self.class_words(rule.class_index)} holds: {self._true(rule.node, i)}."
        if decision.ordered:
            if label + 1 < len(classes):
                yield f"No rule for {self.class_words(label + 1)} holds."
        elif not own and len(classes) == 2 and not decision.ranked:
            yield f"No rule for {quoted(classes[1])} holds, and so the decision is {quoted(classes[label])}."
        elif not own:
            yield f"No rule of any class holds, and so the decision is {quoted(classes[label])}, the default."
        for k in dict.fromkeys(rule.class_index for rule in held if rule not in own):
            ids = listed([rule.id for rule in held if rule.class_index == k])
            yield f"Rule {ids} for {self.class_words(k)} holds as well, but {quoted(classes[label])} is decided first."

    def _rule(self, view: Mapping[str, Any]) -> Rule:
        return self.rules[self.graph.classes.index(view["class"]), view["id"]]

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
        views = [view for view in row["rules"] if "override" not in view]
        for view in views:
            rule = self._rule(view)
            node = without_strengths(rule.node) if rule.nested else rule.node
            said = f"{'against' if rule.connective in CONTRARY else 'for'} {self.class_words(rule.class_index)}"
            how = f"is true with probability {share(view['probability'])}" if "probability" in view else "holds"
            yield f"Rule {rule.id} {said} {how}: {self._true(node, i)}."
        if together := [view["id"] for view in views if view.get("together")]:
            verb = "are" if len(together) > 1 else "is"
            yield f"None of these is enough alone; {listed(together)} {verb} enough with the others."
        causes = {
            (self.graph.classes[part.class_index], names): cause
            for part in self.noisy
            for cause, names in causes_of(part.formula).items()
        }
        counting = [
            f"{self.phrases.clause(causes[found['class'], found['id']], i)} ({found['change']:.2g})"
            for found in row.get("conditions", ())[:MOST_CONDITIONS]
        ]
        if counting:
            what = "; ".join(counting)
            yield f"What counts most, and by how much the probability would be another without it: {what}."

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
            whose = f" for {self.class_words(part.class_index)}" if len(shown) > 1 else ""
            brought = [(entry.points * float(self.phrases.of(entry.node)[i]), entry.node) for entry in card.entries]
            if card.bias:
                yield f"{card.bias:+.6g}{whose} for every row."
            for points, node in sorted(brought, key=lambda line: -abs(line[0])):
                if points:
                    yield printable(f"{points:+.6g}{whose}: {self._line(node, i)}.")

    def _line(self, node: Node, i: int) -> str:
        if node.family is Family.BOOLEAN:
            return self._true(node, i)
        values = self.phrases.values(node, i)
        return values if column_of(node) is not None else f"{print_node(node, self.graph.schema)} ({values})"


def add_sentences(
    graph: RuleGraph,
    table: Table,
    rows: list[dict[str, Any]],
    labels: Array,
    changes: Sequence[NearestChange] | None,
    wished: bool,
    deadline: Deadline,
) -> None:
    """Put into each row [n] `nearest_rules`, and the `sentences` of what `explain` found of it.

    labels [n]: the classes without overrides; changes: the nearest ones, of which some alone were allowed (wished).
    """
    phrases = Phrases(graph.underlying, table)
    near = nearest_rules(graph.underlying, table, labels, phrases, deadline)
    why = Why(graph.underlying, phrases)
    for i, (row, (rules, alike)) in enumerate(zip(rows, near, strict=True)):
        row["nearest_rules"] = rules
        if i >= SURELY and deadline.over:
            row["sentences"] = [f"This row has no sentences: {deadline.reason}."]
            continue
        deadline.tell("sentences", i / len(rows))
        said = f"The decision is {quoted(row['label'])}"
        if graph.probability:
            place = list(map(repr, graph.classes)).index(repr(row["label"]))
            said += f"; its predicted probability is {share(row['probabilities'][place])}"
        own = [f"{said}.", *_sentences(why, row, int(labels[i]), alike, i)]
        if changes is not None:
            own.append(change_sentence(graph, changes[i], wished))
        if "reasons" in row:
            own += _reasons(row)
        row["sentences"] = list(map(printable, own))


def _sentences(why: Why, row: Mapping[str, Any], label: int, alike: int, i: int) -> Iterator[str]:
    if missing := unknown(why.phrases, i):
        yield f"Not known of this row: {listed(missing)}."
    yield from override_sentences(row)
    yield from why.sentences(row, label, i)
    for near in row["nearest_rules"]:
        words = why.class_words(why.graph.classes.index(near["class"]))
        yield f"Rule {near['id']} for {words} does not apply: {'; '.join(near['in_the_way'])}."
        if near["holding"]:
            yield f"Its other conditions hold: {'; '.join(near['holding'])}."
    if alike:
        yield f"{counted(alike, 'more rule')} with as few conditions in the way."


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
    moves, n = listed([_move(graph, moved) for moved in change.columns]), len(change.columns)
    far = counted(n, "column")
    known = [graph.schema[c.column] for c in change.columns if c.before is not None and c.column in graph.schema]
    if any(feature.kind == "numeric" for feature in known):  # of all else the distance is the number of columns
        far += f", {change.distance:.2g} of {'its spread' if n == 1 else 'their spreads, added up'}"
    proved = f"Not proved{change.stopped and f', as {change.stopped}'}: a smaller one may do."
    if change.proved and not change.stopped:
        proved = f"Proved: no smaller {allowed}change does."
    return f"The smallest {allowed}change that turns it to {label}: {moves} ({far}). {proved}"


def _move(graph: RuleGraph, moved: ColumnChange) -> str:
    """`income from 21000 to above 24900`; a word of a text would have to come or go."""
    text, contains, word = moved.column.partition(" contains ")
    if moved.column not in graph.schema and contains:
        return f"{column_title(text)} {'with' if moved.after else 'without'} the word {quoted(word)}"
    if moved.column not in graph.schema:
        return f"{column_title(moved.column.removesuffix(' is missing'))} that is not missing"
    before, _, after = moved.text.removeprefix(f"{moved.column}: ").partition(" -> ")
    return f"{column_title(moved.column)} from {before} to {after}"
