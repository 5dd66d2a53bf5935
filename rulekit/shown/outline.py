"""A nested condition as an indented outline, one line for each condition, so that it can be read from the top down.

A part that several others use, or that lies very deep, is printed once, after the rest, under a name; so an outline
grows with the graph and never with the number of its paths. Nothing recurses.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rulekit.graph.language.sentences import sentence_of
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import MOST_LEVELS, chance, grouped
from rulekit.graph.leaves import column_of, levels_of_leaf
from rulekit.graph.nodes import TRUE, And, AtLeast, Constant, Family, Hidden, Node, Not, Odd, Or, short_ids, topological
from rulekit.graph.rules import literals
from rulekit.names import printable
from rulekit.schema import Schema

DEEPEST = 10
MOST_IN_LINE = 6
ALWAYS = "always"


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
    _texts: dict[Node, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, roots: Iterable[Node], schema: Schema, full: bool = False) -> Words:
        """The words for some nodes: long level sets are cut, but never so that two different ones look alike."""
        if full:
            return cls(schema, None)
        sets = [node for node in topological(list(roots)) if levels_of_leaf(node)]
        columns = {name for name in map(column_of, sets) if name is not None and name in schema}
        longest = max((len(schema[name].levels) for name in columns), default=0)
        words = cls(schema)
        while words.most_levels is not None and len(set(map(words.text, sets))) < len(sets):
            words = cls(schema, 2 * words.most_levels if words.most_levels < longest else None)
        return words

    def text(self, node: Node) -> str:
        """A node on one line."""
        if node not in self._texts:
            self._texts[node] = printable(print_node(node, self.schema, self.most_levels))
        return self._texts[node]

    def quantified(self, node: Node) -> bool:
        """Whether one sentence with quantifiers says the same as a node."""
        return self.most_levels is not None and sentence_of(node, self.schema) is not None


@dataclass(frozen=True, slots=True)
class _Outliner:
    """What is known of all parts: ids, which are used more than once, how many literals each has."""

    words: Words
    ids: dict[Node, str]
    shared: frozenset[Node]
    size: dict[Node, int]

    def lines(self, top: Node) -> Iterator[Line]:
        """The lines of a condition, then those of the parts that it calls by name, each once."""
        waiting = deque([(top, "")])
        called = {top}
        while waiting:
            root, title = waiting.popleft()
            stack = [(root, 0)]
            while stack:
                part, depth = stack.pop()
                before = title if part is root else ""
                bit = part if isinstance(part, Hidden) else None
                body = bit.cause if bit else part
                if not self.compound(body):
                    yield self.leaf(part, depth, before)
                elif part is not root and (part in self.shared or depth >= DEEPEST):
                    yield Line(depth, f"$r{self.ids[part]}")
                    if part not in called:
                        called.add(part)
                        waiting.append((part, f"$r{self.ids[part]}: "))
                else:
                    above, children = opening(body)
                    yield Line(depth, before + above, weight_of(bit) if bit else "")
                    # What a list says itself comes before the lists in it, else it would stand far from its opening.
                    stack.extend((child, depth + 1) for child in sorted(children, key=self.compound)[::-1])

    def compound(self, node: Node) -> bool:
        """Whether a condition takes a line of its own above lines for its parts."""
        body = node.child if isinstance(node, Not) else node
        if not isinstance(body, And | Or | AtLeast | Odd) or not body.children:
            return isinstance(node, Not) and node.family is Family.RANDOM
        nested = any(len(child.children) > 1 for child in body.children) and self.size[body] > MOST_IN_LINE
        return node.family is Family.RANDOM or (nested and not self.words.quantified(node))

    def leaf(self, node: Node, depth: int, before: str) -> Line:
        """The line of a plain condition or of a hidden bit; a bit that is used more than once says its name."""
        bit = node if isinstance(node, Hidden) else None
        conditions = conditions_of(bit.cause if bit else node, self.words)
        same = f" (bit {printable(bit.name)})" if bit and bit in self.shared else ""
        return Line(depth, f"{before}{' and '.join(conditions)}{same}", weight_of(bit) if bit else "")


def outline(node: Node, words: Words) -> tuple[Line, ...]:
    """The lines of a condition; the first stands at depth 0."""
    order = topological([node])
    uses = Counter(child for part in order for child in part.children)
    shared = frozenset(part for part in order if uses[part] > 1)
    return tuple(_Outliner(words, short_ids(order), shared, literals(order)).lines(node))


def opening(node: Node) -> tuple[str, tuple[Node, ...]]:
    """The line above the parts of a compound condition, and the parts."""
    if isinstance(node, Not):
        denied = {Or: "none of", And: "not all of"}.get(type(node.child))
        return (denied, _telling(node.child)) if denied else ("not", node.children)
    if isinstance(node, AtLeast):
        return f"at least {node.k} of", node.children
    if isinstance(node, Odd):
        return "an odd number of", node.children
    return "all of" if isinstance(node, And) else "any of", _telling(node)


def _telling(node: Node) -> tuple[Node, ...]:
    """The parts of an And or Or without constants that say nothing in it."""
    empty = Constant(isinstance(node, And))
    children = (part for part, _ in _parts(node)) if isinstance(node, And) else node.children
    return tuple(child for child in children if child is not empty) or node.children


def weight_of(node: Hidden) -> str:
    """The two probabilities of a hidden bit: `0.95 (else 0.24)`, or `0.95` of a bit that needs its condition."""
    return chance(node.on) + (f" (else {chance(node.off)})" if node.off else "")


def legend(weights: Sequence[str]) -> str:
    """What the weights before conditions mean, by the shortest example among them; "" of none."""
    example = min(weights, key=lambda text: ("else" not in text, len(text)), default="")
    on, _, off = example.removesuffix(")").partition(" (else ")
    beside = f", else with {off}" if off else ""
    return f"{example}: true with probability {on} where the condition holds{beside}." if example else ""


def conditions_of(node: Node, words: Words) -> tuple[str, ...]:
    """The literals of a conjunction, or the whole condition as one text."""
    if node is TRUE:
        return (ALWAYS,)
    if (
        isinstance(node, And)
        and len(node.children) > 1
        and node.family is Family.BOOLEAN
        and not words.quantified(node)
    ):
        parts = ((words.text(part), one) for part, one in _parts(node))
        return tuple(text if one else f"({text})" for text, one in parts)
    return (words.text(node),)


def _parts(node: And) -> Iterator[tuple[Node, bool]]:
    """What a conjunction joins, two bounds on one column as one, and whether it reads as one condition."""
    for places in grouped(node.children, anywhere=True):
        parts = tuple(node.children[i] for i in places)
        yield (parts[0], not parts[0].children or isinstance(parts[0], Not)) if len(parts) == 1 else (And(parts), True)
