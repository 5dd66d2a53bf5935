"""The shortest node that says what a unit decides."""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.graph.nodes import Node
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.ltu.units import Unit
from rulekit.schema import Schema
from rulekit.simplification.column_terms import join_terms
from rulekit.simplification.logic import degenerate_at_least
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import dead_terms, threshold_logic


def unit_node(unit: Unit, columns: Sequence[BinnedColumn], schema: Schema) -> Node:
    """The node of a unit: a condition, r of k, a disjunction that is no longer than the sum, or the sum.

    columns: of the problem. Each is what laws of simplification make of the sum, and decides as it does on every row.
    """
    node: Node = unit.node(columns)
    context = context_of(schema, [node])
    for law in (dead_terms, threshold_logic, degenerate_at_least, join_terms):
        node = law(node, context)
    return node
