"""Simplification of a rule graph: an ordered tuple of passes, each an exact law, run until none applies.

On no row does the decision change, and a reported probability changes by at most 1e-12 relative over all passes
together. Boolean formulas are rewritten freely, because an equivalent condition leaves every double as it is.
Laws that touch hidden bits are checked on every pattern of the causes (`agree`); if they
fail there, or the patterns are too many, only laws that change no double are used, and in the end none.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.errors import BudgetError, RulekitError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax
from rulekit.graph.leaves import push_negations
from rulekit.graph.model_parts import on_the_side_of_the_decision, with_sides
from rulekit.graph.nodes import LEAVES, LOGIC, TRUE, Family, Node, topological, with_children
from rulekit.graph.probability.circuits import Mix, build_circuit, inputs
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts, rules_of
from rulekit.graph.variants import with_overrides
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.prime_implicants import along, probability_on_patterns, reachable_patterns
from rulekit.schema import Schema
from rulekit.simplification import covers, logic, rewriting, sums
from rulekit.simplification.rewriting import Image, Law, PassContext, Rewriting, context_of

_LOG = logging.getLogger(__name__)

MAX_ROUNDS = 40
MAX_BUDGETS = 5
_WORDS = 200
_PARTS = 100
_MOST_PATTERNS = 1 << 17
_RELATIVE = 1e-12

Function = Callable[[tuple[Node, ...], list[Node], PassContext], tuple[Image, list[Rewriting]]]
"""From roots and all nodes below them, children first, to what each becomes, and the changes."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A named rewriting of a whole graph and the law that it obeys.

    nodes: the types of the nodes that it may change. random: what it may do to a probability: "" (nothing: Boolean and
    Real nodes only), "exact" (no double changes) or "rounded" (the same distribution, other roundings).
    """

    name: str
    function: Function
    law: str
    nodes: tuple[type[Node], ...]
    random: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """One application of a law, in words."""

    law: str
    before: str
    after: str


def rewrite(
    order: list[Node],
    law: Law,
    context: PassContext,
    nodes: tuple[type[Node], ...],
    families: Collection[Family] = tuple(Family),
    skip: Collection[Node] = (),
) -> tuple[Image, list[Rewriting]]:
    """The image of every node, in an order of children first, when `law` is applied to each, and what it changed.

    nodes, families: the nodes to which it is applied. skip: nodes that only get their new children.
    """
    image: Image = {}
    changes: list[Rewriting] = []
    for node in order:
        children = tuple(image[child] for child in node.children)
        rebuilt = node if children == node.children else with_children(node, children)
        asked = isinstance(node, nodes) and rebuilt.family in families and node not in skip
        image[node] = law(rebuilt, context) if asked else rebuilt
        if image[node] is not rebuilt:
            changes.append(Rewriting(rebuilt, image[node]))
    return image, changes


def everywhere(
    name: str, law: Law, words: str, nodes: tuple[type[Node], ...], *families: Family, random: str = ""
) -> Pass:
    """The pass that applies a law to every node of these types and families (none named: all), children first."""

    def function(roots: tuple[Node, ...], order: list[Node], context: PassContext) -> tuple[Image, list[Rewriting]]:
        return rewrite(order, law, context, nodes, families or tuple(Family))

    return Pass(name, function, words, nodes, random)


def _negated(roots: tuple[Node, ...], order: list[Node], context: PassContext) -> tuple[Image, list[Rewriting]]:
    image = push_negations(roots, context.schema)
    return image, [Rewriting(old, new) for old, new in image.items() if isinstance(old, rg.Not) and new is not old]


_BOOLEAN, _RANDOM = Family.BOOLEAN, Family.RANDOM
_JOINS = (rg.And, rg.Or)
_FORMULAS = (*LEAVES, *LOGIC)
_SUMS = (rg.Linear, rg.LinearThreshold)

# fmt: off
PASSES: tuple[Pass, ...] = (
    Pass("negation", _negated, "not (a and b) = not a or not b; no not where a leaf says it", (rg.Not,)),
    everywhere("constants", logic.fold_constants,
               "a and true = a, a and false = false; likewise or, at least", LOGIC),
    everywhere("sure bits", logic.constant_bit,
               "a bit that fires surely or never is its cause", (rg.Hidden,), random="exact"),
    Pass("flattening",
         lambda roots, order, context: rewrite(
             order, logic.flatten, context, _JOINS, skip=logic.nested_alike(roots, order)
         ),
         "a and (b and c) = a and b and c; a and a = a; likewise or", _JOINS),
    everywhere("columns", rewriting.canonical,
               "a formula over one column is the shortest one of its cells", _FORMULAS, _BOOLEAN),
    everywhere("intervals and levels", rewriting.merge_columns,
               "x > 1 and x > 3 = x > 3; level sets likewise", _JOINS, _BOOLEAN),
    everywhere("words", logic.merge_words,
               "contains a or contains b = contains any of {a, b}; likewise not a and not b", _JOINS, _BOOLEAN),
    everywhere("at least", logic.degenerate_at_least,
               "at least 1 = or, at least all = and; a + not a = 1", (rg.AtLeast,), _BOOLEAN),
    everywhere("odd", logic.degenerate_odd,
               "odd of a = a; odd of a, odd of b, c = odd of a, b, c; a + a counts none, a + not a counts one",
               (rg.Odd,)),
    everywhere("absorption", covers.absorb, "a or (a and b) = a, where a may also be implied", _JOINS, _BOOLEAN),
    everywhere("irredundant cover", covers.irredundant, "what the other parts cover falls away", _JOINS, _BOOLEAN),
    Pass("minimisation", covers.minimise_blocks, "sympy's shorter two-level form of at most 8 atoms", LOGIC),
    everywhere("dead terms", sums.dead_terms, "a term of weight 0 or over a constant adds no term", _SUMS),
    everywhere("linear thresholds", sums.threshold_logic,
               "a unit that is constant, r of k or a short form is that", (rg.LinearThreshold,)),
    everywhere("terms of a column", sums.join_terms,
               "terms of an exact sum over one column are one: a step function, points by level", _SUMS),
    everywhere("conditions", logic.gather_conditions,
               "conditions beside hidden bits are one condition", _JOINS, _RANDOM, random="exact"),
    everywhere("random flattening", logic.flatten_random,
               "a and (b and c) = a and b and c of bits", _JOINS, _RANDOM, random="rounded"),
    Pass("random at least",
         lambda roots, order, context: rewrite(
             order, logic.degenerate_random(order), context, (rg.AtLeast,), (_RANDOM,)
         ),
         "at least 1 = or, at least all = and of bits that are not counted elsewhere", (rg.AtLeast,), "rounded"),
    Pass("merged bits",
         lambda roots, order, context: rewrite(
             order, logic.merge_bits(logic.uses(order) + Counter(context.keep)), context, _JOINS, (_RANDOM,)
         ),
         "bits of one cause that nothing else uses: strengths add under or", _JOINS, "rounded"),
)
# fmt: on

_LEVELS: tuple[frozenset[str], ...] = (frozenset({"", "exact", "rounded"}), frozenset({"", "exact"}), frozenset({""}))


def simplify(
    graph: RuleGraph, keep: Iterable[Node] = (), passes: Sequence[Pass] = PASSES, deadline: Deadline = NO_LIMIT
) -> RuleGraph:
    """Make a graph that decides the same on every row, with no more literals.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    keep : iterable of Node
        Hidden bits that are not merged, and terms of sums that are not joined with others.
    passes : sequence of Pass
        The passes that are applied, in this order (docs/simplification.md).
    deadline : Deadline
        No pass begins after it; what the passes before it made is returned.

    Returns
    -------
    RuleGraph

    """
    return _simplified_beneath(graph, frozenset(keep), passes, deadline)[0]


def simplify_explained(graph: RuleGraph) -> tuple[RuleGraph, list[Applied]]:
    """The simplified graph, and which law fired where, in order of application."""
    simpler, changes = _simplified_beneath(graph)
    return simpler, [Applied(law, _words(change.before), _words(change.after)) for law, change in changes]


def _simplified_beneath(
    graph: RuleGraph,
    keep: frozenset[Node] = frozenset(),
    passes: Sequence[Pass] = PASSES,
    deadline: Deadline = NO_LIMIT,
) -> tuple[RuleGraph, list[tuple[str, Rewriting]]]:
    """The simplified graph under the same overrides, which stay word for word, and the changes.

    Probabilities that stand on the side of what is decided do so anew, as that follows from the rules.
    """
    beneath = graph.underlying if graph.overrides else graph
    beside = on_the_side_of_the_decision(beneath)
    free = with_sides(beneath, beside, [TRUE] * len(beneath.classes))
    simpler, changes = _simplified(free, keep, passes, deadline)
    if isinstance(simpler.decision, ArgMax) and any(beside):
        anew = with_sides(simpler, beside, simpler.decision.decided(simpler.default))
        simpler = beneath if anew == beneath else anew
    if not graph.overrides:
        return simpler, changes
    if simpler == beneath:
        return graph, changes
    over = with_overrides(simpler, graph.overrides)
    return over.with_(statistics=_still_true(graph.statistics, graph, over)), changes


def _simplified(
    graph: RuleGraph, keep: frozenset[Node], passes: Sequence[Pass], deadline: Deadline
) -> tuple[RuleGraph, list[tuple[str, Rewriting]]]:
    levels = _LEVELS if _has_bits(graph.roots) else _LEVELS[:1]
    for level in levels:
        roots, changes, messages = _run(graph, [p for p in passes if p.random in level], frozenset(), keep, deadline)
        if agree(graph, roots, trusted="rounded" not in level):
            break
    else:
        uncertain = [root for root in graph.roots if root.family is Family.PROBABILITY or _has_bits([root])]
        frozen = frozenset(topological(uncertain))
        roots, changes, messages = _run(graph, [p for p in passes if not p.random], frozen, frozenset(), deadline)
    simpler = graph if roots == graph.roots else _rebuilt(graph, roots)
    if simpler is not graph and level is not levels[0]:
        # The shorter graph may agree at a level where the longer one did not; what it leaves undone, it says itself.
        simpler, more = _simplified(simpler, keep, passes, deadline)
        return simpler, net_changes([*changes, *more])
    for message in dict.fromkeys(messages):
        _LOG.warning("%s", message)
    return simpler, net_changes(changes) if simpler is not graph else []


def net_changes(changes: list[tuple[str, Rewriting]]) -> list[tuple[str, Rewriting]]:
    """The changes without those that later ones undid."""
    kept: dict[int, tuple[str, Rewriting]] = {}
    chains: dict[Node, list[int]] = {}
    for i, (law, change) in enumerate(changes):
        chain = chains.pop(change.before, [])
        start = next((j for j, place in enumerate(chain) if kept[place][1].before is change.after), None)
        if start is not None:
            for place in chain[start:]:
                del kept[place]
            chain = chain[:start]
        else:
            kept[i] = (law, change)
            chain = [*chain, i]
        chains[change.after] = chain
    return list(kept.values())


def _run(
    graph: RuleGraph, passes: list[Pass], frozen: frozenset[Node], keep: frozenset[Node], deadline: Deadline
) -> tuple[tuple[Node, ...], list[tuple[str, Rewriting]], list[str]]:
    """The roots after all rounds; nodes of `frozen` stand as they are where they are part of a probability.

    Minimisation stops where its budget is spent. The shorter formula then gets a budget of its own, as it would if it
    were simplified once more, until nothing changes.
    """
    roots, messages = graph.roots, []
    found: list[tuple[str, Rewriting]] = []
    for _ in range(MAX_BUDGETS):
        context = context_of(graph.schema, roots)
        context.keep = keep
        begun = roots
        roots = _rounds(roots, passes, frozen, context, found, deadline)
        messages = context.messages
        if not messages or roots == begun:
            break
    return roots, found, messages


def _rounds(
    roots: tuple[Node, ...],
    passes: list[Pass],
    frozen: frozenset[Node],
    context: PassContext,
    found: list[tuple[str, Rewriting]],
    deadline: Deadline,
) -> tuple[Node, ...]:
    for _ in range(MAX_ROUNDS):
        before, order = roots, list[Node]()
        for one in passes:
            if deadline.over:
                return roots
            if not order:
                free = tuple(root for root in roots if root not in frozen)
                order = topological(free)
                types = {type(node) for node in order}
            if types.isdisjoint(one.nodes):
                continue
            image, changes = one.function(free, order, context)
            if changes:
                roots = tuple(image.get(root, root) if root not in frozen else root for root in roots)
                found.extend((one.name, change) for change in changes)
                order = []
        if roots == before:
            break
    return roots


def _has_bits(roots: Iterable[Node]) -> bool:
    return any(node.family is Family.RANDOM for node in topological(roots))


def _rebuilt(graph: RuleGraph, roots: tuple[Node, ...]) -> RuleGraph:
    count = len(graph.decision.roots)
    simpler = graph.with_(decision=graph.decision.with_roots(roots[:count]), probability=roots[count:])
    before, after = counts(graph), counts(simpler)
    note = {"rules": [before.rules, after.rules], "literals": [before.literals, after.literals]}
    return simpler.with_(
        provenance={**graph.provenance, "simplified": note}, statistics=_still_true(graph.statistics, graph, simpler)
    )


def _still_true(statistics: Mapping[str, Any], graph: RuleGraph, simpler: RuleGraph) -> dict[str, Any]:
    """The statistics without those of rules that are gone; cumulative figures hold only while every rule is there."""
    before, after = ({rule.id for rule in rules_of(g)} for g in (graph, simpler))
    if before == after:
        return dict(statistics)

    def kept(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        result = {key: kept(inner) for key, inner in value.items()}
        rules = result.get("rules")
        if isinstance(rules, list):
            result["rules"] = [
                {key: v for key, v in rule.items() if not str(key).startswith("cumulative")}
                for rule in rules
                if isinstance(rule, Mapping) and rule.get("id") in after
            ]
        return result

    result: dict[str, Any] = kept(statistics)
    return result


def _words(node: Node) -> str:
    """The text of a node, cut where it is long; of a node with many parts only its type and digest."""
    from rulekit.graph.language.text import word

    seen, stack = {node}, [node]
    while stack and len(seen) <= _PARTS:
        new = [child for child in stack.pop().children if child not in seen]
        seen.update(new)
        stack.extend(new)
    try:
        text = repr(node) if stack else word((node,)).full[node].words
    except RulekitError:
        return repr(node)
    return text if stack or len(text) <= _WORDS else f"{text[: _WORDS - 4]} ..."


# Whether simplified roots decide and report the same, on every pattern of the causes of their hidden bits -------------


def agree(graph: RuleGraph, roots: Sequence[Node], trusted: bool) -> bool:
    """Whether decision and probabilities are the same with these roots in place of the graph's own.

    A decision has to be the same on every reachable pattern of the causes; the score of an arg-max bit for bit; a
    reported probability to 1e-12 relative. trusted: what cannot be enumerated passes if neither circuit mixes
    (the laws used change no double then), else it fails.
    """
    count = len(graph.decision.roots)
    return all(
        old is new or _same(old, new, i < count, graph.schema, trusted)
        for i, (old, new) in enumerate(zip(graph.roots, roots, strict=True))
    )


def _same(old: Node, new: Node, decides: bool, schema: Schema, trusted: bool) -> bool:
    above = old if isinstance(old, rg.Above) else None
    if above is not None:
        if not isinstance(new, rg.Above) or new.threshold != above.threshold:
            return _uncertain(new) <= _uncertain(old)
        old, new = above.score, new.score
    if not (isinstance(old, rg.Probability | rg.Strength) and type(old) is type(new)):
        return _uncertain(new) <= _uncertain(old)  # around the same probabilities, laws of logic change no value
    try:
        before, after = _values(old, new, schema)
    except BudgetError:
        return trusted and not any(_mixes(node.children[0]) for node in (old, new))
    if above is not None:
        return bool(((before > above.threshold) == (after > above.threshold)).all())
    if decides:
        return bool((before == after).all())
    return bool((np.abs(after - before) <= _RELATIVE * np.abs(before)).all())


def _uncertain(root: Node) -> frozenset[Node]:
    return frozenset(node for node in topological([root]) if isinstance(node, rg.Probability | rg.Strength))


def _values(old: Node, new: Node, schema: Schema) -> tuple[Floats, Floats]:
    groups = reachable_patterns(tuple(dict.fromkeys((*inputs(old), *inputs(new)))), schema)
    if math.prod(len(group.patterns) for group in groups) > _MOST_PATTERNS:
        raise BudgetError("too many patterns")

    def of(node: Node) -> Floats:
        if not isinstance(node, rg.Strength):
            return probability_on_patterns(build_circuit(node.children[0]), groups)
        return sum(
            (np.where(along(cause, groups), on, off) for cause, on, off in node.terms), np.zeros([1] * len(groups))
        )

    return of(old), of(new)


def _mixes(formula: Node) -> bool:
    try:
        return any(isinstance(step, Mix) for step in build_circuit(formula).steps)
    except BudgetError:
        return False
