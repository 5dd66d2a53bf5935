"""A rule graph as straight-line steps: what a text target spells, what a reader of such a text proves.

A program is made of the nodes of `rulekit.program.nodes` and of those of `rulekit.graph.nodes` whose meaning needs
nothing else:

    RawCompare, IsTrue, Among, Missing   conditions on a cell: thresholds are doubles at which rounding to the column's
                                         width crosses them; an Among is false for a level never seen (`members`)
    Contains                             of a text; with no token and `missing`, whether it is missing
    Constant, Not, And, Or, AtLeast, Odd logic
    Number, Choice, Sum, Arithmetic      numbers: one IEEE 754 operation at a time, in the order that is written
    Count, Greater, Largest              numbers to decisions
    Column, Step, LevelPoints, Logistic  a number of a row, cleaned; a step function; points by level; 1 / (1 + exp(-z))
    Tails, Tail                          the probabilities of at least 0, 1, 2, ... of several events; one of them
    Exponentials                         a reported probability by sums of strengths

For languages that have no functions for these and Largest, `rulekit.program.nodes` takes them apart.

Hidden bits, circuits, decisions, unseen policies and thresholds of float32 are resolved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from rulekit.errors import Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import LOGIC, Family, Node, topological, with_children
from rulekit.graph.probability.circuits import Algebra, Bit, Circuit, Complement, Given, build_circuit, operands
from rulekit.graph.probability.exponentials import NOTHING, Counted, Exponentials, Tail, Tails
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.numbers import crossing
from rulekit.program.nodes import ONE, ZERO, Arithmetic, Choice, Count, Greater, Largest, Number, RawCompare, Sum, chain
from rulekit.schema import Feature, Schema, look_alikes


@dataclass(frozen=True, eq=False)
class Program:
    """The steps of a model.

    label: the number of the class, a Real node whose values are 0 to K - 1. probabilities: one Real node for each
    class. reported: what these come from: no node (the class that is decided has probability 1), that of the positive
    class, or one for each class, to be divided by their sum. decision: the graph's, over the steps. lowered: by node
    of the graph the step that has its value.
    """

    schema: Schema
    classes: int
    default: int
    label: Node
    reported: tuple[Node, ...]
    decision: Decision
    lowered: Mapping[Node, Node]

    @cached_property
    def probabilities(self) -> tuple[Node, ...]:
        if not self.reported:
            return tuple(Choice(_equal(self.label, Number(k)), ONE, ZERO) for k in range(self.classes))
        if len(self.reported) == 1:
            return Arithmetic("-", ONE, self.reported[0]), self.reported[0]
        total = Sum((ZERO, *self.reported))
        some = Greater(total, ZERO)
        shares = [Choice(some, Arithmetic("/", value, total), ZERO) for value in self.reported]
        own = shares[self.default]
        # a quotient of two classes would be a step of its own, computed where the total is 0 too
        shares[self.default] = Choice(some, own if shares.count(own) > 1 else own.then, ONE)
        return tuple(shares)


Finish = Callable[[Node, Schema], Node]


def _as_it_is(step: Node, _: Schema) -> Node:
    return step


@lru_cache(maxsize=1)  # a verification writes the artifact again and then asks what it computes
def lower(graph: RuleGraph, finish: Finish = _as_it_is) -> Program:
    """The steps of a graph; raises Unsupported for a node that has none. finish: what is made of every step."""
    lowered = lower_nodes((*graph.decision.roots, *graph.reported), graph.schema, finish)
    label, decision = _label(graph.decision, graph.default, lowered)
    label = finish(label, graph.schema)
    reported = tuple(_number(lowered[node]) for node in graph.reported)
    return Program(graph.schema, len(graph.classes), graph.default, label, reported, decision, lowered)


def lower_nodes(roots: Iterable[Node], schema: Schema, finish: Finish = _as_it_is) -> dict[Node, Node]:
    """By node below the roots, but for random ones, the step that has its value."""
    lowered: dict[Node, Node] = {}
    roots = tuple(roots)
    counted = Counted(roots)
    for node in topological(roots, counted.inputs):
        entry = counted.entry(node)
        rule = _RULES.get(type(entry or node))
        if rule is None:
            raise Unsupported(type(node).__name__, "program", "simplify it away")
        lowered[node] = finish(rule(entry or node, lowered, schema), schema)
    return lowered


def members(node: rg.Among, feature: Feature) -> tuple[str | None, ...]:
    """The cells of a category for which an Among of a program holds: levels, the texts that mean missing, None."""
    absent = (None, "", *feature.missing_tokens)
    return tuple(dict.fromkeys((*texts_of_levels(node.levels, feature), *(absent if node.missing else ()))))


def points_of_texts(node: rg.LevelPoints, feature: Feature) -> dict[str | None, float]:
    """By cell of a category the points of a program's LevelPoints, but for the cells with those of the unseen."""
    by_level = dict(node.points)
    found: dict[str | None, float] = dict.fromkeys((None, "", *feature.missing_tokens), node.missing)
    for level in feature.levels:
        found.update(dict.fromkeys(texts_of_levels((level,), feature), by_level.get(level, 0.0)))
    return {text: points for text, points in found.items() if points != node.unseen}


