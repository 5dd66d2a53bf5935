"""Numbers that take few values: for each value the Boolean function of cells that says when it is taken."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from rulekit.verification.proof.exact_numbers import Sum
from rulekit.verification.proof.forms import FALSE, TRUE, Forms

MOST_VALUES = 128
MOST_PAIRS = 1024
MOST_ATOMS = 500  # that stand within each other

Value = Fraction | float  # a float is an infinity
Values = dict[Value, int]

_OPERATIONS: dict[str, Callable[[float, float], float]] = {"+": operator.add, "*": operator.mul}


class Cases:
    """The values of sums over some forms; `keys` are the makings of the atoms, each after those that it is made of."""

    def __init__(self, forms: Forms, keys: Sequence[tuple[Any, ...]]) -> None:
        self._forms, self._keys = forms, keys
        self._known: dict[int, Values | None] = {}

    def of(self, value: Sum) -> Values | None:
        """Each value and the edge of where it is taken; None where there are many, or where they are not known."""
        for name in self._below(value):
            if name not in self._known:
                self._known[name] = self._of_atom(self._keys[name])
        return self._of_sum(value)

    def _below(self, value: Sum) -> list[int]:
        """The atoms under a sum, each after those that it is made of; none where they are too many."""
        found: set[int] = set()
        stack = [name for name, _ in value.atoms]
        while stack:
            name = stack.pop()
            if name in found or name in self._known:
                continue
            found.add(name)
            if len(found) > MOST_ATOMS:
                return []
            stack += [inner for part in self._keys[name] if isinstance(part, Sum) for inner, _ in part.atoms]
        return sorted(found)

    def _of_sum(self, value: Sum) -> Values | None:
        result: Values | None = {value.constant: TRUE}
        for axis, numbers in value.tables:
            masks: dict[Value, int] = {}
            for cell, number in enumerate(numbers):
                masks[number] = masks.get(number, 0) | 1 << cell
            result = self._combined(
                result, {n: self._forms.literal(axis, mask) for n, mask in masks.items()}, _exact_sum
            )
        for edge, weight in value.edges:
            result = self._combined(result, {weight: edge, Fraction(0): edge ^ 1}, _exact_sum)
        for name, weight in value.atoms:
            known = self._known.get(name)
            scaled = None if known is None else {weight * number: edge for number, edge in known.items()}
            result = self._combined(result, scaled, _exact_sum)
        return result

    def _of_atom(self, key: tuple[Any, ...]) -> Values | None:
        kind = key[0]
        if kind == "infinity":
            return {key[1]: TRUE}
        if kind in _OPERATIONS:
            operation = _OPERATIONS[kind]
            return self._combined(self._of_sum(key[1]), self._of_sum(key[2]), lambda a, b: _rounded(operation, a, b))
        if kind == "choice":
            then, otherwise = self._of_sum(key[2]), self._of_sum(key[3])
            if then is None or otherwise is None:
                return None
            held = self._combined({Fraction(0): key[1]}, then, lambda a, b: b)
            rest = self._combined({Fraction(0): key[1] ^ 1}, otherwise, lambda a, b: b)
            return None if held is None or rest is None else self._joined([*held.items(), *rest.items()])
        if kind == "lookup":
            index = self._of_sum(key[2])
            if index is None:
                return None
            inside = [(_value(key[1][int(i)]), edge) for i, edge in index.items() if 0 <= i < len(key[1])]
            return self._joined(inside) if all(number is not None for number, _ in inside) else None
        return None

    def _combined(
        self, first: Values | None, second: Values | None, operation: Callable[[Value, Value], Value | None]
    ) -> Values | None:
        if first is None or second is None or len(first) * len(second) > MOST_PAIRS:
            return None
        pairs = []
        for a, one in first.items():
            for b, other in second.items():
                edge = self._forms.conjunction((one, other))
                number = operation(a, b) if edge != FALSE else Fraction(0)
                if number is None:
                    return None
                if edge != FALSE:
                    pairs.append((number, edge))
        return self._joined(pairs)

    def _joined(self, pairs: list[tuple[Any, int]]) -> Values | None:
        edges: dict[Value, list[int]] = {}
        for number, edge in pairs:
            edges.setdefault(number, []).append(edge)
        if len(edges) > MOST_VALUES:
            return None
        return {number: self._forms.disjunction(found) for number, found in edges.items()}


def _exact_sum(a: Value, b: Value) -> Value | None:
    total = a + b
    return None if isinstance(total, float) and math.isnan(total) else total


def _rounded(operation: Callable[[float, float], float], a: Value, b: Value) -> Value | None:
    """The nearest double; None for what is no number."""
    return _value(operation(float(a), float(b)))


def _value(number: float) -> Value | None:
    if math.isnan(number):
        return None
    return number if math.isinf(number) else Fraction(number)
