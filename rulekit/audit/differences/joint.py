"""Two models over one schema: every column that either reads, with the levels, width and missing tokens of both.

A row that one of them refuses (a level that it takes for an error) is none of the joint rows. What one model takes for
missing or for a level never seen may be a level or a number to the other; a threshold of a float32 column is over
doubles the double where rounding crosses it. Every leaf is rewritten so that it holds on a cell of the joint column
exactly where the model's own leaf holds on that cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

from rulekit.errors import InputError
from rulekit.graph import nodes as rg
from rulekit.graph.language.text import promises
from rulekit.graph.language.words import counted, label, listed, quoted, weight
from rulekit.graph.leaves import by_code, column_of, leaf_of_codes, readers, with_named_tokens
from rulekit.graph.nodes import TRUE, Family, Node, topological, with_children
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.numbers import crossing
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Two models, as they are and over one schema.

    models: as they were given. over: what decides in them, over the joint schema, each with its own classes. classes:
    those of the first, then those that only the second has. places: by model the index in `classes` of each of its
    own. images: by model its nodes over the joint schema.
    """

    models: tuple[RuleGraph, RuleGraph]
    over: tuple[RuleGraph, RuleGraph]
    schema: Schema
    classes: tuple[ClassLabel, ...]
    places: tuple[tuple[int, ...], tuple[int, ...]]
    images: tuple[dict[Node, Node], dict[Node, Node]]

    @property
    def roots(self) -> tuple[Node, ...]:
        """What decides, in both models."""
        return (*self.over[0].decision.roots, *self.over[1].decision.roots)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that either model reads for its decision or its probability, in the order of the schema."""
        used = {*self.models[0].used_features, *self.models[1].used_features}
        return tuple(name for name in self.schema.names if name in used)

    def image(self, model: int, node: Node) -> Node:
        """A node over the schema of one of the models as a node over the joint schema."""
        return image_of((node,), self.models[model].schema, self.schema, self.images[model])[node]


def joint(first: RuleGraph, second: RuleGraph) -> Joint:
    """Two models over one schema; raises InputError where no row means the same to both, or no class is common."""
    models = first, second
    known = set(map(repr, first.classes))
    classes = (*first.classes, *(label for label in second.classes if repr(label) not in known))
    if len(classes) == len(first.classes) + len(second.classes):
        shown = [listed([quoted(label) for label in graph.classes[:4]]) for graph in models]
        raise InputError(
            f"the models decide between other classes: {shown[0]}, and {shown[1]}",
            fix="compare models of the same question",
        )
    used = [set(readers(graph.written)) for graph in models]
    features = []
    for name in dict.fromkeys((*first.schema.names, *second.schema.names)):
        having = [
            (graph.schema[name], name in own) for graph, own in zip(models, used, strict=True) if name in graph.schema
        ]
        reading = [feature for feature, reads in having if reads]
        features.append(_feature(*reading) if len(reading) == 2 else (reading or [having[0][0]])[0])
    schema = Schema(tuple(features), first.schema.target)
    images = [image_of(graph.written, graph.schema, schema, {}) for graph in models]
    both = [image[node] for image, graph in zip(images, models, strict=True) for node in graph.written]
    schema = with_named_tokens(schema, both)
    over = []
    for graph, image in zip(models, images, strict=True):
        decision = graph.decision.with_roots(tuple(image[root] for root in graph.decision.roots))
        over.append(RuleGraph(schema, graph.classes, decision, default=graph.default))
    index = {repr(label): k for k, label in enumerate(classes)}
    places = [tuple(index[repr(label)] for label in graph.classes) for graph in models]
    return Joint(models, (over[0], over[1]), schema, classes, (places[0], places[1]), (images[0], images[1]))


def image_of(roots: Sequence[Node], own: Schema, joint: Schema, known: dict[Node, Node]) -> dict[Node, Node]:
    """Every node below some roots over another schema, beside those that are known."""
    for node in topological(roots, lambda node: () if node in known else node.children):
        name = column_of(node)
        if node in known:
            continue
        if name is not None:
            kind, pair = own[name].kind, (own[name], joint[name])
            if pair[0] == pair[1] or kind in ("boolean", "text"):
                known[node] = node
            else:
                known[node] = _by_levels(node, *pair) if kind == "categorical" else _of_numbers(node, *pair)
        else:
            children = tuple(known[child] for child in node.children)
            known[node] = node if children == node.children else with_children(node, children)
    return known


def decide_by_same_rules(both: Joint) -> bool:
    """Whether both decide by the same rules, however these are ordered, nested and repeated; no search is made.

    Takes time linear in the models. False says nothing: other rules may decide alike.
    """
    first, second = both.over
    if both.places[0] != both.places[1] or (first.decision.has_default and first.default != second.default):
        return False
    known: dict[Node, Node] = {}
    decisions = []
    for graph in both.over:
        for node in topological(graph.decision.roots, lambda node: () if node in known else node.children):
            if node not in known:
                known[node] = _plain_node(node, [known[child] for child in node.children])
        decisions.append(graph.decision.with_roots(tuple(known[root] for root in graph.decision.roots)))
    return decisions[0] == decisions[1]


def _plain_node(node: Node, children: Sequence[Node]) -> Node:
    """A Boolean node with its parts in one order; hidden bits are left, as the roundings of a formula hang on them."""
    if node.family is Family.RANDOM or isinstance(node, rg.Probability):
        return node
    if isinstance(node, rg.And | rg.Or):
        parts: dict[Node, None] = {}
        for child in children:
            parts.update(dict.fromkeys(child.children if type(child) is type(node) else (child,)))
        found = sorted(parts, key=lambda part: part.digest)
        return found[0] if len(found) == 1 else type(node)(found)
    if isinstance(node, rg.AtLeast | rg.Odd):
        children = sorted(children, key=lambda part: part.digest)
    return with_children(node, children)


# Columns -----------------------------------------------------------------------------------------------------------


_KINDS = {"numeric": "a number", "boolean": "true or false", "categorical": "a category", "text": "a text"}


def _feature(one: Feature, other: Feature) -> Feature:
    kinds = [f"a {each.display}" if each.dated else _KINDS[each.kind] for each in (one, other)]
    if kinds[0] != kinds[1]:
        first, second, where = *kinds, f"column {one.name!r}"
        both = f"it is {first} in the first model and {second} in the second, so that no row means the same to both"
        raise InputError(both, where=where, fix="train both with the same --type")
    if one == other:
        return one
    tokens = tuple(token for token in one.missing_tokens if token in other.missing_tokens)
    if one.kind == "categorical":
        return _category(one, other, tokens)
    if one.kind != "numeric" and set(one.missing_tokens) != set(other.missing_tokens):
        what, fix = "the models take other cells for missing", "train both with the same --missing"
        raise InputError(what, where=f"column {one.name!r}", fix=fix)
    if one.kind == "text":
        return replace(one, levels=tuple(sorted({*one.levels, *other.levels})))
    wide = one.precision != other.precision or set(one.missing_numbers) != set(other.missing_numbers)
    return replace(one, precision="float64" if wide else one.precision, missing_tokens=tokens, monotone=0)


def _category(one: Feature, other: Feature, tokens: tuple[str, ...]) -> Feature:
    """The levels of both and what one of them alone takes for missing, without those that either refuses."""
    special = [token for token in (*one.missing_tokens, *other.missing_tokens) if token not in tokens and token]
    texts = dict.fromkeys((*one.levels, *other.levels, *special))
    kept = tuple(text for text in texts if None not in (code_of_text(one, text), code_of_text(other, text)))
    unseen = {one.unseen, other.unseen}
    return Feature(
        one.name,
        "categorical",
        kept,
        ordered=one.ordered and other.ordered and one.levels == other.levels,
        missing_tokens=tokens,
        unseen="error" if "error" in unseen else "missing" if unseen == {"missing"} else "unseen",
        role=one.role,
    )


# Categories --------------------------------------------------------------------------------------------------------


def code_of_text(feature: Feature, text: str) -> int | None:
    """The code that a category gives to a text; None where it refuses the text."""
    unknown = {"unseen": UNSEEN_CODE, "missing": MISSING_CODE}.get(feature.unseen)
    return feature.codes_of_texts.get(text, unknown)


def _by_levels(leaf: Node, own: Feature, joint: Feature) -> Node:
    known = by_code(leaf, own).tolist()
    unseen = MISSING_CODE if own.unseen == "missing" else UNSEEN_CODE
    codes = [MISSING_CODE, unseen, *(code_of_text(own, level) for level in joint.levels)]
    said = [known[MISSING_CODE if code is None else code] for code in codes]
    if not isinstance(leaf, rg.LevelPoints):
        return leaf_of_codes(joint, said)
    values = zip(joint.levels, said[FIRST_LEVEL_CODE:], strict=True)
    points = tuple((level, value) for level, value in values if value != 0)
    return rg.LevelPoints(leaf.feature, points, said[MISSING_CODE], said[UNSEEN_CODE])


# Numbers -----------------------------------------------------------------------------------------------------------


def _of_numbers(leaf: Node, own: Feature, joint: Feature) -> Node:
    """The leaf, with doubles for its cuts where the joint column is wider, and as for a missing cell at each number
    that means missing to this model alone.
    """
    wider, where = own.precision != joint.precision, f"column {own.name!r}"
    absent = sorted(set(own.missing_numbers) - set(joint.missing_numbers))
    if not wider and not absent:
        return leaf
    if isinstance(leaf, rg.Column):
        what = "other widths" if wider else "other missing tokens"
        fix = "train both with the same --width and --missing"
        raise InputError(f"the models read its numbers with {what}, and one adds them up", where=where, fix=fix)
    if isinstance(leaf, rg.Step):
        cuts = [crossing(cut) for cut in leaf.cuts] if wider else list(leaf.cuts)
        if any(math.isinf(cut) for cut in cuts):
            raise InputError("a cut is beyond all numbers of its width", where=where)
        ends = sorted({*cuts, *absent, *(math.nextafter(number, -math.inf) for number in absent)})
        values = [leaf.missing if end in absent else leaf.values[sum(cut < end for cut in cuts)] for end in ends]
        values.append(leaf.values[-1])
        kept = [i for i, (before, after) in enumerate(pairwise(values)) if before != after]
        return rg.Step(
            leaf.feature, tuple(ends[i] for i in kept), tuple(values[i] for i in (*kept, len(ends))), leaf.missing
        )
    missing = isinstance(leaf, rg.Missing) or bool(getattr(leaf, "missing", False))
    if isinstance(leaf, rg.Compare) and wider:
        cut = crossing(leaf.value)
        if math.isfinite(cut):
            leaf = rg.Compare(leaf.feature, leaf.op, cut, missing)
        elif (leaf.op == "<=") == (cut > 0):  # every number is on one side
            leaf = TRUE if missing else rg.Not(rg.Missing(leaf.feature))
        else:
            leaf = rg.Missing(leaf.feature) if missing else rg.Constant(False)
    alike = [
        rg.And([rg.Compare(own.name, ">", math.nextafter(each, -math.inf)), rg.Compare(own.name, "<=", each)])
        for each in absent
    ]
    if not absent:
        return leaf
    return rg.Or([leaf, *alike]) if missing else rg.And([leaf, *map(rg.Not, alike)])


# What they say of themselves ------------------------------------------------------------------------------------------

_NOT_COMPARED = ("time_limit", "random_state")
_FORMS = {Family.BOOLEAN: "rules", Family.REAL: "a sum"}

Fact = tuple[str, str]
"""What is said, and the words for it; "" where there is none of it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One thing that is not the same: what, and its words in each model; "" where one has none of it."""

    what: str
    before: str
    after: str


def declared(first: RuleGraph, second: RuleGraph) -> tuple[Declared, ...]:
    """All that differs, in the order: classes, columns, promises, thresholds, provenance."""
    found = [*_differing(_of_classes, first, second), *_differing(_of_columns, first, second)]
    promised = [[promise.text for promise in promises(graph)] for graph in (first, second)]
    found += [Declared("promise", text, "") for text in promised[0] if text not in promised[1]]
    found += [Declared("promise", "", text) for text in promised[1] if text not in promised[0]]
    found += _differing(_of_decision, first, second)
    if first.probability != second.probability:
        found.append(Declared("reported probability", _reports(first), _reports(second)))
    return (*found, *_differing(_of_provenance, first, second))


def _differing(
    facts: Callable[[RuleGraph, RuleGraph], Iterator[Fact]], first: RuleGraph, second: RuleGraph
) -> Iterator[Declared]:
    """What is not the same in both; facts: those of the first model, where it stands beside the second one."""
    old, new = dict(facts(first, second)), dict(facts(second, first))
    for what in dict.fromkeys((*old, *new)):
        if old.get(what, "") != new.get(what, ""):
            yield Declared(what, old.get(what, ""), new.get(what, ""))


def _of_classes(graph: RuleGraph, _: RuleGraph) -> Iterator[Fact]:
    yield "label column", graph.schema.target
    yield "classes", ", ".join(map(quoted, graph.classes))
    yield "classes are", "ranks" if graph.schema.ordered_classes else "no ranks"
    yield "class where no rule speaks", quoted(graph.classes[graph.default]) if graph.decision.has_default else ""


def _of_columns(graph: RuleGraph, other: RuleGraph) -> Iterator[Fact]:
    deciding, read = readers(graph.decision.roots), {*graph.used_features, *other.used_features}
    for column in dict.fromkeys((*graph.schema.names, *other.schema.names)):
        probable = "for the probability alone" if column in graph.used_features else "not read"
        yield f"use of {column}", "decides" if column in deciding else probable
        if column not in graph.schema or column not in other.schema or column not in read:
            continue
        feature, known = graph.schema[column], other.schema[column].levels
        for item in fields(Feature):
            value = getattr(feature, item.name)
            if item.name not in ("monotone", "levels"):
                said = ", ".join(value) if isinstance(value, tuple) else label(value)
                yield f"{item.name.replace('_', ' ')} of {column}", said
        if feature.kind == "categorical":
            yield f"levels of {column}", ", ".join(level for level in feature.levels if level not in known)


def _of_decision(graph: RuleGraph, other: RuleGraph) -> Iterator[Fact]:
    parts = graph.decision.parts
    yield "decided by", _form(graph)
    if _form(graph) == _form(other) and len(parts) == len(other.decision.parts):
        for part in parts:
            about = "" if len(parts) == 1 else f" for {quoted(graph.classes[part.class_index])}"
            yield f"threshold{about}", _number(part.threshold)
            yield f"constant of the sum{about}", _number(part.score.bias if isinstance(part.score, rg.Linear) else None)
    orders = [[quoted(each.classes[k]) for k, _, _ in each.decision.ranked] for each in (graph, other)]
    if sorted(orders[0]) == sorted(orders[1]):
        yield "order of the classes", " before ".join(orders[0])


def _form(graph: RuleGraph) -> str:
    kinds = {_FORMS.get(part.score.family, "a probability") for part in graph.decision.parts}
    how = "ranks" if graph.decision.ordered else "the largest" if graph.decision.ranked else ""
    if graph.decision.rule_sets:
        how = "the first class with a rule that holds"
    return ": ".join(filter(None, [" and ".join(sorted(kinds)), how]))


def _number(value: float | None) -> str:
    return "" if value is None or math.isinf(value) else weight(value)


def _reports(graph: RuleGraph) -> str:
    bits = sum(isinstance(node, rg.Hidden) for node in topological(graph.probability))
    said = f"a formula of {counted(bits, 'condition')}" if bits else "another formula"
    return said if graph.probability else "0 or 1"


def _of_provenance(graph: RuleGraph, other: RuleGraph) -> Iterator[Fact]:
    made, others = graph.provenance, other.provenance
    yield "learner", str(made.get("learner") or "not said")
    if made.get("data") and others.get("data"):
        yield "trained on", f"{made.get('rows', '?')} rows ({made['data'][:8]})"
    settings, known = made.get("parameters"), others.get("parameters")
    if made.get("learner") == others.get("learner") and isinstance(settings, Mapping) and isinstance(known, Mapping):
        keys = sorted({*settings, *known} - {*_NOT_COMPARED})
        yield from ((f"parameter {key}", str(settings.get(key))) for key in keys)
