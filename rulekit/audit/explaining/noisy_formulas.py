"""Formulas of hidden bits: which rules reach the threshold together, and how much each condition of a row weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import column_of, cuts_of_leaf
from rulekit.graph.nodes import LEAVES, TRUE, Family, Node, fold, topological, with_children
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import CONTRARY, INHIBITS, Rule
from rulekit.numbers import probability_of
from rulekit.schema import Schema
from rulekit.tables.table import Table

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Noisy:
    """A random formula that decides: the class it speaks for, and the probability that it must exceed."""

    class_index: int
    formula: Node
    threshold: float


def noisy_formulas(graph: RuleGraph) -> list[Noisy]:
    """The random formulas that decide; none where Boolean rules or weights do."""
    found = []
    for part in graph.underlying.decision.parts:
        score, threshold = part.score, part.threshold
        if threshold is None or not isinstance(score, rg.Probability | rg.Strength):
            continue
        if score.formula.family is Family.RANDOM:
            least = probability_of(max(0.0, threshold)) if isinstance(score, rg.Strength) else threshold
            found.append(Noisy(part.class_index, score.formula, least))
    return found


def together(
    noisy: list[Noisy], rules: tuple[Rule, ...], values: list[Array], labels: Ints, ranked: bool
) -> dict[int, list[int]]:
    """Per row of a class with no rule that is enough alone: the fewest that are together, most probable first.

    Of rules that are joined otherwise than by or: all that can fire.
    """
    found: dict[int, list[int]] = {}
    for part in noisy:
        own = [j for j, rule in enumerate(rules) if rule.class_index == part.class_index]
        mine = [j for j in own if rules[j].connective not in CONTRARY]
        if not mine:
            continue
        chance = np.column_stack([values[j] for j in mine]).astype(np.float64)
        # what is left of a probability where nothing inhibits
        inhibitors = (values[j] for j in own if rules[j].connective == INHIBITS)
        spared = np.prod([np.ones(len(labels)), *(1.0 - value for value in inhibitors)], axis=0)
        decided = labels >= part.class_index if ranked else labels == part.class_index
        order = np.argsort(-chance, axis=1, kind="stable")
        ordered = np.take_along_axis(chance, order, axis=1)
        count = np.count_nonzero(ordered > 0, axis=1)
        alone = (chance > _HALF).all(axis=1)
        if rules[mine[0]].connective == "or":
            # a rule that fired says it all, unless the threshold is so high that it is not enough alone
            alone = (chance * spared[:, np.newaxis] > max(part.threshold, _HALF)).any(axis=1)
            reached = (1.0 - np.cumprod(1.0 - ordered, axis=1)) * spared[:, np.newaxis] > part.threshold
            count = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, count)
        for i in np.flatnonzero(decided & ~alone).tolist():
            found.setdefault(i, []).extend(mine[k] for k in order[i, : count[i]].tolist())
    return found


_LEAST_SHARE = 0.01


def conditions_of_rows(graph: RuleGraph, noisy: list[Noisy], table: Table, labels: Ints) -> list[list[dict[str, Any]]]:
    """Per row the conditions that speak for its label, the strongest first."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(table.n_rows)]
    for part in noisy:
        causes = causes_of(part.formula)
        if not causes:
            continue
        whole = rg.Probability(part.formula)
        turned = [rg.Probability(_with_turned(part.formula, cause)) for cause in causes]
        values = evaluate_nodes(list(dict.fromkeys([whole, *turned, *causes])), table)
        fall = np.column_stack([values[whole] - values[score] for score in turned])
        speaks = fall * _direction(graph, part.class_index, labels)[:, np.newaxis]
        label = graph.classes[part.class_index]
        views = [_condition_views(name, label, cause, graph.schema) for cause, name in causes.items()]
        holds = np.column_stack([values[cause] for cause in causes])
        states = np.where(holds, 1, 2 * _known(tuple(causes), table))
        for i, j in zip(*np.nonzero(speaks > 0), strict=True):
            found[i].append({**views[j][states[i, j]], "change": float(speaks[i, j])})
    for i, own in enumerate(found):
        own.sort(key=lambda entry: -entry["change"])
        found[i] = [entry for entry in own if entry["change"] >= _LEAST_SHARE * own[0]["change"]]
    return found