def texts_of_levels(levels: Iterable[str], feature: Feature) -> list[str]:
    """Levels in the order of the column; one that means missing is one in another spelling ("0.0" for "0") only."""
    absent, wanted = {"", *feature.missing_tokens}, set(levels)
    taken = absent.union(feature.levels)
    inside: list[str] = []
    for level in filter(wanted.__contains__, feature.levels):
        inside += [text for text in look_alikes(level) if text not in taken] if level in absent else [level]
    return inside


def alike(texts: tuple[str | None, ...], feature: Feature) -> tuple[str | None, ...]:
    """The cells that mean one of these `members`, for a target that compares texts as they come: look-alikes too."""
    codes = feature.codes_of_texts
    wanted = {codes[text] for text in texts if text is not None}
    return (*((None,) if None in texts else ()), *(text for text, code in codes.items() if code in wanted))


# Decisions -----------------------------------------------------------------------------------------------------------


def _label(decision: Decision, default: int, lowered: Mapping[Node, Node]) -> tuple[Node, Decision]:
    steps = tuple(lowered[root] for root in decision.roots)
    if decision.rule_sets:
        label = chain([(lowered[rules], Number(k)) for k, rules, _ in decision.ranked], Number(default))
    elif decision.ranked:
        classes, scores, thresholds = zip(*decision.ranked, strict=True)
        label = Largest(tuple(_number(lowered[score]) for score in scores), thresholds, classes, default)
    else:
        label = Count(steps) if decision.ordered else Choice(steps[0], ONE, ZERO)
    return label, decision.with_roots(steps)


def _above(score: Node, threshold: float) -> Node:
    return rg.Constant(score.value > threshold) if isinstance(score, Number) else Greater(score, Number(threshold))


def _number(node: Node) -> Node:
    return Choice(node, ONE, ZERO) if node.family is Family.BOOLEAN else node


def _equal(left: Node, right: Node) -> Node:
    return rg.And((rg.Not(Greater(left, right)), rg.Not(Greater(right, left))))


# Nodes ---------------------------------------------------------------------------------------------------------------


def _missing(node: rg.Missing, _: Mapping[Node, Node], schema: Schema) -> Node:
    feature = schema[node.feature]
    if feature.kind == "text":
        return rg.Contains(feature.name, (), True)
    return node if feature.kind != "categorical" else _membership(feature, (), True, False)


def _membership(feature: Feature, levels: tuple[str, ...], missing: bool, unseen: bool) -> Node:
    """Membership in a set; where levels never seen count, the contrary of membership in the rest."""
    if not (missing if feature.unseen == "missing" else unseen):
        return rg.Among(feature.name, levels, missing, False)
    wanted = set(levels)
    return rg.Not(
        rg.Among(feature.name, tuple(level for level in feature.levels if level not in wanted), not missing, False)
    )


def _level_points(node: rg.LevelPoints, _: Mapping[Node, Node], schema: Schema) -> Node:
    """The same where a level never seen means missing, too."""
    absent = schema[node.feature].unseen == "missing"
    return rg.LevelPoints(node.feature, node.points, node.missing, node.missing if absent else node.unseen)


def _column(node: rg.Column, _: Mapping[Node, Node], schema: Schema) -> Node:
    """Of a Boolean column only two values are there to clip and round."""
    if schema[node.feature].kind != "boolean":
        return node
    yes, no = (Number(cleaned(x, node)) for x in (1.0, 0.0))
    present = Choice(rg.Not(rg.IsTrue(node.feature, True)), no, Number(node.missing))
    return Choice(rg.IsTrue(node.feature), yes, present)


def cleaned(value: float, node: rg.Column) -> float:
    """A number as a Column takes it: clipped, then rounded half to even to a multiple of its step."""
    if math.isnan(value):
        return node.missing
    value = min(max(value, node.low), node.high)
    if node.step == 0.0:
        return value
    steps = value / node.step
    return (steps if abs(steps) >= 2.0**52 else float(round(steps))) * node.step


def _linear(node: rg.Linear | rg.LinearThreshold, lowered: Mapping[Node, Node], _: Schema) -> Node:
    """Weights times children, added to the bias; of a Boolean child the weight or nothing."""
    terms: list[Node] = [Number(node.bias)]
    for weight, child in zip(node.weights, node.children, strict=True):
        value = lowered[child]
        if value.family is Family.BOOLEAN:
            terms.append(Choice(value, Number(weight), ZERO))
        else:
            terms.append(value if weight == 1.0 else Arithmetic("*", Number(weight), value))
    return Sum(tuple(terms))


