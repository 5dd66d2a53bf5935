"""Rows at the boundaries of a model on which columns are seen to count, before a search over all rows is begun."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.audit.reason_codes.adverse import Meant
from rulekit.audit.reason_codes.counting import Counting, Nearer
from rulekit.audit.reason_codes.giving import applies
from rulekit.audit.reason_codes.places import Places
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table
from rulekit.verification.proof.row_search import FEW_CELLS
from rulekit.verification.rows.adversarial import adversarial_rows

ROWS = 200


class TriedRows:
    """What is seen on some rows; that nothing is seen proves nothing. None are tried where all cells are soon run."""

    def __init__(self, graph: RuleGraph, places: Places, adverse: Sequence[int]) -> None:
        self._places = places
        self._seen: dict[int, tuple[Table, Nearer]] = {}
        if places.whole and places.space.size <= FEW_CELLS:
            return
        rows = adversarial_rows(graph, ROWS).table
        labels, counting = decide(graph, rows), Counting(places)
        for k in adverse:
            own = rows.take(np.flatnonzero(labels == k))
            if own.n_rows:
                self._seen[k] = own, counting.of(own, k)

    def decided(self, class_index: int) -> bool:
        """Whether some row is decided as a class."""
        return class_index in self._seen

    def turned(self, class_index: int) -> bool:
        """Whether a change of one column turns such a decision."""
        return self.decided(class_index) and bool((self._seen[class_index][1].distance == 1).any())

    def counts(self, reason: Meant, column: str, class_index: int) -> bool:
        """Whether a column counts in such a decision, by a change that the reason covers."""
        if not self.decided(class_index):
            return False
        rows, near = self._seen[class_index]
        by_column = applies(self._places, reason, near, rows)
        return column in by_column and bool((by_column[column] & (near.exact | (near.distance == 1))).any())
