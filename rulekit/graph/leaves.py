"""What a leaf reads: its column, the values at which it changes, what it says of each code of a category; its contrary.

Every node with a field `feature` reads that column, those that only an artifact has (`rulekit.program.nodes`) included.
`Not` is moved into the leaves, where the truth for missing and unseen values flips too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rulekit.graph import nodes as rg
from rulekit.graph.nodes import FALSE, TRUE, Node, is_logic, topological, with_children
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import Array

MOST_LISTED = 8
MOST_TIMES = 4


def column_of(node: Node) -> str | None:
    """The name of the column that a node reads itself, None where it reads none."""
    name: str | None = getattr(node, "feature", None)
    return name


def readers(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The nodes below `nodes` that read a column, by the column's name, in order of first use."""
    found: dict[str, list[Node]] = {}
    for node in topological(nodes):
        name = column_of(node)
        if name is not None:
            found.setdefault(name, []).append(node)
    return found


def cuts_of_leaf(leaf: Node) -> tuple[float, ...]:
    """The numbers c of a column such that the leaf may differ between x <= c and x > c; of a Column its bounds."""
    if isinstance(leaf, rg.Step):
        return leaf.cuts
    if isinstance(leaf, rg.Column):
        return leaf.low, leaf.high
    value = getattr(leaf, "value", None)
    return (value,) if isinstance(value, float) and column_of(leaf) is not None else ()


def levels_of_leaf(leaf: Node) -> tuple[str, ...]:
    """The levels that a leaf names."""
    found: tuple[str, ...] = getattr(leaf, "levels", ())
    return found


def tokens_of_leaf(leaf: Node) -> tuple[str, ...]:
    """The tokens that a leaf names."""
    found: tuple[str, ...] = getattr(leaf, "tokens", ())
    return found


def with_named_tokens(schema: Schema, nodes: Iterable[Node]) -> Schema:
    """The schema whose texts have the vocabulary that the nodes name, and no other token."""
    named: dict[str, set[str]] = {feature.name: set() for feature in schema if feature.kind == "text"}
    if not named:
        return schema
    for node in topological(nodes):
        if (name := column_of(node)) in named:
            named[name].update(tokens_of_leaf(node))
    features = tuple(
        replace(feature, levels=tuple(sorted(named[feature.name]))) if feature.name in named else feature
        for feature in schema
    )
    return schema if features == schema.features else replace(schema, features=features)


def truth_by_code(leaf: Node, feature: Feature) -> Array:
    """The truth [codes] of a Boolean leaf over a category: missing, unseen, the levels."""
    named = frozenset(levels_of_leaf(leaf))
    truth = np.zeros(FIRST_LEVEL_CODE + len(feature.levels), dtype=bool)
    truth[FIRST_LEVEL_CODE:] = [level in named for level in feature.levels]
    truth[MISSING_CODE] = getattr(leaf, "missing", True)  # a leaf without the field asks whether x is missing
    truth[UNSEEN_CODE] = getattr(leaf, "unseen", False)
    return truth


def by_code(leaf: Node, feature: Feature) -> Array:
    """What a node says of each code of a category [codes]: the truth of a Boolean leaf, the number of points."""
    if not isinstance(leaf, rg.LevelPoints):
        return truth_by_code(leaf, feature)
    points = dict(leaf.points)
    return np.array([leaf.missing, leaf.unseen, *(points.get(level, 0.0) for level in feature.levels)])


def reachable_codes(feature: Feature) -> list[int]:
    """The codes that a table of a category may hold: that of the unseen only where the column lets them through."""
    unseen = [UNSEEN_CODE] * (feature.unseen == "unseen")
    return [MISSING_CODE, *unseen, *range(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(feature.levels))]


def conditions_of_points(node: rg.LevelPoints) -> list[Node]:
    """The memberships on which points by level hang: one for each group of levels, missing, unseen."""
    groups = [rg.Among(node.feature, levels) for _, levels in node.groups]
    return [*groups, rg.Among(node.feature, (), True), rg.Among(node.feature, (), False, True)]


def leaf_of_codes(feature: Feature, truth: Sequence[bool]) -> Node:
    """The leaf over a category that has this truth [codes], or a constant."""
    if len(set(truth)) == 1:
        return rg.Constant(bool(truth[0]))
    levels = tuple(level for level, holds in zip(feature.levels, truth[FIRST_LEVEL_CODE:], strict=True) if holds)
    return rg.Among(feature.name, levels, truth[MISSING_CODE], truth[UNSEEN_CODE])


