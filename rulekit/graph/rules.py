"""The rules that a reader of a model is shown: what counts as a rule and as a literal, and which rules fire.

Rules: of a Boolean decision the children of the outermost Or; of a noisy-logical one the children of the outermost
connective, each hidden bit a literal; of a sum its live terms, where each segment of a step function and each group of
levels with the same points is a rule of one literal; of several classes the rules of each class. A weight of a linear
threshold unit that is not zero is a literal.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import readers
from rulekit.graph.model_parts import Ladder, ModelParts, Rung
from rulekit.graph.nodes import Family, Node, short_ids, topological
from rulekit.graph.probability.deciding import gated_parts
from rulekit.tables.table import Table

INHIBITS = "inhibits"
"""The connective of a rule that keeps the causes of its class from acting."""
CONTRARY = (INHIBITS, "against")
"""Connectives of rules that speak against their class."""
OVERRIDES = "overrides"
"""The connective of a rule of a person that wins over all others."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a model.

    id: `r` and the shortest prefix of the node's digest that is unique among the model's rules; of an override its own.
    class_index: the class it speaks for. connective: how it combines with the other rules of its class ("or", "and",
    "at least 2", "odd", "sum"; of a gated noisy-or "inhibits", where it keeps all causes from acting, and "against" of
    causes that speak against the class; "overrides" of a rule of a person, which wins over all others). literals: what
    a reader counts. nested: its node is random, so that it fires with a probability. weight: its part of a sum, 1.0
    elsewhere.
    """

    id: str
    class_index: int
    node: Node
    literals: int
    nested: bool = False
    connective: str = "or"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Rules and literals of the form that a reader is shown; units: hidden bits, else terms of sums, else rules."""

    rules: int
    literals: int
    units: int

    def __str__(self) -> str:
        """`3 rules, 5 literals`."""
        return f"{self.rules} rule{'s' * (self.rules != 1)}, {self.literals} literal{'s' * (self.literals != 1)}"


@dataclass(frozen=True, slots=True)
class _Part:
    node: Node
    connective: str
    weight: float = 1.0


def rules_of(graph: ModelParts) -> tuple[Rule, ...]:
    """The rules that decide: overrides, then class by class those beneath, in their order in the graph."""
    return graph.once(_deciding_rules)


def _deciding_rules(graph: ModelParts) -> tuple[Rule, ...]:
    size = literals(override.condition for override in graph.overrides)
    overrides = (
        Rule(each.id, each.class_index, each.condition, size[each.condition], connective=OVERRIDES)
        for each in graph.overrides
    )
    return (*overrides, *rules_of_parts(graph.underlying.decision.parts))


def rules_of_parts(questions: Iterable[Part]) -> tuple[Rule, ...]:
    """The rules of some questions of a decision."""
    parts = [(question.class_index, part) for question in questions for part in _parts(question.score)]
    nodes = [part.node for _, part in parts]
    names = rule_ids(nodes)
    size = literals(nodes)
    return tuple(
        Rule(
            names[part.node],
            k,
            part.node,
            # A segment between two cuts is one literal, and so are levels with the same points.
            1 if part.connective == "segment" else size[part.node],
            part.node.family is Family.RANDOM,
            "sum" if part.connective == "segment" else part.connective,
            part.weight,
        )
        for k, part in parts
    )


def left_out(start: ModelParts, freeze: str | Collection[str], model: ModelParts) -> list[str]:
    """The ids of the frozen Boolean rules of a start that a model has not: others cover them.

    freeze: ids, "all" or "none".
    """
    if freeze == "none":
        return []
    ids = {rule.node: rule.id for rule in rules_of(start.underlying) if not rule.nested}
    # where the model decides by a probability, a rule stands as a hidden bit that fires with probability 1
    there = {node.cause for node in model.nodes() if isinstance(node, rg.Hidden)}
    there |= set(topological(rule.node for rule in rules_of(model)))
    return [name for node, name in ids.items() if (freeze == "all" or name in freeze) and node not in there]


def counts(graph: ModelParts) -> ModelSize:
    """How many rules, literals and units a model has."""
    rules = rules_of(graph)
    beneath = graph.underlying
    bits = sum(isinstance(node, rg.Hidden) for node in beneath.nodes())
    terms = sum(weight != 0 for part in beneath.decision.parts for weight, _ in _terms(part.score))
    return ModelSize(len(rules), sum(rule.literals for rule in rules), bits or terms or len(rules))


