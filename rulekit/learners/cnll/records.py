"""What a fit did, as plain values: one record per step, one per clause (paper, Tables 1 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.errors import BudgetError
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.codes import MemoryCodes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.clauses import clause_statistics
from rulekit.learners.cnll.formula.formula_nodes import bit_condition
from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.models import LearnedFormula
from rulekit.learners.cnll.search.growth import GrownStep
from rulekit.learners.cnll.start.first_formula import bit_names
from rulekit.learners.fitting.learning import Run


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
    def of(cls, run: Run, place: int, prefix: str) -> Account:
        """For the chosen candidate, or the last formula behind a plain form; none of the training rows is kept."""
        problem, grown = run.question.problem, [made.model for made in run.grown]
        formulas = [model for model in grown if isinstance(model, LearnedFormula)]
        if run.question.plan.dnf is not None:
            place = len(formulas)
        elif formulas and formulas[0].start is not None:
            place = max(place, 1)
        steps, formula, names = formulas[-1].steps if formulas else (), None, list[str]()
        if place:
            model = formulas[place - 1]
            full = Formula(problem, model.tree.copy())
            for bit in model.bits:
                full.observe(bit)
            nothing = np.zeros(1, dtype=np.int64)
            rowless = Problem(problem.columns, MemoryCodes(()), nothing, nothing, problem.weight_unit)
            cell = np.zeros(1, dtype=np.int32)
            formula = Formula(rowless, model.tree.copy(), list(model.bits), full.pattern, cell, full.counts)
            names = bit_names(model.start, len(model.bits), prefix)
        return cls(run.question.label, problem.columns, steps, problem.total, formula, tuple(names))


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