def has_column(node: Node) -> bool:
    """Whether the values of a `Column` enter a sum below `node`, so that cells do not decide it."""
    return any(isinstance(below, rg.Column) for below in topological((node,)))


def negated_leaf(leaf: Node, schema: Schema | None) -> Node | None:
    """The leaf that is true exactly where `leaf` is false, or None where only `Not` says it, or says it shorter.

    `Not(Among)` needs the schema, whose other levels it lists.
    """
    if isinstance(leaf, rg.Constant):
        return FALSE if leaf.value else TRUE
    if isinstance(leaf, rg.Compare):
        return rg.Compare(leaf.feature, ">" if leaf.op == "<=" else "<=", leaf.value, not leaf.missing)
    if isinstance(leaf, rg.Among) and schema is not None and leaf.feature in schema:
        within = set(leaf.levels)
        others = tuple(level for level in schema[leaf.feature].levels if level not in within)
        if said_by_others(len(others), len(within), new=not leaf.unseen):
            return None
        return rg.Among(leaf.feature, others, not leaf.missing, not leaf.unseen)
    return None


def said_by_others(listed: int, others: int, new: bool) -> bool:
    """Whether a set of so many levels is the `Not` of the other ones: `job not in {clerk}`.

    Where those are fewer and a level never seen belongs to the set (new), else where they are a fourth, of more than 8.
    """
    return 0 < others < listed if new else listed > MOST_LISTED and listed > MOST_TIMES * others


def negate(node: Node, schema: Schema | None) -> Node:
    """The contrary of a Boolean node, with `Not` only where no leaf says it.

    By de Morgan; that of an AtLeast by n - k + 1, that of an Odd by its first child.
    """
    if not node.children and not is_logic(node):
        flipped = negated_leaf(node, schema)
        return rg.Not(node) if flipped is None else flipped
    return push_negations((rg.Not(node),), schema)[rg.Not(node)]


def push_negations(roots: Iterable[Node], schema: Schema | None) -> dict[Node, Node]:
    """Each root, and each node on the way that stands unnegated, with every `Not` moved into the leaves.

    Not by de Morgan on random formulas, where that would change the steps of a probability.
    """
    order = topological(roots)
    wanted: set[tuple[Node, bool]] = {(root, True) for root in roots}
    for node in reversed(order):
        for sign in (False, True):  # the negative form of a node may be made of its positive one
            if (node, sign) in wanted:
                wanted.update(_operands(node, sign, schema))
    image: dict[tuple[Node, bool], Node] = {}
    for node in order:
        for sign in (True, False):
            if (node, sign) in wanted:
                image[node, sign] = _pushed(node, sign, schema, image)
    return {node: pushed for (node, sign), pushed in image.items() if sign}


def _operands(node: Node, sign: bool, schema: Schema | None) -> list[tuple[Node, bool]]:
    """What the positive (negative) form of a node is made of."""
    if isinstance(node, rg.Not):
        return [(node.child, not sign)]
    if sign or is_logic(node):
        contrary = not sign and isinstance(node, rg.Odd)  # of one child alone
        return [(child, (i > 0) if contrary else sign) for i, child in enumerate(node.children)]
    return [] if negated_leaf(node, schema) is not None else [(node, True)]


def _pushed(node: Node, sign: bool, schema: Schema | None, image: dict[tuple[Node, bool], Node]) -> Node:
    if isinstance(node, rg.Not):
        return image[node.child, not sign]
    if sign or is_logic(node):
        if isinstance(node, rg.Odd) and not sign:
            first, *others = node.children or (FALSE,)
            rest = [image[child, True] for child in others]
            return rg.Odd((image[first, False], *rest)) if node.children else TRUE
        children = tuple(image[child, sign] for child in node.children)
        if sign:
            return node if children == node.children else with_children(node, children)
        if isinstance(node, rg.AtLeast):
            return rg.AtLeast(len(children) - node.k + 1, children)
        return (rg.Or if isinstance(node, rg.And) else rg.And)(children)
    flipped = negated_leaf(node, schema)
    return rg.Not(image[node, True]) if flipped is None else flipped
