"""Refitting: the reported probability learned anew from rows, while every decision stays as it is.

The probability of a formula is linear in the probability of each of its bits (they are independent), so that its
derivatives by all of them come from one walk back through its circuit. Rows with the same truths of all causes are one
row with two weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, distinct_rows
from rulekit.audit.figures.metrics import Figures, measured
from rulekit.errors import InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.model_parts import on_the_side_of_the_label
from rulekit.graph.nodes import Family, Node, fold, topological, with_children
from rulekit.graph.probability.circuits import Algebra, Bit, CircuitStep, Complement, Mix, Product, build_circuit
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import inner_sum
from rulekit.graph.variants import with_overrides
from rulekit.learners.models.integer_points import Links, calibrated, smoothed_counts
from rulekit.limits import NO_LIMIT, Deadline, OutOfTime
from rulekit.numbers import probability_of, short_probability, strength_of
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.equal_rows import data_hash
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.table import Table
from rulekit.work.evaluating import labelled_rows

_STEPS = 20
_NEVER = 1e-6
"""The probability up to which a row says nothing of a class."""


@dataclass(frozen=True, slots=True, eq=False)
class Refitted:
    """The model with the new probabilities, its figures on the rows before and after, and what was noticed.

    sided: the probability is now held on the side of the label, which it could not contradict before by its making.
    """

    model: RuleGraph
    before: Figures
    after: Figures
    sided: bool
    notes: tuple[str, ...] = ()


def refit(
    model: Path,
    data: Path,
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
) -> Refitted:
    """Fit the probability that a model reports to the labelled rows of a file; written where `output` says.

    The decision is the same, bit for bit, and the probability never contradicts it. Statistics are those of these rows.
    Of a score card the scale and the offset are fitted. At the deadline the best probabilities so far are taken, with a
    note. Raises InputError where the model reports no probability of hidden bits and no card.
    """
    check_outputs([], data, model=output)
    graph = load(model)
    found = labelled_rows(graph, data, reading)
    refitted = refitted_to(graph, found.rows, deadline)
    if output is not None:
        refitted.save(output)
    before, after = (measured(one, found.rows) for one in (graph, refitted))
    now, once = (one.underlying.probability[0] for one in (refitted, graph))
    sided = isinstance(now, rg.Sided) and not isinstance(once, rg.Sided)
    late = (f"the probabilities are the best so far: {deadline.reason}",) if deadline.over else ()
    return Refitted(refitted, before, after, sided, (*found.notes, *late))


def refitted_to(graph: RuleGraph, rows: LabelledTable, deadline: Deadline = NO_LIMIT) -> RuleGraph:
    """The model with the probabilities of maximum likelihood on the rows; raises InputError as `refit`.

    Where the rows are reported no better, the old probabilities stay.
    """
    if graph.overrides:
        other = with_overrides(refitted_to(graph.underlying, rows, deadline), graph.overrides)
        return other.with_(statistics=rule_statistics(other, rows.table, rows.y, rows.weight))
    other = _reported_anew(graph, rows, deadline)
    statistics = rule_statistics(other, rows.table, rows.y, rows.weight)
    note = {"data": data_hash(rows), "rows": len(rows)}
    provenance = {**graph.provenance, "refitted": note}
    return other.with_(statistics=statistics, provenance=provenance)


def with_chances(graph: RuleGraph, rows: LabelledTable, deadline: Deadline = NO_LIMIT) -> RuleGraph:
    """The model with the probabilities fitted to those of a teacher, `rows.chances`; as it is where they decide.

    A row counts once for each class, by the teacher's probability of it.
    """
    n, k = len(rows), len(rows.classes)
    assert rows.chances is not None
    weight = (rows.chances.T * (1.0 if rows.weight is None else rows.weight)).ravel()
    table = rows.table.select(graph.used_features).take(np.tile(np.arange(n), k))
    soft = LabelledTable(table, np.repeat(np.arange(k), n), rows.classes, weight, target=rows.target)
    with suppress(InputError):
        return _reported_anew(graph, soft.take(weight > _NEVER), deadline)
    return graph


def _reported_anew(graph: RuleGraph, rows: LabelledTable, deadline: Deadline) -> RuleGraph:
    reported = []
    for place, (k, formula) in enumerate(formulas_reported(graph, (rg.Probability, rg.Logistic)).items()):
        if isinstance(formula, rg.Linear):
            reported.append(on_the_side_of_the_label(graph, _calibrated(formula, rows, rows.y == k), place))
            continue
        bits = bits_of(formula)
        fitted = refitted_bits(formula, bits, rows.table, rows.y == k, rows.weight, deadline)
        deciding = {part.name for root in graph.decision.roots for part in bits_of(root)}
        if any(bit.name in deciding for bit in bits):  # bits of one name are one bit, and those that decide stay
            taken = deciding | {bit.name for bit in bits}
            fitted = {bit: _renamed(made, taken) for bit, made in fitted.items() if isinstance(made, rg.Hidden)}
        reported.append(on_the_side_of_the_label(graph, rg.Probability(replaced(formula, fitted)), place))
    other = graph.with_(probability=tuple(reported))
    worse = measured(other, rows).log_loss >= measured(graph, rows).log_loss
    return graph if worse and _agrees(graph, rows) else other


def _calibrated(total: rg.Linear, rows: LabelledTable, positive: Bools) -> rg.Logistic:
    """The logistic of the points, scale and offset fitted to rows [n]; where these contradict it, the offset alone."""
    points = inner_sum(total)
    worth, place = np.unique(evaluate_nodes([points], rows.table)[points], return_inverse=True)
    weight = np.ones(len(place)) if rows.weight is None else rows.weight
    counts = np.stack([np.bincount(place, weight * (positive == label), len(worth)) for label in (False, True)], axis=1)
    begun = Links.single(total.terms[0][0] if points is not total else 1.0, 0.0)
    seen = smoothed_counts(counts.astype(np.float64))[None]
    found = calibrated(seen, worth, begun, _STEPS)
    scale, offset, _ = (found if found.scale[0] > 0 else calibrated(seen, worth, begun, _STEPS, fixed=True)).at(0)
    return rg.Logistic(rg.Linear([(float(f"{scale:.4g}"), points)], float(f"{offset:.4g}")))


def formulas_reported(graph: RuleGraph, kinds: tuple[type, ...] = (rg.Probability,)) -> dict[int, Node]:
    """By class index the random formula, or the sum, of each reported probability of some kinds.

    Raises InputError without any.
    """
    if not isinstance(graph.decision, Fires) and not graph.decision.rule_sets:
        what = "the probabilities of several classes decide which class it is, so they cannot change alone"
        raise InputError(what, fix="train anew, with --start to keep the rules")
    found = []
    for node in graph.probability or (None,):
        while isinstance(node, rg.Sided | rg.Rescaled):
            node = node.probability
        inner = node.children[0] if node is not None and isinstance(node, kinds) else None
        beside = isinstance(inner, rg.Linear) and all(
            inner_sum(inner) is not part.score for part in graph.decision.parts
        )
        if inner is None or not (beside or inner.family is Family.RANDOM):
            why = "this model reports no probability of its own that could be fitted"
            raise InputError(why, fix="a model of the learners rules and cnll does")
        found.append(inner)
    first = len(graph.classes) - len(found)  # of two classes the positive one is reported
    return dict(enumerate(found, start=first))


def _renamed(bit: rg.Hidden, taken: set[str]) -> rg.Hidden:
    name = next(new for number in count(2) if (new := f"{bit.name}.{number}") not in taken)
    return rg.Hidden(name, bit.cause, bit.on, bit.off)


def _agrees(graph: RuleGraph, rows: LabelledTable) -> bool:
    """Whether label and probability point the same way on all rows."""
    shares, decided = probabilities(graph, rows.table), decide(graph, rows.table)
    if len(graph.classes) > 2:
        return bool((shares.argmax(axis=1) == decided).all())
    chances: Floats = shares[:, 1]
    return bool(((chances > float(graph.provenance.get("threshold", 0.5))) == (decided == 1)).all())


_LEAST = 1e-4
_MOST_STEPS = 200
_MOST_VALUES = 1 << 22  # of the steps of a circuit on rows that are worked on together


def bits_of(node: Node) -> tuple[rg.Hidden, ...]:
    """The hidden bits below a node."""
    return tuple(part for part in topological([node]) if isinstance(part, rg.Hidden))


def replaced(root: Node, other: Mapping[Node, Node]) -> Node:
    """The node with other nodes in the place of some below it."""
    return fold([root], lambda node, children: other.get(node) or with_children(node, children))[root]


def refitted_bits(
    formula: Node,
    bits: Sequence[rg.Hidden],
    table: Table,
    positive: Bools,
    weight: Floats | None = None,
    deadline: Deadline = NO_LIMIT,
) -> dict[Node, Node]:
    """For some bits of a random formula those of maximum likelihood on rows [n], with probabilities of four digits.

    A probability of 0 or 1 says that a bit never or surely fires, and stays; so do the bits that are not named. At the
    deadline the likeliest so far are taken.
    """
    holes = {bit: rg.IsTrue(f"bit {i}") for i, bit in enumerate(bits)}
    half = strength_of(0.5)
    template: dict[Node, Node] = {bit: rg.Hidden(bit.name, hole, math.inf, half) for bit, hole in holes.items()}
    place = {hole: i for i, hole in enumerate(holes.values())}
    steps = build_circuit(replaced(formula, template)).steps
    causes = [bit.cause for bit in bits]
    read = list(dict.fromkeys([*causes, *(c for c in build_circuit(formula).causes)]))
    rows = _FormulaRows(steps, place, causes, *_distinct(read, table, positive, weight))

    values = np.array([[probability_of(bit.on), probability_of(bit.off)] for bit in bits])
    free = (values > 0) & (values < 1)

    best, turns = (math.inf, values[free]), count()

    def loss(point: Floats) -> tuple[float, Floats]:
        nonlocal best
        deadline.check()
        deadline.tell("the likeliest probabilities", next(turns) / _MOST_STEPS)
        values[free] = point
        found, slope = rows.loss(values)
        best = min(best, (found, point.copy()), key=itemgetter(0))
        return found, slope[free]

    if free.any():
        from scipy.optimize import minimize

        first = np.clip(values[free], _LEAST, 1 - _LEAST)
        bounds = [(_LEAST, 1 - _LEAST)] * int(free.sum())
        options = {"maxiter": _MOST_STEPS}
        with suppress(OutOfTime):
            best = 0.0, minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        values[free] = best[1]
    strengths = [[strength_of(short_probability(float(p))) for p in pair] for pair in values]
    fitted = [
        rg.Hidden(bit.name, bit.cause, on if free[i, 0] else bit.on, off if free[i, 1] else bit.off)
        for i, (bit, (on, off)) in enumerate(zip(bits, strengths, strict=True))
    ]
    return dict(zip(bits, fitted, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _FormulaRows:
    """A formula over distinct rows, some of whose bits have probabilities that are sought.

    place: by the leaf that stands for a bit in the circuit, which bit it is; causes: of each bit; truths: by cause
    [rows]; yes, no [rows]: the weight of the positive and of the negative rows.
    """

    steps: Sequence[CircuitStep]
    place: Mapping[rg.IsTrue, int]
    causes: Sequence[Node]
    truths: Mapping[Node, Bools]
    yes: Floats
    no: Floats

    def loss(self, values: Floats) -> tuple[float, Floats]:
        """The mean of the negative log likelihood, and its slope by the probabilities [bits, 2] of where a cause holds
        and where not.
        """
        total, found, slope = float(self.yes.sum() + self.no.sum()), 0.0, np.zeros_like(values)
        together = max(1, _MOST_VALUES // len(self.steps))
        for start in range(0, len(self.yes), together):
            rows = slice(start, start + together)
            yes, no = self.yes[rows], self.no[rows]
            truths = np.array([self.truths[cause][rows] for cause in self.causes])
            formula, by_bit = self._formula(np.where(truths, values[:, :1], values[:, 1:]), rows)
            p = np.clip(formula, 1e-9, 1 - 1e-9)
            by_bit *= (no / (1 - p) - yes / p) / total
            slope += np.stack([(by_bit * truths).sum(axis=1), (by_bit * ~truths).sum(axis=1)], axis=1)
            found -= float((yes * np.log(p) + no * np.log(1 - p)).sum())
        return found / total, slope

    def _formula(self, fired: Floats, rows: slice) -> tuple[Floats, Floats]:
        """From the probabilities of the bits [bits, rows] that of the formula [rows], and its slope by each of them."""

        def choose(cause: Node, on: float, off: float) -> Floats:
            if isinstance(cause, rg.IsTrue) and cause in self.place:
                return np.asarray(fired[self.place[cause]])
            return np.where(self.truths[cause][rows], on, off)

        algebra = Algebra(choose, lambda value: np.full(fired.shape[1], value))
        made: list[Floats] = []
        for step in self.steps:
            made.append(algebra.step(step, made))
        by_step: list[Any] = [0.0] * len(made)
        by_step[-1], by_bit = np.ones(fired.shape[1]), np.zeros_like(fired)
        for step in reversed(self.steps):
            own = by_step.pop()
            match step:
                case Bit(cause) if isinstance(cause, rg.IsTrue) and cause in self.place:
                    by_bit[self.place[cause]] += own
                case Complement(a):
                    by_step[a] = by_step[a] - own
                case Product(a, b):
                    by_step[a], by_step[b] = by_step[a] + own * made[b], by_step[b] + own * made[a]
                case Mix(p, high, low):
                    by_step[p] = by_step[p] + own * (made[high] - made[low])
                    by_step[high] = by_step[high] + own * made[p]
                    by_step[low] = by_step[low] + own * (1.0 - made[p])
        return made[-1], by_bit


def _distinct(
    causes: Sequence[Node], table: Table, positive: Bools, weight: Floats | None
) -> tuple[dict[Node, Bools], Floats, Floats]:
    """The distinct rows of truths, by cause, and the weight of the positive and of the negative rows of each."""
    values = evaluate_nodes(causes, table) if causes else {}
    truths = np.array([values[cause] for cause in causes], dtype=bool).reshape(len(causes), table.n_rows).T
    first, place = distinct_rows(truths)
    weights = np.ones(table.n_rows) if weight is None else weight
    yes, no = (np.bincount(place, weights * side, len(first)).astype(np.float64) for side in (positive, ~positive))
    return {cause: truths[first, j] for j, cause in enumerate(causes)}, yes, no
