"""What a rule graph says as clauses: for each of its formulas those that stay word for word and those that are free.

The decision says which clauses there are. Where a Boolean decision comes with a reported probability that decides
alike, the strengths are those of the report; a clause that the report lacks, added by an expert say, fires with
probability 1. Where the two differ otherwise, the decision alone counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rulekit.errors import InputError
from rulekit.graph.decisions import Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import FALSE, And, Family, Hidden, Node, Not, Or, Probability, Strength
from rulekit.graph.probability.prime_implicants import threshold_rule
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import disjuncts, rules_of
from rulekit.learners.counting.histograms import Bools
from rulekit.names import suggestion
from rulekit.numbers import strength_of
from rulekit.schema import Schema
from rulekit.tables.table import Table

WHERE = "start"

Freeze = Literal["all", "none"] | Sequence[str]

_HALF = 0.5
_MOST_LITERALS = 1000
_MOST_PATTERNS = 1 << 18


@dataclass(frozen=True, slots=True)
class KnownRules:
    """One formula as clauses, Boolean or Random, joined by or.

    frozen: they stay; free: starting points; decided: the frozen clauses of a Boolean decision (`boolean`), whose
    probabilities may stand among the frozen ones.
    """

    frozen: tuple[Node, ...]
    free: tuple[Node, ...] = ()
    decided: tuple[Node, ...] = ()
    boolean: bool = False


@dataclass(frozen=True, slots=True)
class _Formula:
    """The root that decides, and what may be reported beside a Boolean one."""

    root: Node
    report: Node | None = None


def known_rules(graph: RuleGraph, freeze: Freeze, table: Table) -> list[KnownRules]:
    """The clauses of each formula of a graph, in its order: one of two classes, K of an arg-max, K - 1 of a median.

    table: the training rows, on which decision and report are compared. Raises InputError for a graph of another form,
    a threshold other than 1/2, or an unknown rule id.
    """
    formulas = _formulas(graph)
    stays = None if freeze == "all" else _chosen(graph, () if freeze == "none" else tuple(freeze))
    return [_rules_of_formula(formula, stays, graph.schema, table) for formula in formulas]


def _chosen(graph: RuleGraph, ids: Sequence[str]) -> frozenset[Node]:
    """The nodes of the rules with these ids."""
    rules = {rule.id: rule for rule in rules_of(graph)}
    for name in ids:
        if name not in rules:
            raise InputError(f"no rule {name!r} in the start", where="freeze", fix=suggestion(name, rules, "its rules"))
        if rules[name].connective != "or":
            raise InputError(
                f"rule {name} is joined to the others by {rules[name].connective}", where="freeze", fix="freeze all"
            )
    return frozenset(rules[name].node for name in ids)


# Which formulas there are ------------------------------------------------------------------------------------------


def _formulas(graph: RuleGraph) -> list[_Formula]:
    formulas = [_scored(part) for part in graph.decision.parts]
    if graph.decision.ordered:
        return [_Formula(formula, _cumulative(graph, j)) for j, formula in enumerate(formulas)]
    if len(formulas) > 1:
        return [_Formula(formula) for formula in formulas]
    report = graph.probability[0] if len(graph.probability) == 1 else None
    return [_Formula(formulas[0], _inside(report))]


def _scored(part: Part) -> Node:
    score, threshold = part.score, part.threshold
    if threshold is None or (score.family is Family.BOOLEAN and 0.0 <= threshold < 1.0):
        return score
    if isinstance(score, Strength):
        if abs(threshold - strength_of(_HALF)) > 1e-12:
            raise _other_threshold()
        return score.formula
    if not isinstance(score, Probability):
        raise InputError(
            "the model is no logical formula",
            where=WHERE,
            fix="give rules joined by or, with or without hidden bits",
        )
    if threshold != _HALF:
        raise _other_threshold()
    return score.formula


def _other_threshold() -> InputError:
    return InputError(
        "the model decides at another probability than 1/2", where=WHERE, fix="give it before `rulekit threshold`"
    )


def _inside(report: Node | None) -> Node | None:
    return report.formula if isinstance(report, Probability) else None


def _cumulative(graph: RuleGraph, cut: int) -> Node | None:
    """What ranked classes report of a cut: class cut + 1 is `this cut holds and the next does not`."""
    if len(graph.probability) != len(graph.classes):
        return None
    reported = _inside(graph.probability[cut + 1])
    if cut + 2 == len(graph.classes):
        return reported
    if isinstance(reported, And) and len(reported.children) == 2 and isinstance(reported.children[1], Not):
        return reported.children[0]
    return None


# Which clauses stay ------------------------------------------------------------------------------------------------


def _rules_of_formula(formula: _Formula, stays: frozenset[Node] | None, schema: Schema, table: Table) -> KnownRules:
    clauses = _clauses(formula.root)
    frozen = tuple(clause for clause in clauses if stays is None or clause in stays)
    free = tuple(clause for clause in clauses if clause not in frozen)
    if formula.root.family is Family.RANDOM:
        return KnownRules(frozen, free)
    whole = None if formula.report is None else _with_strengths(clauses, formula.report, schema, table)
    if whole is None:
        return KnownRules(frozen, free, frozen, True)
    if not free:
        return KnownRules(tuple(whole), (), frozen, True)
    named = {_conditions(part): part for part in whole}
    kept = tuple(dict.fromkeys(named.get(frozenset(_literals(clause)), clause) for clause in frozen))
    return KnownRules(kept, tuple(part for part in whole if part not in kept), frozen, True)


def _clauses(root: Node) -> tuple[Node, ...]:
    return () if root is FALSE else disjuncts(root)


def _with_strengths(clauses: tuple[Node, ...], report: Node, schema: Schema, table: Table) -> list[Node] | None:
    """The clauses of the report and those that it lacks, or None where together they do not decide as `clauses` do."""
    score = Probability(report)
    values = evaluate_nodes([*clauses, score], table)
    above: Bools = values[score] > _HALF
    rule = threshold_rule(report, _HALF, _MOST_LITERALS, schema=schema, budget=_MOST_PATTERNS)
    terms = {frozenset(_literals(term)) for term in (_clauses(rule) if rule is not None else ())}
    lacking = [
        clause
        for clause in clauses
        if frozenset(_literals(clause)) not in terms and not (values[clause].any() and above[values[clause]].all())
    ]
    wanted, got = ~above & False, above.copy()
    for clause in clauses:
        wanted |= values[clause]
    for clause in lacking:
        got |= values[clause]
    return [*_clauses(report), *lacking] if bool((wanted == got).all()) else None


def _literals(clause: Node) -> tuple[Node, ...]:
    return clause.children if isinstance(clause, And) else (clause,)


def _conditions(clause: Node) -> frozenset[Node]:
    """The conditions that a noisy clause joins by and: those of its bits, each turned to fire where it holds."""
    if clause.family is Family.BOOLEAN:
        return frozenset(_literals(clause))
    found = [
        part.cause if isinstance(part, Hidden) and part.on >= part.off else part
        for part in (clause.children if isinstance(clause, And) else (clause,))
    ]
    return frozenset(found) if not isinstance(clause, Or) else frozenset((clause,))
