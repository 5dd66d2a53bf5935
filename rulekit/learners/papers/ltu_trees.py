"""The learner ltu-tree-paper: trees of units fitted one by one (M. Sahami, "The LTU Tree Algorithm", 1993).

A unit is fitted to the rows that come to it. Where too many of those on one of its sides are wrong, the unit has a
child on that side, which is fitted to them. Units are numbered level by level, so that a limit of units cuts the lowest
levels and not the right ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import And, Node, Not, Or
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Learning, Question
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.growing import tolerated
from rulekit.learners.ltu.inputs import DistinctRows, Inputs
from rulekit.learners.ltu.learner import UnitLearner, UnitSettings
from rulekit.learners.ltu.models import candidate_of, nested
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.papers.ltu_units import FitUnit, UnitKind, fit_of
from rulekit.learners.parameters import one_of, setting, whole
from rulekit.learners.sums_of_rows.information import information_gain


def grow_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    fit: FitUnit,
    rng: np.random.Generator,
    *,
    depth: int = 10,
    most_units: int | None = None,
    single: bool = False,
    check: Callable[[], None] = lambda: None,
) -> LTUTree:
    """The tree whose units are fitted to rows of inputs [n, d], labels [n] and positive weights [n].

    depth: the most units that a row comes to; most_units: of the whole tree. single: inner nodes ask for one input (P.
    E. Utgoff, Perceptron Trees, 1988): where a unit answers too many rows wrongly on one of its sides, they are parted
    instead at one value of one input, which leaves the least entropy of the labels. Weights count rows: a tolerance is
    of their sum. check: called before each unit, which may raise to stop.
    """
    left, right = list[int](), list[int]()
    fitted, biases = list[Floats](), list[float]()
    waiting = deque[tuple[Ints, int, bool, int]]([(np.arange(len(labels)), NONE, False, 1)])
    while waiting and (most_units is None or len(left) < most_units):
        rows, parent, on_right, level = waiting.popleft()
        check()
        own_inputs, own_labels, own_weights = inputs[rows], labels[rows], weights[rows]
        unit, bias = fit(own_inputs, own_labels, own_weights, rng)
        number = len(left)
        if parent != NONE:
            (right if on_right else left)[parent] = number
        fires = own_inputs @ unit + bias >= 0.0
        open_sides = [
            (side, answer)
            for side, answer in ((~fires, False), (fires, True))
            if side.any() and not tolerated(own_weights[side & (own_labels != answer)].sum(), own_weights[side].sum())
        ]
        if single:
            full = most_units is not None and number + len(waiting) + 3 > most_units
            found = None
            if open_sides and not full and level < depth:
                found = best_single(own_inputs, own_labels, own_weights)
            open_sides = []
            if found is not None:
                unit, bias = np.zeros(inputs.shape[1]), -found[1]
                unit[found[0]] = 1.0
                fires = own_inputs[:, found[0]] >= found[1]
                open_sides = [(~fires, False), (fires, True)]
        if level < depth:
            waiting += [(rows[side], number, answer, level + 1) for side, answer in open_sides]
        left.append(NONE)
        right.append(NONE)
        fitted.append(unit)
        biases.append(bias)
    return LTUTree(Shape.of(left, right), np.array(fitted), np.array(biases))


def best_single(inputs: Floats, labels: Bools, weights: Floats) -> tuple[int, float] | None:
    """The input and the value such that x >= value tells the most of the labels; None where all rows are equal.

    A value is one of a row: x >= value then parts rows as exactly as they are.
    """
    order = np.argsort(inputs, axis=0, kind="stable")
    values = np.take_along_axis(inputs, order, axis=0)
    by_class = np.stack([weights * ~labels, weights * labels], axis=-1)
    below = np.cumsum(by_class[order], axis=0)[:-1]  # [n - 1, d, 2]
    tables = np.stack([below, by_class.sum(axis=0) - below], axis=-2)
    gains = np.where(values[1:] > values[:-1], information_gain(tables), -1.0)
    if not gains.size or gains.max() < 0.0:
        return None
    place, column = np.unravel_index(int(gains.argmax()), gains.shape)
    return int(column), float(values[place + 1, column])


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


WRITTEN = {"nested": nested, "paths": dnf_of_paths}


@dataclass(frozen=True)
class PaperUnitSettings(UnitSettings):
    """What the learners of the paper share."""

    form: Literal["nested", "paths"] = setting(
        "nested", one_of(*WRITTEN), "how the rule is written: as the tree is, or as one rule for each path"
    )


@dataclass(frozen=True)
class PaperTreeSettings(PaperUnitSettings):
    """How a tree grows, and how its units are fitted."""

    node: UnitKind = setting(
        "backprop",
        one_of("backprop", "perceptron", "logistic", "naive-bayes", "best"),
        "how a unit is fitted: by back-propagation, as a perceptron, by logistic regression, naive Bayes, or the best",
    )
    inner: Literal["units", "single"] = setting(
        "units", one_of("units", "single"), "single: units stand at the ends alone, and single conditions before them"
    )
    max_nodes: int = setting(40, whole(1, 1000), "most units of a class")
    max_depth: int = setting(10, whole(1, 100), "most units that a row comes to")
    n_epochs: int = setting(5, whole(1), "times that back-propagation and perceptrons see each row")


class PaperLTUTreeClassifier(RuleClassifier, UnitLearner):
    """A tree of linear threshold units, each fitted by itself, as in Sahami's paper.

    A side of a unit on which too many rows are wrong has a unit of its own, with the paper's tolerances: a quarter of
    up to 25 rows, 12 % of up to 100, else 6 %. No unit is pruned and no weight left out.
    """

    word = "ltu-tree-paper"
    settings = PaperTreeSettings
    size_parameter = "max_nodes"

    def _inputs_of(self, problem: Problem, settings: PaperTreeSettings) -> Inputs:
        """Numbers standardised, conditions as 0 and 1."""
        return Inputs.of(problem, only_numbers=True)

    def learn(self, question: Question) -> Learning:
        """The whole tree alone."""
        settings: PaperTreeSettings = question.settings
        rows = DistinctRows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        tree = grow_tree(
            *(rows.inputs, rows.labels == 1, rows.in_rows, fit_of(settings.node, int(settings.n_epochs))),
            np.random.default_rng((question.seed, question.index)),
            depth=int(settings.max_depth),
            most_units=int(settings.max_nodes),
            single=settings.inner == "single",
            check=question.watch.check,
        )
        if len(tree.live):  # else it says the same of all rows
            yield candidate_of(tree, question, rows, written=WRITTEN[settings.form])
        return None
