"""The rule language: nodes as expressions, and a rule graph as text that people read and edit (docs/rule-language.md).

`parse_graph(print_graph(graph)) == graph`: header, conditions and weights are complete and exact; only provenance and
statistics, which stand beside the digest, are comments. A node's text is made from those of its children, children
first, so nothing recurses. A node that several others use, or that lies deep, is printed once as a definition (`let
$r7f3a02 = ...`) and called by its name; so text grows with the graph and never with the number of its paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal

from rulekit.errors import FormatError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.files.writing import digest_of
from rulekit.graph.language.figures import rule_figures, worded
from rulekit.graph.language.sentences import sentence_of
from rulekit.graph.language.wordings import (
    DECIDED,
    PREFIXES,
    ExactWording,
    ForPeople,
    Phrase,
    exceeds,
    odds,
    opening,
    quantifier,
    sides,
    terms,
)
from rulekit.graph.language.words import MOST_LEVELS, in_quotes, label, listed, name, names, number, quoted
from rulekit.graph.model_parts import ModelParts, Required, on_the_side_of_the_decision
from rulekit.graph.nodes import Node, short_ids, topological
from rulekit.graph.overrides import Override
from rulekit.graph.rules import Rule, rules_of
from rulekit.schema import Feature, Schema

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
        if isinstance(node, rg.Above) and node.score not in self.definitions:
            suffix = f" {exceeds(node, number(node.threshold))}"
            node = node.score
        while type(node) in PREFIXES and node.children[0] not in self.definitions:
            prefix += PREFIXES[type(node)]
            node = node.children[0]
        if isinstance(node, rg.Sided | rg.Rescaled):
            part = node.probability
            inner = self.called[part].words if part in self.definitions else self.broken(part, note, force=force)
            if isinstance(node, rg.Rescaled):
                return f"{prefix}odds({number(node.odds)} * {inner}){suffix}"
            rule = DECIDED if node in self.beside else self.called[node.rule].words
            return f"{prefix}sided({inner}, {sides(node, rule)}){suffix}"
        children = tuple(self.called[child] for child in node.children)
        if isinstance(node, rg.And | rg.Or | rg.AtLeast | rg.Odd) and len(self._phrases(node)) > 1:
            return f"{prefix}{quantifier(node)}(\n{_aligned(list(self._items(node, note, names or {})))}){suffix}"
        if isinstance(node, rg.WeightedSum) and children:
            notes = ("", *map(note, node.children))
            items = [f"{term}," for term in terms(node, children)]
            if isinstance(node, rg.LinearThreshold):
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
            nested = isinstance(child, rg.And | rg.Or | rg.AtLeast | rg.Odd) and len(self._phrases(child)) > 1
            if nested and self.called[child] is self.full[child] and _is_long(text):
                assert isinstance(child, rg.And | rg.Or | rg.AtLeast | rg.Odd)
                yield f"{begin}{quantifier(child)}(", note(child)
                yield from self._items(child, note, {}, indent + "  ")
                yield f"{indent}),", ""
            elif isinstance(child, rg.LinearThreshold) and text == self.full[child].words and _is_long(text):
                yield f"{begin}{opening(child)} (", note(child)
                parts = terms(child, tuple(self.called[part] for part in child.children))
                yield from ((f"{indent}  {part},", "") for part in parts)
                yield f"{indent}),", ""
            else:
                yield f"{begin}{text},", "; ".join(filter(None, map(note, nodes)))

    def _phrases(self, node: Node) -> list[tuple[tuple[Node, ...], Phrase]]:
        children = tuple(self.called[child] for child in node.children)
        if isinstance(node, rg.And):
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
    if not isinstance(decided, rg.And | rg.Or | rg.AtLeast | rg.Odd) or len(decided.children) < 2:
        return {}
    inside = Counter(child for node in topological([decided]) for child in node.children)
    numbered = enumerate(decided.children, start=1)
    return {rule: f"rule {number}" for number, rule in numbered if inside[rule] == 1 and uses[rule] > 1}


VERSION = 1
Note = Callable[[Node], str]


def print_graph(graph: ModelParts) -> str:
    """The rules of a graph in the rule language; raises FormatError for a node type that it lacks."""
    overrides, digest, graph = graph.overrides, digest_of(graph), graph.underlying
    rules = rules_of(graph)
    decided = graph.decision.roots[0] if isinstance(graph.decision, Fires) else None
    known, beside = _definition_names(graph, rules), _beside(graph)
    written = (*graph.written, *(override.condition for override in overrides))
    wording = word(written, known, schema=graph.schema, decided=decided, beside=beside)
    notes = _notes(graph, rules)

    def note(node: Node) -> str:
        return notes.get(node, "")

    lines = [f"rulekit rules {VERSION}", f"# digest {digest} (for information: reading computes it anew)", ""]
    lines += _schema_lines(graph.schema)
    marks = ", ordered" if graph.schema.ordered_classes else ""
    lines.append(f"label {name(graph.schema.target)}: {{{', '.join(map(label, graph.classes))}}}{marks}")
    lines += [f"default {label(graph.classes[graph.default])}", ""]
    lets: dict[bool, list[str]] = {False: [], True: []}
    for node, reference in wording.definitions.items():
        lets[node in wording.late].append(f"let {reference} = {wording.broken(node, note)}")
    lines += [*lets[False], *[""] * bool(lets[False])]
    lines += [_decision(graph, wording, note), *lets[True]]
    for promise in graph.required:
        lines.append(
            f"require {label(graph.classes[promise.class_index])} when {wording.called[promise.condition].words}"
        )
    lines += _report(graph, wording, note)
    lines += [line for override in overrides for line in _override(graph, override, wording)]
    return "\n".join(lines) + "\n"


def print_node(node: Node, schema: Schema | None = None, most_levels: int | None = MOST_LEVELS) -> str:
    """The condition, score or formula of one node on one line, for people: weights are rounded.

    Shared or deeply nested parts follow after `where`. With a schema, thresholds stand as dates, with thousands of
    money apart and with their unit. Of a long level set the first `most_levels` stand; None: all. Unless
    `most_levels` is None, one sentence with quantifiers stands for a rule about objects that says the same.
    """
    if not node.children:
        return ForPeople(schema, most_levels).table()[type(node)](node, ()).words
    if schema is not None and most_levels is not None and (found := sentence_of(node, schema)) is not None:
        return str(found)
    wording = word([node], exact=False, schema=schema, most_levels=most_levels)
    named = {part: reference for part, reference in wording.definitions.items() if part is not node}
    inner = "; ".join(f"{reference} = {wording.full[part].words}" for part, reference in named.items())
    return wording.full[node].words + (f" where {inner}" if inner else "")


# Header ------------------------------------------------------------------------------------------------------------


def _schema_lines(schema: Schema) -> list[str]:
    columns = [f"column {name(feature.name)}: {_column(feature)}" for feature in schema]
    constraints = schema.constraints
    columns += [f"together {names(group)}" for group in constraints.together]
    columns += [f"apart {names(group)}" for group in constraints.apart]
    return columns + ["missing never helps"] * constraints.missing_never_helps


def _column(feature: Feature) -> str:
    kind = feature.kind + (f" {names(feature.levels)}" if feature.kind == "categorical" else "")
    marks = {
        "ordered": feature.ordered,
        "float64": feature.precision == "float64",
        feature.display: feature.display != "plain",
        f"unit {in_quotes(feature.unit)}": bool(feature.unit),
        f"form {in_quotes(feature.form)}": bool(feature.form),
        f"missing {names(feature.missing_tokens)}": bool(feature.missing_tokens),
        f"unseen {feature.unseen}": feature.unseen != "unseen",
        "increasing": feature.monotone == 1,
        "decreasing": feature.monotone == -1,
        feature.role: feature.role != "use",
    }
    return ", ".join([kind, *(mark for mark, holds in marks.items() if holds)])


# Decision and report -----------------------------------------------------------------------------------------------


def _decision(graph: ModelParts, wording: Wording, note: Note) -> str:
    decision, labels = graph.decision, [label(value) for value in graph.classes]
    if isinstance(decision, ArgMax) and (rules := decision.in_order):
        items = [f"{labels[k]}: {_nested(_root(node, wording, note))}" for k, node in rules.items()]
        return f"decide first of ({_item_lines(items)})"
    if decision.ranked:
        items = []
        for j, score, threshold in sorted(decision.ranked, key=itemgetter(0)):
            above = "" if threshold == float("-inf") else f" above {_threshold(threshold)}"
            items.append(f"{labels[j]}: {_nested(_root(score, wording, note))}{above}")
        order = ", ".join(labels[j] for j, _, _ in decision.ranked)
        return f"decide largest of ({_item_lines(items)}) preferring {order}"
    if decision.ordered:
        cuts = [f"above {labels[j]}: {_nested(_root(p, wording, note))}" for j, p in enumerate(decision.roots)]
        return f"decide median of ({_item_lines(cuts)})"
    comment = ""
    (node,) = decision.roots
    if isinstance(node, rg.Above) and isinstance(node.score, rg.Strength) and node.threshold >= 0:
        comment = f"  # that is {odds(node.threshold)}"
    root = wording.definitions.get(node) or wording.broken(node, note, force=True, names=wording.rules)
    return f"decide {labels[1]} when {root}{comment}"


def _override(graph: ModelParts, override: Override, wording: Wording) -> list[str]:
    condition, until = override.condition, "" if override.expires is None else f" until {override.expires}"
    called = wording.called[condition]
    words = wording.broken(condition) if called is wording.full[condition] else called.words
    return [
        f"override {name(override.id)} by {in_quotes(override.author)} on {override.date}{until}"
        f" because {in_quotes(override.reason)}:",
        f"  {_nested(words)} -> {label(graph.classes[override.class_index])}",
    ]


def _beside(graph: ModelParts) -> frozenset[Node]:
    """The probabilities that need not say on which side they stand: that by which their class is decided."""
    if not isinstance(graph.decision, ArgMax) or not graph.decision.in_order:
        return frozenset()
    own = [node for node, beside in zip(graph.probability, on_the_side_of_the_decision(graph), strict=True) if beside]
    return frozenset(node for node in own if graph.probability.count(node) == 1)


def _item_lines(items: list[str]) -> str:
    return "\n" + "".join(f"  {item},\n" for item in items)


def _nested(text: str) -> str:
    return text.replace("\n", "\n  ")


def _threshold(value: float) -> str:
    return "-0.0" if str(float(value)) == "-0.0" else number(value)


def _report(graph: ModelParts, wording: Wording, note: Note) -> list[str]:
    roots = [_root(node, wording, note) for node in graph.probability]
    if len(roots) == 1:
        return [f"report {label(graph.classes[1])} with {roots[0]}"]
    if not roots:
        return []
    return [f"report ({_item_lines([f'{label(c)}: {_nested(r)}' for c, r in zip(graph.classes, roots, strict=True)])})"]


def _root(node: Node, wording: Wording, note: Note) -> str:
    if node in wording.definitions:
        return wording.definitions[node]
    return wording.broken(node, note, force=True)


# Comments ----------------------------------------------------------------------------------------------------------


def _definition_names(graph: ModelParts, rules: tuple[Rule, ...]) -> dict[Node, str]:
    """Definitions of rules bear the rule's id; the one score that decides is called so."""
    score: dict[Node, str] = {}
    if len(graph.decision.roots) == 1 and isinstance(above := graph.decision.roots[0], rg.Above):
        score = {above.score.formula: "formula"} if isinstance(above.score, rg.Strength) else {above.score: "score"}
    return {rule.node: rule.id for rule in rules} | score


