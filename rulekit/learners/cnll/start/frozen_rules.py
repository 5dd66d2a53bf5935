"""The decision of a formula that goes on from known rules: the rules that stay, word for word, and what is new."""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.cells.space import cell_rows
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import FALSE, Above, And, Node, Or, Probability
from rulekit.graph.probability.prime_implicants import threshold_rule
from rulekit.graph.rules import disjuncts, literals
from rulekit.learners.cnll.start.first_formula import Start
from rulekit.schema import Schema

_MOST_CELLS = 1 << 14


def continued_decision(formula: Node, schema: Schema, most_literals: int, start: Start) -> Node:
    """[P > 1/2] around the frozen rules of `start`, of at most `most_literals` literals more than they have.

    A Boolean decision stays one, with its frozen rules first; where the new part is too long to be written, they stand
    beside the formula that decides (it is true wherever they are, so they change no decision). A start that decides by
    its probability goes on to do so.
    """
    if not start.boolean:
        return Above(Probability(formula), 0.5)
    frozen = list(start.decided)
    rule = threshold_rule(formula, 0.5, most_literals + sum(literals(frozen).values()), schema=schema)
    if rule is None:
        return Above(Probability(Or([*frozen, *(part for part in disjuncts(formula) if part not in frozen)])), 0.5)
    terms = () if rule is FALSE else disjuncts(rule)
    parts = [*frozen, *(term for term in terms if not any(_implies(term, known, schema) for known in frozen))]
    return parts[0] if len(parts) == 1 else Or(parts)


def _implies(term: Node, known: Node, schema: Schema) -> bool:
    """Whether a rule holds only where a known one does: on every cell of their columns, or as it is written."""
    if term is known or set(_conditions(known)) <= set(_conditions(term)):
        return True
    both = (term, known)
    table = None if any(map(has_column, both)) else cell_rows(both, schema, _MOST_CELLS)
    if table is None:
        return False
    values = evaluate_nodes(both, table)
    return not bool((values[term] & ~values[known]).any())


def _conditions(rule: Node) -> Sequence[Node]:
    return rule.children if isinstance(rule, And) else (rule,)
