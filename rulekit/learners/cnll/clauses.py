"""The nested formula in disjunctive normal form, and the statistics of its clauses (paper, section 3.2 and Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.errors import BudgetError
from rulekit.graph.nodes import And, Hidden, IsTrue, Node, Or
from rulekit.graph.probability.circuit import Algebra, fold_circuit
from rulekit.graph.probability.compilation import build_circuit
from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.counting.histograms import Floats

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


def clause_statistics(formula: Formula) -> list[ClauseStatistics]:
    """Table 4 of the paper for the clauses of a formula on its training rows (at most 64 clauses are listed).

    Raises BudgetError where the clauses are too many to be listed or their probability too large to be computed.
    """
    clauses = to_dnf(formula.tree)[:_MAX_LISTED]
    bits = formula.bit_probabilities()
    negative, positive = formula.counts[:, 0], formula.counts[:, 1]
    total, positives = float(formula.counts.sum()), float(positive.sum())

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