def no_rule_notes(graph: ModelParts, decided: object) -> list[str]:
    """A note where a model has no rule; decided: the label of every row."""
    if counts(graph.underlying).literals:
        return []
    return [f"no rule was found, every row is decided {decided!r}"]


def counts_by_class(graph: ModelParts) -> dict[int, ModelSize]:
    """How many rules and literals speak for each class that has rules, by class index; units: its rules."""
    found: dict[int, list[int]] = {}
    for rule in rules_of(graph):
        found.setdefault(rule.class_index, []).append(rule.literals)
    return {k: ModelSize(len(sizes), sum(sizes), len(sizes)) for k, sizes in found.items()}


def rung_of(size: int, measured: Sequence[float | None], model: ModelParts) -> Rung:
    """A row with the counts of its model; measured: error, standard error and macro F1."""
    error, standard_error, macro_f1 = measured
    total, by_class = counts(model.underlying), counts_by_class(model.underlying)
    most = max((each.rules for each in by_class.values()), default=0)
    return Rung(size, error, standard_error, macro_f1, total.rules, total.literals, most, model)


def fired(graph: ModelParts, table: Table) -> npt.NDArray[np.bool_]:
    """Which rules fire [n, rules]: a Boolean rule where it is true, a random one where its probability is above 1/2.

    A term of a sum that is a number fires where it is not zero.
    """
    rules = rules_of(graph)
    return firing(rules, rule_values(rules, table), table.n_rows)


def firing(rules: tuple[Rule, ...], values: list[npt.NDArray[Any]], n_rows: int) -> npt.NDArray[np.bool_]:
    """`fired` of rules whose `rule_values` are known."""
    result = np.empty((n_rows, len(rules)), dtype=bool, order="F")
    for j, (rule, value) in enumerate(zip(rules, values, strict=True)):
        result[:, j] = value > 0.5 if rule.nested else value != 0
    return result


def read_of(rule: Rule) -> Node:
    """The node whose value tells where a rule fires."""
    return rg.Probability(rule.node) if rule.nested else rule.node


def rule_values(rules: tuple[Rule, ...], table: Table) -> list[npt.NDArray[Any]]:
    """Per rule [n]: its truth, the probability of a random rule, the number of a numeric term."""
    read = [read_of(rule) for rule in rules]
    values = evaluate_nodes(read, table)
    return [values[node] for node in read]


def rule_ids(nodes: Iterable[Node]) -> dict[Node, str]:
    """The id of each node: `r` and the shortest prefix of its digest that is unique among them."""
    return {node: f"r{prefix}" for node, prefix in short_ids(nodes).items()}


def columns_of(node: Node) -> frozenset[str]:
    """The columns that a node reads, by itself or below it."""
    return frozenset(readers([node]))


# Literals ----------------------------------------------------------------------------------------------------------


def literals(nodes: Iterable[Node]) -> dict[Node, int]:
    """The number of literals of each node as it is written out."""
    sizes: dict[Node, int] = {}
    for node in topological(nodes):
        sizes[node] = literals_over(node, [sizes[child] for child in node.children])
    return sizes


def literals_over(node: Node, below: Sequence[int]) -> int:
    """The literals of a node over children with so many literals; what stands twice counts twice.

    A leaf, a column, each segment of a step function and each group of levels with the same points count once, a live
    term of a sum at least once; a hidden bit counts once, and a cause of several literals beside it.
    """
    if isinstance(node, rg.Step):
        return len(node.values)
    if isinstance(node, rg.LevelPoints):
        return max(1, len(node.groups))
    if hasattr(node, "feature"):
        return 1
    if isinstance(node, rg.WeightedSum):
        return sum(max(1, count) for weight, count in zip(node.weights, below, strict=True) if weight != 0)
    if isinstance(node, rg.Hidden):
        return 1 + (below[0] if below[0] > 1 else 0)
    return sum(below)


# Rules of a score ----------------------------------------------------------------------------------------------------


