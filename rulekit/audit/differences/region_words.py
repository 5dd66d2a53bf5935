"""Boxes of cells as conditions of the rule language, and the rows that they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.audit.differences.differing import Differing, Found
from rulekit.audit.differences.regions import Bools, Box
from rulekit.audit.differences.share_bounds import most_of_training
from rulekit.audit.rule_matching.rule_parts import rule_parts
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import TRUE, And, Contains, Missing, Node, Not
from rulekit.graph.rules import columns_of
from rulekit.names import printable
from rulekit.simplification.rewriting import formula
from rulekit.tables.table import Table


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


def regions(differing: Differing, found: Found) -> tuple[Region, ...]:
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
            (most_of_training(graph, box, differing.places, of), model)
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
    for place, own in zip(differing.places, box, strict=True):
        name = place.axis.feature.name
        if own.all():
            continue
        if name not in texts:
            yield formula(place.cells, place.mask(own))
            continue
        assert differing.search.words is not None
        text, number = texts[name]
        level = differing.search.words.schema[text].levels
        leaf: Node = Missing(text) if number == 0 else Contains(text, (level[number - 1],))
        yield leaf if own[place.axis.encoded[:, 0] > 0.5].all() else Not(leaf)


def _boxes_of_rules(differing: Differing, model: int) -> dict[str, Box]:
    """By id the boxes of the rules of a model that are boxes."""
    joint, space = differing.joint, differing.space
    found: dict[str, Box] = {}
    for rule in rule_parts(joint.models[model]):
        box = [np.ones(len(axis), dtype=bool) for axis in space.axes]
        for node in rule.parts.values():
            image = differing.search.image(joint.image(model, node))
            held = _on_axis(differing, image)
            if held is None:
                break
            box[held[0]] &= held[1]
        else:
            if rule.condition is not None and rule.weight is None:
                found[rule.rule.id] = tuple(box)
    return found


def _on_axis(differing: Differing, image: Node) -> tuple[int, Bools] | None:
    columns = columns_of(image)
    axis = differing.search.axis_of(next(iter(columns))) if len(columns) == 1 else None
    if axis is None:
        return None
    own = differing.space.axes[axis]
    table = Table((own.feature,), (own.encoded[:, 0],), len(own), source="cells")
    return axis, evaluate_nodes([image], table)[image]
