"""Two models over one schema: every column that either reads, with the levels, width and missing tokens of both.

A row that one of them refuses (a level that it takes for an error) is none of the joint rows. What one model takes for
missing or for a level never seen may be a level or a number to the other; a threshold of a float32 column is over
doubles the double where rounding crosses it. Every leaf is rewritten so that it holds on a cell of the joint column
exactly where the model's own leaf holds on that cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.graph.language.words import listed, quoted
from rulekit.graph.leaves import by_code, column_of, leaf_of_codes, readers, with_named_tokens
from rulekit.graph.nodes import (
    TRUE,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Family,
    LevelPoints,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Step,
    topological,
    with_children,
)
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
    classes = _classes(first, second)
    used = [set(readers(graph.written)) for graph in models]
    features = []
    for name in dict.fromkeys((*first.schema.names, *second.schema.names)):
        reading = [
            graph.schema[name] for graph, own in zip(models, used, strict=True) if name in own and name in graph.schema
        ]
        known = [graph.schema[name] for graph in models if name in graph.schema]
        features.append(_feature(*reading) if len(reading) == 2 else (reading or known)[0])
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


def _classes(first: RuleGraph, second: RuleGraph) -> tuple[ClassLabel, ...]:
    known = set(map(repr, first.classes))
    others = [label for label in second.classes if repr(label) not in known]
    if len(others) == len(second.classes):
        shown = [listed([quoted(label) for label in graph.classes[:4]]) for graph in (first, second)]
        raise InputError(
            f"the models decide between other classes: {shown[0]}, and {shown[1]}",
            fix="compare models of the same question",
        )
    return (*first.classes, *others)


def image_of(roots: Sequence[Node], own: Schema, joint: Schema, known: dict[Node, Node]) -> dict[Node, Node]:
    """Every node below some roots over another schema, beside those that are known."""
    for node in topological(roots, lambda node: () if node in known else node.children):
        name = column_of(node)
        if node in known:
            continue
        if name is not None:
            known[node] = joint_leaf(node, own[name], joint[name])
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
    decisions = [graph.decision.with_roots(tuple(_plain(graph.decision.roots, known))) for graph in both.over]
    return decisions[0] == decisions[1]


def _plain(roots: Sequence[Node], known: dict[Node, Node]) -> Iterator[Node]:
    """The roots with Boolean parts in one order; what hidden bits make up is left, as its roundings may hang on it."""
    for node in topological(roots, lambda node: () if node in known else node.children):
        if node not in known:
            known[node] = _plain_node(node, [known[child] for child in node.children])
    return (known[root] for root in roots)


def _plain_node(node: Node, children: Sequence[Node]) -> Node:
    if node.family is Family.RANDOM or isinstance(node, Probability):
        return node
    if isinstance(node, And | Or):
        parts: dict[Node, None] = {}
        for child in children:
            parts.update(dict.fromkeys(child.children if type(child) is type(node) else (child,)))
        found = sorted(parts, key=lambda part: part.digest)
        return found[0] if len(found) == 1 else type(node)(found)
    if isinstance(node, AtLeast | Odd):
        children = sorted(children, key=lambda part: part.digest)
    return with_children(node, children)


# Columns -----------------------------------------------------------------------------------------------------------


_KINDS = {"numeric": "a number", "boolean": "true or false", "categorical": "a category", "text": "a text"}


def _feature(one: Feature, other: Feature) -> Feature:
    """The column that both models read."""
    kinds = [f"a {each.display}" if is_dated(each) else _KINDS[each.kind] for each in (one, other)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"it is {kinds[0]} in the first model and {kinds[1]} in the second, so that no row means the same to both",
            where=f"column {one.name!r}",
            fix="train both with the same --type",
        )
    if one == other:
        return one
    if one.kind == "categorical":
        return _category(one, other)
    if one.kind != "numeric" and set(one.missing_tokens) != set(other.missing_tokens):
        raise InputError(
            "the models take other cells for missing",
            where=f"column {one.name!r}",
            fix="train both with the same --missing",
        )
    if one.kind == "text":
        return replace(one, levels=tuple(sorted({*one.levels, *other.levels})))
    wide = one.precision != other.precision or set(one.missing_numbers) != set(other.missing_numbers)
    return replace(
        one, precision="float64" if wide else one.precision, missing_tokens=_common_tokens(one, other), monotone=0
    )


def _common_tokens(one: Feature, other: Feature) -> tuple[str, ...]:
    return tuple(token for token in one.missing_tokens if token in other.missing_tokens)


def _category(one: Feature, other: Feature) -> Feature:
    """The levels of both and what one of them alone takes for missing, without those that either refuses."""
    tokens = _common_tokens(one, other)
    special = [token for token in (*one.missing_tokens, *other.missing_tokens) if token not in tokens and token]
    texts = dict.fromkeys((*one.levels, *other.levels, *special))
    kept = [text for text in texts if None not in (code_of_text(one, text), code_of_text(other, text))]
    unseen = {one.unseen, other.unseen}
    how = "error" if "error" in unseen else "missing" if unseen == {"missing"} else "unseen"
    return Feature(
        one.name,
        "categorical",
        tuple(kept),
        ordered=one.ordered and other.ordered and one.levels == other.levels,
        missing_tokens=tokens,
        unseen=how,  # type: ignore[arg-type]
        role=one.role,
    )


def joint_leaf(leaf: Node, own: Feature, joint: Feature) -> Node:
    """The same condition, or number, over the joint feature; raises InputError where none says the same."""
    if own == joint or own.kind in ("boolean", "text"):
        return leaf
    return _by_levels(leaf, own, joint) if own.kind == "categorical" else _of_numbers(leaf, own, joint)


# Categories --------------------------------------------------------------------------------------------------------


def code_of_text(feature: Feature, text: str) -> int | None:
    """The code that a category gives to a text; None where it refuses the text."""
    code = feature.codes_of_texts.get(text)
    if code is not None:
        return code
    return {"unseen": UNSEEN_CODE, "missing": MISSING_CODE}.get(feature.unseen)


def _by_levels(leaf: Node, own: Feature, joint: Feature) -> Node:
    known = by_code(leaf, own).tolist()
    unseen = MISSING_CODE if own.unseen == "missing" else UNSEEN_CODE
    codes = [MISSING_CODE, unseen, *(code_of_text(own, level) for level in joint.levels)]
    said = [known[MISSING_CODE if code is None else code] for code in codes]
    if not isinstance(leaf, LevelPoints):
        return leaf_of_codes(joint, said)
    values = zip(joint.levels, said[FIRST_LEVEL_CODE:], strict=True)
    points = tuple((level, value) for level, value in values if value != 0)
    return LevelPoints(leaf.feature, points, said[MISSING_CODE], said[UNSEEN_CODE])


# Numbers -----------------------------------------------------------------------------------------------------------


def _of_numbers(leaf: Node, own: Feature, joint: Feature) -> Node:
    wider = own.precision != joint.precision
    absent = sorted(set(own.missing_numbers) - set(joint.missing_numbers))  # missing to one model and not to both
    if isinstance(leaf, Column):
        if wider or absent:
            what = "other widths" if wider else "other missing tokens"
            raise InputError(
                f"the models read its numbers with {what}, and one adds them up",
                where=f"column {own.name!r}",
                fix="train both with the same --width and --missing",
            )
        return leaf
    if isinstance(leaf, Step):
        return _step(leaf, own, absent, wider)
    if isinstance(leaf, Compare) and wider:
        leaf = _wider(leaf, crossing(leaf.value))
    if not absent:
        return leaf
    alike = [
        And([Compare(own.name, ">", math.nextafter(each, -math.inf)), Compare(own.name, "<=", each)]) for each in absent
    ]
    missing = isinstance(leaf, Missing) or bool(getattr(leaf, "missing", False))
    return Or([leaf, *alike]) if missing else And([leaf, *map(Not, alike)])


def _wider(leaf: Compare, cut: float) -> Node:
    """A comparison with a double, which may be infinite: then every number is on one side."""
    if math.isfinite(cut):
        return Compare(leaf.feature, leaf.op, cut, leaf.missing)
    if (leaf.op == "<=") == (cut > 0):
        return TRUE if leaf.missing else Not(Missing(leaf.feature))
    return Missing(leaf.feature) if leaf.missing else Constant(False)


def _step(leaf: Step, own: Feature, absent: Sequence[float], wider: bool) -> Node:
    """The step function with a step of its own at each number that means missing."""
    cuts = [crossing(cut) for cut in leaf.cuts] if wider else list(leaf.cuts)
    if any(math.isinf(cut) for cut in cuts):
        raise InputError("a cut is beyond all numbers of its width", where=f"column {own.name!r}")
    ends = sorted({*cuts, *absent, *(math.nextafter(number, -math.inf) for number in absent)})
    values = [leaf.missing if end in absent else leaf.values[sum(cut < end for cut in cuts)] for end in ends]
    values.append(leaf.values[-1])
    kept = [i for i, (before, after) in enumerate(pairwise(values)) if before != after]
    return Step(leaf.feature, tuple(ends[i] for i in kept), tuple(values[i] for i in (*kept, len(ends))), leaf.missing)
