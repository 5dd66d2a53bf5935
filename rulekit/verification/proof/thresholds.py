"""Thresholds and levels that an artifact has and its graph has not, or the other way round, in words."""

from __future__ import annotations

from collections.abc import Iterable

from rulekit.cells.axis import cuts_of
from rulekit.graph.leaves import column_of, conditions_of_points, levels_of_leaf, truth_by_code
from rulekit.graph.nodes import Column, LevelPoints, Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, crossing, float32, next_float32
from rulekit.schema import UNSEEN_CODE, Feature
from rulekit.targets import Reading

MOST_NAMED = 8


def threshold_differences(graph: RuleGraph, reading: Reading) -> tuple[str, ...]:
    """What is different, one sentence for each, at most `MOST_NAMED`; () where the artifact's leaves are not known."""
    if reading.leaves is None and reading.decision is None:
        return ()
    nodes = topological(graph.roots)
    roots = [*(reading.leaves or ()), *(reading.probability_leaves or ())]
    roots += () if reading.decision is None else reading.decision.roots
    found = topological(roots)
    complete = reading.probability_leaves is not None or not graph.probability
    lines = []
    for feature in graph.schema:
        if feature.kind == "numeric":
            lines += _numbers(feature, _of(nodes, feature), _of(found, feature), complete)
        elif feature.kind == "categorical":
            lines += _levels(feature, _of(nodes, feature), _of(found, feature))
    return tuple(lines[:MOST_NAMED])


def _of(nodes: Iterable[Node], feature: Feature) -> list[Node]:
    own = [node for node in nodes if column_of(node) == feature.name and not isinstance(node, Column)]
    return [leaf for node in own for leaf in (conditions_of_points(node) if isinstance(node, LevelPoints) else [node])]


def _numbers(feature: Feature, ours: list[Node], theirs: list[Node], complete: bool) -> list[str]:
    known, given = cuts_of(feature, ours), cuts_of(feature, theirs)
    foreign = sorted(set(given) - set(known))
    lacking = sorted(set(known) - set(given)) if complete else []
    if not foreign:
        return []
    lines = []
    for cut in foreign:
        nearest = min(lacking, key=lambda other: abs(other - cut), default=None)
        if nearest is None:
            lines.append(f"threshold {_shown(feature, cut)} of {feature.name!r} is none of the model's")
        else:
            lacking.remove(nearest)
            ours_shown = _shown(feature, nearest)
            lines.append(f"threshold {_shown(feature, cut)} of {feature.name!r} is not the model's {ours_shown}")
    return lines


def _shown(feature: Feature, cut: float) -> str:
    """A cut as the threshold that a rule would say, or as the double that it is."""
    if feature.precision == "float32":
        below = float32(cut)
        for t in (below, -next_float32(-below)) if abs(below) < 3.4e38 else ():
            if crossing(t) == cut:
                return repr(canonical_threshold(t, "float32"))
    return repr(cut)


def _levels(feature: Feature, ours: list[Node], theirs: list[Node]) -> list[str]:
    known = {(), *(_members(feature, node) for node in ours)}
    lines = []
    for node in theirs:
        if levels_of_leaf(node) and _members(feature, node) not in known:
            levels = levels_of_leaf(node)
            shown = ", ".join(map(repr, levels[:4])) + (", ..." if len(levels) > 4 else "")
            lines.append(f"the set of levels {{{shown}}} of {feature.name!r} is none of the model's")
    return lines


def _members(feature: Feature, node: Node) -> tuple[bool, ...]:
    """Truth by code, the same for a set and its complement; () for a set that is everything or nothing."""
    truth: list[bool] = truth_by_code(node, feature).tolist()
    if feature.unseen != "unseen":
        del truth[UNSEEN_CODE]
    if len(set(truth)) == 1:
        return ()
    return tuple(not value for value in truth) if truth[0] else tuple(truth)
