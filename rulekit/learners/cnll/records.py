"""What a fit did, as plain values: one record per step, one per clause (paper, section 3.2, Tables 1 and 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.errors import BudgetError
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import And, Hidden, IsTrue, Node, Or
from rulekit.graph.probability.circuit import Algebra, fold_circuit
from rulekit.graph.probability.compilation import build_circuit
from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.models import LearnedFormula, bit_condition, bit_names
from rulekit.learners.cnll.search.growth import GrownStep
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.learning import Run
from rulekit.learners.sums_of_rows.histograms import Floats, Ints
from rulekit.schema import Schema

MAX_CLAUSES = 10_000
_MAX_LISTED = 64


def to_dnf(tree: ReadOnceTree, max_clauses: int = MAX_CLAUSES) -> tuple[tuple[int, ...], ...]:
    """The clauses, each the bits it joins by and, in the order in which the bits were learned.

    Every bit stands once in the tree, so no clause holds another. Raises BudgetError beyond `max_clauses`.
    """
    made: dict[int, list[tuple[int, ...]]] = {}
    for node in reversed(tree.order()):
        if tree.bit[node] >= 0:
            made[node] = [(tree.bit[node],)]
            continue
        parts = [made.pop(child) for child in tree.children[node]]
        if tree.operator[node] == "or":
            clauses = [clause for part in parts for clause in part]
        else:
            clauses = [()]
            for part in parts:
                if len(clauses) * len(part) > max_clauses:
                    raise BudgetError(f"the formula has more than {max_clauses} clauses", fix="keep the nested form")
                clauses = [tuple(sorted((*left, *right))) for left in clauses for right in part]
        if len(clauses) > max_clauses:
            raise BudgetError(f"the formula has more than {max_clauses} clauses", fix="keep the nested form")
        made[node] = clauses
    return tuple(sorted(made[tree.root]))


@dataclass(frozen=True, slots=True)
class ClauseStatistics:
    """Rates of one clause, alone and joined with those before it, each deciding by probability above 1/2.

    true_positive: of the positive weight the part decided positive; error: of all weight the part decided wrongly.
    """

    bits: tuple[int, ...]
    true_positive: float
    error: float
    cumulative_true_positive: float
    cumulative_error: float


def clause_statistics(tree: ReadOnceTree, bits: Floats, counts: Ints) -> list[ClauseStatistics]:
    """Table 4 of the paper for the clauses of a formula on its training rows (at most 64 clauses are listed).

    bits [T, C]: the probability that each fires in each cell; counts [C, 2]: the weights of its labels. Raises
    BudgetError where the clauses are too many to be listed or their probability too large to be computed.
    """
    clauses = to_dnf(tree)[:_MAX_LISTED]
    negative, positive = counts.T
    total, positives = float(counts.sum()), float(positive.sum())

    def rates(p: Floats) -> tuple[float, float]:
        on = p > 0.5
        return (
            float(positive[on].sum()) / max(1.0, positives),
            float(negative[on].sum() + positive[~on].sum()) / max(1.0, total),
        )

    found = []
    for i, clause in enumerate(clauses):
        alone = rates(np.prod(bits[list(clause)], axis=0))
        together = rates(_some_clause(clauses[: i + 1], bits))
        found.append(ClauseStatistics(clause, *alone, *together))
    return found


def _some_clause(clauses: tuple[tuple[int, ...], ...], bits: Floats) -> Floats:
    """P(at least one of the clauses) [C], exact though they share bits: the circuit of a stand-in formula."""
    leaves = [IsTrue(f"bit {t}") for t in range(len(bits))]
    hidden = [Hidden(leaf.feature, leaf, 1.0) for leaf in leaves]
    circuit = build_circuit(Or([And([hidden[t] for t in clause]) for clause in clauses]))
    place: dict[Node, int] = {leaf: t for t, leaf in enumerate(leaves)}
    algebra: Algebra[Floats] = Algebra(
        lambda cause, on, off: bits[place[cause]], lambda value: np.full(bits.shape[1], value)
    )
    return fold_circuit(circuit.steps, algebra)


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """What is kept of a learned formula, and of no row, so that its records can be made when they are asked for.

    tree: None where nothing was learned; fires [T, C], counts [C, 2]: see `clause_statistics`.
    """

    label: Any
    columns: tuple[BinnedColumn, ...]
    steps: tuple[GrownStep, ...]
    total: float
    tree: ReadOnceTree | None = None
    fires: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    counts: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run, place: int, prefix: str) -> Account:
        """For the chosen candidate, or the last formula behind a plain form."""
        problem, grown = run.question.problem, [made.model for made in run.grown]
        formulas = [model for model in grown if isinstance(model, LearnedFormula)]
        if formulas and formulas[0].start is not None:
            place = max(place, 1)
        kept = run.question.label, problem.columns, formulas[-1].steps if formulas else (), problem.total
        if not place:
            return cls(*kept)
        model = formulas[place - 1]
        full, names = Formula.of(problem, model.tree, model.bits), bit_names(model.start, len(model.bits), prefix)
        return cls(*kept, full.tree, full.bit_probabilities(), full.counts, tuple(names))


def step_records(account: Account) -> list[dict[str, Any]]:
    """Per step: class, action (add, backfit), unit, column, condition as text, operator and clause of the
    move, alpha, beta, the objective that the search claimed and the one measured, both after refit, training error.
    """
    columns = account.columns
    schema = Schema(tuple({column.feature.name: column.feature for column in columns}.values()))
    return [
        {
            "class": account.label,
            "action": step.action,
            "unit": step.which + 1,
            "feature": " and ".join(dict.fromkeys(columns[column].feature.name for column in step.bit.columns)),
            "condition": print_node(bit_condition(columns, step.bit), schema),
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
    if account.tree is None:
        return []
    try:
        statistics = clause_statistics(account.tree, account.fires, account.counts)
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