def _rescaled(node: rg.Rescaled, lowered: Mapping[Node, Node], _: Schema) -> Node:
    p = lowered[node.probability]
    part = Arithmetic("*", Number(node.odds), p)
    return Arithmetic("/", part, Arithmetic("+", Arithmetic("-", ONE, p), part))


def _difference(node: rg.Difference, lowered: Mapping[Node, Node], _: Schema) -> Node:
    more, less = lowered[node.more], lowered[node.less]
    return Choice(Greater(more, less), Arithmetic("-", more, less), ZERO)


def _sided(node: rg.Sided, lowered: Mapping[Node, Node], _: Schema) -> Node:
    p, above, below = lowered[node.probability], Number(node.above), Number(node.below)
    if isinstance(p, Number):
        return Choice(lowered[node.rule], Number(max(p.value, node.above)), Number(min(p.value, node.below)))
    return Choice(lowered[node.rule], Choice(Greater(p, above), p, above), Choice(Greater(p, below), below, p))


def _exponentials(node: Exponentials, lowered: Mapping[Node, Node], _: Schema) -> Node:
    none = ZERO if node.none is NOTHING else lowered[node.none]
    return Exponentials(none, tuple(lowered[strength] for strength in node.some))


def _circuit(circuit: Circuit, lowered: Mapping[Node, Node]) -> Node:
    """The arithmetic of a probability; the complement of a bit that is used nowhere else is one constant or another."""
    steps = circuit.steps
    used = Counter(i for step in steps for i in operands(step))
    algebra: Algebra[Node] = Algebra(
        lambda cause, on, off: Choice(lowered[cause], Number(on), Number(off)),
        Number,
        lambda a: Arithmetic("-", ONE, a),
        lambda a, b: Arithmetic("*", a, b),
        lambda a, b: Arithmetic("+", a, b),
    )
    values: list[Node] = []
    for step in steps:
        alone = isinstance(step, Complement) and used[step.a] == 1 and isinstance(steps[step.a], Bit | Given)
        if isinstance(step, Complement) and alone:
            condition, *numbers = values[step.a].children
            values.append(Choice(condition, *(Number(1.0 - n.value) for n in numbers if isinstance(n, Number))))
        else:
            values.append(algebra.step(step, values))
    return values[-1]


_RULES: dict[type[Node], Callable[[Any, Mapping[Node, Node], Schema], Node]] = {
    rg.Compare: lambda node, lowered, schema: RawCompare(
        node.feature, node.op, crossing(node.value, schema[node.feature].precision), node.missing
    ),
    rg.Among: lambda node, lowered, schema: _membership(schema[node.feature], node.levels, node.missing, node.unseen),
    rg.Missing: _missing,
    **dict.fromkeys(
        (rg.IsTrue, rg.Contains, rg.Constant, rg.Step, *LOGIC, rg.Logistic, Tails, Tail),
        lambda node, lowered, schema: with_children(node, [lowered[child] for child in node.children]),
    ),
    rg.LinearThreshold: lambda node, lowered, schema: rg.Not(Greater(ZERO, _linear(node, lowered, schema))),
    rg.Above: lambda node, lowered, schema: _above(lowered[node.score], node.threshold),
    rg.Strength: lambda node, lowered, schema: Sum(
        (ZERO, *(Choice(lowered[cause], Number(on), Number(off)) for cause, on, off in node.terms))
    ),
    rg.Column: _column,
    rg.LevelPoints: _level_points,
    rg.Linear: _linear,
    rg.Probability: lambda node, lowered, schema: _circuit(build_circuit(node.formula), lowered),
    Exponentials: _exponentials,
    rg.Rescaled: _rescaled,
    rg.Difference: _difference,
    rg.Sided: _sided,
}


def firing_steps(graph: RuleGraph, finish: Finish | None = None) -> dict[str, Node]:
    """By id of a rule, in the order of `rules_of`, a condition that holds where `rulekit.graph.rules.fired` says so.

    Raises Unsupported for a node that has no steps.
    """
    rules = {rule.id: (rg.Probability(rule.node) if rule.nested else rule.node) for rule in rules_of(graph)}
    given = () if finish is None else (finish,)
    lowered = lower_nodes(rules.values(), graph.schema, *given)
    random = {rule.id for rule in rules_of(graph) if rule.nested}
    return {key: _condition(lowered[node], key in random) for key, node in rules.items()}


def _condition(step: Node, random: bool) -> Node:
    """A truth value as it is; a probability where it is above 1/2, another number where it is not zero."""
    if step.family is Family.BOOLEAN:
        return step
    return Greater(step, Number(0.5)) if random else rg.Or((Greater(step, ZERO), Greater(ZERO, step)))