def _parts(score: Node) -> list[_Part]:
    if isinstance(score, rg.Logistic | rg.Rescaled | rg.Difference):
        return [part for child in score.children for part in _parts(child)]
    if isinstance(score, rg.Sided):  # its rule decides, and is no part of the number
        return _parts(score.probability)
    if score.family is Family.REAL and not isinstance(score, rg.Strength):
        return [part for weight, node in _terms(score) if weight != 0 for part in _summands(weight, node)]
    formula = score.formula if isinstance(score, rg.Probability | rg.Strength) else score
    gated = gated_parts(formula.child if isinstance(formula, rg.Not) else formula)
    if gated is not None:
        connective = "against" if isinstance(formula, rg.Not) else "or"
        return [*(_Part(bit, connective) for bit in gated[0]), *(_Part(bit, INHIBITS) for bit in gated[1])]
    if isinstance(formula, rg.Or):
        return [_Part(child, "or") for child in disjuncts(formula)]
    if formula.family is Family.RANDOM and isinstance(formula, rg.And | rg.AtLeast | rg.Odd):
        word = (
            "and" if isinstance(formula, rg.And) else "odd" if isinstance(formula, rg.Odd) else f"at least {formula.k}"
        )
        return [_Part(child, word) for child in formula.children]
    return [] if isinstance(formula, rg.Constant) and not formula.value else [_Part(formula, "or")]


def conjuncts(formula: Node) -> tuple[Node, ...]:
    """What a formula joins by and: itself where it is no And."""
    return formula.children if isinstance(formula, rg.And) else (formula,)


def disjuncts(formula: Node) -> tuple[Node, ...]:
    """What a formula joins by or: itself where it is no Or; of plain rules beside hidden bits each by itself.

    (Simplification gathers such rules into one Or, so that the laws of logic see them together.)
    """
    if not isinstance(formula, rg.Or):
        return (formula,)
    if formula.family is not Family.RANDOM:
        return formula.children
    plain = [isinstance(child, rg.Or) and child.family is Family.BOOLEAN for child in formula.children]
    pairs = zip(formula.children, plain, strict=True)
    return tuple(part for child, spread in pairs for part in (child.children if spread else (child,)))


def _terms(score: Node) -> tuple[tuple[float, Node], ...]:
    if isinstance(score, rg.Logistic | rg.Rescaled | rg.Difference):
        return tuple(term for child in score.children for term in _terms(child))
    if isinstance(score, rg.Linear):
        return inner_sum(score).terms
    return ((1.0, score),) if score.family is Family.REAL and not isinstance(score, rg.Strength) else ()


def inner_sum(score: rg.Linear) -> rg.Linear:
    """The sum whose points are read: of a sum that is only taken some times, that one."""
    inner = score.terms[0][1] if len(score.terms) == 1 else None
    return inner if isinstance(inner, rg.Linear) else score


def _summands(weight: float, node: Node) -> list[_Part]:
    if isinstance(node, rg.LevelPoints):
        return [_Part(rg.Among(node.feature, levels), "segment", weight * points) for points, levels in node.groups]
    if not isinstance(node, rg.Step):
        return [_Part(node, "sum", weight)]
    return [
        _Part(segment, "segment", weight * value)
        for segment, value in zip(segments(node), node.values, strict=True)
        if value != 0
    ]


def segments(step: rg.Step) -> Sequence[Node]:
    """The intervals of a step function as conditions, from below; none holds where the column is missing."""
    name, cuts = step.feature, step.cuts
    if not cuts:
        return [rg.Not(rg.Missing(name))]
    inner = [rg.And((rg.Compare(name, ">", a), rg.Compare(name, "<=", b))) for a, b in itertools.pairwise(cuts)]
    return [rg.Compare(name, "<=", cuts[0]), *inner, rg.Compare(name, ">", cuts[-1])]


def added_rules(ladder: Ladder) -> tuple[tuple[Rule, ...], ...]:
    """By row the rules that the row before does not have."""
    found, before = [], frozenset[tuple[int, object]]()
    for rung in ladder.rungs:
        rules = rules_of(rung.model.underlying)
        found.append(tuple(rule for rule in rules if (rule.class_index, rule.node) not in before))
        before = frozenset((rule.class_index, rule.node) for rule in rules)
    return tuple(found)
