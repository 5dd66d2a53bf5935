"""A sweep of refits where plain errors count: each bit in turn gets its best strengths, the others staying.

Everything but sums over cells is compiled; those are numpy's, so that the compiled sweep and its numpy twin
(rulekit.learners.cnll.search.refitting) give the same bits. Shapes: C cells, T bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.formula.tree_kernels import flatten
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.refit_kernels import best_strengths_of_bit, give_strengths, line_of_bit
from rulekit.learners.counting.compiling import compiled

_FALL = 1e-12


def sweep_errors(formula: Formula, settings: SearchSettings) -> bool | None:
    """Give every free bit in turn its best strengths; says whether anything changed, None where numba is absent."""
    line_of, best_of, put = compiled(line_of_bit), compiled(best_strengths_of_bit), compiled(give_strengths)
    if line_of is None or best_of is None or put is None:
        return None
    objective, unit = settings.objective, formula.problem.weight_unit
    tree, bits, counts = formula.tree, formula.bits, formula.counts
    flat = flatten(tree)
    gates = flat.operator, flat.starts, flat.children, flat.parent
    alpha, beta = formula.strengths()
    rest = [bit.rest for bit in bits]
    holds = np.ascontiguousarray(formula.pattern.T)
    p = formula.node_probabilities()
    u, v, *terms = np.empty((6, len(counts)))
    at_ends = objective.brier == 0.0 and objective.ridge == 0.0
    scale = objective.error * unit

    def pulled(which: int, on: float, off: float) -> float:
        """The ridge of the formula where one bit has other strengths."""
        if objective.ridge == 0.0:
            return 0.0
        own = [
            (on, off) if i == which else pair for i, pair in enumerate(zip(alpha.tolist(), beta.tolist(), strict=True))
        ]
        return objective.ridge * sum((a - r) ** 2 + (b - r) ** 2 for (a, b), r in zip(own, rest, strict=True))

    def measured(errors: int, squares: Any, ridge: float) -> float:
        """The objective, added up as Formula.measure_of does."""
        return float(objective.error * (float(errors) * unit) + objective.brier * (float(squares.sum()) * unit) + ridge)

    changed = False
    wrong = put(*gates, flat.root, -1, holds[0], 0.0, 0.0, counts, p, terms[0])
    squares = terms[0].copy()
    for which in (i for i, bit in enumerate(bits) if not bit.frozen):
        node, on = tree.node_of_bit(which), holds[which]
        first = line_of(*gates, flat.root, node, on, counts, p, u, v, terms[0], terms[1])
        sums = [
            float(part.sum()) * unit * objective.brier for term in terms[:2] for part in (term[:first], term[first:])
        ]
        strengths = best_of(
            *(u, v, on, counts, *sums, scale, objective.ridge, rest[which], at_ends, settings.zero_beta), terms[2]
        )
        before = measured(wrong, squares, pulled(which, float(alpha[which]), float(beta[which])))
        after = measured(strengths[2], terms[2], pulled(which, *strengths[:2]))
        if not after < before - _FALL * (1.0 + abs(before)):
            continue
        changed = True
        alpha[which], beta[which] = strengths[:2]
        wrong = put(*gates, flat.root, node, on, *strengths[:2], counts, p, squares)
    if changed:
        formula.set_strengths(alpha, beta, p)
    return changed
