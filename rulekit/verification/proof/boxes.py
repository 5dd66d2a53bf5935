"""What holds on a whole box of cells (a set of cells of each column), as far as it is seen without a search.

A form is worked out in three values, from below: a literal by its set of cells, a conjunction by its parts, a
comparison of a sum by the smallest and largest number that its parts have on the box. What is said is so; a form of
which nothing is said may still be settled on the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rulekit.verification.proof.exact_numbers import Sum
from rulekit.verification.proof.forms import Forms


def known_on_box(forms: Forms, root: int, box: Sequence[int]) -> bool | None:
    """Whether an edge holds on all cells of a box (True) or on none (False); box: a set of cells, as bits, by axis."""
    known: dict[int, bool | None] = {}

    def of(edge: int) -> bool | None:
        if edge >> 1 not in known:
            known[edge >> 1] = known_on_box(forms, edge & ~1, box)
        value = known[edge >> 1]
        return value if value is None else value ^ bool(edge & 1)

    for index in forms.below(root):
        kind = forms.kinds[index]
        if kind[0] == "true":
            known[index] = True
        elif kind[0] == "cells":
            inside = kind[2] & box[kind[1]]
            known[index] = True if inside == box[kind[1]] else None if inside else False
        elif kind[0] == "and":
            parts = [of(edge) for edge in kind[1]]
            known[index] = False if False in parts else None if None in parts else True
        elif kind[0] == "above" and not kind[1].atoms:
            known[index] = _above_zero(forms, kind[1], box)
        else:
            known[index] = None
    return of(root)


def _above_zero(forms: Forms, value: Sum, box: Sequence[int]) -> bool | None:
    low = high = value.constant
    for axis, numbers in value.tables:
        own = [number for cell, number in enumerate(numbers) if box[axis] >> cell & 1]
        low, high = low + min(own), high + max(own)
    for edge, weight in value.edges:
        held = known_on_box(forms, edge, box)
        if held is None:
            low, high = low + min(weight, Fraction(0)), high + max(weight, Fraction(0))
        elif held:
            low, high = low + weight, high + weight
    return True if low > 0 else False if high <= 0 else None
