"""Models for the parity table that are large or deep.

Trees and layers of linear units, long additive models, noisy formulas for a table, a sum over states or a circuit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.parity_models import COLOUR, NUMBERS, SCHEMA
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Hidden,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, strength_of
from rulekit.schema import Schema


def _x(i: int, threshold: float, op: str = ">", missing: bool = False) -> Node:
    return Compare(f"x{i}", op, canonical_threshold(threshold, "float32"), missing)


def _bit(i: int, cause: Node, on: float, off: float = 0.0) -> Node:
    return Hidden(f"h{i}", cause, strength_of(on), strength_of(off))


def _unit(rng: np.random.Generator, width: int = 8) -> Node:
    """A linear unit over x0.. with weights in eighths and columns in sixty-fourths."""
    weights = rng.integers(-16, 17, width) / 8
    terms = [
        (float(w) or 0.125, Column(f"x{i}", float(rng.integers(-4, 5)) / 4, -4.0, 4.0, 2.0**-6))
        for i, w in enumerate(weights)
    ]
    return LinearThreshold(terms, float(rng.integers(-8, 9)) / 8)


def _unit_tree() -> RuleGraph:
    """A full tree of 15 linear units: the paths to positive leaves, as rules over the units."""
    rng = np.random.default_rng(23)
    units = [_unit(rng) for _ in range(15)]
    paths = []
    for leaf in range(16):
        if (leaf * 7) % 5 < 2:
            place, path = 0, []
            for depth in range(4):
                right = leaf >> (3 - depth) & 1
                path.append(units[place] if right else Not(units[place]))
                place = 2 * place + 1 + right
            paths.append(And(path))
    return RuleGraph(NUMBERS, (0, 1), Fires(Or(paths)))


def _majority_of_units() -> RuleGraph:
    """A Madaline: nine linear units, the majority decides; one more unit over units and truth values."""
    rng = np.random.default_rng(29)
    units = [_unit(rng, 5) for _ in range(9)]
    vote = AtLeast(5, units)
    second = LinearThreshold([(1.5, units[0]), (-2.0, units[1]), (0.75, IsTrue("flag")), (1.0, vote)], -0.5)
    return RuleGraph(NUMBERS, ("no", "yes"), Fires(Or((And((vote, second)), And((Missing("flag"), units[2]))))))


def _hundred_stumps() -> RuleGraph:
    rng = np.random.default_rng(31)
    weights = rng.integers(-4000, 4001, 100) / 2.0**12
    terms = [
        (float(w) or 1.0, _x(int(i), float(c)))
        for w, i, c in zip(weights, rng.integers(0, 8, 100), np.round(rng.normal(0, 2, 100), 2), strict=True)
    ]
    merged: dict[Node, float] = {}
    for weight, stump in terms:
        merged[stump] = merged.get(stump, 0.0) + weight
    score = Linear([(w, s) for s, w in merged.items() if w], 2.0**-13)
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, 0.0, "score"), (Logistic(score),))


def _sums_off_the_grid() -> RuleGraph:
    """Weights with all their bits: the order of the additions decides the last one."""
    rng = np.random.default_rng(37)
    terms: list[tuple[float, Node]] = [(float(w), _x(k % 8, k / 10 - 1.0)) for k, w in enumerate(rng.normal(0, 1, 24))]
    terms.append((float(rng.normal()), Step("x3", (-1.5, 0.25, 2.0), (0.1, -0.7, 1 / 3, 0.9), -0.2)))
    score = Linear(terms, 0.1)
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, 0.3, "score"), (Logistic(score),))


def _one_against_the_rest() -> RuleGraph:
    """Three additive scores on a grid with a threshold each; probabilities through the link."""
    rng = np.random.default_rng(41)
    scores = tuple(
        Linear(
            [(float(rng.integers(-64, 65)) / 32 or 1.0, _x(i, float(c))) for i, c in enumerate((-1.0, 0.1, 0.5, 2.0))],
            0.25,
        )
        for _ in range(3)
    )
    return RuleGraph(NUMBERS, ("a", "b", "c"), ArgMax(scores, (1.0, 1.5, -0.5), (1, 0, 2)), default=0)


def _forty_causes() -> RuleGraph:
    rng = np.random.default_rng(43)
    bits = [
        _bit(k, _x(k % 8, k / 4 - 5.0, "<=" if k % 3 == 0 else ">"), float(p))
        for k, p in enumerate(np.round(rng.uniform(0.02, 0.4, 40), 2))
    ]
    score = Probability(Or(bits))
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, strength_of(0.9), "log-complement"), (score,))


def _thirty_read_once() -> RuleGraph:
    """Ten products of three hidden bits over eight columns: too many cells for one table."""
    rng = np.random.default_rng(47)
    groups = []
    for g in range(10):
        causes = [_x((g + 3 * j) % 8, round(g / 3 - 1.5 + j / 7, 2), "<=" if j == 1 else ">", j == 2) for j in range(3)]
        groups.append(And([_bit(3 * g + j, c, float(rng.uniform(0.5, 0.99)), 0.02) for j, c in enumerate(causes)]))
    score = Probability(Or(groups))
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, 0.5), (score,))


def _clauses_that_share() -> RuleGraph:
    """Six clauses of four hidden bits of twelve: neither read-once nor a sum of independent parts."""
    rng = np.random.default_rng(53)
    bits = [_bit(k, _x(k % 8, round(k / 3 - 2.0, 2)), float(rng.uniform(0.6, 0.99)), 0.05) for k in range(12)]
    clauses = [And([bits[j] for j in sorted(rng.choice(12, 4, replace=False).tolist())]) for _ in range(6)]
    score = Probability(Or(clauses))
    return RuleGraph(NUMBERS, ("no", "yes"), Exceeds(score, 0.375), (score,))


def _every_kind_of_cause() -> RuleGraph:
    """Hidden bits of rules, counts, linear units and levels under conjunction, negation and a count of bits."""
    unit = LinearThreshold(
        [(1.0, IsTrue("member")), (-0.5, Compare("age", ">", 40.0)), (0.75, Missing("colour"))], -0.25
    )
    causes = (
        And((Compare("age", ">", 28.5), Among("colour", COLOUR[:2]))),
        AtLeast(2, (IsTrue("member"), Among("size", ("large",), unseen=True), Compare("capital gain", "<=", 5100.1))),
        unit,
        Not(Or((Among("code", ("1", "2")), Missing("age")))),
        Compare("account", ">", 16777217.0, True),
    )
    b = [_bit(k, c, 0.95 - k / 10, 0.04 * k) for k, c in enumerate(causes)]
    score = Probability(Or((And((b[0], Not(b[1]))), AtLeast(2, b[2:]))))
    return RuleGraph(SCHEMA, (0, 1), Exceeds(score, 0.25), (score,))


def _ranks_by_one_score() -> RuleGraph:
    """Five ordered classes, cut from one additive score."""
    score = Linear([(0.5 * (1 + i % 3), _x(i, 0.25 * i - 1.0)) for i in range(8)], 0.0)
    above = tuple(Exceeds(score, t, "score") for t in (0.75, 2.0, 3.5, 5.5))
    schema = Schema(NUMBERS.features, NUMBERS.target, ordered_classes=True)
    return RuleGraph(schema, (0, 1, 2, 3, 4), Median(above))


def _sixty_of_hundred() -> RuleGraph:
    """A count over a hundred literals, inside another count."""
    literals = [_x(k % 8, round(k / 8 - 6.0, 3), "<=" if k % 4 == 0 else ">", k % 5 == 0) for k in range(100)]
    inner = AtLeast(60, literals)
    return RuleGraph(NUMBERS, (0, 1), Fires(AtLeast(2, (inner, IsTrue("flag"), Not(literals[0]), literals[50]))))


NETWORK_MODELS: dict[str, Callable[[], RuleGraph]] = {
    "LTU tree of 15": _unit_tree,
    "Madaline of 9": _majority_of_units,
    "100 stumps": _hundred_stumps,
    "sums off the grid": _sums_off_the_grid,
    "3 classes, additive": _one_against_the_rest,
    "noisy-or of 40": _forty_causes,
    "30 bits, read once": _thirty_read_once,
    "12 shared bits": _clauses_that_share,
    "every kind of cause": _every_kind_of_cause,
    "5 ordered, one score": _ranks_by_one_score,
    "60 of 100 literals": _sixty_of_hundred,
}
