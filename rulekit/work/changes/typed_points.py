"""Numbers that a person typed and that make a sum or a moment inexact, and what to type instead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from rulekit.exactness import grid_of, span_of_sum
from rulekit.graph.language.words import listed, name, number
from rulekit.graph.nodes import LevelPoints, Linear, LinearThreshold, Step, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature

_FINEST = -30  # 2^-30: of numbers down to there sums are exact unless some are very large
_BITS = 8
_LARGEST_FACTOR = 10**6
_MOST_NAMED = 3


def inexact_numbers(graph: RuleGraph) -> tuple[str, ...]:
    """A line for each sum that may be rounded and each moment that is too coarse: why, and what would be exact."""
    coarse = [name(column) for column in graph.used_features if _is_coarse(graph.schema[column])]
    found = [
        f"the moments of {column} are compared in steps of 128 seconds; add float64 to its line" for column in coarse
    ]
    for node in topological(graph.decision.roots):
        if not isinstance(node, Linear | LinearThreshold):
            continue
        span = span_of_sum(node)
        rough = sorted({value for value in _numbers(node) if grid_of(value) < _FINEST})
        if span is not None and not span.fits() and rough:
            found.append(_said(node, rough))
    return tuple(dict.fromkeys(found))


def _is_coarse(feature: Feature) -> bool:
    """Whether a moment is held in float32, whose steps are 128 seconds in this century."""
    return feature.display == "datetime" and feature.precision == "float32"


def _said(node: Linear | LinearThreshold, rough: list[float]) -> str:
    shown = rough[:_MOST_NAMED]
    more = f" and {len(rough) - len(shown)} more" * (len(rough) > len(shown))
    many = len(rough) > 1
    factor = math.lcm(*(Fraction(Decimal(repr(value))).denominator for value in _numbers(node)))
    whole = f", or multiply every number of the sum and its threshold by {factor}" if factor <= _LARGEST_FACTOR else ""
    what = f"{'are' if many else 'is'} no {'multiples' if many else 'multiple'} of a power of two"
    return (
        "the sum may be rounded, so that its exports are tested and not always proved: "
        f"{listed(list(map(number, shown)))}{more} {what}; "
        f"write {listed([number(on_grid(value)) for value in shown])}{whole}"
    )


def on_grid(value: float) -> float:
    """The nearest number of eight binary digits behind the first: within a five-hundredth of the value."""
    if value == 0.0:
        return value
    step = 2.0 ** (math.floor(math.log2(abs(value))) - _BITS)
    return round(value / step) * step


def _numbers(node: Linear | LinearThreshold) -> Iterator[float]:
    """The numbers of a sum as its text has them."""
    yield node.bias
    for weight, child in node.terms:
        yield weight
        if isinstance(child, Step):
            yield from (*child.values, child.missing)
        if isinstance(child, LevelPoints):
            yield from (*(points for _, points in child.points), child.missing, child.unseen)
