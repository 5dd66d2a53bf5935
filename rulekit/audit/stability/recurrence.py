"""How often the rules and conditions of a model come back in others, and which other rules come again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from rulekit.audit.rule_matching.alike import Alike, RuleParts, dice
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import name
from rulekit.graph.rule_graph import ClassLabel
from rulekit.schema import Schema


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule or a condition, and in how many of the models it is found.

    id: of a rule of the model, "" of a condition and of a rule that it has not. weights: the smallest, the middle and
    the largest weight (or probability) that it has where it is found; None of a rule that counts whole. own: the weight
    in the model. decided: of a rule, how often its rows are decided as the model decides them, whatever rules do so.
    """

    text: str
    label: ClassLabel
    found: int
    of: int
    id: str = ""
    weights: tuple[float, float, float] | None = None
    own: float | None = None
    decided: float | None = None

    @property
    def share(self) -> float:
        return self.found / self.of

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        found: dict[str, Any] = {"id": self.id} if self.id else {}
        found |= {"text": self.text, "class": self.label, "found": self.found, "share": self.share}
        found |= {} if self.decided is None else {"rows_decided_alike": self.decided}
        if self.weights is not None:
            found |= {"weight": self.own, "weights": dict(zip(("low", "middle", "high"), self.weights, strict=True))}
        return found


def rules_found(
    alike: Alike,
    schema: Schema,
    own: Sequence[RuleParts],
    others: Sequence[Sequence[RuleParts]],
    decided: Sequence[float | None] = (),
) -> tuple[Recurrence, ...]:
    """For each rule of a model in how many others one is alike, in the order of the model; decided: of each rule."""
    found = []
    for place, rule in enumerate(own):
        again = [match for rules in others if (match := alike.nearest(rule, rules)) is not None]
        one = _recurrence(alike, schema, rule, again, len(others), rule.rule.id)
        found.append(replace(one, decided=decided[place] if decided else None))
    return tuple(found)


def columns_found(
    schema: Schema, own: Sequence[RuleParts], others: Sequence[Sequence[RuleParts]]
) -> tuple[Recurrence, ...]:
    """For each column that rules of the model read in how many others a rule for the same class does."""
    wanted = dict.fromkeys((column, rule.side) for rule in own for column in schema.names if column in rule.columns)
    return tuple(
        Recurrence(
            name(column),
            side[0],
            sum(any(rule.side == side and column in rule.columns for rule in rules) for rules in others),
            len(others),
        )
        for column, side in wanted
    )


def further_rules(
    alike: Alike, schema: Schema, own: Sequence[RuleParts], others: Sequence[Sequence[RuleParts]]
) -> tuple[Recurrence, ...]:
    """Rules that are alike to none of the model, each with those alike to it, the most frequent first."""
    groups: list[tuple[RuleParts, list[RuleParts], set[int]]] = []
    for place, rules in enumerate(others):
        for rule in rules:
            if alike.nearest(rule, own) is not None:
                continue
            at = alike.nearest(rule, [first for first, _, _ in groups])
            if at is None:
                groups.append((rule, [rule], {place}))
                continue
            _, members, places = next(group for group in groups if group[0] is at)
            if place not in places:
                members.append(rule)
                places.add(place)
    found = [_recurrence(alike, schema, first, members, len(others)) for first, members, _ in groups]
    return tuple(sorted(found, key=lambda one: -one.found))


def conditions_found(
    alike: Alike, schema: Schema, own: Sequence[RuleParts], others: Sequence[Sequence[RuleParts]]
) -> tuple[Recurrence, ...]:
    """For each condition of the model in how many others some rule for the same class has one that is alike."""
    wanted = dict.fromkeys((rule.side, columns, node) for rule in own for columns, node in rule.parts.items())
    found = []
    for side, columns, node in wanted:
        again = sum(
            any(
                rule.side == side and columns in rule.parts and alike.apart(node, rule.parts[columns]) < float("inf")
                for rule in rules
            )
            for rules in others
        )
        found.append(Recurrence(print_node(node, schema), side[0], again, len(others)))
    return tuple(found)


def dice_of_pairs(alike: Alike, models: Sequence[Sequence[RuleParts]]) -> dict[tuple[int, int], float]:
    """The Dice-Sorensen index of the rules of each pair of models."""
    return {
        (i, j): dice(alike.pairs(models[i], models[j]), len(models[i]), len(models[j]))
        for i, j in combinations(range(len(models)), 2)
    }


def _recurrence(
    alike: Alike, schema: Schema, rule: RuleParts, again: Sequence[RuleParts], of: int, id_: str = ""
) -> Recurrence:
    node = rule.rule.node if rule.condition is None or rule.rule.nested else rule.condition
    weights = sorted(_weights(alike, rule, again))
    between = (weights[0], weights[len(weights) // 2], weights[-1]) if weights else None
    return Recurrence(print_node(node, schema), rule.side[0], len(again), of, id_, between, rule.weight)


def _weights(alike: Alike, rule: RuleParts, again: Sequence[RuleParts]) -> Iterator[float]:
    """The weights that a term has elsewhere, as weights of its own condition."""
    for match in again:
        if match.weight is not None:
            yield -match.weight if rule.parts and alike.turned(rule, match) else match.weight
