"""Which rows a rule covers beside another one: the same, fewer, more, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from rulekit.audit.differences.joint import Joint
from rulekit.audit.rule_matching.alike import Columns, RuleParts
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import Node
from rulekit.graph.rules import columns_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.search.row_search import Claim, RowSearch, Sought
from rulekit.tables.table import Table

Relation = Literal["same", "fewer", "more", "other", "unknown"]
MOST_SEARCHES = 200


class Covering:
    """The cells that the parts of the rules of both models cover; pairs of other rules are searched."""

    def __init__(
        self, joint: Joint, rules: tuple[Sequence[RuleParts], Sequence[RuleParts]], deadline: Deadline = NO_LIMIT
    ) -> None:
        self.joint, self.deadline = joint, deadline
        parts = [
            {id(rule): {columns: joint.image(model, node) for columns, node in rule.parts.items()} for rule in own}
            for model, own in enumerate(rules)
        ]
        self.parts: dict[int, Mapping[Columns, Node]] = {**parts[0], **parts[1]}
        nodes = list(dict.fromkeys(node for own in self.parts.values() for node in own.values()))
        self.search = RowSearch(joint.over[0], nodes)
        self.masks = {node: mask for node in nodes if (mask := self._mask(node)) is not None}
        self.left = MOST_SEARCHES

    def _mask(self, node: Node) -> tuple[int, npt.NDArray[np.bool_]] | None:
        """The axis of a condition on one column, and its truth there; None of another condition."""
        image = self.search.image(node)
        columns = columns_of(image)
        axis = self.search.axis_of(next(iter(columns))) if len(columns) == 1 else None
        if axis is None:
            return None
        own = self.search.space.axes[axis]
        if not own.whole:
            return None
        table = Table((own.feature,), (own.encoded[:, 0],), len(own), source="cells")
        return axis, evaluate_nodes([image], table)[image]

    def same(self, one: RuleParts, other: RuleParts, columns: Columns) -> bool:
        """Whether two rules have the same part over some columns."""
        first, second = self.parts[id(one)].get(columns), self.parts[id(other)].get(columns)
        if first is None or second is None or first is second:
            return first is second
        masks = self.masks.get(first), self.masks.get(second)
        return masks[0] is not None and masks[1] is not None and bool((masks[0][1] == masks[1][1]).all())

    def relation(self, old: RuleParts, new: RuleParts) -> Relation:
        """What the new rule covers beside the old one."""
        first, second = self.parts[id(old)], self.parts[id(new)]
        if old.condition is None or new.condition is None or not (old.columns & new.columns):
            return "same" if old.rule.node is new.rule.node else "other"
        if all(node in self.masks for node in (*first.values(), *second.values())):
            return self._by_masks(first, second)
        if all(self.same(old, new, columns) for columns in {*first, *second}):
            return "same"
        if not (old.columns <= new.columns or new.columns <= old.columns):
            return "unknown"
        return self._by_search(old, new)

    def _by_masks(self, first: Mapping[Columns, Node], second: Mapping[Columns, Node]) -> Relation:
        inside, around = True, True  # the new rule in the old one, and the other way round
        for axis in range(len(self.search.space.axes)):
            old, new = self._on(first, axis), self._on(second, axis)
            inside &= bool((old | ~new).all())
            around &= bool((new | ~old).all())
        return "same" if inside and around else "fewer" if inside else "more" if around else "other"

    def _on(self, parts: Mapping[Columns, Node], axis: int) -> npt.NDArray[np.bool_]:
        held = np.ones(len(self.search.space.axes[axis]), dtype=bool)
        for node in parts.values():
            own, mask = self.masks[node]
            if own == axis:
                held &= mask
        return held

    def _by_search(self, old: RuleParts, new: RuleParts) -> Relation:
        if self.left < 2 or self.deadline.over:
            return "unknown"
        self.left -= 2
        assert old.condition is not None
        assert new.condition is not None
        first, second = self.joint.image(0, old.condition), self.joint.image(1, new.condition)
        if has_column(first) or has_column(second):  # hardly ever does one cover the other, and searching takes long
            return "unknown"
        search = RowSearch(self.joint.over[0], (first, second), deadline=self.deadline)
        beyond = search.find(Claim(second), Claim(first, False))
        lost = search.find(Claim(first), Claim(second, False))
        inside, around = beyond == Sought(None), lost == Sought(None)
        if inside or around:
            return "same" if inside and around else "fewer" if inside else "more"
        return "other" if beyond.cells is not None and lost.cells is not None else "unknown"
