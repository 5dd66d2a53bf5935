"""The strengths of hidden bits, fitted again to labelled rows while the conditions and the formula stay.

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
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Hidden, IsTrue, Node, topological, with_children
from rulekit.graph.probability.circuits import Algebra, Bit, CircuitStep, Complement, Mix, Product, build_circuit
from rulekit.limits import NO_LIMIT, Deadline, OutOfTime
from rulekit.numbers import probability_of, short_probability, strength_of
from rulekit.tables.table import Table

Floats = npt.NDArray[np.float64]

_LEAST = 1e-4
_MOST_STEPS = 200
_MOST_VALUES = 1 << 22  # of the steps of a circuit on rows that are worked on together


def bits_of(node: Node) -> tuple[Hidden, ...]:
    """The hidden bits below a node."""
    return tuple(part for part in topological([node]) if isinstance(part, Hidden))


def replaced(root: Node, other: Mapping[Node, Node]) -> Node:
    """The node with other nodes in the place of some below it."""
    made: dict[Node, Node] = {}
    for node in topological([root]):
        made[node] = other.get(node) or with_children(node, [made[child] for child in node.children])
    return made[root]


def refitted_bits(
    formula: Node,
    bits: Sequence[Hidden],
    table: Table,
    positive: npt.NDArray[np.bool_],
    weight: Floats | None = None,
    deadline: Deadline = NO_LIMIT,
) -> dict[Node, Node]:
    """For some bits of a random formula those of maximum likelihood on rows [n], with probabilities of four digits.

    A probability of 0 or 1 says that a bit never or surely fires, and stays; so do the bits that are not named. At the
    deadline the likeliest so far are taken.
    """
    holes = {bit: IsTrue(f"bit {i}") for i, bit in enumerate(bits)}
    template: dict[Node, Node] = {
        bit: Hidden(bit.name, hole, math.inf, strength_of(0.5)) for bit, hole in holes.items()
    }
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
        Hidden(bit.name, bit.cause, on if free[i, 0] else bit.on, off if free[i, 1] else bit.off)
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
    place: Mapping[IsTrue, int]
    causes: Sequence[Node]
    truths: Mapping[Node, npt.NDArray[np.bool_]]
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
            if isinstance(cause, IsTrue) and cause in self.place:
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
                case Bit(cause) if isinstance(cause, IsTrue) and cause in self.place:
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
    causes: Sequence[Node], table: Table, positive: npt.NDArray[np.bool_], weight: Floats | None
) -> tuple[dict[Node, npt.NDArray[np.bool_]], Floats, Floats]:
    """The distinct rows of truths, by cause, and the weight of the positive and of the negative rows of each."""
    values = evaluate_nodes(causes, table) if causes else {}
    rows = np.zeros((table.n_rows, 0), dtype=np.uint8)
    if causes:
        rows = np.packbits(np.stack([values[cause] for cause in causes], axis=1), axis=1)
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    weights = np.ones(table.n_rows) if weight is None else weight
    yes, no = (
        np.bincount(place.ravel(), weights * side, len(distinct)).astype(np.float64) for side in (positive, ~positive)
    )
    truths = np.unpackbits(distinct, axis=1, count=len(causes)).astype(bool) if causes else np.zeros((1, 0), bool)
    return {cause: truths[:, j] for j, cause in enumerate(causes)}, yes, no
