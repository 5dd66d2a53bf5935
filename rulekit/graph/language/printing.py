"""Nodes as expressions of the rule language.

A node's text is made from those of its children, children first, so nothing recurses. A node that several others use,
or that lies deep, is printed once as a definition (`let $r7f3a02 = ...`) and called by its name; so text grows with
the graph and never with the number of its paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rulekit.errors import FormatError
from rulekit.graph.language.readable import MOST_LEVELS
from rulekit.graph.language.wordings import (
    DECIDED,
    PREFIXES,
    ExactWording,
    ForPeople,
    Phrase,
    exceeds,
    opening,
    quantifier,
    sides,
    terms,
)
from rulekit.graph.language.words import number
from rulekit.graph.nodes import Above, And, AtLeast, Linear, LinearThreshold, Node, Odd, Or, Rescaled, Sided
from rulekit.graph.traversal import short_ids, topological
from rulekit.schema import Schema

SHARED_LENGTH = 40
SHARED_LEAF_LENGTH = 120
MAX_DEPTH = 40
BROKEN_LENGTH = 90


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of all nodes below some roots: `full` as defined, `called` as used by others.

    definitions: the nodes that are defined by a `let`, children first, with their names. rules: the items of the list
    that decides which stand elsewhere too, with their names, `rule 1`. late: the definitions that can be read only when
    the decision was. beside: roots on the side of what is decided.
    """

    words: ExactWording
    full: Mapping[Node, Phrase]
    called: Mapping[Node, Phrase]
    definitions: Mapping[Node, str] = field(default_factory=dict)
    rules: Mapping[Node, str] = field(default_factory=dict)
    late: frozenset[Node] = frozenset()
    beside: Collection[Node] = ()

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
        while type(node) in PREFIXES and node.children[0] not in self.definitions:
            prefix += PREFIXES[type(node)]
            node = node.children[0]
        if isinstance(node, Sided | Rescaled):
            part = node.probability
            inner = self.called[part].words if part in self.definitions else self.broken(part, note, force=force)
            if isinstance(node, Rescaled):
                return f"{prefix}odds({number(node.odds)} * {inner}){suffix}"
            rule = DECIDED if node in self.beside else self.called[node.rule].words
            return f"{prefix}sided({inner}, {sides(node, rule)}){suffix}"
        children = tuple(self.called[child] for child in node.children)
        if isinstance(node, And | Or | AtLeast | Odd) and len(self._phrases(node)) > 1:
            return f"{prefix}{quantifier(node)}(\n{_aligned(list(self._items(node, note, names or {})))}){suffix}"
        if isinstance(node, Linear | LinearThreshold) and children:
            notes = ("", *map(note, node.children))
            items = [f"{term}," for term in terms(node, children)]
            if isinstance(node, LinearThreshold):
                return f"{prefix}{opening(node)} (\n{_aligned(list(zip(items, notes[1:], strict=True)))}){suffix}"
            return f"{prefix}sum(\n{_aligned(list(zip(items, notes, strict=True)))}){suffix}"
        return whole

    def _items(
        self, node: Node, note: Callable[[Node], str], names: Mapping[Node, str], indent: str = ""
    ) -> Iterator[tuple[str, str]]:
        """The lines of a list and the comment of each; a long list inside is broken too. No deeper than MAX_DEPTH."""
        for nodes, called in self._phrases(node):
            child = nodes[0]
            text = self.full[child].words if child in names else called.words
            begin = f"{indent}{names[child]}: " if child in names else indent
            nested = isinstance(child, And | Or | AtLeast | Odd) and len(self._phrases(child)) > 1
            if nested and self.called[child] is self.full[child] and _is_long(text):
                assert isinstance(child, And | Or | AtLeast | Odd)
                yield f"{begin}{quantifier(child)}(", note(child)
                yield from self._items(child, note, {}, indent + "  ")
                yield f"{indent}),", ""
            elif isinstance(child, LinearThreshold) and text == self.full[child].words and _is_long(text):
                yield f"{begin}{opening(child)} (", note(child)
                parts = terms(child, tuple(self.called[part] for part in child.children))
                yield from ((f"{indent}  {part},", "") for part in parts)
                yield f"{indent}),", ""
            else:
                yield f"{begin}{text},", "; ".join(filter(None, map(note, nodes)))

    def _phrases(self, node: Node) -> list[tuple[tuple[Node, ...], Phrase]]:
        children = tuple(self.called[child] for child in node.children)
        if isinstance(node, And):
            return self.words.phrases(node, children)
        return [((child,), text) for child, text in zip(node.children, children, strict=True)]


def _is_long(text: str) -> bool:
    return len(text) > BROKEN_LENGTH


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
    beside: Collection[Node] = (),
) -> Wording:
    """The texts of all nodes below the roots; raises FormatError for a node type that the language lacks.

    known: names for nodes that may have to be defined; others are named by the first digits of their digest. exact:
    everything in full, so that the text can be read back under the same schema; otherwise as people read it, with the
    units of the schema and at most so many levels of a set (None: every one). decided: the root that decides alone;
    what comes after it calls it `decided`, and the items of its list by their numbers. beside: roots on the side of
    what is decided of several classes, which is not said again.
    """
    all_roots = list(roots)
    words = ExactWording(schema) if exact else ForPeople(schema, most_levels)
    wording = words.table()

    def below(node: Node) -> tuple[Node, ...]:
        return node.children[:1] if node in beside else node.children

    order = topological(all_roots, below)
    uses = Counter(all_roots)
    for node in order:
        uses.update(below(node))
    ids = short_ids(order) | dict(known or {})
    full: dict[Node, Phrase] = {}
    called: dict[Node, Phrase] = {}
    definitions: dict[Node, str] = {}
    rules = {} if decided is None else _rules_used_elsewhere(decided, uses)
    late: set[Node] = set()
    for node in order:
        if type(node) not in wording:
            raise FormatError(f"the rule language has no words for a node of type {type(node).__name__}")
        children = tuple(called[child] for child in below(node))
        text = wording[type(node)](node, children)
        depth = 1 + max((child.depth for child in children), default=0)
        full[node] = called[node] = Phrase(text.words, text.binding, depth)
        limit = SHARED_LENGTH if node.children else SHARED_LEAF_LENGTH
        if depth <= MAX_DEPTH and (node in rules or (node is decided and uses[node] > 1 and node.children)):
            called[node] = Phrase(rules.get(node, DECIDED))
            late.add(node)
        elif depth > MAX_DEPTH or (uses[node] > 1 and len(text.words) > limit):
            definitions[node] = f"${ids[node]}"
            called[node] = Phrase(definitions[node])
        if not late.isdisjoint(below(node)):
            late.add(node)
    named = {node: called[node].words for node in rules if node not in definitions}
    return Wording(words, full, called, definitions, named, frozenset(late.intersection(definitions)), beside)


def _rules_used_elsewhere(decided: Node, uses: Mapping[Node, int]) -> dict[Node, str]:
    """The items of the list that decides which stand once in it and again outside of it, by their numbers."""
    if not isinstance(decided, And | Or | AtLeast | Odd) or len(decided.children) < 2:
        return {}
    inside = Counter(child for node in topological([decided]) for child in node.children)
    numbered = enumerate(decided.children, start=1)
    return {rule: f"rule {number}" for number, rule in numbered if inside[rule] == 1 and uses[rule] > 1}
