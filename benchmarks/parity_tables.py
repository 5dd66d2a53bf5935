"""Models for the parity table over tables of special shapes.

Wide tables, doubles throughout, truth values alone, dates, whole numbers beyond 2^24, categories of hundreds of levels,
labels of every kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rulekit.graph.decisions import ArgMax, Exceeds, Fires
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
from rulekit.schema import Feature, Schema

WIDE = Schema(tuple(Feature(f"w{i}") for i in range(240)), target="y")
DOUBLES = Schema(tuple(Feature(f"d{i}", precision="float64") for i in range(6)), target="y")
FLAGS = Schema(tuple(Feature(f"b{i}", "boolean") for i in range(12)), target="y")

MOMENTS = Schema(
    (
        Feature("born", precision="float64", display="date"),
        Feature("seen", precision="float64", display="datetime"),
        Feature("paid", precision="float64", display="money", unit="EUR"),
        Feature("visits", display="integer"),
    ),
    target="kept",
)

ACCOUNTS = Schema(
    (
        Feature("number", precision="float64", display="integer"),
        Feature("narrow", display="integer"),
        Feature("other", precision="float64", display="integer"),
    ),
    target="y",
)

CITIES = tuple(f"city {i:03}" for i in range(320))
PLACES = Schema(
    (
        Feature("city", "categorical", CITIES, missing_tokens=("-", "n/a")),
        Feature("zip", "categorical", tuple(str(i) for i in range(10_000, 10_090))),
        Feature("colour", "categorical", ("red", "green", "blue"), unseen="missing"),
        Feature("bought", "categorical", ("true", "false")),
        Feature("rank", "categorical", ("low", "mid", "high"), ordered=True),
    ),
    target="kind",
)


def _above(feature: str, threshold: float, op: str = ">", missing: bool = False) -> Node:
    return Compare(feature, op, canonical_threshold(threshold, "float32"), missing)


def _few_of_many_columns() -> RuleGraph:
    """Three of 240 columns are read; the others may hold anything."""
    rules = (And((_above("w3", 0.5), _above("w120", -2.0, "<="))), And((_above("w239", 1e6), Missing("w3"))))
    return RuleGraph(WIDE, (0, 1), Fires(Or(rules)))


def _many_of_many_columns() -> RuleGraph:
    """Sixty rules, and every one of 240 columns in one of them."""
    rng = np.random.default_rng(17)
    order = rng.permutation(240).reshape(60, 4)
    cuts = np.round(rng.normal(0, 3, (60, 4)), 1)
    rules = [
        And([_above(f"w{i}", float(c), ">" if (i + k) % 3 else "<=", k % 4 == 0) for i, c in zip(*row, strict=True)])
        for k, row in enumerate(zip(order, cuts, strict=True))
    ]
    return RuleGraph(WIDE, (0, 1), Fires(Or(rules)))


def _doubles_throughout() -> RuleGraph:
    """Thresholds that are the same float32 and two doubles."""
    close = [Compare(f"d{i}", ">", 0.1 + i * 2.0**-55) for i in range(3)]
    tiny = [Compare("d3", "<=", 5e-324), Compare("d4", ">", -5e-324, True), Compare("d5", "<=", 1e300)]
    return RuleGraph(DOUBLES, (0, 1), Fires(Or((And(close), And(tiny), And((close[0], Not(close[2])))))))


def _sum_of_doubles() -> RuleGraph:
    """Weights on a grid, columns in double: a sum of 53 bits."""
    terms: list[tuple[float, Node]] = [
        (0.375 * (i + 1) * (-1) ** i, Column(f"d{i}", 0.25, -1024.0, 1024.0, 2.0**-20)) for i in range(5)
    ]
    terms.append((1.5, Compare("d5", ">", 0.1)))
    score = Linear(terms, -0.0625)
    return RuleGraph(DOUBLES, (False, True), Exceeds(score, 0.0, "score"), (Logistic(score),))


def _fine_steps() -> RuleGraph:
    """A unit over float32 columns in steps so fine that its sum needs a double."""
    terms = [(0.75 * (i + 1) * (-1) ** i, Column(f"w{i}", -0.5, -512.0, 512.0, 2.0**-22)) for i in range(6)]
    return RuleGraph(WIDE, (0, 1), Fires(LinearThreshold(terms, 0.375)))


def _truth_values() -> RuleGraph:
    b = [IsTrue(f"b{i}", i % 5 == 0) for i in range(12)]
    rules = (And((b[0], Not(b[1]), b[2])), And((b[3], b[4])), AtLeast(4, b[5:]), And((Missing("b11"), Not(b[0]))))
    return RuleGraph(FLAGS, ("off", "on"), Fires(Or(rules)))


def _noisy_truth_values() -> RuleGraph:
    """A quick medical reference in small: twelve findings, each a cause of its own strength."""
    on = (0.9, 0.8, 0.75, 0.7, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
    bits = [Hidden(f"h{i}", IsTrue(f"b{i}"), strength_of(p), strength_of(0.01)) for i, p in enumerate(on)]
    score = Probability(Or(bits))
    return RuleGraph(FLAGS, (0, 1), Exceeds(score, 0.5), (score,))


def _dates() -> RuleGraph:
    """Days, seconds, money with cents: doubles that float32 would merge."""
    rules = (
        And((Compare("born", "<=", 17896.0), Compare("seen", ">", 1546300800.0))),
        And((Compare("paid", ">", 24850.25), Compare("visits", "<=", 3.0, True))),
        And((Compare("seen", "<=", 1609459200.5, True), Compare("born", ">", 10957.0))),
    )
    return RuleGraph(MOMENTS, ("no", "yes"), Fires(Or(rules)))


def _whole_numbers() -> RuleGraph:
    """Around 2^24, where float32 begins to skip whole numbers, and 2^53, where doubles do."""
    values = (2.0**24, 2.0**24 + 1, 2.0**25 + 3, 2.0**31, 2.0**52 + 1, 2.0**53 - 1)
    rules = [
        And((Compare("number", ">", v), Compare("other", "<=", w, i % 2 == 0)))
        for i, (v, w) in enumerate(zip(values, reversed(values), strict=True))
    ]
    return RuleGraph(ACCOUNTS, (0, 1), Fires(Or((*rules, And((_above("narrow", 2.0**24), Missing("other")))))))


def _many_levels() -> RuleGraph:
    half, third = CITIES[::2], CITIES[::3]
    rules = (
        And((Among("city", half), Among("zip", PLACES["zip"].levels[10:40], missing=True))),
        And((Among("city", third, unseen=True), Among("rank", ("mid", "high")))),
        And((Not(Among("zip", PLACES["zip"].levels[::2])), Among("bought", ("true",)))),
    )
    return RuleGraph(PLACES, (0, 1), Fires(Or(rules)))


def _six_classes_of_levels() -> RuleGraph:
    """Categories alone, labels that are integers: nothing is text but the inputs."""
    scores = (
        Among("colour", ("red",)),
        And((Among("colour", ("green",)), Among("rank", ("high",)))),
        Among("city", CITIES[:40], missing=True),
        And((Among("zip", ("10001", "10005"), unseen=True), Among("bought", ("false",), missing=True))),
        AtLeast(2, (Among("rank", ("low",)), Missing("city"), Missing("zip"), Among("colour", ("blue",)))),
        Or((Missing("rank"), Missing("bought"))),
    )
    return RuleGraph(PLACES, tuple(range(6)), ArgMax(scores, (0.5,) * 6, (3, 1, 5, 0, 2, 4)), default=4)


def _noisy_levels() -> RuleGraph:
    causes = (
        Among("colour", ("red", "blue"), missing=True),
        Among("rank", ("high",)),
        Among("city", CITIES[5:9]),
        Among("bought", ("true",), unseen=True),
        Among("zip", PLACES["zip"].levels[:45]),
    )
    on = (0.93, 0.71, 0.88, 0.52, 0.64)
    bits = [
        Hidden(f"h{i}", c, strength_of(p), strength_of(0.03)) for i, (c, p) in enumerate(zip(causes, on, strict=True))
    ]
    score = Probability(Or((And(bits[:2]), And((bits[2], Not(bits[3]))), bits[4])))
    return RuleGraph(PLACES, (0, 1), Exceeds(score, 0.625), (score,))


def _labels_that_are_numbers() -> RuleGraph:
    """Classes 0.5, 1.0 and 2.25: labels are text."""
    scores = tuple(
        Linear([(1.0, _above(f"w{i}", 0.0)), (0.5, Step(f"w{i + 3}", (-1.0, 0.5), (0.0, 1.0, -1.0), 0.25))], 0.125 * i)
        for i in range(3)
    )
    return RuleGraph(WIDE, (0.5, 1.0, 2.25), ArgMax(scores, (-math.inf,) * 3, (1, 2, 0)))


def _unit_over_all_columns() -> RuleGraph:
    """A linear unit over 240 columns on a grid."""
    terms = [(0.5 * ((i % 7) - 3) or 0.25, Column(f"w{i}", 0.0, -8.0, 8.0, 2.0**-4)) for i in range(240)]
    return RuleGraph(WIDE, (0, 1), Fires(LinearThreshold(terms, 1.5)))


TABLE_MODELS: dict[str, Callable[[], RuleGraph]] = {
    "3 of 240 columns": _few_of_many_columns,
    "240 columns, 60 rules": _many_of_many_columns,
    "doubles throughout": _doubles_throughout,
    "sum of doubles": _sum_of_doubles,
    "fine steps": _fine_steps,
    "truth values": _truth_values,
    "noisy truth values": _noisy_truth_values,
    "dates and money": _dates,
    "whole numbers": _whole_numbers,
    "hundreds of levels": _many_levels,
    "6 classes of levels": _six_classes_of_levels,
    "noisy levels": _noisy_levels,
    "3 classes, numbers": _labels_that_are_numbers,
    "unit over 240 columns": _unit_over_all_columns,
}
