"""What a decision means: for each class the Boolean function of cells that says when the label is that class.

The nodes of a graph and of an artifact are lowered by the same rules into the same forms (`forms`) and sums
(`rulekit.cells.sums`), so that what is computed in the same way, or in another order that IEEE 754 shows to be the
same, is the same form: sums that are exact in any order are rational sums, a rounded operation is an atom named by its
operands, and an operation on numbers that hang on one column or one truth value is carried out for each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.space import CellSpace
from rulekit.cells.sums import CellSum, add, add_all, atom, number, table
from rulekit.errors import GraphError
from rulekit.exactness import Span, span_of_term
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.probability.circuits import Algebra, Circuit, build_circuit, fold_circuit, inputs, is_count
from rulekit.graph.probability.exponentials import Exponentials, Tail
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.forms import FALSE, TRUE
from rulekit.logic.roundings import ONE, ZERO, Roundings
from rulekit.program.nodes import ARTIFACT_LEAVES, Arithmetic, Choice, Greater, Labels, Lookup, Number
from rulekit.program.nodes import Sum as AddedUp


class Meaning:
    """Lowers nodes over one space; raises GraphError for a node that it does not know, BudgetError beyond a bound."""

    def __init__(self, space: CellSpace, deadline: Deadline = NO_LIMIT) -> None:
        self.space = space
        self.numbers = Roundings(space, deadline)
        self.forms = self.numbers.forms
        self._axis = {axis.feature.name: j for j, axis in enumerate(space.axes)}
        self._truths: dict[Node, int] = {}
        self._sums: dict[Node, CellSum] = {}
        self._tails: dict[tuple[CellSum, ...], list[CellSum]] = {}

    def reported(self, graph: RuleGraph, labels: Sequence[int] = ()) -> list[CellSum] | None:
        """The probabilities that a graph reports, by class; labels: its edges, if known. None where they are shares."""
        if not graph.probability:
            edges = labels or self.labels(graph.decision, graph.default, len(graph.classes))
            return [self.numbers.of_truth(edge) for edge in edges]
        if len(graph.probability) > 1:
            return None
        positive = self.sum(graph.reported[0])
        return [self.numbers.minus(ONE, positive), positive]

    def is_same(self, decision: Decision | Labels, default: int, other: Decision | Labels, others: int) -> bool:
        """Whether two decisions are arg-maxes of the same numbers with the same default; no pair is compared."""
        rankings = [self._ranking(one, of_none) for one, of_none in ((decision, default), (other, others))]
        return bool(rankings[0]) and rankings[0] == rankings[1]

    def labels(self, decision: Decision | Labels, default: int, classes: int) -> tuple[int, ...]:
        """For each class the edge of "the label is this class"."""
        if ranking := self._ranking(decision, default):
            return self._wins(*ranking)
        if isinstance(decision, Labels):
            return tuple(self.truth(formula) for formula in decision.formulas)
        edges = [self.truth(node) for node in decision.roots]
        if len(edges) == 1:
            return edges[0] ^ 1, edges[0]
        above = ZERO
        for edge in edges:
            above = add(above, self.numbers.of_truth(edge))
        at_least = [TRUE, *(self.numbers.above(above, number(k - 1)) for k in range(1, classes)), FALSE]
        return tuple(self.forms.conjunction((at_least[k], at_least[k + 1] ^ 1)) for k in range(classes))

    def _ranking(self, decision: Decision | Labels, default: int) -> tuple[Any, ...]:
        """The classes of an arg-max in its order, their scores, whether they take part, and its default; else ()."""
        if isinstance(decision, Labels) or not decision.ranked:
            return ()
        classes, nodes, thresholds = zip(*decision.ranked, strict=True)
        scores = [self.sum(score) for score in nodes]
        limits = [self.numbers.constant(threshold) for threshold in thresholds]
        return classes, scores, [*map(self.numbers.above, scores, limits)], default

    def _wins(
        self, classes: Sequence[int], scores: Sequence[CellSum], takes_part: Sequence[int], default: int
    ) -> tuple[int, ...]:
        """By class: its score takes part and is above each other that does, of equal ones the first in order."""
        above = cache(lambda i, j: self.numbers.above(scores[i], scores[j]))  # each pair is asked for from both sides
        wins = [FALSE] * len(scores)
        for i, k in enumerate(classes):
            beats = [takes_part[i]]
            for j, other in enumerate(takes_part):
                if j != i:
                    beats.append(self.forms.disjunction((other ^ 1, above(i, j) if j < i else above(j, i) ^ 1)))
            wins[k] = self.forms.conjunction(beats)
        nobody = self.forms.conjunction([edge ^ 1 for edge in takes_part])
        wins[default] = self.forms.disjunction((wins[default], nobody))
        return tuple(wins)

    # Nodes ---------------------------------------------------------------------------------------------------------

    def truth(self, node: Node) -> int:
        """The edge of a Boolean node."""
        self._lower(node)
        return self._truths[node]

    def sum(self, node: Node) -> CellSum:
        """The number of a Real or Probability node, a Boolean node as 0 and 1."""
        self._lower(node)
        return self.numbers.of_truth(self._truths[node]) if node in self._truths else self._sums[node]

    def _lower(self, root: Node) -> None:
        for node in topological((root,), lambda node: () if self._knows(node) else _read(node)):
            if not self._knows(node):
                self._lower_one(node)

    def _knows(self, node: Node) -> bool:
        return node in self._truths or node in self._sums

    def _lower_one(self, node: Node) -> None:
        if isinstance(node, ARTIFACT_LEAVES):
            axis = self._axis[node.feature]
            truth_of_cells = self.space.axes[axis].readings[node].tolist()
            mask = sum(1 << cell for cell, holds in enumerate(truth_of_cells) if holds)
            self._truths[node] = self.forms.literal(axis, mask)
        elif type(node) in _TRUTHS and node.family is Family.BOOLEAN:
            self._truths[node] = _TRUTHS[type(node)](self, node)
        elif type(node) in _SUMS:
            self._sums[node] = _SUMS[type(node)](self, node)
        else:
            raise GraphError(f"{type(node).__name__} ({node.family.value}) has no value for a row")

    def edges(self, nodes: Iterable[Node]) -> list[int]:
        return [self._truths[node] for node in nodes]

    def linear(self, weights: Sequence[float], children: Sequence[Node], bias: float) -> CellSum:
        """Bias + sum of weight * child, in double from left to right."""
        products = (
            self.numbers.times(number(weight), self.sum(child)) for weight, child in zip(weights, children, strict=True)
        )
        return self.numbers.total((number(bias), *products))

    def by_cell(self, node: rg.Column | rg.Step | rg.LevelPoints) -> CellSum:
        """The numbers of a node by the cells of its column."""
        axis = self._axis[node.feature]
        return table(axis, np.asarray(self.space.axes[axis].readings[node]).tolist())

    def column(self, node: rg.Column) -> CellSum:
        """A table over the cells where the column takes few values, else an atom, on a grid where it is rounded."""
        if node in self.space.axes[self._axis[node.feature]].readings:
            return self.by_cell(node)
        span = span_of_term(node)
        size = Span.of(node.low, node.high, node.missing).size if span is None else span.size
        name = self.numbers.name(("column", node), size)
        if span is not None:
            self.numbers.known[name] = span
        return atom(name)

    def circuit(self, circuit: Circuit) -> CellSum:
        """The steps of a probability, each with its roundings."""
        numbers = self.numbers
        algebra = Algebra(
            lambda cause, on, off: numbers.choose(self._truths[cause], number(on), number(off)),
            number,
            lambda a: numbers.minus(ONE, a),
            numbers.times,
            numbers.plus,
        )
        return fold_circuit(circuit.steps, algebra)

    def tails(self, parts: tuple[CellSum, ...], k: int) -> CellSum:
        """The probability that at least k of several events happen, each step with its roundings, the last one first.

        The counts of the same events are worked out together: once up to the first that is asked for, then all.
        """
        known = self._tails.get(parts)
        if known is None or k >= len(known):
            most = k if known is None else len(parts)
            numbers, known = self.numbers, [ONE, *[ZERO] * most]
            for i, chance in enumerate(reversed(parts), start=1):
                rest = numbers.minus(ONE, chance)
                for j in range(min(i, most), 0, -1):
                    known[j] = numbers.plus(numbers.times(chance, known[j - 1]), numbers.times(rest, known[j]))
            self._tails[parts] = known
        return known[k]

    # Array -------------------------------------------------------------------------------------------------------

    def lookup(self, node: Lookup) -> CellSum:
        index = self.sum(node.children[0])
        if index.fixed:
            place = int(index.constant)
            return self.numbers.constant(node.values[place]) if 0 <= place < len(node.values) else ZERO
        values = node.values

        finite = all(map(math.isfinite, values))
        padded = np.array([*values, 0.0])  # what is out of range is 0

        def value(places: Array) -> Array:
            inside = (places >= 0) & (places < len(values))
            return padded[np.where(inside, places, len(values)).astype(np.int64)]

        found = self.numbers.tabulated(value, index) if finite else None
        bound = Fraction(max(map(abs, values), default=0.0)) if finite else None
        return found or atom(self.numbers.name(("lookup", node.values, index), bound))


def _read(node: Node) -> tuple[Node, ...]:
    return node.tails.children if isinstance(node, Tail) else inputs(node)


def _strength(meaning: Meaning, node: rg.Strength) -> CellSum:
    numbers = meaning.numbers
    return numbers.total(
        numbers.choose(meaning.truth(cause), numbers.constant(on), numbers.constant(off))
        for cause, on, off in node.terms
    )


def _probability(meaning: Meaning, node: rg.Probability) -> CellSum:
    formula = node.formula
    if is_count(formula):
        parts = (meaning.circuit(build_circuit(part)) for part in formula.children)
        return meaning.tails(tuple(parts), formula.k)  # type: ignore[attr-defined]
    return meaning.circuit(build_circuit(formula))


def _rescaled(meaning: Meaning, node: rg.Rescaled) -> CellSum:
    numbers, p = meaning.numbers, meaning.sum(node.probability)
    part = numbers.times(numbers.constant(node.odds), p)
    return numbers.over(part, numbers.plus(numbers.minus(ONE, p), part))


def _difference(meaning: Meaning, node: rg.Difference) -> CellSum:
    numbers, more, less = meaning.numbers, meaning.sum(node.more), meaning.sum(node.less)
    return numbers.choose(numbers.above(more, less), numbers.minus(more, less), ZERO)


def _sided(meaning: Meaning, node: rg.Sided) -> CellSum:
    numbers, p = meaning.numbers, meaning.sum(node.probability)
    above, below = numbers.constant(node.above), numbers.constant(node.below)
    raised = numbers.choose(numbers.above(p, above), p, above)
    lowered = numbers.choose(numbers.above(p, below), below, p)
    return numbers.choose(meaning.truth(node.rule), raised, lowered)


def _arithmetic(meaning: Meaning, node: Arithmetic) -> CellSum:
    left, right = (meaning.sum(child) for child in node.children)
    if node.operator == "*":
        return meaning.numbers.times(left, right)
    if node.operator == "/":
        return meaning.numbers.over(left, right)
    return (meaning.numbers.plus if node.operator == "+" else meaning.numbers.minus)(left, right)


_TRUTHS: dict[type[Node], Callable[[Meaning, Any], int]] = {
    rg.Constant: lambda meaning, node: TRUE if node.value else FALSE,
    rg.Not: lambda meaning, node: meaning.truth(node.children[0]) ^ 1,
    rg.And: lambda meaning, node: meaning.forms.conjunction(meaning.edges(node.children)),
    rg.Or: lambda meaning, node: meaning.forms.disjunction(meaning.edges(node.children)),
    rg.AtLeast: lambda meaning, node: meaning.numbers.above(
        add_all([ZERO, *map(meaning.numbers.of_truth, meaning.edges(node.children))]), number(node.k - 1)
    ),
    rg.Odd: lambda meaning, node: meaning.forms.odd(meaning.edges(node.children)),
    rg.LinearThreshold: lambda meaning, node: meaning.numbers.at_least_zero(
        meaning.linear(node.weights, node.children, node.bias)
    ),
    rg.Above: lambda meaning, node: meaning.numbers.above(
        meaning.sum(node.score), meaning.numbers.constant(node.threshold)
    ),
    Greater: lambda meaning, node: meaning.numbers.above(*(meaning.sum(child) for child in node.children)),
}

_SUMS: dict[type[Node], Callable[[Meaning, Any], CellSum]] = {
    rg.Column: Meaning.column,
    rg.Step: Meaning.by_cell,
    rg.LevelPoints: Meaning.by_cell,
    rg.Linear: lambda meaning, node: meaning.linear(node.weights, node.children, node.bias),
    rg.Strength: _strength,
    rg.Probability: _probability,
    rg.Logistic: lambda meaning, node: atom(
        meaning.numbers.name(("logistic", meaning.sum(node.children[0])), Fraction(1))
    ),
    Exponentials: lambda meaning, node: atom(
        meaning.numbers.name(("exponentials", *map(meaning.sum, node.children)), Fraction(1))
    ),
    Tail: lambda meaning, node: meaning.tails(tuple(map(meaning.sum, node.tails.parts)), node.k),
    rg.Rescaled: _rescaled,
    rg.Difference: _difference,
    rg.Sided: _sided,
    Number: lambda meaning, node: meaning.numbers.constant(node.value),
    Choice: lambda meaning, node: meaning.numbers.choose(
        meaning.truth(node.children[0]), meaning.sum(node.children[1]), meaning.sum(node.children[2])
    ),
    Arithmetic: _arithmetic,
    AddedUp: lambda meaning, node: meaning.numbers.total(map(meaning.sum, node.children)),
    Lookup: Meaning.lookup,
}
