"""Small structures: their schema, sentences written out over their objects, and models of them."""

from __future__ import annotations

from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.structures import random_structures
from rulekit.graph.language.sentences import Sentence
from rulekit.graph.nodes import FALSE, TRUE, Above, And, IsTrue, Linear, Logistic, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.schema import Feature, Schema

ARITIES, OBJECTS = {"P0": 1, "P1": 1, "R0": 2}, ("a", "b", "c")
SCHEMA = Schema(tuple(Feature(name, "boolean") for name in random_structures(ARITIES, OBJECTS, 1).columns()))


def grounded(formula: Sentence) -> Node:
    """The Boolean node of a closed sentence."""
    if formula.word == "atom":
        return IsTrue(str(formula))
    if formula.word == "same":
        return TRUE if formula.terms[0] == formula.terms[1] else FALSE
    if formula.word == "not":
        return Not(grounded(formula.parts[0]))
    if formula.word in ("and", "or"):
        parts = [grounded(part) for part in formula.parts]
    else:
        parts = [grounded(formula.parts[0].put({formula.name: name})) for name in OBJECTS]
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else (And if formula.word in ("and", "forall") else Or)(parts)


def model_of(node: Node) -> RuleGraph:
    """A sum of a Boolean node and of one more atom, above 0 where the node is true."""
    total = Linear([(1.0, node), (0.25, IsTrue("R0(c, c)"))], -0.5)
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(total, 0.0)), (Logistic(total),))


def rule_of(graph: RuleGraph) -> Node:
    """The Boolean node of such a model, however it is written there."""
    return max(rules_of(graph), key=lambda rule: rule.weight).node
