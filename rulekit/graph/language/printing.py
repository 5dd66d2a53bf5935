"""Nodes as expressions of the rule language.

A node's text is made from those of its children, children first, so nothing recurses. A node that several others use,
or that lies deep, is printed once as a definition (`let $r7f3a02 = ...`) and called by its name; so text grows with
the graph and never with the number of its paths.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rulekit.dates import is_dated, moment_text
from rulekit.errors import FormatError
from rulekit.graph.language.readable import MOST_LEVELS, amount, chance, level_set, weight
from rulekit.graph.language.words import name, names, number, scale_of
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Difference,
    Family,
    Hidden,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.traversal import short_ids, topological
from rulekit.numbers import probability_of, shortest_probability
from rulekit.schema import Feature, Schema

SHARED_LENGTH = 40
SHARED_LEAF_LENGTH = 120
MAX_DEPTH = 40
BROKEN_LENGTH = 90


class Binding(enum.IntEnum):
    """How tightly an expression holds together: what may stand where without parentheses."""

    FIRES = 0
    OR = 1
    AND = 2
    NOT = 3
    ABOVE = 4
    ATOM = 5


@dataclass(frozen=True, slots=True)
class Text:
    """An expression, how tightly it binds, and how deeply its parentheses are nested."""

    words: str
    binding: Binding = Binding.ATOM
    depth: int = 0

    def at(self, needed: Binding) -> str:
        """The words, in parentheses where they bind less tightly than needed."""
        return self.words if self.binding >= needed else f"({self.words})"


Children = tuple[Text, ...]


def _leaf(words: str, *markers: str) -> Text:
    return Text(f"({words}{''.join(f' or {m}' for m in markers)})") if markers else Text(words)


def _among(node: Among, _: Children) -> Text:
    markers = ["missing"] * node.missing + ["unseen"] * node.unseen
    return _leaf(f"{name(node.feature)} in {names(node.levels)}", *markers)


def _is_true(node: IsTrue, _: Children) -> Text:
    return _leaf(name(node.feature), *["missing"] * node.missing)


def _not(node: Not, children: Children) -> Text:
    child = node.child
    if isinstance(child, IsTrue):  # a condition of its own, which fails where x is missing unless it says otherwise
        words = f"not {name(child.feature)}"
        return Text(words, Binding.NOT) if child.missing else _leaf(words, "missing")
    return Text(f"not {children[0].at(Binding.NOT)}", Binding.NOT)


def _joined(node: And | Or, children: Children) -> Text:
    if len(children) < 2:
        return _at_least(node, children)
    word, binding = ("and", Binding.AND) if isinstance(node, And) else ("or", Binding.OR)
    return Text(f" {word} ".join(child.at(Binding(binding + 1)) for child in children), binding)


def _at_least(node: And | Or | AtLeast, children: Children) -> Text:
    return Text(f"{quantifier(node)}({', '.join(child.words for child in children)})")


def quantifier(node: And | Or | AtLeast) -> str:
    """The words before a list of conditions."""
    return "all of " if isinstance(node, And) else "any of " if isinstance(node, Or) else f"at least {node.k} of "


def _hidden(node: Hidden, children: Children) -> Text:
    return _fires(node, children, odds)


def _fires(node: Hidden, children: Children, said: Callable[[float], str]) -> Text:
    words = f"{name(node.name)} fires with {said(node.on)}"
    if node.off:
        words += f" (else {said(node.off).removeprefix('probability ')})"
    return Text(f"{words} when {children[0].at(Binding.OR)}", Binding.FIRES)


def odds(strength: float) -> str:
    """`probability p`, or `strength s` where no decimal p gives the strength back."""
    p = shortest_probability(strength)
    return f"strength {number(float(p[1:]))}" if p.startswith("s") else f"probability {number(float(p))}"


def terms(node: Linear | LinearThreshold, children: Children, said: Callable[[float], str] = number) -> list[str]:
    """The bias and the weighted terms of a sum."""
    written = [said(node.bias)]
    for factor, child, text in zip(node.weights, node.children, children, strict=True):
        real = child.family in (Family.REAL, Family.PROBABILITY)
        written.append(f"{said(factor)} * {text.at(Binding.ATOM)}" if real else f"{said(factor)} if {text.words}")
    return written


_PREFIXES: dict[type[Node], str] = {
    Strength: "strength of ",
    Probability: "probability of ",
    Logistic: "logistic of ",
}


def _prefixed(node: Node, children: Children) -> Text:
    return Text(_PREFIXES[type(node)] + children[0].at(Binding.ATOM))


def _above(node: Above, children: Children) -> Text:
    return Text(f"{children[0].at(Binding.ATOM)} {exceeds(node, number(node.threshold))}", Binding.ABOVE)


def exceeds(node: Above, said: str) -> str:
    """What follows a score that must be above its threshold."""
    return f"exceeds {scale_of(node.score)} {said}"


def _rescaled(node: Rescaled, children: Children) -> Text:
    return Text(f"odds({number(node.odds)} * {children[0].at(Binding.ATOM)})")


def _difference(node: Difference, children: Children) -> Text:
    return Text(f"difference({', '.join(child.words for child in children)})")


def _sided(node: Sided, children: Children) -> Text:
    return Text(f"sided({children[0].at(Binding.ATOM)}, {sides(node, children[1].words)})")


def sides(node: Sided, rule: str) -> str:
    """Between which bounds a probability is held where."""
    return f"at least {number(node.above)} when {rule}, else at most {number(node.below)}"


_WORDING: dict[type[Node], Callable[..., Text]] = {
    Among: _among,
    IsTrue: _is_true,
    Missing: lambda node, _: Text(f"{name(node.feature)} is missing"),
    Constant: lambda node, _: Text("true" if node.value else "false"),
    Not: _not,
    And: _joined,
    Or: _joined,
    AtLeast: _at_least,
    Above: _above,
    Hidden: _hidden,
    Strength: _prefixed,
    Probability: _prefixed,
    Logistic: _prefixed,
    Rescaled: _rescaled,
    Difference: _difference,
    Sided: _sided,
}


@dataclass(frozen=True, slots=True)
class Exact:
    """The wordings in full; those of values of a column are dates where the schema says so and the date is exact."""

    schema: Schema | None

    def table(self) -> dict[type[Node], Callable[..., Text]]:
        own: dict[type[Node], Callable[..., Text]] = {Compare: self.compare, Column: self.column, Step: self.step}
        return {**_WORDING, **own, Linear: self.sum, LinearThreshold: self.sum}

    def feature(self, column: str) -> Feature | None:
        return self.schema[column] if self.schema is not None and column in self.schema else None

    def amount(self, value: float, column: str) -> str:
        feature = self.feature(column)
        date = moment_text(value, feature.display) if feature is not None and is_dated(feature) else ""
        return date or number(value)

    def weight(self, value: float) -> str:
        return number(value)

    def compare(self, node: Compare, _: Children) -> Text:
        words = f"{name(node.feature)} {node.op} {self.amount(node.value, node.feature)}"
        return _leaf(words, *["missing"] * node.missing)

    def column(self, node: Column, _: Children) -> Text:
        low, high, missing = (self.amount(x, node.feature) for x in (node.low, node.high, node.missing))
        step = f", step {number(node.step)}" if node.step else ""
        return Text(f"clip({name(node.feature)}, from {low} to {high}{step}, missing {missing})")

    def step(self, node: Step, _: Children) -> Text:
        cuts = [self.amount(cut, node.feature) for cut in node.cuts]
        pieces = [f"{self.weight(v)} up to {cut}" for v, cut in zip(node.values[:-1], cuts, strict=True)]
        items = ", ".join([*pieces, f"then {self.weight(node.values[-1])}", f"missing {self.weight(node.missing)}"])
        return Text(f"step({name(node.feature)}: {items})")

    def sum(self, node: Linear | LinearThreshold, children: Children) -> Text:
        compared = " >= 0" if isinstance(node, LinearThreshold) else ""
        return Text(f"sum({', '.join(terms(node, children, self.weight))}){compared}")


@dataclass(frozen=True, slots=True)
class ForPeople(Exact):
    """The wordings that differ where a text is only read: rounded, with units, long level sets cut."""

    most_levels: int | None = MOST_LEVELS

    def table(self) -> dict[type[Node], Callable[..., Text]]:
        return {**Exact.table(self), Among: self.among, Above: self.above, Hidden: self.hidden}

    def amount(self, value: float, column: str) -> str:
        return amount(value, self.feature(column))

    def weight(self, value: float) -> str:
        return weight(value)

    def among(self, node: Among, _: Children) -> Text:
        markers = ["missing"] * node.missing
        feature = self.feature(node.feature)
        if node.unseen and feature is not None:
            beside = [level for level in feature.levels if level not in node.levels]
            if 0 < len(beside) < len(node.levels):
                return _leaf(f"{name(node.feature)} not in {level_set(beside, self.most_levels)}", *markers)
        markers += ["unseen"] * node.unseen
        return _leaf(f"{name(node.feature)} in {level_set(node.levels, self.most_levels)}", *markers)

    def above(self, node: Above, children: Children) -> Text:
        said = weight(node.threshold)
        if isinstance(node.score, Strength) and node.threshold >= 0:
            said = f"that of probability {chance(node.threshold)}"
        return Text(f"{children[0].at(Binding.ATOM)} exceeds {said}", Binding.ABOVE)

    def hidden(self, node: Hidden, children: Children) -> Text:
        def said(strength: float) -> str:
            # A finite strength of 60 is no probability of 1.
            sayable = math.isinf(strength) or probability_of(strength) < 1.0
            return f"probability {chance(strength)}" if sayable else odds(strength)

        return _fires(node, children, said)


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of all nodes below some roots: `full` as defined, `called` as used by others.

    definitions: the nodes that are defined by a `let`, children first, with their names. rules: the items of the list
    that decides which stand elsewhere too, with their names, `rule 1`. late: the definitions that can be read only when
    the decision was.
    """

    full: Mapping[Node, Text]
    called: Mapping[Node, Text]
    definitions: Mapping[Node, str] = field(default_factory=dict)
    rules: Mapping[Node, str] = field(default_factory=dict)
    late: frozenset[Node] = frozenset()

    def broken(
        self,
        node: Node,
        note: Callable[[Node], str] = lambda _: "",
        *,
        force: bool = False,
        names: Mapping[Node, str] | None = None,
    ) -> str:
        """The full text of a node, over several lines, one condition or term each, where it is long or `force`.

        note: a comment for the line of a condition, or "". names: items that are named here.
        """
        whole = self.full[node].words
        if len(whole) <= BROKEN_LENGTH and not force:
            return whole
        prefix = suffix = ""
        if isinstance(node, Above) and node.score not in self.definitions:
            suffix = f" {exceeds(node, number(node.threshold))}"
            node = node.score
        while type(node) in _PREFIXES and node.children[0] not in self.definitions:
            prefix += _PREFIXES[type(node)]
            node = node.children[0]
        if isinstance(node, Sided | Rescaled):
            part = node.probability
            inner = self.called[part].words if part in self.definitions else self.broken(part, note, force=force)
            if isinstance(node, Rescaled):
                return f"{prefix}odds({number(node.odds)} * {inner}){suffix}"
            return f"{prefix}sided({inner}, {sides(node, self.called[node.rule].words)}){suffix}"
        children = tuple(self.called[child] for child in node.children)
        if isinstance(node, And | Or | AtLeast) and len(children) > 1:
            return f"{prefix}{quantifier(node)}(\n{_aligned(list(self._items(node, note, names or {})))}){suffix}"
        if isinstance(node, Linear | LinearThreshold) and children:
            notes = ("", *map(note, node.children))
            items = [f"{term}," for term in terms(node, children)]
            written = f"{prefix}sum(\n{_aligned(list(zip(items, notes, strict=True)))})"
            return written + (" >= 0" if isinstance(node, LinearThreshold) else "") + suffix
        return whole

    def _items(
        self, node: Node, note: Callable[[Node], str], names: Mapping[Node, str], indent: str = ""
    ) -> Iterator[tuple[str, str]]:
        """The lines of a list and the comment of each; a long list inside is broken too. No deeper than MAX_DEPTH."""
        for child in node.children:
            text = (self.full if child in names else self.called)[child].words
            begin = f"{indent}{names[child]}: " if child in names else indent
            nested = isinstance(child, And | Or | AtLeast) and len(child.children) > 1
            if nested and self.called[child] is self.full[child] and len(text) > BROKEN_LENGTH:
                assert isinstance(child, And | Or | AtLeast)
                yield f"{begin}{quantifier(child)}(", note(child)
                yield from self._items(child, note, {}, indent + "  ")
                yield f"{indent}),", ""
            else:
                yield f"{begin}{text},", note(child)


