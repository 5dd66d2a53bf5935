"""What one model decides on boxes of the cells of both: by its own columns, which are often few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.audit.differences.regions import Box
from rulekit.cells.space import CellSpace
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.verification.proof.boxes import known_on_box
from rulekit.verification.proof.meaning import Meaning
from rulekit.verification.proof.satisfying import satisfying

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
