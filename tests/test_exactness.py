"""Which sums no order of additions rounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS, Span, grid_of, is_exact_difference, span_of_sum, total
from rulekit.graph.nodes import Column, Compare, LevelPoints, Linear, LinearThreshold, Step

NUMBERS = st.one_of(
    st.builds(lambda n, e: math.ldexp(n, e), st.integers(-4096, 4096), st.integers(-40, 40)),
    st.floats(allow_nan=False, allow_infinity=False),
)
LEAF = Compare("x", ">", 1.0)


@pytest.mark.parametrize(
    ("numbers", "bits"),
    [([2.0**24 - 1, 1.0], 24), ([2.0**24, 1.0], 25), ([0.75, -0.5, 0.0], 3), ([0.1, 0.2], 54), ([0.0], 0), ([1.0], 0)],
)
def test_bits_of_partial_sums(numbers, bits):
    """1 and 2^24 are the edge of what still fits: a power of two needs no further bit."""
    assert total(Span.of(number) for number in numbers).bits == bits


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.randoms(use_true_random=False), st.sampled_from([24, 53]))
def test_a_sum_that_fits_is_the_sum_without_rounding_in_any_order(numbers, random, bits):
    """The theorem that proofs, simplification and the formulations of ONNX rest on."""
    number = np.float32 if bits == SINGLE_BITS else np.float64
    if not total(Span.of(value) for value in numbers).fits(bits):
        return
    random.shuffle(numbers)
    result = number(0.0)
    for value in numbers:
        assert float(number(value)) == value
        result = number(result + number(value))
    assert Fraction(float(result)) == sum(map(Fraction, numbers))


@given(NUMBERS, NUMBERS)
def test_the_span_of_a_product_is_that_of_its_value(a, b):
    product = Span.of(a).times(Span.of(b))
    exact = Fraction(a) * Fraction(b)
    assert product.size == abs(exact)
    assert product.grid == grid_of(exact)


@given(NUMBERS, NUMBERS)
def test_an_exact_difference_is_no_rounded_number(a, b):
    difference = b - a
    exact = math.isfinite(difference) and Fraction(difference) == Fraction(b) - Fraction(a)
    assert is_exact_difference(a, b) == exact


@pytest.mark.parametrize("node_type", [Linear, LinearThreshold])
@pytest.mark.parametrize(
    ("term", "exact"),
    [
        (LEAF, True),
        (Step("x", (0.0,), (0.25, 3.0), -1.5), True),
        (Step("x", (0.0,), (0.25, 2.0**60), -1.5), False),
        (Step("x", (0.0,), (0.1, 0.2), 0.3), False),
        (LevelPoints("c", (("red", 0.25), ("blue", 3.0)), -1.5, 0.5), True),
        (LevelPoints("c", (("red", 0.25), ("blue", 2.0**60))), False),
        (LevelPoints("c", (("red", 0.1),), 0.2), False),
        (Column("x", 0.0, -8.0, 8.0, 0.25), True),
        (Column("x", 0.1, -8.0, 8.0, 0.25), False),
        (Column("x", 0.0, -8.0, 8.0, 0.0), False),
    ],
)
def test_sums_of_nodes(node_type, term, exact):
    """A column that is not rounded to steps lies on no grid, so a sum over it is never exact."""
    span = span_of_sum(node_type([(0.5, term), (3.0, LEAF)], 0.125))
    assert (span is not None and span.fits(DOUBLE_BITS)) == exact


def test_the_ends_of_a_format_are_kept_away_from():
    """Multiples of a tiny step, or sizes close to the largest number, are held by no format here."""
    assert Span.of(2.0**-120).fits(SINGLE_BITS)
    assert not Span.of(2.0**-121).fits(SINGLE_BITS)
    assert not Span.of(2.0**100).fits(SINGLE_BITS)
    assert not Span.of(5e-324).fits()
    assert not Span.of(Fraction(1, 3)).fits()
