"""What one model decides on boxes of the cells of both: by its own columns, which are often few."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from rulekit.audit.differences.regions import Box
from rulekit.cells.space import CellSpace
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.exact_numbers import Sum
from rulekit.logic.forms import Forms
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import satisfying

MOST_OWN = 1 << 20
_BLOCK = 1 << 16


class OwnCells:
    """A model over the joint space; labels: on all cells of its own columns, where these are few and soon run."""

    def __init__(self, graph: RuleGraph, space: CellSpace, deadline: Deadline = NO_LIMIT) -> None:
        self.graph, self.space = graph, space
        read = readers(graph.decision.roots)
        self.axes = [j for j, axis in enumerate(space.axes) if axis.feature.name in read]
        own = CellSpace(tuple(space.axes[j] for j in self.axes))
        few = bool(self.axes) and own.whole and own.size <= MOST_OWN
        labels = _all_labels(graph, own, deadline) if few else None
        self.labels = None if labels is None else labels.reshape(tuple(map(len, own.axes)))

    def always(self, box: Box, label: int) -> bool | None:
        """Whether it decides every cell of a box so; None where its own cells are too many to say."""
        if self.labels is None:
            return None
        cut = self.labels
        for place, j in enumerate(self.axes):
            cut = np.compress(box[j], cut, axis=place)
        return bool((cut == label).all())


def _all_labels(
    graph: RuleGraph, space: CellSpace, deadline: Deadline
) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    labels = np.empty(space.size, dtype=np.int64)
    for start in range(0, space.size, _BLOCK):
        if deadline.over:
            return None
        cells = np.arange(start, min(start + _BLOCK, space.size), dtype=np.int64)
        labels[cells] = decide(graph, space.rows(cells)[1])
    return labels


class BothDecide:
    """Whether two models decide boxes in one way each; labels: of each its own index of the class."""

    def __init__(self, models: Sequence[OwnCells], meaning: Meaning | None, labels: tuple[int, int]) -> None:
        self.models, self.labels = models, labels
        self.forms = None if meaning is None else meaning.forms
        self.edges: list[int] = []
        if meaning is not None:
            graphs = [own.graph for own in models]
            try:
                self.edges = [
                    meaning.labels(graph.decision, graph.default, len(graph.classes))[label]
                    for graph, label in zip(graphs, labels, strict=True)
                ]
            except (BudgetError, GraphError):
                self.forms = None

    @property
    def parts(self) -> int:
        """How many parts the logic of both has, by which a question takes long."""
        return sum(len(self.forms.below(edge)) for edge in self.edges) if self.forms is not None else 1

    def inside(self, box: Box) -> bool:
        """Whether it is proved that they do so on every cell of a box."""
        return all(self._decides(model, box) for model in (0, 1))

    def _decides(self, model: int, box: Box) -> bool:
        known = self.models[model].always(box, self.labels[model])
        if known is not None or self.forms is None:
            return bool(known)
        masks = _masks(box)
        seen = known_on_box(self.forms, self.edges[model], masks)
        if seen is not None:
            return seen
        within = [self.forms.literal(j, mask) for j, mask in enumerate(masks)]
        answer = satisfying(self.forms, self.forms.conjunction([*within, self.edges[model] ^ 1]))
        return answer.cells is None and not answer.reason

    def outside(self, boxes: Sequence[Box]) -> tuple[tuple[int, ...] | None, bool]:
        """A cell outside of some boxes on which they may do so; None, and whether it is proved that there is none."""
        if self.forms is None:
            return None, False
        forms = self.forms
        beyond = [
            forms.conjunction([forms.literal(j, mask) for j, mask in enumerate(_masks(box))]) ^ 1 for box in boxes
        ]
        answer = satisfying(forms, forms.conjunction([*self.edges, *beyond]))
        return answer.cells, not answer.reason


def _masks(box: Box) -> list[int]:
    return [sum(1 << int(cell) for cell in np.flatnonzero(own)) for own in box]


def known_on_box(forms: Forms, root: int, box: Sequence[int]) -> bool | None:
    """Whether an edge holds on all cells of a box (True) or on none (False); box: a set of cells, as bits, by axis.

    A form is worked out in three values, from below: a literal by its set of cells, a conjunction by its parts, a
    comparison of a sum by the smallest and largest number that its parts have on the box. None: it is not seen so.
    """
    known: dict[int, bool | None] = {}

    def of(edge: int) -> bool | None:
        if edge >> 1 not in known:
            known[edge >> 1] = known_on_box(forms, edge & ~1, box)
        value = known[edge >> 1]
        return value if value is None else value ^ bool(edge & 1)

    for index in forms.below(root):
        kind = forms.kinds[index]
        if kind[0] == "true":
            known[index] = True
        elif kind[0] == "cells":
            inside = kind[2] & box[kind[1]]
            known[index] = True if inside == box[kind[1]] else None if inside else False
        elif kind[0] == "and":
            parts = [of(edge) for edge in kind[1]]
            known[index] = False if False in parts else None if None in parts else True
        elif kind[0] == "above" and not kind[1].atoms:
            known[index] = _above_zero(forms, kind[1], box)
        else:
            known[index] = None
    return of(root)


def _above_zero(forms: Forms, value: Sum, box: Sequence[int]) -> bool | None:
    low = high = value.constant
    for axis, numbers in value.tables:
        own = [number for cell, number in enumerate(numbers) if box[axis] >> cell & 1]
        low, high = low + min(own), high + max(own)
    for edge, weight in value.edges:
        held = known_on_box(forms, edge, box)
        if held is None:
            low, high = low + min(weight, Fraction(0)), high + max(weight, Fraction(0))
        elif held:
            low, high = low + weight, high + weight
    return True if low > 0 else False if high <= 0 else None