def _notes(graph: ModelParts, rules: tuple[Rule, ...]) -> dict[Node, str]:
    """For each rule its id and what tables say of it."""
    figures = rule_figures(graph)
    said: dict[Node, str] = {}
    for rule in rules:  # of several classes, one after the other
        lines = worded(figures.get((rule.class_index, rule.id), ()))
        sentence = sentence_of(rule.node, graph.schema) if rule.node not in said else None
        words = () if sentence is None else (str(sentence),)
        said[rule.node] = "; ".join([said.get(rule.node, f"{rule.id} "), *words, *lines])
    return {node: line.replace(" ; ", "  ", 1).rstrip() for node, line in said.items()}


# Promises ------------------------------------------------------------------------------------------------------------

PromiseKind = Literal["monotone", "together", "apart", "missing", "required", "override"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise. text: the whole of it as a sentence; column: of a direction; required: of a decision."""

    kind: PromiseKind
    text: str
    column: str = ""
    required: Required | None = None
    groups: tuple[tuple[str, ...], ...] = ()


def promises(graph: ModelParts) -> tuple[Promise, ...]:
    """What a model promises, in the order: directions, columns that may not meet, missing values, decisions."""
    schema, constraints = graph.schema, graph.schema.constraints
    found = [Promise("monotone", _direction(graph, feature), feature.name) for feature in schema if feature.monotone]
    if constraints.together:
        groups = listed([f"{{{', '.join(map(name, group))}}}" for group in constraints.together], "or")
        text = f"a rule reads one column, or columns of {groups} only"
        found.append(Promise("together", text, groups=constraints.together))
    for group in constraints.apart:
        columns = listed([name(column) for column in group])
        text = f"{columns} never stand in one rule" if len(group) < 3 else f"no two of {columns} stand in one rule"
        found.append(Promise("apart", text, groups=(group,)))
    if constraints.missing_never_helps:
        found.append(Promise("missing", "no rule is satisfied by a missing value or a level never seen"))
    for required in graph.required:
        label = quoted(graph.classes[required.class_index])
        text = f"where {print_node(required.condition, schema, None)}, the decision is {label}"
        found.append(Promise("required", text, required=required))
    return tuple(found)


def _direction(graph: ModelParts, feature: Feature) -> str:
    column, rises = name(feature.name), feature.monotone > 0
    if len(graph.classes) > 2:
        return f"as {column} grows, the class never {'falls' if rises else 'rises'}"
    low, high = quoted(graph.classes[0]), quoted(graph.classes[1])
    before, after = (high, low) if rises else (low, high)
    return f"as {column} grows, the decision never turns from {before} to {after}"
