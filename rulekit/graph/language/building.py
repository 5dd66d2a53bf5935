"""What the statements of the rule language mean: one method per grammar rule of `rules.lark`.

A method is called with the values of the rule's parts: words as text with their kind in `.type`, all else as built here
and in `rulekit.graph.language.expressions`. Class labels are looked up at the end, when the label statement is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rulekit.dates import moment_value
from rulekit.errors import FormatError, RulekitError
from rulekit.graph.decisions import ArgMax, Decision, Fires, Median
from rulekit.graph.language.expressions import (
    Beside,
    DecidedClass,
    LevelGroup,
    MarkedLeaf,
    Piece,
    bounded,
    integer,
    real,
)
from rulekit.graph.language.words import before, label, lone_value, unquoted
from rulekit.graph.nodes import Node
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import ClassLabel, Required, RuleGraph
from rulekit.graph.variants import with_overrides
from rulekit.names import near_names
from rulekit.schema import Constraints, Feature, Schema

VERSIONS = (1,)
_FLAGS: dict[str, dict[str, Any]] = {
    "ordered": {"ordered": True},
    "float64": {"precision": "float64"},
    "integer": {"display": "integer"},
    "count": {"display": "count"},
    "date": {"display": "date"},
    "datetime": {"display": "datetime"},
    "money": {"display": "money"},
    "increasing": {"monotone": 1},
    "decreasing": {"monotone": -1},
    "audit": {"role": "audit"},
    "forbidden": {"role": "forbidden"},
}


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Faults name the place in the text."""
    try:
        yield
    except RulekitError as error:
        raise FormatError(str(error), where=place) from None


