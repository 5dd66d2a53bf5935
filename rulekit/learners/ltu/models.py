"""A tree of units as a model: what it decides, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.nodes import FALSE, And, Hidden, Linear, Logistic, Node, Not, Or
from rulekit.learners.contract import Candidate, Frame, Question, Score
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.exact.parts import Seen
from rulekit.learners.ltu.exact.units import exact_units
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.rows import Rows
from rulekit.learners.ltu.settings import UnitSettings
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.units import Unit
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.numbers import short_probability, strength_of
from rulekit.schema import Schema
from rulekit.simplification.column_terms import join_terms
from rulekit.simplification.logic import degenerate_at_least
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import dead_terms, threshold_logic


def dnf_of_paths(shape: Shape, units: Sequence[Node]) -> Node:
    """The or of the conjunctions of all paths that are answered by yes; units [m]: any Boolean nodes.

    It is the network of three layers that a tree is (Sahami, "Creating Networks From LTU Trees"): its conjunctions are
    the second layer, one for each unit without a right child, and their or is the third. No two of them hold at once.
    """
    gates = []
    for signs in shape.gates:
        own = [units[k] if signs[k] > 0 else Not(units[k]) for k in np.flatnonzero(signs).tolist()]
        gates.append(own[0] if len(own) == 1 else And(own))
    return gates[0] if len(gates) == 1 else Or(gates)


def nested(shape: Shape, units: Sequence[Node]) -> Node:
    """(unit and what follows on the right) or (not unit and what follows on the left), from the root down.

    Where nothing follows on the right, "unit or what follows on the left" says the same, and is shorter.
    """
    below: list[Node] = list(units)
    for k in reversed(range(shape.size)):  # children come after their parents
        unit, left, right = units[k], int(shape.left[k]), int(shape.right[k])
        if right == NONE:
            below[k] = unit if left == NONE else Or([unit, below[left]])
        else:
            yes = And([unit, below[right]])
            below[k] = yes if left == NONE else Or([yes, And([Not(unit), below[left]])])
    return below[0]


def unit_node(unit: Unit, columns: Sequence[BinnedColumn], schema: Schema) -> Node:
    """The node of a unit: a condition, r of k, a disjunction that is no longer than the sum, or the sum.

    columns: of the problem. Each is what laws of simplification make of the sum, and decides as it does on every row.
    """
    node: Node = unit.node(columns)
    context = context_of(schema, [node])
    for law in (dead_terms, threshold_logic, degenerate_at_least, join_terms):
        node = law(node, context)
    return node


_GRID = 2.0**-10


@dataclass(frozen=True, slots=True, eq=False)
class UnitTree:
    """Says yes where the tree of units does.

    yes, no: the share of the positive class among the rows that each unit of `shape.yes` and of `shape.no` answers,
    with half a row of each class more than there is. precedence: the share of all rows that are answered by yes.
    nested: the rule is written as the tree is, else as its paths. compared: its log odds stand beside those of other
    classes, of which the largest decides. They are, of a single unit, its sum times the first number plus the second;
    of a tree those of the path that a row takes.
    """

    shape: Shape
    units: tuple[Unit, ...]
    yes: Floats
    no: Floats
    precedence: float
    nested: bool = True
    compared: tuple[float, float] | None = None

    @classmethod
    def of(cls, shape: Shape, units: Sequence[Unit], problem: Problem, nested: bool = True) -> UnitTree:
        """The tree with the shares of the rows of a problem."""
        n = len(problem.labels)
        at, answers = shape.ends(fires_of(units, problem.codes, n))
        weights = problem.weights * problem.weight_unit
        every, positive = (
            np.bincount(2 * at + answers, counted, 2 * shape.size).reshape(-1, 2)
            for counted in (weights, weights * (problem.labels == 1))
        )
        shares = (positive + 0.5) / (every + 1.0)
        right = float((positive[:, 1].sum() + 0.5) / (every[:, 1].sum() + 1.0))
        return cls(shape, tuple(units), shares[shape.yes, 1], shares[shape.no, 0], right, nested)

    @property
    def size(self) -> int:
        """The number of units."""
        return len(self.units)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes."""
        found = np.empty(n_rows, dtype=bool)
        for rows, part in codes.parts(n_rows):
            n = rows.stop - rows.start
            if self.compared is not None:
                found[rows] = self.log_odds(part, n) > 0.0
            else:
                found[rows] = self.shape.decides(fires_of(self.units, part, n))
        return found

    def log_odds(self, codes: Codes, n_rows: int) -> Floats:
        """What is compared [n]; see `compared`."""
        factor, added = self.compared or (1.0, 0.0)
        if self.size == 1:
            return np.asarray(factor * self.units[0].sums(codes, n_rows) + added)
        at, answers = self.shape.ends(fires_of(self.units, codes, n_rows))
        by_unit = np.zeros((2, self.size))
        by_unit[1, self.shape.yes], by_unit[0, self.shape.no] = _odds(self.yes), _odds(self.no)
        return np.asarray(by_unit[answers.astype(np.int64), at])

    def score(self, frame: Frame, prefix: str) -> Score:
        """The rule that decides, and a hidden bit for each path, of which a row takes one; or the sum to compare."""
        if self.compared is not None and self.size == 1:
            unit = self.units[0].node(frame.columns)
            total = Linear([(self.compared[0], Linear(unit.terms, unit.bias))], self.compared[1])
            return Score(total, probability=Logistic(total))
        nodes = [unit_node(unit, frame.columns, frame.schema) for unit in self.units]
        rule = (nested if self.nested else dnf_of_paths)(self.shape, nodes)
        silent = rule is FALSE
        if frame.unreported:
            return Score(rule, rule, silent=silent, precedence=self.precedence)
        paths = [*zip(self.shape.gates, self.yes, strict=True), *zip(self.shape.contrary_gates, self.no, strict=True)]
        if self.compared is not None:
            terms = [(float(_odds(np.array([share]))[0]), _path(gate.tolist(), nodes)) for gate, share in paths]
            total = Linear(terms, 0.0)
            return Score(total, probability=Logistic(total))
        bits = [
            Hidden(f"{prefix}{k}", _path(gate.tolist(), nodes), strength_of(short_probability(float(share))))
            for k, (gate, share) in enumerate(paths, start=1)
        ]
        return Score(Or(bits), rule, silent=silent, sided=frame.kind != "ranked", precedence=self.precedence)


