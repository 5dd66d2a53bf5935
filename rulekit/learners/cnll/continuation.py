"""Going on from known rules: a formula of bits over their conditions, of which those of frozen rules stay.

A frozen rule is a bit over the whole rule, which fires as often as the rule is right in training, and above 1/2 at any
rate. Frozen rules hang below the one Or at the root. No move goes into them and none joins the root by and, so a row
that a frozen rule decides is decided so by every formula that is grown around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulekit.errors import InputError
from rulekit.graph.nodes import FALSE, Above, Node, Or, Probability
from rulekit.graph.rules import conjuncts, disjuncts, literals
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.contract import Frame
from rulekit.learners.data.problem import HOLDS, KNOWN, Problem
from rulekit.learners.models.noisy_formulas import Move, NoisyBit, NoisyFormula, ReadOnceTree
from rulekit.learners.models.rule_sets import Clause, truths_on_cells
from rulekit.learners.promises.starts import WHERE
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.schema import Schema

_ABOVE_HALF = 0.501


@dataclass(frozen=True, slots=True, eq=False)
class KnownFormula:
    """The formula that growth begins with: a tree over bits, of which the frozen ones stay."""

    tree: ReadOnceTree
    bits: tuple[NoisyBit, ...]

    def allowed(self, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
        """The moves that leave every frozen rule as it is, and what it decides."""
        frozen = {tree.node_of_bit(place) for place, bit in enumerate(self.bits) if bit.frozen}
        return [
            move
            for move in moves
            if not frozen or (move.node not in frozen and not (move.node == tree.root and move.operator == "and"))
        ]


def known_formula(
    problem: Problem, kept: Sequence[Clause], begun: Sequence[Clause], n_units: int
) -> KnownFormula | None:
    """The formula of rules that stay and of rules to begin with; None of no rule at all.

    Raises InputError where the rules to begin with have more conditions than `n_units`.
    """
    if not kept and not begun:
        return None
    free = sum(map(len, begun))
    if free > n_units:
        what = f"n_units is {n_units}, and {free} literals of the start are free"
        raise InputError(what, where=WHERE, fix=f"n_units={free} or more, or freeze the rules")
    tree, bits = ReadOnceTree(root=0), list[NoisyBit]()
    tree.add_node("or", -1, -1)

    def hang(column: int, alpha: float, beta: float, rest: float, above: int, frozen: bool) -> None:
        tree.children[above].append(tree.add_node("bit", len(bits), above))
        bits.append(NoisyBit(column, HOLDS, KNOWN, alpha, beta, rest, frozen))

    for (column,) in kept:
        hang(column, _right(problem, column), 0.0, 0.0, tree.root, True)
    for clause in begun:
        above = tree.root
        if len(clause) > 1:
            above = tree.add_node("and", -1, tree.root)
            tree.children[tree.root].append(above)
        for column in clause:
            hang(column, 1.0 - LEAST_STRENGTH, LEAST_STRENGTH, float(len(clause) > 1), above, False)
    return KnownFormula(tree, tuple(bits))


def _right(problem: Problem, column: int) -> float:
    """How often a rule is right where it holds, above 1/2; one more row of either label counts."""
    holds = HOLDS[problem.codes[column]]
    weight = problem.weights[holds] * problem.weight_unit
    share = (float(weight[problem.labels[holds] == 1].sum()) + 1.0) / (float(weight.sum()) + 2.0)
    return min(max(share, _ABOVE_HALF), 1.0 - LEAST_STRENGTH)


@dataclass(frozen=True, slots=True, eq=False)
class ContinuedFormula(NoisyFormula):
    """A formula around frozen rules."""

    def decision(self, formula: Node, frame: Frame) -> Node:
        """[P > 1/2] with its frozen rules first, or beside the formula where the new part is too long to be written."""
        frozen = [bit.node(frame.columns) for bit in self.bits if bit.frozen]
        if not frozen:
            return NoisyFormula.decision(self, formula, frame)
        most = self.most_literals() + sum(literals(frozen).values())
        rule = threshold_rule(formula, 0.5, most, schema=frame.schema)
        if rule is None:
            return Above(Probability(Or([*frozen, *disjuncts(formula)])), 0.5)
        terms = () if rule is FALSE else disjuncts(rule)
        parts = [*frozen, *(term for term in terms if not any(_implies(term, known, frame.schema) for known in frozen))]
        return parts[0] if len(parts) == 1 else Or(parts)


def _implies(term: Node, known: Node, schema: Schema) -> bool:
    """Whether a rule holds only where a known one does: on every cell of their columns, or as it is written."""
    if term is known or set(conjuncts(known)) <= set(conjuncts(term)):
        return True
    truths = truths_on_cells(term, known, schema)
    return truths is not None and not bool((truths[0] & ~truths[1]).any())
