"""Random pairs of models, and what they decide on a row of every cell, found without the code of `compare`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from rulekit.conformance.models import random_graph, random_schema
from rulekit.errors import GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.leaves import cuts_of_leaf, levels_of_leaf, push_negations, readers
from rulekit.graph.nodes import Among, And, Compare, Family, Node, Not, Or, topological, with_children
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import crossing, float32, next_float32
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import simplify

MOST = 30_000


def random_pair(seed: int) -> tuple[RuleGraph, RuleGraph, str]:
    """Two models of at most three columns that can be compared on few cells, and how the second came about."""
    rng = np.random.default_rng(seed)
    kind = list(SECOND)[seed % len(SECOND)]
    while True:
        schema = replace(schema := random_schema(rng), features=schema.features[:3])
        try:
            first = random_graph(rng, schema=schema)
            second = SECOND[kind](rng, first)
            check(first)
            check(second)
        except GraphError:
            continue
        if set(map(repr, first.classes)) & set(map(repr, second.classes)) and n_rows(first, second) <= MOST:
            return first, second, kind


def _independent(rng: np.random.Generator, first: RuleGraph) -> RuleGraph:
    for _ in range(200):
        second = random_graph(rng, schema=first.schema)
        if set(map(repr, first.classes)) & set(map(repr, second.classes)):
            return second.with_(schema=replace(second.schema, ordered_classes=second.decision.ordered))
    raise GraphError("no class in common")


def changed(graph: RuleGraph, image: Mapping[Node, Node]) -> RuleGraph:
    decision = graph.decision.with_roots(tuple(image.get(root, root) for root in graph.decision.roots))
    return graph.with_(decision=decision, probability=())


def rewritten(rng: np.random.Generator, root: Node, schema: Schema) -> Node:
    """The same truth by other nodes: double negation, de Morgan, x and (x or y), cases of a condition."""
    image: dict[Node, Node] = {}
    leaves = [node for name, own in readers([root]).items() for node in own if isinstance(node, Compare | Among)]
    for node in topological([root]):
        new = with_children(node, [image[child] for child in node.children]) if node.children else node
        draw = rng.random()
        boolean = node.family is Family.BOOLEAN
        if boolean and leaves and draw < 0.5:
            other: Node = leaves[int(rng.integers(len(leaves)))]
            options = (
                Not(Not(new)),
                And([new, Or([new, other])]),
                Or([And([new, other]), And([new, Not(other)])]),
                Or([new, And([new, other])]),
            )
            new = options[int(rng.integers(len(options)))]
        elif boolean and isinstance(new, And | Or) and draw < 0.8:
            dual = Or if isinstance(new, And) else And
            new = Not(dual([Not(child) for child in new.children]))
        image[node] = new
    found = image[root]
    return push_negations([found], schema)[found] if rng.random() < 0.3 else found


def _moved(rng: np.random.Generator, graph: RuleGraph) -> RuleGraph:
    """One leaf of the decision is another one."""
    leaves = [node for own in readers(graph.decision.roots).values() for node in own]
    leaves = [leaf for leaf in leaves if isinstance(leaf, Compare | Among)]
    if not leaves:
        raise GraphError("no leaf to move")
    leaf = leaves[int(rng.integers(len(leaves)))]
    if isinstance(leaf, Compare):
        new: Node = Compare(leaf.feature, leaf.op, leaf.value + float(rng.choice([-1.0, 0.5, 2.0])), leaf.missing)
    else:
        levels = graph.schema[leaf.feature].levels
        new = Among(leaf.feature, levels[: int(rng.integers(1, len(levels) + 1))], not leaf.missing, leaf.unseen)
    image: dict[Node, Node] = {}
    for node in topological(graph.decision.roots):
        own = with_children(node, [image[child] for child in node.children]) if node.children else node
        image[node] = new if node is leaf else own
    return changed(graph, image)


def _other_schema(rng: np.random.Generator, graph: RuleGraph) -> Schema:
    """The columns in another order, with other levels, widths and missing tokens, and one more."""
    features = []
    for feature in graph.schema:
        if feature.kind == "categorical":
            named = {level for node in readers(graph.roots).get(feature.name, []) for level in levels_of_leaf(node)}
            kept = [level for level in feature.levels if level in named or rng.random() < 0.6] or list(feature.levels)
            levels = tuple(
                str(level) for level in rng.permutation([*kept, *(["violet"] if rng.random() < 0.5 else [])])
            )
            tokens = ("red", "??") if rng.random() < 0.3 and "red" not in levels else feature.missing_tokens
            unseen = str(rng.choice(["unseen", "missing"]))
            features.append(replace(feature, levels=levels, missing_tokens=tokens, unseen=unseen, ordered=False))  # type: ignore[arg-type]
        elif feature.kind == "numeric":
            columns = any(type(node).__name__ == "Column" for node in readers(graph.roots).get(feature.name, []))
            wide = feature.precision if columns else str(rng.choice(["float32", "float64"]))
            tokens = ("-1.5",) if rng.random() < 0.3 and not columns else ()
            features.append(replace(feature, precision=wide, missing_tokens=tokens))  # type: ignore[arg-type]
        else:
            features.append(feature)
    order = rng.permutation(len(features))
    return replace(graph.schema, features=(*(features[i] for i in order), Feature("one more")))


def _swapped(graph: RuleGraph) -> RuleGraph:
    """The same question with the classes in another order."""
    k = len(graph.classes)
    turned = tuple(reversed(graph.classes))
    decision = graph.decision
    if isinstance(decision, Fires):
        return RuleGraph(graph.schema, turned, Fires(Not(decision.formula)))
    if isinstance(decision, ArgMax):
        back = ArgMax(
            tuple(reversed(decision.scores)),
            tuple(reversed(decision.thresholds)),
            tuple(k - 1 - j for j in decision.preference),
        )
        return RuleGraph(graph.schema, turned, back, default=k - 1 - graph.default)
    return graph.with_(probability=())


SECOND: dict[str, Callable[[np.random.Generator, RuleGraph], RuleGraph]] = {
    "independent": _independent,
    "moved": _moved,
    "rewritten": lambda rng, first: changed(
        first, {root: rewritten(rng, root, first.schema) for root in first.decision.roots}
    ),
    "simplified": lambda rng, first: simplify(first),
    "other schema": lambda rng, first: first.with_(schema=_other_schema(rng, first), probability=()),
    "swapped classes": lambda rng, first: _swapped(first),
}
"""How the second model of a pair comes about."""


# All cells, found without the code of `compare` --------------------------------------------------------------------


def values_of(first: RuleGraph, second: RuleGraph) -> dict[str, list[Any]]:
    """By column raw values of which every cell of either model has one."""
    found: dict[str, list[Any]] = {}
    reading = [readers(graph.decision.roots) for graph in (first, second)]
    for name in dict.fromkeys((*reading[0], *reading[1])):
        features = [graph.schema[name] for graph in (first, second) if name in graph.schema]
        nodes = [node for own in reading for node in own.get(name, [])]
        if features[0].kind == "categorical":
            tokens = [token for feature in features for token in feature.missing_tokens]
            texts = [level for feature in features for level in feature.levels]
            found[name] = list(dict.fromkeys([None, "never seen by any", *texts, *tokens]))
        elif features[0].kind == "boolean":
            found[name] = [math.nan, 0.0, 1.0]
        else:
            cuts = {cut for node in nodes for cut in cuts_of_leaf(node)}
            numbers = {number for feature in features for number in feature.missing_numbers}
            near = [math.nan, -math.inf, math.inf, 0.0]
            for cut in sorted(cuts | numbers):
                ends = [cut, float32(cut), next_float32(float32(cut)), crossing(cut)]
                near += [value for end in ends if math.isfinite(end) for value in (end, math.nextafter(end, math.inf))]
                near.append(math.nextafter(cut, -math.inf))
            found[name] = list(dict.fromkeys(near))
    return found


def n_rows(first: RuleGraph, second: RuleGraph) -> int:
    return math.prod(map(len, values_of(first, second).values()))


def all_rows(first: RuleGraph, second: RuleGraph) -> dict[str, Any]:
    """Raw columns of every combination of the values; columns that decide nothing are missing."""
    values = values_of(first, second)
    rows = list(product(*values.values())) or [()]
    columns: dict[str, Any] = {}
    for j, name in enumerate(values):
        texts = any(graph.schema[name].kind == "categorical" for graph in (first, second) if name in graph.schema)
        columns[name] = np.empty(len(rows), dtype=object if texts else np.float64)
        columns[name][:] = [row[j] for row in rows]
    for graph in (first, second):
        for name in graph.used_features:
            if name not in columns:
                text = graph.schema[name].kind == "categorical"
                columns[name] = np.full(len(rows), None if text else np.nan, dtype=object if text else np.float64)
    return columns
