"""Decisions by independent causal influence as sums on a power-of-two grid, which no target rounds.

A noisy-or is decided by the sum of the strengths of its bits (the log-complement -log(1 - p)); that all bits of a
noisy-and fire, or none of an Or, has a probability exp(-s) whose logarithm is a sum as well (`Linear`). Of a parity the
size of the product of 1 - 2 p is such an exponential, and its sign a parity of conditions. Where the strengths are
multiples of one power of two and no partial sum has more than 53 bits, the sums are exact in any order: one product in
ONNX whatever the number of bits, and equal everywhere (`rulekit.exactness`).

To round strengths moves a decision by some 1e-13 of the sum at most; whether that changes any row is for the caller to
see. What is reported keeps the strengths as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from rulekit.exactness import DOUBLE_BITS, finest_unit
from rulekit.graph.decisions import Median
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Above,
    And,
    Constant,
    Hidden,
    Linear,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Strength,
)
from rulekit.graph.probability.strength_grid import bits_on_grid
from rulekit.numbers import contrary_strength, log_of, strength_of

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


# Ordered classes -----------------------------------------------------------------------------------------------------


def noisy_max_decision(cuts: Sequence[Sequence[Hidden]]) -> Median:
    """The median of a noisy-max: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class above 0 its hidden bits; the class is at most c where no bit of a class above c fires.
    """
    every = bits_on_grid([bit for bits in cuts for bit in bits])
    starts = [sum(map(len, cuts[:c])) for c in range(len(cuts))]
    return Median(tuple(Above(Strength(Or(every[start:])), strength_of(0.5)) for start in starts))


def noisy_min_decision(cuts: Sequence[Sequence[Hidden]]) -> Median:
    """The median of a noisy-min: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class below the last one its hidden bits; the class is at least c where no bit of a class below c fires.
    """
    before = [[bit for bits in cuts[: c + 1] for bit in bits] for c in range(len(cuts))]
    return Median(tuple(none_fires_decision(bits) for bits in before))


def noisy_max_probabilities(cuts: Sequence[Sequence[Hidden]]) -> tuple[Probability, ...]:
    """P(class = c) of a noisy-max, by class; cuts as for `noisy_max_decision`.

    A class is taken where one of its bits fires and none of a higher class: products of exponentials, not differences.
    """
    above = [[bit for bits in cuts[c:] for bit in bits] for c in range(len(cuts) + 1)]
    return tuple(_alone(some, none) for some, none in zip(((), *cuts), above, strict=True))


def noisy_min_probabilities(cuts: Sequence[Sequence[Hidden]]) -> tuple[Probability, ...]:
    """P(class = c) of a noisy-min, by class; cuts as for `noisy_min_decision`."""
    turned = noisy_max_probabilities(cuts[::-1])
    return turned[::-1]


def _alone(some: Sequence[Hidden], none: Sequence[Hidden]) -> Probability:
    """The probability that some bit of the first ones fires (if there are any), and none of the others."""
    parts = [*([Or(tuple(some))] if some else []), *([Not(Or(tuple(none)))] if none else [])]
    return Probability(parts[0] if len(parts) == 1 else And(parts))
