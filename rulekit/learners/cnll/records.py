"""What a fit did, as plain values: one record per step, one per clause (paper, Tables 1 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.errors import BudgetError
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.codes import MemoryCodes
from rulekit.learners.binned.conditions import bit_condition
from rulekit.learners.cnll.clauses import clause_statistics
from rulekit.learners.cnll.formula.noisy_formula import Formula, Problem
from rulekit.learners.cnll.search.growth import Grown, GrownStep
from rulekit.learners.cnll.start.first_formula import Start, bit_names


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """What is kept of a learned formula so that its records can be made when they are asked for."""

    label: Any
    columns: tuple[BinnedColumn, ...]
    steps: tuple[GrownStep, ...]
    total: float
    formula: Formula | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, grown: Grown, units: int, label: Any, prefix: str, start: Start | None = None) -> Account:
        """For the formula of the first `units` bits; none of the training rows is kept."""
        problem = grown.formula.problem
        formula = None
        if units:
            tree, bits = grown.path[units - 1]
            full = grown.formula
            if len(bits) != len(full.bits) or any(a is not b for a, b in zip(bits, full.bits, strict=True)):
                full = Formula(problem, tree.copy(), [])
                for bit in bits:
                    full.observe(bit)
            nothing = np.zeros(1, dtype=np.int64)
            rowless = Problem(problem.columns, MemoryCodes(()), nothing, nothing, problem.weight_unit)
            formula = Formula(rowless, tree.copy(), list(bits), full.pattern, np.zeros(1, dtype=np.int32), full.counts)
        names = bit_names(start, len(formula.bits), prefix) if formula else []
        return cls(label, problem.columns, tuple(grown.steps), problem.total, formula, tuple(names))


def step_records(account: Account) -> list[dict[str, Any]]:
    """Per step: class, action (add, backfit), unit, column, condition (a Boolean node), operator and clause of the
    move, alpha, beta, the objective that the search claimed and the one measured, both after refit, training error.
    """
    columns = account.columns
    return [
        {
            "class": account.label,
            "action": step.action,
            "unit": step.which + 1,
            "feature": " and ".join(dict.fromkeys(columns[column].feature.name for column in step.bit.columns)),
            "condition": bit_condition(columns, step.bit),
            "move": step.move.operator,
            "clause": step.clause,
            "alpha": step.bit.alpha,
            "beta": step.bit.beta,
            "claimed": step.claimed,
            "applied": step.applied,
            "objective": step.after,
            "error": step.error / account.total,
        }
        for step in account.steps
    ]


def clause_records(account: Account) -> list[dict[str, Any]]:
    """Table 4 for the learned formula; empty where its clauses are too many."""
    if account.formula is None:
        return []
    try:
        statistics = clause_statistics(account.formula)
    except BudgetError:
        return []
    return [
        {
            "class": account.label,
            "clause": i + 1,
            "bits": [account.names[bit] for bit in clause.bits],
            "true_positive": clause.true_positive,
            "error": clause.error,
            "cumulative_true_positive": clause.cumulative_true_positive,
            "cumulative_error": clause.cumulative_error,
        }
        for i, clause in enumerate(statistics)
    ]
