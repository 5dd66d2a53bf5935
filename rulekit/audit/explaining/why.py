"""Sentences on what decided a row, for each form of decision: plain rules, probabilities of formulas, sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rulekit.audit.explaining.meanings import CONTRARY, without_strengths
from rulekit.audit.explaining.noisy_formulas import Noisy, noisy_formulas
from rulekit.audit.explaining.phrases import Phrases, conditions
from rulekit.audit.explaining.turned_conditions import causes_of
from rulekit.graph.decisions import Part
from rulekit.graph.language.quantified import sentence_of
from rulekit.graph.language.readable import listed, share, weight
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import quoted
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Family, Node, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, rules_of
from rulekit.names import printable
from rulekit.shown.score_cards.cards import Card, card_of
from rulekit.shown.score_cards.row_points import has_scores, sum_of, threshold_words

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
        cards = []
        for part in graph.decision.parts if has_scores(graph) else ():
            card = card_of(part.score, graph.schema)
            if card is not None:
                cards.append((part, card))
        return cls(graph, phrases, rules, tuple(noisy_formulas(graph)), tuple(cards))

    def sentences(self, row: Mapping[str, Any], label: int, i: int) -> Iterator[str]:
        """What decided row i."""
        if self.cards:
            yield from self._points(label, i)
        elif self.noisy:
            yield from self._probabilities(row, label, i)
        else:
            yield from self._rules(row, label)(i)

    def class_words(self, class_index: int) -> str:
        """A class, of ranks it or a higher one."""
        graph = self.graph
        higher = graph.decision.ordered and class_index < len(graph.classes) - 1
        return quoted(graph.classes[class_index]) + " or higher" * higher

    # Plain rules -----------------------------------------------------------------------------------------------------

    def _rules(self, row: Mapping[str, Any], label: int) -> Any:
        def said(i: int) -> Iterator[str]:
            held = [self._rule(view) for view in row["rules"] if "override" not in view]
            own = [rule for rule in held if self._speaks(rule, label)]
            for rule in own:
                yield self.rule_holds(rule, i)
            if self.graph.decision.ordered:
                if label + 1 < len(self.graph.classes):
                    yield f"No rule for {self.class_words(label + 1)} holds."
            elif not own:
                yield self._no_rule(label)
            for k in dict.fromkeys(rule.class_index for rule in held if not self._speaks(rule, label)):
                ids = listed([rule.id for rule in held if rule.class_index == k])
                first = quoted(self.graph.classes[label])
                yield f"Rule {ids} for {self.class_words(k)} holds as well, but {first} is decided first."

        return said

    def _rule(self, view: Mapping[str, Any]) -> Rule:
        return self.rules[self.graph.classes.index(view["class"]), view["id"]]

    def _speaks(self, rule: Rule, label: int) -> bool:
        if self.graph.decision.ordered:
            return rule.class_index <= label
        return rule.class_index == label

    def _no_rule(self, label: int) -> str:
        classes = self.graph.classes
        if len(classes) == 2 and not self.graph.decision.ranked:
            return f"No rule for {quoted(classes[1])} holds, and so the decision is {quoted(classes[label])}."
        return f"No rule of any class holds, and so the decision is {quoted(classes[label])}, the default."

    def rule_holds(self, rule: Rule, i: int) -> str:
        return f"Rule {rule.id} for {self.class_words(rule.class_index)} holds: {self._true(rule.node, i)}."

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
