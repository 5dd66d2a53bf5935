"""Going on from known rules: a rule graph, learned elsewhere or written by an expert, as the formula to grow from.

The decision says which clauses there are. Where a Boolean decision comes with a reported probability that decides
alike, the strengths are those of the report; a clause that the report lacks, added by an expert say, fires with
probability 1. Where the two differ otherwise, the decision alone counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rulekit.errors import InputError
from rulekit.graph.decisions import Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Difference,
    Family,
    Hidden,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Rescaled,
    Strength,
)
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import conjuncts
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import Operator, ReadOnceTree
from rulekit.learners.cnll.start.first_formula import Start
from rulekit.learners.data.problem import HOLDS, KNOWN, Problem, with_fixed
from rulekit.learners.promises.starts import (
    WHERE,
    Freeze,
    check_classes,
    clauses_of,
    staying,
)
from rulekit.learners.sums_of_rows.histograms import Bools
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.numbers import strength_of
from rulekit.schema import Schema
from rulekit.tables.table import Table

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
    stays = staying(graph, freeze)
    return [_rules_of_formula(formula, stays, graph.schema, table) for formula in formulas]


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
    report = report.probability if isinstance(report, Rescaled) else report
    return report.formula if isinstance(report, Probability) else None


def _cumulative(graph: RuleGraph, cut: int) -> Node | None:
    """What ranked classes report of a cut: class cut + 1 is `this cut holds and the next does not`."""
    if len(graph.probability) != len(graph.classes):
        return None
    node = graph.probability[cut + 1]
    if isinstance(node, Difference):
        return _inside(node.more)
    reported = _inside(node)
    if cut + 2 == len(graph.classes):
        return reported
    if isinstance(reported, And) and len(reported.children) == 2 and isinstance(reported.children[1], Not):
        return reported.children[0]
    return None


# Which clauses stay ------------------------------------------------------------------------------------------------


def _rules_of_formula(formula: _Formula, stays: frozenset[Node] | None, schema: Schema, table: Table) -> KnownRules:
    clauses = clauses_of(formula.root)
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
    kept = tuple(dict.fromkeys(named.get(frozenset(conjuncts(clause)), clause) for clause in frozen))
    return KnownRules(kept, tuple(part for part in whole if part not in kept), frozen, True)


def _with_strengths(clauses: tuple[Node, ...], report: Node, schema: Schema, table: Table) -> list[Node] | None:
    """The clauses of the report and those that it lacks, or None where together they do not decide as `clauses` do."""
    score = Probability(report)
    values = evaluate_nodes([*clauses, score], table)
    above: Bools = values[score] > _HALF
    rule = threshold_rule(report, _HALF, _MOST_LITERALS, schema=schema, budget=_MOST_PATTERNS)
    terms = {frozenset(conjuncts(term)) for term in (clauses_of(rule) if rule is not None else ())}
    lacking = [
        clause
        for clause in clauses
        if frozenset(conjuncts(clause)) not in terms and not (values[clause].any() and above[values[clause]].all())
    ]
    wanted, got = ~above & False, above.copy()
    for clause in clauses:
        wanted |= values[clause]
    for clause in lacking:
        got |= values[clause]
    return [*clauses_of(report), *lacking] if bool((wanted == got).all()) else None


def _conditions(clause: Node) -> frozenset[Node]:
    """The conditions that a noisy clause joins by and: those of its bits, each turned to fire where it holds."""
    if clause.family is Family.BOOLEAN:
        return frozenset(conjuncts(clause))
    found = [part.cause if isinstance(part, Hidden) and part.on >= part.off else part for part in conjuncts(clause)]
    return frozenset(found) if not isinstance(clause, Or) else frozenset((clause,))


def starts_of(
    graph: RuleGraph, freeze: Freeze, classes: Sequence[ClassLabel], problem: Problem, table: Table, n_units: int
) -> tuple[Problem, list[Start | None]]:
    """The problem with the fixed conditions as columns of its own, and the start of each formula, in class order.

    None stands for a formula without any clause.

    classes: as the learner lists them; table: the training rows, encoded by a schema that holds the graph's
    (rulekit.learners.promises.starts). Raises InputError where the graph is none that growth can go on from,
    or has more free literals than `n_units`.
    """
    schema = Schema(table.features)
    found = known_rules(graph, freeze, table)
    if len(found) == len(graph.classes):
        found = [found[list(graph.classes).index(label)] for label in classes]
    drafts = [_draft(rules, schema) for rules in found]
    for draft in drafts:
        free = sum(not leaf.frozen for leaf in draft.leaves)
        if free > n_units:
            raise InputError(
                f"n_units is {n_units}, and {free} literals of the start are free",
                where=WHERE,
                fix=f"n_units={free} or more, or freeze the rules",
            )
    causes = list(dict.fromkeys(leaf.cause for draft in drafts for leaf in draft.leaves))
    first = len(problem.columns)
    column = {cause: first + i for i, cause in enumerate(causes)}
    starts = [
        _start(draft, rules, column) if draft.leaves else None for draft, rules in zip(drafts, found, strict=True)
    ]
    return with_fixed(problem, causes, table, schema), starts


def check_start(graph: RuleGraph, classes: Sequence[ClassLabel], ordered: bool, init: str) -> None:
    """Raise InputError unless the graph decides between these classes, in this order where the order counts."""
    if init == "and":
        raise InputError("rules joined by or cannot go on as a conjunction", where=WHERE, fix="leave out init")
    check_classes(graph, classes, ordered)


# From clauses to a read-once tree ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Leaf:
    cause: Node
    alpha: float
    beta: float
    frozen: bool
    name: str
    above: Operator


@dataclass(slots=True)
class _Draft:
    schema: Schema
    tree: ReadOnceTree = field(default_factory=ReadOnceTree)
    leaves: list[_Leaf] = field(default_factory=list)
    kept: dict[int, Node] = field(default_factory=dict)

    def gate(self, operator: Operator, parent: int) -> int:
        return self._add(operator, -1, parent)

    def leaf(self, cause: Node, alpha: float, beta: float, frozen: bool, name: str, parent: int) -> int:
        above = self.tree.operator[parent] if parent >= 0 else "bit"
        self.leaves.append(_Leaf(cause, alpha, beta, frozen, name, above))
        return self._add("bit", len(self.leaves) - 1, parent)

    def _add(self, operator: Operator, bit: int, parent: int) -> int:
        node = self.tree.add_node(operator, bit, parent)
        if parent < 0:
            self.tree.root = node
        else:
            self.tree.children[parent].append(node)
        return node


def _draft(rules: KnownRules, schema: Schema) -> _Draft:
    draft = _Draft(schema)
    parts = [(part, True) for part in rules.frozen] + [(part, False) for part in rules.free]
    parts = [(part, frozen) for part, frozen in parts if frozen or not _says_nothing(part)]
    if not parts:
        return draft
    # A frozen clause alone gets the Or too, so that what is joined to it does not become a part of it.
    root = draft.gate("or", -1) if rules.frozen or len(parts) > 1 else -1
    for part, frozen in parts:
        first = len(draft.tree.bit)
        _hang(draft, part, root, frozen)
        if frozen:
            draft.kept[first] = part
    tree = draft.tree
    tree.clauses = list(tree.children[tree.root]) if tree.operator[tree.root] == "or" else [tree.root]
    _refuse_twice(draft)
    return draft


def _says_nothing(part: Node) -> bool:
    """Whether a free clause has no condition: the share of a class that was never learned, or a constant."""
    return part is FALSE or (isinstance(part, Hidden) and part.cause in (TRUE, FALSE))


def _hang(draft: _Draft, part: Node, parent: int, frozen: bool) -> None:
    """The gates and leaves of a clause below `parent`; of a frozen one they serve to compute its probability only."""
    first = True
    stack = [(part, True, parent)]
    while stack:
        node, sign, above = stack.pop()
        while isinstance(node, Not):
            node, sign = node.child, not sign
        operator = _gate_of(node, sign, frozen)
        if operator is None:
            _add_leaf(draft, node, sign, frozen, above)
        else:
            flat = above >= 0 and draft.tree.operator[above] == operator and not (frozen and first)
            gate = above if flat else draft.gate(operator, above)
            stack.extend((child, sign, gate) for child in reversed(node.children))
        first = False


def _gate_of(node: Node, sign: bool, frozen: bool) -> Operator | None:
    """The gate that a node is, or None for a leaf; raises InputError for what is neither."""
    if node.family is Family.BOOLEAN and frozen:
        return None
    if isinstance(node, AtLeast) and node.family is Family.RANDOM:
        if node.k not in (1, len(node.children)):
            raise InputError(
                f"it asks for {node.k} of {len(node.children)} hidden bits at once",
                where=WHERE,
                fix="write that rule with and, or",
            )
        conjunction = node.k > 1
    elif isinstance(node, Odd) and node.family is Family.RANDOM:
        raise InputError("it asks for an odd number of hidden bits", where=WHERE, fix="write that rule with and, or")
    elif isinstance(node, And | Or) and node.children:
        conjunction = isinstance(node, And)
    else:
        return None
    return "and" if conjunction == sign else "or"


def _add_leaf(draft: _Draft, node: Node, sign: bool, frozen: bool, parent: int) -> None:
    if isinstance(node, Hidden):
        on, off = node.probability_on, node.probability_off
        alpha, beta = (on, off) if sign else (1.0 - on, 1.0 - off)
        draft.leaf(node.cause, alpha, beta, frozen, node.name, parent)
        return
    cause = node if sign else negate(node, draft.schema)
    draft.leaf(cause, 1.0, 0.0, frozen, f"r{cause.digest.hex()[:6]}" if frozen else "", parent)


def _refuse_twice(draft: _Draft) -> None:
    """A bit that stands in two places is no read-once formula, of which the exact search knows the derivatives."""
    seen = set()
    for leaf in draft.leaves:
        if leaf.name and leaf.name in seen and not (leaf.alpha == 1.0 and leaf.beta == 0.0):
            raise InputError(
                f"hidden bit {leaf.name!r} stands in two places", where=WHERE, fix="give each place a bit of its own"
            )
        seen.add(leaf.name)


def _start(draft: _Draft, rules: KnownRules, column: dict[Node, int]) -> Start:
    rest: dict[Operator, float] = {"and": 1.0, "or": 0.0, "bit": 0.0}
    bits = tuple(
        Bit(column[leaf.cause], HOLDS, KNOWN, leaf.alpha, leaf.beta, rest[leaf.above], leaf.frozen)
        for leaf in draft.leaves
    )
    inside, stack = set(draft.kept), list(draft.kept)
    while stack:
        below = draft.tree.children[stack.pop()]
        inside.update(below)
        stack.extend(below)
    return Start(
        draft.tree,
        bits,
        draft.kept,
        {i: leaf.name for i, leaf in enumerate(draft.leaves) if leaf.frozen},
        frozenset(inside),
        rules.decided,
        rules.boolean,
    )
