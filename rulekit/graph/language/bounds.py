"""Two bounds on one column that a conjunction joins: `2 < x <= 3`, and `x = 3` over whole numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from rulekit.graph.nodes import Compare, Node
from rulekit.schema import Feature

WHOLE = ("integer", "count", "date")


def grouped(parts: Sequence[Node | None], anywhere: bool) -> list[tuple[int, ...]]:
    """The places of the parts of a conjunction, a lower and an upper bound on one column together, the lower one first.

    parts: None for one that stands by itself. anywhere: bounds are joined wherever the two stand; otherwise only where
    the upper one follows at once and says the same of missing values, so that the text reads back as it was.
    """
    groups: dict[int, tuple[int, ...]] = {}
    single: dict[str, list[int]] = defaultdict(list)
    for place, part in enumerate(parts):
        groups[place] = (place,)
        if not isinstance(part, Compare):
            continue
        before = single[part.feature]
        for first in before if anywhere else before[-1:]:
            if pair := _lower_first(parts, first, place, anywhere):
                groups[first] = pair
                del groups[place]
                before.remove(first)
                break
        else:
            before.append(place)
    return list(groups.values())


def _lower_first(parts: Sequence[Node | None], first: int, second: int, anywhere: bool) -> tuple[int, int] | None:
    """Two places, that of the lower bound first, or None where the bounds leave no room or must stay apart."""
    one, other = parts[first], parts[second]
    assert isinstance(one, Compare)
    assert isinstance(other, Compare)
    lower, upper = (other, one) if one.op == "<=" else (one, other)
    if (lower.op, upper.op) != (">", "<=") or lower.value >= upper.value:
        return None
    if not anywhere and (lower is other or second != first + 1 or lower.missing != upper.missing):
        return None
    return (second, first) if lower is other else (first, second)


def lone_value(low: float, high: float, feature: Feature | None, rounded: bool) -> float | None:
    """The one whole number above `low` and up to `high` of a column of whole numbers or days, or None.

    rounded: whatever the bounds are; otherwise only where they are that number and what lies before it.
    """
    if feature is None or feature.kind != "numeric" or feature.display not in WHOLE or not low < high < math.inf:
        return None
    whole = float(math.floor(high))
    below = before(whole, feature)
    near = low == below if math.isinf(low) else math.floor(low) == whole - 1.0
    return whole if (low, high) == (below, whole) or (rounded and near) else None


def before(whole: float, feature: Feature) -> float:
    """The bound above which a whole number is the first of its column: nothing lies before 0 of a count."""
    return -math.inf if whole == 0.0 and feature.display == "count" else whole - 1.0