def _known(causes: tuple[Node, ...], table: Table) -> Bools:
    """Whether the column of each leaf is known [n, C]; of other conditions it is not asked."""
    columns = [column_of(cause.child if isinstance(cause, rg.Not) else cause) for cause in causes]
    asked = [TRUE if column is None else rg.Missing(column) for column in columns]
    values = evaluate_nodes(list(dict.fromkeys(asked)), table)
    return ~np.column_stack([values[node] for node in asked])


def _direction(graph: RuleGraph, class_index: int, labels: Ints) -> Floats:
    """Per row 1 where the formula of a class speaks for the label, -1 where it speaks against it, else 0."""
    decision = graph.decision
    if decision.ordered:  # only the two cuts beside the label
        return np.where(labels == class_index, 1.0, np.where(labels == class_index - 1, -1.0, 0.0))
    against = 0.0 if len(decision.parts) > 1 else -1.0  # of several scores each speaks for its own class alone
    return np.where(labels == class_index, 1.0, against)


def causes_of(formula: Node) -> dict[Node, str]:
    """The conditions of the bits of a formula, each with the names of all the bits that it causes."""
    bits: dict[Node, list[str]] = {}
    for node in topological([formula]):
        if isinstance(node, rg.Hidden):
            bits.setdefault(node.cause, []).append(node.name)
    return {cause: "+".join(names) for cause, names in bits.items()}


def _with_turned(formula: Node, cause: Node) -> Node:

    def rebuilt(node: Node, children: tuple[Node, ...]) -> Node:
        if isinstance(node, rg.Hidden) and node.cause == cause:
            return rg.Hidden(node.name, cause, node.off, node.on)
        return with_children(node, children)

    return fold([formula], rebuilt)[formula]


def _condition_views(name: str, label: object, cause: Node, schema: Schema) -> tuple[dict[str, Any], ...]:
    """What is said of a condition that fails, that holds, and that fails in a row where its column is known."""
    text, fails, contrary = print_node(cause, schema), f"not {_enclosed(cause, False, schema)}", _contrary(cause)
    known = fails if contrary is None else _enclosed(contrary, True, schema)
    said = ((False, fails), (True, _enclosed(cause, True, schema)), (False, known))
    return tuple({"id": name, "class": label, "text": text, "holds": holds, "said": words} for holds, words in said)


def _contrary(cause: Node) -> Node | None:
    """What holds instead of a leaf that fails on a known value, `story lacks wheat`; None where no leaf says it."""
    leaf = cause.child if isinstance(cause, rg.Not) else cause
    wanted = leaf is cause  # a leaf is denied by what is false where it is missing, as every condition is
    if isinstance(leaf, rg.IsTrue):
        found: Node = rg.IsTrue(leaf.feature, wanted)
    elif isinstance(leaf, rg.Contains):
        found = rg.Contains(leaf.feature, leaf.tokens, wanted)
    elif isinstance(leaf, rg.Among) and not leaf.unseen:
        found = rg.Among(leaf.feature, leaf.levels, wanted)
    else:
        return None
    return rg.Not(found) if wanted else found


def _enclosed(node: Node, holds: bool, schema: Schema) -> str:
    """A condition that a number or `not` may stand beside: what joins conditions or ends in a number in parentheses."""
    text, leaf = print_node(node, schema), node.child if isinstance(node, rg.Not) else node
    plain = holds and isinstance(leaf, LEAVES) and not cuts_of_leaf(leaf)
    bare = isinstance(node, rg.IsTrue) or plain or (text.startswith("(") and not node.children)
    return text if bare else f"({text})"


def without_strengths(rule: Node) -> Node:
    """The conditions of a random rule as plain logic: each hidden bit by what makes it more probable.

    That is its cause, or the contrary of its cause where the bit fires less often with it than without. Bits of one
    cause, whose strengths alone tell them apart, are one condition then.
    """

    def plain(node: Node, children: tuple[Node, ...]) -> Node:
        if isinstance(node, rg.Hidden):
            return children[0] if node.on >= node.off else rg.Not(children[0])
        if isinstance(node, rg.And | rg.Or):
            children = tuple(dict.fromkeys(children))
            return children[0] if len(children) == 1 else with_children(node, children)
        return with_children(node, children)

    return fold([rule], plain)[rule]
