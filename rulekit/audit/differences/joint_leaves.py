"""A leaf over a column as one model reads it, said over the column as both models together read it.

What one model takes for missing or for a level never seen may be a level or a number to the other; a threshold of a
float32 column is over doubles the double where rounding crosses it. Every leaf is rewritten so that it holds on a cell
of the joint column exactly where the model's own leaf holds on that cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rulekit.errors import InputError
from rulekit.graph.leaves import by_code, leaf_of_codes
from rulekit.graph.nodes import TRUE, And, Column, Compare, Constant, LevelPoints, Missing, Node, Not, Or, Step
from rulekit.numbers import crossing
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature


def joint_leaf(leaf: Node, own: Feature, joint: Feature) -> Node:
    """The same condition, or number, over the joint feature; raises InputError where none says the same."""
    if own == joint or own.kind in ("boolean", "text"):
        return leaf
    if own.kind == "categorical":
        return _by_levels(leaf, own, joint)
    return _of_numbers(leaf, own, joint)


# Categories --------------------------------------------------------------------------------------------------------


def code_of_text(feature: Feature, text: str) -> int | None:
    """The code that a category gives to a text; None where it refuses the text."""
    code = feature.codes_of_texts.get(text)
    if code is not None:
        return code
    return {"unseen": UNSEEN_CODE, "missing": MISSING_CODE}.get(feature.unseen)


def _by_levels(leaf: Node, own: Feature, joint: Feature) -> Node:
    values = by_code(leaf, own).tolist()
    unseen = MISSING_CODE if own.unseen == "missing" else UNSEEN_CODE
    codes = [MISSING_CODE, unseen, *(code_of_text(own, level) for level in joint.levels)]
    said = [values[MISSING_CODE if code is None else code] for code in codes]
    if not isinstance(leaf, LevelPoints):
        return leaf_of_codes(joint, said)
    points = tuple(
        (level, value) for level, value in zip(joint.levels, said[FIRST_LEVEL_CODE:], strict=True) if value != 0
    )
    return LevelPoints(leaf.feature, points, said[MISSING_CODE], said[UNSEEN_CODE])


# Numbers -----------------------------------------------------------------------------------------------------------


def apart_numbers(own: Feature, joint: Feature) -> tuple[float, ...]:
    """The numbers that mean missing to one model and not to both, ascending."""
    return tuple(sorted(set(own.missing_numbers) - set(joint.missing_numbers)))


def _of_numbers(leaf: Node, own: Feature, joint: Feature) -> Node:
    wider = own.precision != joint.precision
    absent = apart_numbers(own, joint)
    if isinstance(leaf, Column):
        if wider or absent:
            what = "other widths" if wider else "other missing tokens"
            raise InputError(
                f"the models read its numbers with {what}, and one adds them up",
                where=f"column {own.name!r}",
                fix="train both with the same --width and --missing",
            )
        return leaf
    if isinstance(leaf, Step):
        return _step(leaf, own, absent, wider)
    if isinstance(leaf, Compare) and wider:
        leaf = _wider(leaf, crossing(leaf.value))
    if not absent:
        return leaf
    alike = [_is(own.name, number) for number in absent]
    missing = isinstance(leaf, Missing) or bool(getattr(leaf, "missing", False))
    return Or([leaf, *alike]) if missing else And([leaf, *map(Not, alike)])


def _wider(leaf: Compare, cut: float) -> Node:
    """A comparison with a double, which may be infinite: then every number is on one side."""
    if math.isfinite(cut):
        return Compare(leaf.feature, leaf.op, cut, leaf.missing)
    if (leaf.op == "<=") == (cut > 0):
        return TRUE if leaf.missing else Not(Missing(leaf.feature))
    return Missing(leaf.feature) if leaf.missing else Constant(False)


def _is(column: str, number: float) -> Node:
    below = math.nextafter(number, -math.inf)
    return And([Compare(column, ">", below), Compare(column, "<=", number)])


def _step(leaf: Step, own: Feature, absent: Sequence[float], wider: bool) -> Node:
    """The step function with a step of its own at each number that means missing."""
    cuts = [crossing(cut) for cut in leaf.cuts] if wider else list(leaf.cuts)
    if any(math.isinf(cut) for cut in cuts):
        raise InputError("a cut is beyond all numbers of its width", where=f"column {own.name!r}")
    ends = sorted({*cuts, *absent, *(math.nextafter(number, -math.inf) for number in absent)})
    values = [leaf.missing if end in absent else leaf.values[sum(cut < end for cut in cuts)] for end in ends]
    values.append(leaf.values[-1])
    kept = [i for i, (before, after) in enumerate(pairwise(values)) if before != after]
    return Step(leaf.feature, tuple(ends[i] for i in kept), tuple(values[i] for i in (*kept, len(ends))), leaf.missing)