class Builder:
    """Builds one graph; holds the statements read so far. `place` is where the rule at hand stands in the text.

    schema: the columns that are known before the text begins.
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.columns = {feature.name: feature for feature in schema or ()}
        self.levels = {name: frozenset(feature.levels) for name, feature in self.columns.items()}
        self.groups: dict[str, list[tuple[str, ...]]] = {"together": [], "apart": []}
        self.required: list[tuple[str, ClassLabel, Node]] = []
        self.overrides: list[tuple[str, ClassLabel, Override]] = []
        self.definitions: dict[str, Node] = {}
        self.rules: dict[int, Node] = {}
        self.once: dict[str, tuple[str, Any]] = {}
        self.formula: Node | DecidedClass | None = None
        self.place = ""

    def _only(self, statement: str, value: Any) -> None:
        if statement in self.once:
            raise FormatError(f"a second `{statement}`", fix="keep one")
        self.once[statement] = (self.place, value)

    def _later(self, statement: str) -> Any:
        """What a statement says, now that the classes are known; its faults name its place."""
        place, build = self.once[statement]
        with _placed(place):
            return build()

    def check_column(self, name: str, *rest: Any) -> None:
        """That a condition reads a column, and levels, that the header declares; raises FormatError."""
        if name not in self.columns:
            raise FormatError(f"no column {name!r}", fix=_nearest(name, self.columns, "columns are"))
        if self.columns[name].kind != "categorical":
            return
        sets = (item.levels if isinstance(item, LevelGroup) else item for item in rest if isinstance(item, tuple))
        levels = (level for levels in sets for level in levels)
        unknown = next((level for level in levels if level not in self.levels[name]), None)
        if unknown is not None:
            hint = _nearest(unknown, self.columns[name].levels, "levels are")
            raise FormatError(f"column {name!r} has no level {unknown!r}", fix=hint)

    def with_dates(self, name: str, *rest: Any) -> list[Any]:
        """The parts of a condition on a declared column, its dates as the column's numbers; raises FormatError."""
        feature = self.columns[name]
        return [name, *(_undated(item, feature) for item in rest)]

    def equal(self, name: str, number: Any) -> MarkedLeaf:
        """A whole number, by the bounds around it; raises FormatError for a column of other numbers."""
        value = real(number)
        low = before(value, self.columns[name])
        if lone_value(low, value, self.columns[name], False) is None:
            raise FormatError(
                f"`= {number}` says nothing of column {name!r}",
                fix="it is for whole numbers of a column marked integer, count or date; else write `2.5 < x <= 3`",
            )
        return bounded(name, low, value)

    # Header

    def flag(self, token: Any) -> dict[str, Any]:
        if token not in _FLAGS:
            raise FormatError(f"`{token}` says nothing about a column", fix=f"words are {', '.join(_FLAGS)}")
        return _FLAGS[token]

    def unit(self, word: Any, text: Any) -> dict[str, Any]:
        if word not in ("unit", "form"):
            raise FormatError(f"`{word}` has no quoted text after it", fix='write unit "..." or form "..."')
        return {str(word): unquoted(text)}

    def tokens(self, _: Any, texts: tuple[str, ...]) -> dict[str, Any]:
        return {"missing_tokens": texts}

    def unseen(self, _: Any, word: Any) -> dict[str, Any]:
        return {"unseen": str(word)}

    def column(self, name: str, kind: Any, *marks: Any) -> None:
        fields: dict[str, Any] = {"kind": str(kind)}
        for mark in marks:
            mark = {"levels": mark} if isinstance(mark, tuple) else mark
            twice = set(mark) & set(fields)
            if twice:
                raise FormatError(f"{twice.pop()} is said twice of column {name!r}")
            fields |= mark
        if name in self.columns:
            raise FormatError(f"a second column {name!r}", fix="rename one")
        self.columns[name] = Feature(name, **fields)
        self.levels[name] = frozenset(self.columns[name].levels)

    def label(self, name: str, *values: Any) -> None:
        ordered = hasattr(values[-1], "type")
        if ordered and values[-1] != "ordered":
            raise FormatError(f"`{values[-1]}` says nothing about a label", fix="write ordered, or nothing")
        self._only("label", (name, tuple(values[:-1] if ordered else values), ordered))

    def together(self, texts: tuple[str, ...]) -> None:
        self.groups["together"].append(texts)

    def apart(self, texts: tuple[str, ...]) -> None:
        self.groups["apart"].append(texts)

    def never_helps(self, *words: Any) -> None:
        if [str(word) for word in words[1:]] != ["never", "helps"]:
            raise FormatError(f"`missing {words[1]} {words[2]}` says nothing", fix="write `missing never helps`")
        self._only("missing never helps", True)

    def require(self, value: ClassLabel, node: Node) -> None:
        self.required.append((self.place, value, node))

    def by(self, word: Any, text: str) -> tuple[str, str]:
        return str(word), str(text)

    def on(self, word: Any, date: Any) -> tuple[str, str]:
        return str(word), str(date)

    def override(self, name: str, *parts: Any) -> None:
        *said, node, value = parts
        words = [word for word, _ in said]
        if words not in (["by", "on", "because"], ["by", "on", "until", "because"]):
            fix = 'write override o1 by "A. Jones" on 2026-11-25 until 2037-06-30 because "...": amount > 9000 -> yes'
            raise FormatError(f"an override is not said with {', '.join(words)}", fix=fix)
        told = dict(said)
        keys = {"by": "author", "on": "date", "because": "reason", "until": "expires"}
        self.overrides.append((self.place, value, Override(name, 0, node, **{keys[w]: told[w] for w in words})))

    def default(self, value: ClassLabel) -> None:
        self._only("default", lambda: self._index(value))

    def let(self, reference: Any, node: Node) -> None:
        if reference in self.definitions:
            raise FormatError(f"{reference} is defined twice")
        self.definitions[str(reference)] = node

    def reference(self, token: Any) -> Node:
        if token not in self.definitions:
            raise FormatError(f"{token} is not defined", fix=f"write `let {token} = ...` before it is used")
        return self.definitions[token]

    def named(self, number: Any, node: Node) -> Node:
        if integer(number) in self.rules:
            raise FormatError(f"a second rule {number}", fix="give each rule its own number")
        self.rules[integer(number)] = node
        return node

    def rule(self, number: Any) -> Node:
        if integer(number) not in self.rules:
            raise FormatError(f"there is no rule {number} yet", fix=f"write `rule {number}: ...` where it decides")
        return self.rules[integer(number)]

    def decided(self) -> Node | DecidedClass:
        """What says that the class is decided; of several classes, each is told where the report is read."""
        if self.formula is None:
            raise FormatError("nothing is decided yet", fix="write `decide ...` before `decided`")
        return self.formula

    # Decision and report

    def decide_when(self, value: ClassLabel, node: Node) -> None:
        self._only("decide", lambda: self._binary(value, Fires(node)))
        self.formula = node

    def candidate(self, value: ClassLabel, node: Node, *above: Any) -> tuple[ClassLabel, tuple[Node, float]]:
        return value, (node, real(above[1]) if above else -math.inf)

    def preference(self, *values: ClassLabel) -> list[ClassLabel]:
        return list(values)

    def decide_largest(self, *parts: Any) -> None:
        preferred = parts[-1] if isinstance(parts[-1], list) else None
        pairs = parts if preferred is None else parts[:-1]

        def build() -> ArgMax:
            items = self._by_class(pairs, len(self._classes()))
            order = range(len(items)) if preferred is None else map(self._index, preferred)
            return ArgMax(tuple(node for node, _ in items), tuple(t for _, t in items), tuple(order))

        self._only("decide", build)

    def decide_first(self, word: Any, *pairs: Any) -> None:
        if word != "first":
            raise FormatError(f"nothing is decided by `{word} of`", fix="write first, largest or median")

        def build() -> ArgMax:
            rules = {self._index(value): node for value, node in pairs}
            if len(rules) != len(pairs):
                raise FormatError("a class stands twice", fix="join its rules by `any of`")
            return ArgMax.first_of(rules, len(self._classes()))

        self._only("decide", build)
        self.formula = DecidedClass.OF_CLASS

    def pair(self, *parts: Any) -> tuple[ClassLabel, Node]:
        """A class and what is said of it; a word may stand before them."""
        return parts[-2], parts[-1]

    def decide_median(self, *pairs: Any) -> None:
        def build() -> Median:
            return Median(tuple(self._by_class(pairs, len(self._classes()) - 1)))

        self._only("decide", build)

    def report_one(self, value: ClassLabel, node: Node) -> None:
        self._only("report", lambda: self._binary(value, (node,)))

    def report_all(self, *pairs: Any) -> None:
        def build() -> tuple[Node, ...]:
            said = self._by_class(pairs, len(self._classes()))
            if not any(isinstance(node, Beside) for node in said):
                return tuple(said)
            decided = self._later("decide").decided(self._default())
            return tuple(
                node.of(rule) if isinstance(node, Beside) else node for node, rule in zip(said, decided, strict=True)
            )

        self._only("report", build)

    # The whole

    def condition(self, node: Node) -> Node:
        return node

    def start(self, version: Any, *_: None) -> RuleGraph:
        number = version.split()[-1]
        if number not in map(str, VERSIONS):
            raise FormatError(f"rule language version {number[:20]}, but this rulekit reads 1", fix="update rulekit")
        for statement, example in (("label", "label y: {no, yes}"), ("decide", "decide yes when ...")):
            if statement not in self.once:
                raise FormatError(f"there is no `{statement}` statement", fix=f"write `{example}`")
        target, classes, ordered = self.once["label"][1]
        decision: Decision = self._later("decide")
        graph = RuleGraph(
            schema=Schema(tuple(self.columns.values()), target, ordered, self._constraints()),
            classes=classes,
            decision=decision,
            probability=self._later("report") if "report" in self.once else (),
            default=self._default(),
            required=tuple(self._promises()),
        )
        return with_overrides(graph, tuple(self._overrides())) if self.overrides else graph

    def _default(self) -> int:
        return self._later("default") if "default" in self.once else 0

    def _constraints(self) -> Constraints:
        groups = {what: tuple(found) for what, found in self.groups.items()}
        return Constraints(**groups, missing_never_helps="missing never helps" in self.once)

    def _promises(self) -> Iterator[Required]:
        for place, value, node in self.required:
            with _placed(place):
                yield Required(self._index(value), node)

    def _overrides(self) -> Iterator[Override]:
        for place, value, override in self.overrides:
            with _placed(place):
                yield replace(override, class_index=self._index(value))

    def _classes(self) -> tuple[ClassLabel, ...]:
        classes: tuple[ClassLabel, ...] = self.once["label"][1][1]
        return classes

    def _index(self, value: ClassLabel) -> int:
        for j, known in enumerate(self._classes()):
            if type(known) is type(value) and known == value:
                return j
        raise FormatError(f"no class {label(value)}", fix=f"classes are {', '.join(map(label, self._classes()))}")

    def _binary(self, value: ClassLabel, said: Any) -> Any:
        """What is said of the positive class; FormatError where `value` is another."""
        if self._index(value) != 1 or len(self._classes()) != 2:
            known = ", ".join(map(label, self._classes()))
            raise FormatError(f"{label(value)} is not the second of two classes", fix=f"classes are {known}")
        return said

    def _by_class(self, pairs: tuple[Any, ...], count: int) -> list[Any]:
        found = {self._index(value): item for value, item in pairs}
        if len(found) != len(pairs) or sorted(found) != list(range(count)):
            needed = ", ".join(map(label, self._classes()[:count]))
            raise FormatError("a class is missing or stands twice", fix=f"needed once each: {needed}")
        return [found[j] for j in range(count)]


def _undated(part: Any, feature: Feature) -> Any:
    if isinstance(part, Piece):
        return part._replace(cut=_undated(part.cut, feature))
    if getattr(part, "type", "") != "DATE":
        return part
    if not feature.dated:
        fix = "write a number, or mark the column date or datetime"
        raise FormatError(f"column {feature.name!r} holds no dates, unlike {part}", fix=fix)
    try:
        return moment_value(str(part), feature.display)
    except ValueError:
        raise FormatError(f"{part} is no date", fix="write one of the calendar, as in 2019-03-01") from None


def _nearest(word: str, known: Iterable[str], what: str) -> str:
    names = list(known)
    close = near_names(word, names, most=1)
    return f"did you mean {close[0]!r}?" if close else f"{what} {', '.join(names[:6])}" + (", ..." * (len(names) > 6))
