"""What is known of a column on a path of a decision tree: an interval of its values, and whether it may be missing.

Every test of the tree is `x > bound`, with a stated side for missing. A category stands in the tree as its code, 0
missing, 1 unseen, 2 and up the levels; bounds lie between codes, and its missing is a code, never NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rulekit.schema import UNSEEN_CODE, Feature, Schema
from rulekit_exporters.onnx.conditions import Bit, Condition, Membership, is_wide, next_above


@dataclass(frozen=True, slots=True)
class Interval:
    """Values v with above < v <= upto (None: no bound); `present`: there are such values, `absent`: NaN is possible."""

    above: float | None = None
    upto: float | None = None
    present: bool = True
    absent: bool = True


@dataclass(frozen=True, slots=True)
class Test:
    """x > bound; NaN passes where `missing`."""

    feature: str
    bound: float
    missing: bool


def whole(feature: Feature, coded: bool) -> Interval:
    """Everything that a column can hold; `coded`: a category is fed as codes, any integer, and not as text."""
    if feature.kind != "categorical":
        return Interval()
    if coded:
        return Interval(absent=False)
    return Interval(-0.5, len(feature.levels) + 1.5, absent=False)


def truth(bit: Bit, interval: Interval, schema: Schema) -> bool | None:
    """The truth value of a bit on an interval, None where it is not the same on all of it."""
    if isinstance(bit, Membership):
        values = set(_memberships(bit, interval))
        return values.pop() if len(values) == 1 else None
    if bit.relation == "missing":
        return interval.absent if interval.absent != interval.present else None
    outcomes = set()
    if interval.absent:
        outcomes.add(False)
    if interval.present:
        bound = bound_of(bit, schema[bit.feature])
        if interval.above is None or interval.above < bound:
            outcomes.add(bit.relation == "<")
        if interval.upto is None or interval.upto > bound:
            outcomes.add(bit.relation == ">")
    return outcomes.pop() if len(outcomes) == 1 else None


def test_for(bit: Bit, interval: Interval, schema: Schema) -> Test:
    """A test that decides a bit of unknown truth, or brings nearer its decision."""
    if isinstance(bit, Membership):
        values = _memberships(bit, interval)
        changes = [i for i, (a, b) in enumerate(pairwise(values)) if a is not b]
        return Test(bit.feature, _first_code(interval) + changes[len(changes) // 2] + 0.5, False)
    if bit.relation != "missing":
        return Test(bit.feature, bound_of(bit, schema[bit.feature]), bit.relation == "<")
    if interval.upto is None and interval.above is not None:
        return Test(bit.feature, interval.above, False)
    return Test(bit.feature, math.inf if interval.upto is None else interval.upto, True)


def branches(test: Test, interval: Interval) -> tuple[Interval, Interval]:
    """What is known where a test holds, and where it does not."""
    above, upto, bound = interval.above, interval.upto, test.bound
    higher = interval.present and (bound < math.inf if upto is None else upto > bound)
    lower = interval.present and (above is None or above < bound)
    yes = Interval(max(bound, bound if above is None else above), upto, higher, interval.absent and test.missing)
    no = Interval(above, min(bound, bound if upto is None else upto), lower, interval.absent and not test.missing)
    return yes, no


def representative(interval: Interval, feature: Feature) -> float:
    """An encoded value of an interval: a number, NaN for missing, or the code of a category."""
    if feature.kind == "categorical":
        code = _first_code(interval) if interval.upto is None else int(interval.upto - 0.5)
        return float(code if 0 <= code < len(feature.levels) + 2 else UNSEEN_CODE)
    if not interval.present:
        return math.nan
    if feature.kind == "boolean":  # such a column holds 0 and 1
        return 1.0 if interval.above is not None else 0.0
    if interval.upto is not None and interval.upto < math.inf:
        return interval.upto
    if interval.above is None:
        return 0.0
    return next_above(interval.above, is_wide(feature))


def bound_of(bit: Condition, feature: Feature) -> float:
    """The t of `x > t`, or of `x <= t`, which stands as x < t' in the condition."""
    if bit.relation == ">":
        return bit.bound
    if is_wide(feature):
        return math.nextafter(bit.bound, -math.inf)
    return float(np.nextafter(np.float32(bit.bound), np.float32(-math.inf)))


def _first_code(interval: Interval) -> int:
    return -1 if interval.above is None else int(interval.above + 0.5)


def _memberships(bit: Membership, interval: Interval) -> list[bool]:
    """The truth values of the codes of an interval; one code either side of the table stands for all beyond it."""
    unseen = bit.table[UNSEEN_CODE]
    codes = (unseen, *bit.table, unseen)
    last = len(bit.table) if interval.upto is None else int(interval.upto - 0.5)
    return list(codes[_first_code(interval) + 1 : last + 2])
