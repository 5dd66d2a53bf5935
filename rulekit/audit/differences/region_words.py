"""Boxes of cells as conditions of the rule language, and the rows that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools
from rulekit.audit.differences.differing import Differing, WayFound
from rulekit.audit.rule_matching.alike import rule_parts
from rulekit.cells.axis import Axis
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import TRUE, And, Contains, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import printable
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.search.cover import Box
from rulekit.simplification.rewriting import formula


@dataclass(frozen=True, slots=True)
class Region:
    """A condition on which two models differ in one way.

    text: in words; rows: how many of the table are in it, None without a table; at_most: without one, the largest share
    of the training rows that can be in it, by the statistics of the first model or the second (model: 0, 1), None where
    they do not say; cells: how many, where they were all run.
    """

    text: str
    rows: int | None = None
    at_most: float | None = None
    model: int = 0
    cells: int | None = None

    def as_dict(self, n_rows: int | None) -> dict[str, Any]:
        """JSON values; n_rows: of the table."""
        found: dict[str, Any] = {"where": self.text}
        if self.rows is not None and n_rows:
            found |= {"rows": self.rows, "share": self.rows / n_rows}
        if self.at_most is not None:
            found |= {"share_at_most": self.at_most, "of_training_rows_of": "AB"[self.model]}
        return found | ({} if self.cells is None else {"cells": self.cells})


def regions(differing: Differing, found: WayFound) -> tuple[Region, ...]:
    """The boxes of a way in words: those with most rows, or else those that can have most, first."""
    rules = tuple(_boxes_of_rules(differing, model) for model in (0, 1))
    said = []
    for box in found.boxes.boxes:
        node = condition(differing, box)
        text = printable(print_node(node, differing.joint.schema)) if node is not TRUE else "everywhere"
        cells = int(np.prod([int(own.sum()) for own in box])) if found.n_cells is not None else None
        if differing.rows is not None:
            said.append(Region(text, int(differing.rows_in(box).sum()), cells=cells))
            continue
        bounds = [
            (most_of_training(graph, box, differing.space.axes, of), model)
            for model, (graph, of) in enumerate(zip(differing.joint.models, rules, strict=True))
        ]
        least, model = next(((bound, k) for bound, k in bounds if bound is not None), (None, 0))
        said.append(Region(text, None, least, model, cells))
    return tuple(sorted(said, key=lambda region: (-(region.rows or 0), -(region.at_most or 0), -(region.cells or 0))))


def condition(differing: Differing, box: Box) -> Node:
    """The condition that holds on a box alone."""
    # bounds of a column stand beside the other conditions, and not in parentheses of their own
    parts = [leaf for part in _parts(differing, box) for leaf in (part.children if isinstance(part, And) else (part,))]
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


def _parts(differing: Differing, box: Box) -> Iterator[Node]:
    words = {} if differing.search.words is None else differing.search.words.columns
    texts = {column: (text, place) for text, own in words.items() for place, column in enumerate(own)}
    for axis, own in zip(differing.space.axes, box, strict=True):
        name = axis.feature.name
        if own.all():
            continue
        if name not in texts:
            yield formula(axis.cells, axis.mask(own))
            continue
        assert differing.search.words is not None
        text, number = texts[name]
        level = differing.search.words.schema[text].levels
        leaf: Node = Missing(text) if number == 0 else Contains(text, (level[number - 1],))
        yield leaf if own[axis.encoded[:, 0] > 0.5].all() else Not(leaf)


def _boxes_of_rules(differing: Differing, model: int) -> dict[str, Box]:
    """By id the boxes of the rules of a model that are boxes."""
    joint, space = differing.joint, differing.space
    found: dict[str, Box] = {}
    for rule in rule_parts(joint.models[model]):
        box = [np.ones(len(axis), dtype=bool) for axis in space.axes]
        for node in rule.parts.values():
            image = differing.search.image(joint.image(model, node))
            held = differing.search.on_axis(image)
            if held is None:
                break
            box[held[0]] &= held[1]
        else:
            if rule.condition is not None and rule.weight is None:
                found[rule.rule.id] = tuple(box)
    return found


def most_of_training(graph: RuleGraph, box: Box, axes: Sequence[Axis], rules: Mapping[str, Box]) -> float | None:
    """At most what share of the training rows lies in a box; None where the statistics say nothing of the box.

    No row is at hand, so nothing is estimated: the share of a box is at most that of each of its sides (levels, missing
    cells, bins of numbers) and at most that of each rule in which it lies.
    rules: by id the box of each rule that is one, over the same axes.
    """
    columns = graph.statistics.get("columns", {})
    bounds = [_of_side(columns.get(axis.feature.name), axis, own) for axis, own in zip(axes, box, strict=True)]
    bounds += list(_of_rules(graph, box, rules))
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None


def _of_rules(graph: RuleGraph, box: Box, rules: Mapping[str, Box]) -> Iterator[float | None]:
    entries = {entry.get("id"): entry for entry in graph.statistics.get("rules", ())}
    for rule in rules_of(graph):
        around = rules.get(rule.id)
        if around is not None and all(bool((of | ~own).all()) for own, of in zip(box, around, strict=True)):
            yield entries.get(rule.id, {}).get("coverage")


def _of_side(entry: Any, axis: Axis, own: Bools) -> float | None:
    """The share of the rows whose cell of a column is one of some."""
    if not isinstance(entry, Mapping) or own.all():
        return None
    feature = axis.feature
    missing = float(entry.get("missing") or 0.0) if own[axis.missing].any() else 0.0
    if feature.kind == "categorical":
        shares = entry.get("levels", {})
        codes = np.arange(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(feature.levels), dtype=axis.encoded.dtype)
        held = own[axis.of_values(codes)] if len(codes) else np.zeros(0, dtype=bool)
        known = sum(float(shares.get(level, 0.0)) for level, holds in zip(feature.levels, held, strict=True) if holds)
        return min(1.0, missing + known + float(entry.get("unseen") or 0.0))
    if not (own & ~axis.missing).any():
        return missing
    bins = _of_bins(entry, axis, own)
    return None if bins is None else min(1.0, missing + bins)


def _of_bins(entry: Mapping[str, Any], axis: Axis, own: Bools) -> float | None:
    """The shares of the bins that have a value in some cells, of a column whose bins the statistics tell."""
    cuts, shares = entry.get("cuts"), entry.get("shares")
    low, high = entry.get("low"), entry.get("high")
    if low is None or high is None:
        return None
    if cuts is None or shares is None or len(shares) != len(cuts) + 1:
        cuts, shares = [], [1.0 - float(entry.get("missing") or 0.0)]
    dtype = axis.encoded.dtype
    total = 0.0
    for k, (start, stop, share) in enumerate(zip([low, *cuts], [*cuts, high], shares, strict=True)):
        inner = [cut for cut in axis.cells.cuts if start < cut < stop]
        beyond = [start, *inner] if k else inner  # a bin holds its upper end and not its lower one, but for the first
        first = [] if k else [start]
        ends = [*first, stop, *inner, *(np.nextafter(np.array(cut, dtype=dtype), np.inf) for cut in beyond)]
        values = np.array([end for end in ends if start <= end <= stop], dtype=dtype)
        total += float(share) if own[axis.of_values(values)].any() else 0.0
    return min(total, 1.0)
