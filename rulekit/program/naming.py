"""Names and comments of an artifact: what all functions of a text target share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rulekit.errors import InputError
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Hidden, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import label_text, printable
from rulekit.program.lower import Program
from rulekit.program.spelling import Expression

MAX_COMMENT = 400


class Names:
    """Hands out identifiers, each once; `taken` are words of the language and of the artifact's frame."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """An unused ASCII identifier that resembles `wish` and is none of a function's own variables."""
        plain = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", wish)).strip("_")[:40].rstrip("_")
        if not plain or plain[0].isdigit() or _LOCAL.fullmatch(plain):
            plain = f"x_{plain}".rstrip("_")
        name = plain
        while name in self._taken:
            self._next[plain] = self._next.get(plain, 1) + 1
            name = f"{plain}_{self._next[plain]}"
        self._taken.add(name)
        return name


_LOCAL = re.compile(r"(total|value|holds|p)[0-9]+")


@dataclass(slots=True)
class Context:
    """What all bodies of an artifact share.

    columns: identifiers by column name. comments: by step, the id and text of its rule, stated once in the artifact;
    briefs: the id alone, wherever the rule stands again; labels: the id as an identifier. constants: by name.
    """

    program: Program
    names: Names
    columns: Mapping[str, str]
    comments: Mapping[Node, str]
    briefs: Mapping[Node, str]
    labels: Mapping[Node, str]
    constants: dict[str, Expression] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def constant(self, wish: str, value: Expression) -> str:
        """The name of a constant of the artifact, one for each wish and value."""
        key = wish, value.text
        if key not in self._known:
            self._known[key] = self.names.fresh(wish.upper())
            self.constants[self._known[key]] = value
        return self._known[key]


def context_of(
    graph: RuleGraph, program: Program, names: Names, mark: str, written: Callable[[str], str] = str
) -> Context:
    """Identifiers of rules and used columns, and the comments above each rule.

    mark: what begins a comment line; written: how the identifier of a column stands in the code.
    """
    comments: dict[Node, str] = {}
    briefs: dict[Node, str] = {}
    labels: dict[Node, str] = {}
    for rule in rules_of(graph):
        of_bit = isinstance(rule.node, Hidden)
        step = program.lowered.get(rule.node.children[0] if of_bit else rule.node)
        if step is None or (not of_bit and step in labels):
            continue
        label = names.fresh(rule.id)
        if not of_bit:
            labels[step] = label
        text = f"{rule.id}: {print_node(rule.node, graph.schema)}"
        comments.setdefault(step, comment(text if len(text) <= MAX_COMMENT else text[: MAX_COMMENT - 3] + "...", mark))
        briefs.setdefault(step, f"{mark}{rule.id}")
    columns = {name: written(names.fresh(name.lower())) for name in graph.used_features}
    return Context(program, names, columns, comments, briefs, labels)


def reached(names: Iterable[str], mentions: Mapping[str, Iterable[str]]) -> set[str]:
    """Of the pieces of a run-time those that are named, or mentioned by one that is.

    mentions: by piece, the names in it.
    """
    found: set[str] = set()
    waiting = [name for name in names if name in mentions]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in mentions[name] if other in mentions]
    return found


def label_texts(graph: RuleGraph) -> list[str]:
    """The classes as texts; raises InputError where two are one text."""
    texts = list(map(label_text, graph.classes))
    if len(set(texts)) < len(texts):
        raise InputError(f"two classes have one text: {', '.join(texts)}", fix="rename one")
    return texts


def comment(text: str, mark: str) -> str:
    """Comment lines that hold the text, wrapped; no character of it can end a line or a comment."""
    lines = textwrap.wrap(
        printable(text), 106, subsequent_indent="    ", break_on_hyphens=False, replace_whitespace=False
    )
    return "\n".join(mark + line for line in lines)
