"""The majority of stumps that count alike: an at-least over conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import FALSE, TRUE, AtLeast, Node
from rulekit.learners.boosting.stumps import Stump
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class MajorityVote:
    """Says yes where more than half of the stumps do; a stump that has no vote counts as no."""

    stumps: tuple[Stump, ...]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] on which more than half of the stumps say yes."""
        count = np.zeros(n_rows, dtype=np.int64)
        for stump in self.stumps:
            count += stump.votes[0] > 0.0 if stump.column is None else (stump.votes > 0.0)[codes[stump.column]]
        return np.asarray(2 * count > len(self.stumps))

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The stumps for yes less those for no of rows of a table [n], as a share of all."""
        nodes = [_condition(stump, frame) for stump in self.stumps]
        values = evaluate_nodes(list(dict.fromkeys(nodes)), rows)
        return np.asarray(np.mean([2.0 * values[node] - 1.0 for node in nodes], axis=0))

    def score(self, frame: Frame, prefix: str) -> Score:
        """At least as many of the conditions as are more than half."""
        node = AtLeast(len(self.stumps) // 2 + 1, [_condition(stump, frame) for stump in self.stumps])
        return Score(node, node)


def _condition(stump: Stump, frame: Frame) -> Node:
    if stump.column is None:
        return TRUE if stump.votes[0] > 0.0 else FALSE
    return condition_node(frame.columns[stump.column], stump.votes > 0.0)
