"""The rule language: a rule graph as text that people read and edit (docs/rule-language.md; `parsing` reads it).

`parse_graph(print_graph(graph)) == graph`: header, conditions and weights are complete and exact; only provenance and
statistics, which stand beside the digest, are comments.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.files.writing import digest_of
from rulekit.graph.language.figures import rule_figures, worded
from rulekit.graph.language.printing import Wording, word
from rulekit.graph.language.quantified import sentence_of
from rulekit.graph.language.readable import MOST_LEVELS
from rulekit.graph.language.wordings import ForPeople, odds
from rulekit.graph.language.words import in_quotes, label, name, names, number
from rulekit.graph.model_parts import ModelParts
from rulekit.graph.nodes import Above, Node, Strength
from rulekit.graph.overrides import Override
from rulekit.graph.rules import Rule, rules_of
from rulekit.graph.sides import on_the_side_of_the_decision
from rulekit.schema import Feature, Schema

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
        return f"decide first of ({_items(items)})"
    if decision.ranked:
        items = []
        for j, score, threshold in sorted(decision.ranked, key=itemgetter(0)):
            above = "" if threshold == float("-inf") else f" above {_threshold(threshold)}"
            items.append(f"{labels[j]}: {_nested(_root(score, wording, note))}{above}")
        order = ", ".join(labels[j] for j, _, _ in decision.ranked)
        return f"decide largest of ({_items(items)}) preferring {order}"
    if decision.ordered:
        cuts = [f"above {labels[j]}: {_nested(_root(p, wording, note))}" for j, p in enumerate(decision.roots)]
        return f"decide median of ({_items(cuts)})"
    comment = ""
    (node,) = decision.roots
    if isinstance(node, Above) and isinstance(node.score, Strength) and node.threshold >= 0:
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


def _items(items: list[str]) -> str:
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
    return [f"report ({_items([f'{label(c)}: {_nested(r)}' for c, r in zip(graph.classes, roots, strict=True)])})"]


def _root(node: Node, wording: Wording, note: Note) -> str:
    """A root over several lines, one rule each; its name where it is defined."""
    if node in wording.definitions:
        return wording.definitions[node]
    return wording.broken(node, note, force=True)


# Comments ----------------------------------------------------------------------------------------------------------


def _definition_names(graph: ModelParts, rules: tuple[Rule, ...]) -> dict[Node, str]:
    """Definitions of rules bear the rule's id; the one score that decides is called so."""
    score: dict[Node, str] = {}
    if len(graph.decision.roots) == 1 and isinstance(above := graph.decision.roots[0], Above):
        score = {above.score.formula: "formula"} if isinstance(above.score, Strength) else {above.score: "score"}
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