def _aligned(lines: list[tuple[str, str]]) -> str:
    width = max((len(text) for text, note in lines if note and len(text) <= BROKEN_LENGTH), default=0)
    return "".join(f"  {text:{width}}  # {note}\n" if note else f"  {text}\n" for text, note in lines)


def word(
    roots: Iterable[Node],
    known: Mapping[Node, str] | None = None,
    *,
    exact: bool = True,
    schema: Schema | None = None,
    most_levels: int | None = MOST_LEVELS,
    decided: Node | None = None,
) -> Wording:
    """The texts of all nodes below the roots; raises FormatError for a node type that the language lacks.

    known: names for nodes that may have to be defined; others are named by the first digits of their digest. exact:
    everything in full, so that the text can be read back under the same schema; otherwise as people read it, with the
    units of the schema and at most so many levels of a set (None: every one). decided: the root that decides alone;
    what comes after it calls it `decided`, and the items of its list by their numbers.
    """
    all_roots = list(roots)
    wording = (Exact(schema) if exact else ForPeople(schema, most_levels)).table()
    order = topological(all_roots)
    uses = Counter(all_roots)
    for node in order:
        uses.update(node.children)
    ids = short_ids(order) | dict(known or {})
    full: dict[Node, Text] = {}
    called: dict[Node, Text] = {}
    definitions: dict[Node, str] = {}
    rules = {} if decided is None else _rules_used_elsewhere(decided, uses)
    late: set[Node] = set()
    for node in order:
        if type(node) not in wording:
            raise FormatError(f"the rule language has no words for a node of type {type(node).__name__}")
        children = tuple(called[child] for child in node.children)
        text = wording[type(node)](node, children)
        depth = 1 + max((child.depth for child in children), default=0)
        full[node] = called[node] = Text(text.words, text.binding, depth)
        limit = SHARED_LENGTH if node.children else SHARED_LEAF_LENGTH
        if depth <= MAX_DEPTH and (node in rules or (node is decided and uses[node] > 1 and node.children)):
            called[node] = Text(rules.get(node, "decided"))
            late.add(node)
        elif depth > MAX_DEPTH or (uses[node] > 1 and len(text.words) > limit):
            definitions[node] = f"${ids[node]}"
            called[node] = Text(definitions[node])
        if not late.isdisjoint(node.children):
            late.add(node)
    named = {node: called[node].words for node in rules if node not in definitions}
    return Wording(full, called, definitions, named, frozenset(late.intersection(definitions)))


def _rules_used_elsewhere(decided: Node, uses: Mapping[Node, int]) -> dict[Node, str]:
    """The items of the list that decides which stand once in it and again outside of it, by their numbers."""
    if not isinstance(decided, And | Or | AtLeast) or len(decided.children) < 2:
        return {}
    inside = Counter(child for node in topological([decided]) for child in node.children)
    numbered = enumerate(decided.children, start=1)
    return {rule: f"rule {number}" for number, rule in numbered if inside[rule] == 1 and uses[rule] > 1}
