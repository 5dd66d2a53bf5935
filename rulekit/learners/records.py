"""What a fit did, as plain values: one record per step, one per clause (paper, Tables 1 and 4)."""

from __future__ import annotations

from typing import Any

from rulekit.errors import BudgetError
from rulekit.learners.binning import BinnedColumn
from rulekit.learners.clauses import clause_statistics
from rulekit.learners.conditions import condition_node
from rulekit.learners.formula import Formula
from rulekit.learners.growth import Grown


def step_records(grown: Grown, columns: tuple[BinnedColumn, ...], label: Any) -> list[dict[str, Any]]:
    """Per step: class, action (add, backfit), unit, column, condition (a Boolean node), operator and clause of the
    move, alpha, beta, the objective that the search claimed and the one measured, both after refit, training error.
    """
    total = grown.formula.problem.total
    return [
        {
            "class": label,
            "action": step.action,
            "unit": step.which + 1,
            "feature": columns[step.bit.column].feature.name,
            "condition": condition_node(columns[step.bit.column], step.bit.condition),
            "move": step.move.operator,
            "clause": step.clause,
            "alpha": step.bit.alpha,
            "beta": step.bit.beta,
            "claimed": step.claimed,
            "applied": step.applied,
            "objective": step.after,
            "error": step.error / total,
        }
        for step in grown.steps
    ]


def clause_records(grown: Grown, units: int, label: Any, prefix: str) -> list[dict[str, Any]]:
    """Table 4 for the formula of the first `units` bits; empty where its clauses are too many."""
    if not units:
        return []
    tree, bits = grown.path[units - 1]
    formula = Formula(grown.formula.problem, tree.copy(), [])
    for bit in bits:
        formula.observe(bit)
    try:
        statistics = clause_statistics(formula)
    except BudgetError:
        return []
    return [
        {
            "class": label,
            "clause": i + 1,
            "bits": [f"{prefix}{bit + 1}" for bit in clause.bits],
            "true_positive": clause.true_positive,
            "error": clause.error,
            "cumulative_true_positive": clause.cumulative_true_positive,
            "cumulative_error": clause.cumulative_error,
        }
        for i, clause in enumerate(statistics)
    ]
