"""The words of each kind of node in the rule language, in full or as people read them."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rulekit.dates import moment_text
from rulekit.graph import nodes as rg
from rulekit.graph.language.words import (
    MOST_LEVELS,
    amount,
    chance,
    grouped,
    in_order,
    level_set,
    lone_value,
    name,
    names,
    number,
    rounded_amount,
    scale_of,
    weight,
)
from rulekit.graph.nodes import Family, Node
from rulekit.numbers import probability_of, shortest_probability
from rulekit.schema import Feature, Schema


class Binding(enum.IntEnum):
    """How tightly an expression holds together: what may stand where without parentheses."""

    FIRES = 0
    OR = 1
    AND = 2
    BOUNDS = 3
    NOT = 4
    ABOVE = 5
    ATOM = 6


@dataclass(frozen=True, slots=True)
class Phrase:
    """An expression, how tightly it binds, and how deeply its parentheses are nested."""

    words: str
    binding: Binding = Binding.ATOM
    depth: int = 0

    def at(self, needed: Binding) -> str:
        """The words, in parentheses where they bind less tightly than needed."""
        return self.words if self.binding >= needed else f"({self.words})"


Children = tuple[Phrase, ...]


def _leaf(words: str, *markers: str) -> Phrase:
    return Phrase(f"({words}{''.join(f' or {m}' for m in markers)})") if markers else Phrase(words)


def _some(node: rg.Or | rg.AtLeast | rg.Odd, children: Children) -> Phrase:
    if isinstance(node, rg.Or) and len(children) > 1:
        return Phrase(" or ".join(child.at(Binding.AND) for child in children), Binding.OR)
    return Phrase(f"{quantifier(node)}({', '.join(child.words for child in children)})")


def quantifier(node: rg.And | rg.Or | rg.AtLeast | rg.Odd) -> str:
    """The words before a list of conditions."""
    if isinstance(node, rg.Odd):
        return "odd of "
    return "all of " if isinstance(node, rg.And) else "any of " if isinstance(node, rg.Or) else f"at least {node.k} of "


def odds(strength: float) -> str:
    """`probability p`, or `strength s` where no decimal p gives the strength back."""
    p = shortest_probability(strength)
    return f"strength {number(float(p[1:]))}" if p.startswith("s") else f"probability {number(float(p))}"


def _hidden(node: rg.Hidden, children: Children, said: Callable[[float], str] = odds) -> Phrase:
    words = f"{name(node.name)} fires with {said(node.on)}"
    if node.off:
        words += f" (else {said(node.off).removeprefix('probability ')})"
    return Phrase(f"{words} when {children[0].at(Binding.OR)}", Binding.FIRES)


def opening(node: rg.WeightedSum, said: Callable[[float], str] = number) -> str:
    """What a sum begins with: a unit with the points that it needs, which are its bias with the other sign."""
    return f"at least {said(0.0 - node.bias)} points of" if isinstance(node, rg.LinearThreshold) else "sum"


def terms(node: rg.WeightedSum, children: Children, said: Callable[[float], str] = number) -> list[str]:
    """The weighted terms of a unit; those of a sum behind its bias."""
    written = [] if isinstance(node, rg.LinearThreshold) else [said(node.bias)]
    for factor, child, text in zip(node.weights, node.children, children, strict=True):
        real = child.family in (Family.REAL, Family.PROBABILITY)
        written.append(f"{said(factor)} * {text.at(Binding.ATOM)}" if real else f"{said(factor)} if {text.words}")
    return written


PREFIXES: dict[type[Node], str] = {
    rg.Strength: "strength of ",
    rg.Probability: "probability of ",
    rg.Logistic: "logistic of ",
}


def exceeds(node: rg.Above, said: str) -> str:
    """What follows a score that must be above its threshold."""
    return f"exceeds {scale_of(node.score)} {said}"


DECIDED = "decided"


def _sided(node: rg.Sided, children: Children) -> Phrase:
    rule = children[1].words if len(children) > 1 else DECIDED
    return Phrase(f"sided({children[0].at(Binding.ATOM)}, {sides(node, rule)})")


def sides(node: rg.Sided, rule: str) -> str:
    """Between which bounds a probability is held where."""
    return f"at least {number(node.above)} when {rule}, else at most {number(node.below)}"


_WORDING: dict[type[Node], Callable[..., Phrase]] = {
    rg.IsTrue: lambda node, _: _leaf(name(node.feature), *["missing"] * node.missing),
    rg.Missing: lambda node, _: Phrase(f"{name(node.feature)} is missing"),
    rg.Constant: lambda node, _: Phrase("true" if node.value else "false"),
    **dict.fromkeys((rg.Or, rg.AtLeast, rg.Odd), _some),
    rg.Above: lambda node, parts: Phrase(
        f"{parts[0].at(Binding.ATOM)} {exceeds(node, number(node.threshold))}", Binding.ABOVE
    ),
    rg.Hidden: _hidden,
    **dict.fromkeys(PREFIXES, lambda node, parts: Phrase(PREFIXES[type(node)] + parts[0].at(Binding.ATOM))),
    rg.Rescaled: lambda node, parts: Phrase(f"odds({number(node.odds)} * {parts[0].at(Binding.ATOM)})"),
    rg.Difference: lambda node, parts: Phrase(f"difference({', '.join(part.words for part in parts)})"),
    rg.Sided: _sided,
}


@dataclass(frozen=True, slots=True)
class ExactWording:
    """The wordings in full; those of values of a column are dates where the schema says so and the date is exact."""

    schema: Schema | None
    anywhere: ClassVar[bool] = False

    def table(self) -> dict[type[Node], Callable[..., Phrase]]:
        own: dict[type[Node], Callable[..., Phrase]] = {
            rg.Compare: self.compare,
            rg.Column: self.column,
            rg.Step: self.step,
        }
        own |= {rg.Among: self.among, rg.Contains: self.contains, rg.LevelPoints: self.points, rg.Not: self.contrary}
        return {**_WORDING, **own, rg.And: self.conjunction, rg.Linear: self.sum, rg.LinearThreshold: self.sum}

    def feature(self, column: str) -> Feature | None:
        return self.schema[column] if self.schema is not None and column in self.schema else None

    def amount(self, value: float, column: str) -> str:
        feature = self.feature(column)
        date = moment_text(value, feature.display) if feature is not None and feature.dated else ""
        return date or number(value)

    def value(self, value: float, column: str) -> str:
        """A value that a sum adds up."""
        return self.amount(value, column)

    def ends(self, low: float, high: float, column: str) -> tuple[str, str]:
        """Two bounds on a column, which stands between them."""
        return self.amount(low, column), self.amount(high, column)

    def weight(self, value: float) -> str:
        return number(value)

    def compare(self, node: rg.Compare, _: Children) -> Phrase:
        low = -math.inf if node.op == "<=" else node.value
        whole = lone_value(low, node.value, self.feature(node.feature), self.anywhere)
        op, value = (node.op, node.value) if whole is None else ("=", whole)
        return _leaf(f"{name(node.feature)} {op} {self.amount(value, node.feature)}", *["missing"] * node.missing)

    def among(self, node: rg.Among, _: Children) -> Phrase:
        markers = ["missing"] * node.missing + ["unseen"] * node.unseen
        return _leaf(f"{name(node.feature)} in {self.level_set(node.levels, node.feature)}", *markers)

    def contains(self, node: rg.Contains, _: Children) -> Phrase:
        return _leaf(f"{name(node.feature)} contains {self.tokens(node, 'any')}", *["missing"] * node.missing)

    def tokens(self, node: rg.Contains, some: str) -> str:
        several = len(node.tokens) != 1
        return f"{some} of {self.level_set(node.tokens, node.feature)}" if several else name(node.tokens[0])

    def contrary(self, node: rg.Not, children: Children) -> Phrase:
        leaf = node.child
        if isinstance(leaf, rg.IsTrue | rg.Contains | rg.Among | rg.Missing) and (words := self.denied(leaf)):
            by_name = children[0].words != self.table()[type(leaf)](leaf, ()).words
            if not by_name and (isinstance(leaf, rg.Missing) or leaf.missing):
                return Phrase(words, Binding.NOT if isinstance(leaf, rg.IsTrue) else Binding.ATOM)
            if not by_name:
                return _leaf(words, "missing")
        return Phrase(f"not {children[0].at(Binding.NOT)}", Binding.NOT)

    def denied(self, leaf: rg.IsTrue | rg.Contains | rg.Among | rg.Missing) -> str:
        """A condition of its own, false where x is missing: a leaf that holds there does not hold. "": none says it."""
        column = name(leaf.feature)
        if not isinstance(leaf, rg.Contains | rg.Among):
            return f"not {column}" if isinstance(leaf, rg.IsTrue) else f"{column} is known"
        if isinstance(leaf, rg.Contains):
            return f"{column} lacks {self.tokens(leaf, 'all')}"
        return "" if leaf.unseen else f"{column} not in {self.level_set(leaf.levels, leaf.feature)}"

    def conjunction(self, node: rg.And, children: Children) -> Phrase:
        phrases = [text for _, text in self.phrases(node, children)]
        if len(children) < 2:
            return Phrase(f"all of ({', '.join(text.words for text in phrases)})")
        return (
            phrases[0]
            if len(phrases) == 1
            else Phrase(" and ".join(text.at(Binding.BOUNDS) for text in phrases), Binding.AND)
        )

    def phrases(self, node: rg.And, children: Children) -> list[tuple[tuple[Node, ...], Phrase]]:
        """What a conjunction joins, with the nodes of each: a lower and an upper bound on one column are one."""
        parts: list[rg.Compare | None] = []
        for part, text in zip(node.children, children, strict=True):
            bound = part if isinstance(part, rg.Compare) and self.compare(part, ()).words == text.words else None
            parts.append(bound)
        found: list[tuple[tuple[Node, ...], Phrase]] = []
        for places in grouped(parts, self.anywhere):
            lower, upper = parts[places[0]], parts[places[-1]]
            text = children[places[0]]
            if len(places) == 2 and lower is not None and upper is not None:
                found.append(((lower, upper), self.between(lower, upper)))
            else:  # bounds by themselves are a conjunction of their own
                own = Phrase(f"({text.words})") if text.binding is Binding.BOUNDS else text
                found.append(((node.children[places[0]],), own))
        return found

    def between(self, lower: rg.Compare, upper: rg.Compare) -> Phrase:
        column = lower.feature
        whole = lone_value(lower.value, upper.value, self.feature(column), self.anywhere)
        if whole is None:
            low, high = self.ends(lower.value, upper.value, column)
            words = f"{low} < {name(column)} <= {high}"
        else:
            words = f"{name(column)} = {self.amount(whole, column)}"
        return Phrase(_leaf(words, *["missing"] * (lower.missing and upper.missing)).words, Binding.BOUNDS)

    def column(self, node: rg.Column, _: Children) -> Phrase:
        low, high, missing = (self.value(x, node.feature) for x in (node.low, node.high, node.missing))
        step = f", step {self.weight(node.step)}" if node.step else ""
        return Phrase(f"clip({name(node.feature)}, from {low} to {high}{step}, missing {missing})")

    def step(self, node: rg.Step, _: Children) -> Phrase:
        cuts = [self.amount(cut, node.feature) for cut in node.cuts]
        pieces = [f"{self.weight(v)} up to {cut}" for v, cut in zip(node.values[:-1], cuts, strict=True)]
        items = ", ".join([*pieces, f"then {self.weight(node.values[-1])}", f"missing {self.weight(node.missing)}"])
        return Phrase(f"step({name(node.feature)}: {items})")

    def points(self, node: rg.LevelPoints, _: Children) -> Phrase:
        groups = [f"{self.weight(points)} in {self.level_set(levels, node.feature)}" for points, levels in node.groups]
        apart = [f"{what} {self.weight(getattr(node, what))}" for what in ("missing", "unseen")]
        return Phrase(f"points({name(node.feature)}: {', '.join([*groups, *apart])})")

    def level_set(self, levels: Sequence[str], column: str) -> str:
        return names(in_order(levels, self.feature(column)))

    def sum(self, node: rg.WeightedSum, children: Children) -> Phrase:
        space = " " if isinstance(node, rg.LinearThreshold) else ""
        return Phrase(f"{opening(node, self.weight)}{space}({', '.join(terms(node, children, self.weight))})")


@dataclass(frozen=True, slots=True)
class ForPeople(ExactWording):
    """The wordings that differ where a text is only read: rounded, with units, long level sets cut."""

    most_levels: int | None = MOST_LEVELS
    anywhere: ClassVar[bool] = True

    def table(self) -> dict[type[Node], Callable[..., Phrase]]:
        return {**ExactWording.table(self), rg.Above: self.above, rg.Hidden: self.hidden}

    def amount(self, value: float, column: str) -> str:
        return amount(value, self.feature(column))

    def value(self, value: float, column: str) -> str:
        return rounded_amount(value, self.feature(column))

    def ends(self, low: float, high: float, column: str) -> tuple[str, str]:
        feature = self.feature(column)
        start = amount(low, feature and replace(feature, unit=""))  # the unit stands behind the upper bound
        if start == amount(high, feature and replace(feature, unit="")):  # half a day
            return ExactWording(self.schema).ends(low, high, column)
        return start, self.amount(high, column)

    def weight(self, value: float) -> str:
        return weight(value)

    def level_set(self, levels: Sequence[str], column: str) -> str:
        return level_set(levels, self.most_levels, self.feature(column))

    def sum(self, node: rg.WeightedSum, children: Children) -> Phrase:
        """A unit as the points that it needs, and what brings them: of columns their names alone."""
        if not isinstance(node, rg.LinearThreshold):
            return ExactWording.sum(self, node, children)
        brought = [item for term, text in zip(node.terms, children, strict=True) for item in self._brought(*term, text)]
        return Phrase(f"{opening(node, self.weight)} ({', '.join(brought)})")

    def _brought(self, factor: float, child: Node, text: Phrase) -> list[str]:
        """What a term of a unit brings."""
        if isinstance(child, rg.LevelPoints):
            column = name(child.feature)
            groups = [(factor * points, levels) for points, levels in child.groups if points]
            shown = len(groups) if self.most_levels is None else self.most_levels
            found = [
                f"{self.weight(points)} if {column} in {self.level_set(levels, child.feature)}"
                for points, levels in groups[:shown]
            ]
            if rest := groups[shown:]:
                count = sum(len(levels) for _, levels in rest)
                first, last = (self.weight(rest[k][0]) for k in (0, -1))
                found.append(f"{first} to {last} for {count} more levels of {column}")
            apart = (("missing", child.missing), ("unseen", child.unseen))
            return [*found, *(f"{self.weight(factor * p)} if {column} is {what}" for what, p in apart if p)]
        if child.family not in (Family.REAL, Family.PROBABILITY):
            return [f"{self.weight(factor)} if {text.words}"]
        words = name(child.feature) if isinstance(child, rg.Column) else text.at(Binding.ATOM)
        return [words if factor == 1.0 else f"{self.weight(factor)} * {words}"]

    def among(self, node: rg.Among, children: Children) -> Phrase:
        feature = self.feature(node.feature)
        if node.unseen and feature is not None:
            beside = [level for level in feature.levels if level not in node.levels]
            if 0 < len(beside) < len(node.levels):
                words = f"{name(node.feature)} not in {self.level_set(beside, node.feature)}"
                return _leaf(words, *["missing"] * node.missing)
        return ExactWording.among(self, node, children)

    def above(self, node: rg.Above, children: Children) -> Phrase:
        said = weight(node.threshold)
        if isinstance(node.score, rg.Strength) and node.threshold >= 0:
            said = f"that of probability {chance(node.threshold)}"
        return Phrase(f"{children[0].at(Binding.ATOM)} exceeds {said}", Binding.ABOVE)

    def hidden(self, node: rg.Hidden, children: Children) -> Phrase:
        def said(strength: float) -> str:
            # A finite strength of 60 is no probability of 1.
            sayable = math.isinf(strength) or probability_of(strength) < 1.0
            return f"probability {chance(strength)}" if sayable else odds(strength)

        return _hidden(node, children, said)
