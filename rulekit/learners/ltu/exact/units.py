"""The exact units of a tree."""

from __future__ import annotations

import numpy as np

from rulekit.learners.binned.codes import Codes
from rulekit.learners.ltu.exact.integers import least_integer_unit
from rulekit.learners.ltu.exact.near_rows import ComingRows, SidedRows
from rulekit.learners.ltu.exact.parts import NumberPart, RealUnit, Seen, real_unit
from rulekit.learners.ltu.exact.rounding import nearest_unit, rounded_unit
from rulekit.learners.ltu.inputs import Condition, Inputs
from rulekit.learners.ltu.shape import NONE
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.units import ConditionTerm, NumberTerm, Unit
from rulekit.schema import MISSING_CODE

_DOUBT = 16.0  # times what doubles tell apart


def exact_units(
    tree: LTUTree, inputs: Inputs, codes: Codes, n_rows: int, grid: bool = True, before: Seen | None = None
) -> tuple[Unit, ...]:
    """The units [m] of a tree over inputs as they are, as they decide: like the real ones on these n rows of codes.

    A unit over one column is a condition. One over few conditions has whole weights of the least total, with the same
    truth on all combinations that can occur. Any other is rounded so that all rows that come to it stay on their sides.
    grid: columns are rounded too, so that sums are exact; else weights are the doubles that they are where there is a
    number. before: what other rows had, that were learned from before these.
    """
    seen = Seen.of(inputs, codes)
    seen = seen if before is None else seen.joined(before)
    found = list[Unit]()
    coming = {0: ComingRows(codes, n_rows)}
    for k in range(tree.size):
        real, rows = real_unit(tree.weights[k], float(tree.biases[k]), inputs, seen), coming.pop(k)
        unit = _ordered(exact_unit(real, seen, rows, grid))
        found.append(unit)
        children = (int(tree.shape.left[k]), int(tree.shape.right[k]))
        if children == (NONE, NONE):
            continue
        fires = rows.sums(unit) >= 0.0
        for child, side in zip(children, (~fires, fires), strict=True):
            if child != NONE:
                coming[child] = rows.take(np.flatnonzero(side))
    return tuple(found)


def exact_unit(real: RealUnit, seen: Seen, rows: ComingRows, grid: bool = True) -> Unit:
    """A real unit as it decides; rows: those that come to it."""
    columns = real.columns
    if not columns:
        return Unit((), 1.0 if real.bias >= 0.0 else -1.0)
    if len(columns) == 1:
        numbers = {part.column for part in real.numbers}
        return _condition_unit(real, columns[0], columns[0] in seen.missing | numbers)
    if real.numbers and not grid:
        return _free_unit(real)
    found = least_integer_unit(real, seen)
    for doubt in (0.0, _DOUBT * real.tolerance):
        if found is None:
            found = rounded_unit(real, SidedRows.of(real, rows, doubt))
    return nearest_unit(real) if found is None else found


def _ordered(unit: Unit) -> Unit:
    """The unit with the conditions of most weight first, those of one weight in the order of their columns."""
    conditions = [term for term in unit.terms if isinstance(term, ConditionTerm)]
    numbers = [term for term in unit.terms if isinstance(term, NumberTerm)]
    return Unit((*sorted(conditions, key=lambda term: (-term.weight, term.column)), *numbers), unit.bias)


def _condition_unit(real: RealUnit, column: int, with_missing: bool) -> Unit:
    """The unit over one column: the condition that its code is one of those where it fires."""
    holds = real.fires_by_code(column)
    known = holds[MISSING_CODE + 1 :]
    if not with_missing:
        holds[MISSING_CODE] = known.all()
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    return Unit((ConditionTerm(1.0, Condition(column, holds)),), -0.5)


def _free_unit(real: RealUnit) -> Unit:
    """The unit in doubles as they are, whose sums may be rounded."""
    heights = zip(real.heights.tolist(), real.conditions, strict=True)
    conditions = [ConditionTerm(height, condition) for height, condition in heights]
    return Unit((*conditions, *map(_free_term, real.numbers)), real.bias)


def _free_term(part: NumberPart) -> NumberTerm:
    missing = float(part.values[MISSING_CODE])
    return NumberTerm(part.weight, part.column, part.values, part.low, part.high, missing, 0.0)
