"""What a leaf reads: its column, the values at which it changes, and what it says of each code of a category.

Every node with a field `feature` reads that column, those that only an artifact has (`rulekit.program.nodes`) included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rulekit.graph.nodes import Among, Column, Constant, Node, Step
from rulekit.graph.traversal import topological
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Array


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
    if isinstance(leaf, Step):
        return leaf.cuts
    if isinstance(leaf, Column):
        return leaf.low, leaf.high
    value = getattr(leaf, "value", None)
    return (value,) if isinstance(value, float) and column_of(leaf) is not None else ()


def levels_of_leaf(leaf: Node) -> tuple[str, ...]:
    """The levels that a leaf names."""
    found: tuple[str, ...] = getattr(leaf, "levels", ())
    return found


def truth_by_code(leaf: Node, feature: Feature) -> Array:
    """The truth [codes] of a Boolean leaf over a category: missing, unseen, the levels."""
    named = frozenset(levels_of_leaf(leaf))
    truth = np.zeros(FIRST_LEVEL_CODE + len(feature.levels), dtype=bool)
    truth[FIRST_LEVEL_CODE:] = [level in named for level in feature.levels]
    truth[MISSING_CODE] = getattr(leaf, "missing", True)  # a leaf without the field asks whether x is missing
    truth[UNSEEN_CODE] = getattr(leaf, "unseen", False)
    return truth


def leaf_of_codes(feature: Feature, truth: Sequence[bool]) -> Node:
    """The leaf over a category that has this truth [codes], or a constant."""
    if len(set(truth)) == 1:
        return Constant(bool(truth[0]))
    levels = tuple(level for level, holds in zip(feature.levels, truth[FIRST_LEVEL_CODE:], strict=True) if holds)
    return Among(feature.name, levels, truth[MISSING_CODE], truth[UNSEEN_CODE])


def has_column(node: Node) -> bool:
    """Whether the values of a `Column` enter a sum below `node`, so that cells do not decide it."""
    return any(isinstance(below, Column) for below in topological((node,)))