def fires_of(units: Sequence[Unit], codes: Codes, n_rows: int) -> Bools:
    """Which units fire on which rows [n, m]."""
    return np.stack([unit.fires(codes, n_rows) for unit in units], axis=1)


def _odds(shares: Floats) -> Floats:
    """The logarithms of the odds of shares [n], on a grid."""
    return np.asarray(np.rint((np.log(shares) - np.log1p(-shares)) / _GRID) * _GRID)


def _path(gate: Sequence[int], nodes: Sequence[Node]) -> Node:
    """The conjunction of what a path asks of units."""
    parts = [node if sign > 0 else Not(node) for sign, node in zip(gate, nodes, strict=True) if sign]
    return parts[0] if len(parts) == 1 else And(parts)


def candidate_of(
    tree: LTUTree,
    question: Question,
    rows: Rows,
    said: Mapping[str, Any] | None = None,
    held_out: tuple[float, float] | None = None,
    before: Seen | None = None,
) -> Candidate:
    """A tree over standardised inputs as a candidate: its units exact, its errors those of the rows.

    before: what other rows had, that were learned from before these.
    """
    inputs: Inputs = question.plan
    settings: UnitSettings = question.settings
    weights, biases = inputs.unscaled(tree.weights, tree.biases)
    n = len(rows.labels)
    own = LTUTree(tree.shape, weights, biases)
    units = exact_units(own, inputs, rows.problem.codes, n, grid=settings.exact, before=before)
    model = UnitTree.of(tree.shape, units, rows.problem, settings.form == "nested")
    wrong = model.decides(rows.problem.codes, n) != (rows.labels == 1)
    error = float(rows.weights[wrong].sum()) * rows.problem.weight_unit
    return Candidate(model.size, error, error, model, said=said or {}, held_out=held_out)
