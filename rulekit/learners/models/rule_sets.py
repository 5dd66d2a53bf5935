"""Plain rules as a model: clauses of conditions on codes, of which one or more must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools
from rulekit.cells.space import cell_rows
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import FALSE, TRUE, And, Node, Or
from rulekit.graph.rules import conjuncts
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import condition_node
from rulekit.learners.faults import check_codes
from rulekit.schema import Schema

Clause = dict[int, Bools]
"""By column the codes [n_codes] for which a condition holds; all conditions must hold."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """Says yes where one of the clauses holds."""

    clauses: tuple[Clause, ...]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that some clause covers."""
        return covered_by_some(self.clauses, codes, n_rows)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The clauses joined by or."""
        rule = rule_of(self.clauses, frame.columns)
        return Score(rule, rule)

    def check(self, columns: Sequence[BinnedColumn]) -> None:
        """Raise LearnerError where a condition has not one truth value for each code of its column."""
        for clause in self.clauses:
            for column, condition in clause.items():
                check_codes(condition, columns[column], bool)


def covered(clause: Mapping[int, Bools], codes: Codes, n: int) -> Bools:
    """The rows [n] on which all conditions of a clause hold."""
    rows = np.ones(n, dtype=bool)
    for column, condition in clause.items():
        rows &= condition[codes[column]]
    return rows


def covered_by_some(clauses: Sequence[Clause], codes: Codes, n: int) -> Bools:
    """The rows [n] on which some clause holds."""
    rows = np.zeros(n, dtype=bool)
    for clause in clauses:
        rows |= covered(clause, codes, n)
    return rows


def clause_node(clause: Clause, columns: Sequence[BinnedColumn]) -> Node:
    """A clause as one And of conditions on single columns."""
    ordered = sorted(clause.items(), key=lambda item: (columns[item[0]].index < 0, columns[item[0]].index, item[0]))
    nodes = (condition_node(columns[column], condition) for column, condition in ordered)
    parts = [part for node in nodes for part in conjuncts(node)]
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


_MOST_CELLS = 1 << 14


def truths_on_cells(one: Node, other: Node, schema: Schema) -> tuple[Bools, Bools] | None:
    """The truths [n] of two Boolean nodes on every combination of the cells of their columns; None where too many."""
    both = (one, other)
    table = None if any(map(has_column, both)) else cell_rows(both, schema, _MOST_CELLS)
    if table is None:
        return None
    values = evaluate_nodes(both, table)
    return values[one], values[other]


def rule_of(clauses: Sequence[Clause], columns: Sequence[BinnedColumn]) -> Node:
    """An Or of clauses."""
    nodes = [clause_node(clause, columns) for clause in clauses]
    return FALSE if not nodes else nodes[0] if len(nodes) == 1 else Or(nodes)
