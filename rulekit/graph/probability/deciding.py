"""Decisions by independent causal influence as sums on a power-of-two grid, which no target rounds.

A noisy-or is decided by the sum of the strengths of its bits (the log-complement -log(1 - p)); that all bits of a
noisy-and fire, or none of an Or, has a probability exp(-s) whose logarithm is a sum as well (`Linear`). Of a parity the
size of the product of 1 - 2 p is such an exponential, and its sign a parity of conditions. Where the strengths are
multiples of one power of two and no partial sum has more than 53 bits, the sums are exact in any order: one product in
ONNX whatever the number of bits, and equal everywhere (`rulekit.exactness`).

To round strengths moves a decision by some 1e-13 of the sum at most; whether that changes any row is for the caller to
see. What is reported keeps the strengths as they are.

A gated noisy-or is decided by two sums: that of the causes' strengths, s, and that of the inhibitors', h.
Some cause acts and no inhibitor does with probability exp(-h) (1 - exp(-s)), which exceeds t where

    h < log(1 / t) + log(1 - exp(-s)).

The right side is concave in s, so that it lies below each of its tangents: a few of them decide nearly as it does. Each
compares a multiple of s, less h, with a constant, which every target does in the same few operations, however many bits
there are; a circuit of the probability takes about four a bit.

The tangents are those of a curve that lies a little lower, `within` nats, and as near to each other as keeps their
lower envelope at most as much above the curve itself. So a row is decided otherwise than by its probability only where
that is within a thousandth of t, of t itself: of t = 0.5 between 0.4995 and 0.5005.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rulekit.exactness import DOUBLE_BITS
from rulekit.graph.nodes import FALSE, TRUE, Above, And, Constant, Hidden, Linear, Node, Not, Odd, Or, Strength
from rulekit.numbers import contrary_strength, finest_unit, log_of, strength_of


def strengths_on_grid(on: Sequence[float], off: Sequence[float]) -> tuple[list[float], list[float]]:
    """Strengths [bits] rounded to the finest power of two with which no sum of them has more than 53 bits.

    on, off: of each bit where its cause holds and where it does not; a leak is a bit of its own. Strengths that lie on
    such a grid stay as they are. Raises ValueError where one is infinite or negative.
    """
    if not all(0.0 <= strength < math.inf for strength in (*on, *off)):
        raise ValueError("only finite strengths lie on a grid")
    # A difference counts twice, as ONNX may take it off where it has added it.
    unit = finest_unit([*off, *(2.0 * (a - b) for a, b in zip(on, off, strict=True))], DOUBLE_BITS)
    return [round(a / unit) * unit for a in on], [round(b / unit) * unit for b in off]


def bits_on_grid(bits: Sequence[Hidden]) -> tuple[Hidden, ...]:
    """The same hidden bits with their strengths on one grid; raises as `strengths_on_grid`."""
    on, off = strengths_on_grid([bit.on for bit in bits], [bit.off for bit in bits])
    return tuple(Hidden(bit.name, bit.cause, a, b) for bit, a, b in zip(bits, on, off, strict=True))


Choice = tuple[Node, float, float]  # a Boolean node, and the strength where it holds and where it does not


def noisy_or_decision(bits: Sequence[Hidden], threshold: float = 0.5) -> Node:
    """[P(some bit fires) > threshold] by the sum of strengths on a grid; raises as `strengths_on_grid`."""
    return Above(Strength(Or(bits_on_grid(bits))), strength_of(threshold))


def noisy_and_decision(bits: Sequence[Hidden], threshold: float = 0.5) -> Node:
    """[P(all bits fire) > threshold] by a sum of logarithms on a grid, and by what some bit never fires without.

    threshold: above 0 and below 1.
    """
    return _survives([(bit.cause, contrary_strength(bit.on), contrary_strength(bit.off)) for bit in bits], threshold)


def none_fires_decision(bits: Sequence[Hidden], threshold: float = 0.5) -> Node:
    """[P(no bit fires) > threshold] by a sum of logarithms on a grid; the threshold is above 0 and below 1."""
    return _survives([(bit.cause, bit.on, bit.off) for bit in bits], threshold)


def parity_decision(bits: Sequence[Hidden], threshold: float = 0.5) -> Node:
    """[P(an odd number of bits fires) > threshold] by the signs of 1 - 2 p and a sum of -log |1 - 2 p| on a grid.

    P is above t where the product of all 1 - 2 p is below u = 1 - 2 t. At t = 1/2 its sign alone decides: it is below 0
    where an odd number of the factors are, and none is 0 (a bit that is as likely to fire as not makes all even). Below
    1/2 a product of any sign that is small enough decides too; above 1/2 it must be below 0 and large enough. Raises
    ValueError where the threshold is not above 0 and below 1, as it would be always or never exceeded.
    """
    if not 0.0 < threshold < 1.0:
        raise ValueError(f"a threshold of a parity lies above 0 and below 1, unlike {threshold!r}")
    factors = [_factor(bit) for bit in bits]
    below = Odd(_where(factors, lambda factor: factor < 0.0))
    zero = tuple(dict.fromkeys(_where(factors, lambda factor: factor == 0.0)))
    if threshold == 0.5:
        return And([below, *map(Not, zero)]) if zero else below
    sizes = [(cause, _size(on), _size(off)) for cause, on, off in factors]
    u = 1.0 - 2.0 * threshold
    if threshold > 0.5:
        return And([below, *map(Not, zero), Above(_sum(sizes, -1.0), log_of(-u))])
    return Or([below, *zero, Above(_sum(sizes, 1.0), -log_of(u))])


def _factor(bit: Hidden) -> Choice:
    """1 - 2 p of a hidden bit, where its cause holds and where it does not."""
    on, off = (1.0 - 2.0 * p for p in (bit.probability_on, bit.probability_off))
    if isinstance(bit.cause, Constant):
        on = off = on if bit.cause.value else off
    return bit.cause, on, off


def _where(choices: Iterable[Choice], holds: Callable[[float], bool]) -> list[Node]:
    """For each choice that may be such a number the Boolean node that says when it is."""
    found: list[Node] = []
    for cause, on, off in choices:
        if holds(on) or holds(off):
            found.append(TRUE if holds(on) and holds(off) else cause if holds(on) else Not(cause))
    return found


def _size(factor: float) -> float:
    """-log of the size of a factor; 0 of a factor that decides by being 0."""
    return 0.0 - log_of(abs(factor)) if factor else 0.0


def _survives(choices: Iterable[Choice], threshold: float) -> Node:
    """[exp(-s) > threshold] of the sum s of one strength for each choice; an infinite one says no by itself."""
    needed: list[Node] = []
    finite: list[Choice] = []
    for cause, on, off in choices:
        if isinstance(cause, Constant):
            on = off = on if cause.value else off
        if math.inf in (on, off):
            needed.append(FALSE if on == off else Not(cause) if on == math.inf else cause)
            on = off = min(on, off)
        if on != math.inf:
            finite.append((cause, on, off))
    found = [Above(_sum(finite, -1.0), log_of(threshold)), *dict.fromkeys(needed)]
    return found[0] if len(found) == 1 else And(found)


def none_fires_logarithm(bits: Sequence[Hidden], more: float = 0.0) -> Linear:
    """Log P(no bit fires) and a constant as one sum on a grid, by which classes are compared; strengths are finite."""
    choices: list[Choice] = [(bit.cause, bit.on, bit.on if bit.cause == TRUE else bit.off) for bit in bits]
    return _sum(choices, -1.0, more)


def _sum(choices: Sequence[Choice], sign: float, more: float = 0.0) -> Linear:
    """The sum of one finite strength for each choice, or what is taken off by them, and a constant, on a grid."""
    sizes = [size for _, on, off in choices for size in (off, on - off)]
    unit = finest_unit([*sizes, more] if more else sizes, DOUBLE_BITS)
    always = sum(round(base / unit) for _, _, base in choices) + sign * round(more / unit)
    terms = [(sign * round((on - off) / unit) * unit, cause) for cause, on, off in choices]
    return Linear([(weight, cause) for weight, cause in terms if weight], sign * always * unit + 0.0)


WITHIN = (1e-3, 1e-4)
"""The largest distances, in nats and so nearly in parts of t, of what decides from the threshold."""
_SLOPE_BITS = 2.0**12
_ALIKE = 1e-9
_HALVINGS = 60
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class GateCurve:
    """The bound of h by s, log(1 / t) + log(1 - exp(-s)): level is log(1 / t); within: how far tangents may be off."""

    level: float
    within: float

    def at(self, s: float) -> float:
        """Its height at s; minus infinity at 0."""
        return self.level + (math.log(-math.expm1(-s)) if s > 0.0 else -math.inf)

    def reaching(self, height: float) -> float:
        """The s at which it has a height; infinity where it never has."""
        return -math.log(-math.expm1(height - self.level)) if height < self.level else math.inf

    def tangent(self, slope: float, s: float) -> float:
        """The height at s of the tangent, with this slope, of the lower curve."""
        touch = math.log1p(1.0 / slope)
        return self.at(touch) - self.within + slope * (s - touch)

    def is_near(self, slope: float, s: float) -> bool:
        """Whether this tangent is not too high above the curve at s."""
        return self.tangent(slope, s) <= self.at(s) + self.within

    def constant(self, slope: float) -> float:
        """The height of the tangent at 0, by correctly rounded logarithms, as a model holds it."""
        touch = math.log1p(1.0 / slope)
        return self.level - self.within - contrary_strength(touch) - slope * touch

    def slopes(self, least: float, most: float, first: float, last: float) -> Iterator[float]:
        """The slopes of the tangents, from the steepest; least .. most: of s, first .. last: of h.

        None where every h is too large for the largest s.
        """
        at = max(self.reaching(first - self.within), least, math.ulp(0.0))
        end = min(most, self.reaching(last + self.within))
        if at == math.inf or self.at(most) <= first - self.within:
            return
        while True:
            slope = self._flattest(at)
            yield slope
            at = self._reached(slope, at)
            if at >= end:
                return

    def _flattest(self, at: float) -> float:
        """The flattest of some slopes whose tangent is near the curve at a place."""
        # From the place itself, where the line is below the curve, the touch moves to the right.
        low, high = 0.0, 64.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            near = self.is_near(_short(1.0 / math.expm1(at + middle)), at)
            low, high = (middle, high) if near else (low, middle)
        return _short(1.0 / math.expm1(at + low))

    def _reached(self, slope: float, at: float) -> float:
        """The place to the right up to which a tangent is near the curve."""
        low = max(at, math.log1p(1.0 / slope))
        high = low + 1.0
        while self.is_near(slope, high):
            if high > _FAR:
                return math.inf
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.is_near(slope, middle) else (low, middle)
        return low


def gated_decision(
    causes: Sequence[Hidden], inhibitors: Sequence[Hidden], threshold: float = 0.5, within: float = WITHIN[0]
) -> Node:
    """[P(some cause fires and no inhibitor does) > threshold], within a thousandth of it; the bits are all different.

    threshold: above 0 and below 1; within: one of WITHIN. Raises ValueError where a strength is infinite.
    """
    own, gate = Strength(Or(bits_on_grid(causes))), Strength(Or(bits_on_grid(inhibitors)))
    (least, most), (first, last) = _range(own), _range(gate)
    curve = GateCurve(-log_of(threshold), within)
    found: list[Node] = [
        Above(Linear([(slope, own), (-1.0, gate)], 0.0), -curve.constant(slope))
        for slope in curve.slopes(least, most, first, last)
    ]
    if not found:
        return FALSE
    return found[0] if len(found) == 1 else And(found)


def denied(decision: Node) -> Node:
    """The contrary of a decision of `gated_decision`: some tangent is not above (which no law of logic changes)."""
    if not isinstance(decision, And):
        return Not(decision)
    return Or([Not(tangent) for tangent in decision.children])


@lru_cache(maxsize=256)
def gated_of(node: Node) -> tuple[Node, float] | None:
    """The formula and the threshold that a node decides by, if it is a decision of `gated_decision` or its contrary.

    Its tangents are looked at anew: what is read is never further from what is decided than `gated_decision` promises.
    """
    if isinstance(node, Not | Or):
        tangents = [
            part.child for part in (node.children if isinstance(node, Or) else (node,)) if isinstance(part, Not)
        ]
        contrary = None if len(tangents) < len(node.children) or not tangents else gated_of(And(tangents))
        return None if contrary is None else (Not(contrary[0]), 1.0 - contrary[1])
    parts = node.children if isinstance(node, And) else (node,)
    found = [_tangent(part) for part in parts]
    if not found or None in found:
        return None
    lines = [line for line in found if line is not None]
    own, gate = lines[0][2], lines[0][3]
    if any(line[2:] != (own, gate) for line in lines):
        return None
    pairs, fitting = [(slope, constant) for slope, constant, *_ in lines], list[float]()
    for within in WITHIN:
        levels = [constant - GateCurve(0.0, within).constant(slope) for slope, constant in pairs]
        curve = GateCurve(math.fsum(levels) / len(levels), within)
        alike = max(abs(each - curve.level) for each in levels) <= _ALIKE
        if alike and curve.level > 0.0 and _are_near(pairs, curve, own, gate):
            fitting.append(_threshold(curve.level))
    if not fitting:
        return None
    # Tangents that are near to a curve are, less near, those of another one; the threshold was a short number.
    return And([own.formula, Not(gate.formula)]), min(fitting, key=lambda threshold: len(repr(threshold)))


def formula_on_grid(formula: Node) -> Node:
    """And(Or(causes), Not(Or(inhibitors))) with the strengths that `gated_decision` decides by; others as they are."""
    parts = gated_parts(formula)
    if parts is None:
        return formula
    return And([Or(bits_on_grid(parts[0])), Not(Or(bits_on_grid(parts[1])))])


def gated_parts(formula: Node) -> tuple[tuple[Hidden, ...], tuple[Hidden, ...]] | None:
    """The causes and inhibitors of And(Or(causes), Not(Or(inhibitors))), all of them different bits; None of others."""
    if not (isinstance(formula, And) and len(formula.children) == 2):
        return None
    some, none = formula.children
    if not (isinstance(some, Or) and isinstance(none, Not) and isinstance(none.child, Or)):
        return None
    causes = tuple(bit for bit in some.children if isinstance(bit, Hidden))
    inhibitors = tuple(bit for bit in none.child.children if isinstance(bit, Hidden))
    n_bits = len(some.children) + len(none.child.children)
    names = {bit.name for bit in (*causes, *inhibitors)}
    return (causes, inhibitors) if causes and inhibitors and len(names) == n_bits else None


def _range(node: Strength) -> tuple[float, float]:
    pairs = [
        ((on, on) if cause is TRUE else (off, off) if isinstance(cause, Constant) else (min(on, off), max(on, off)))
        for cause, on, off in node.terms
    ]
    return math.fsum(low for low, _ in pairs), math.fsum(high for _, high in pairs)


def _short(slope: float) -> float:
    """A slope of few bits, rounded up, so that it is one of a tangent to the left."""
    mantissa, exponent = math.frexp(slope)
    return math.ldexp(math.ceil(mantissa * _SLOPE_BITS) / _SLOPE_BITS, exponent)


def _tangent(node: Node) -> tuple[float, float, Strength, Strength] | None:
    """Slope, constant, causes and inhibitors of [slope * s - h > -constant]."""
    if not (isinstance(node, Above) and isinstance(node.score, Linear) and len(node.score.terms) == 2):
        return None
    (slope, own), (less, gate) = node.score.terms
    if not (isinstance(own, Strength) and isinstance(gate, Strength) and less == -1.0 and slope > 0.0):
        return None
    if node.score.bias != 0.0 or gated_parts(And([own.formula, Not(gate.formula)])) is None:
        return None
    return slope, -node.threshold, own, gate


def _are_near(lines: Sequence[tuple[float, float]], curve: GateCurve, own: Strength, gate: Strength) -> bool:
    """Whether the lower envelope of some tangents, steepest first, is near the curve wherever that may decide."""
    (least, most), (first, last) = _range(own), _range(gate)
    begin, end = (curve.reaching(first - curve.within), curve.reaching(last + curve.within))
    begin, end = max(begin, least), min(end, most)
    places = [begin, end, *((d - b) / (a - c) for (a, b), (c, d) in pairwise(lines) if a > c)]
    return all(
        min(slope * s + constant for slope, constant in lines) <= curve.at(s) + curve.within + _ALIKE
        for s in places
        if begin <= s <= end
    )


def _threshold(level: float) -> float:
    """The shortest probability with this level, which is the negative of its logarithm."""
    exact = math.exp(-level)
    for digits in range(1, 16):
        short = float(f"{exact:.{digits}g}")
        if 0.0 < short < 1.0 and abs(-log_of(short) - level) <= _ALIKE:
            return short
    return exact
