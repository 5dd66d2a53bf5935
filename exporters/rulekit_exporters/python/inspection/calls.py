"""What the calls in a generated module stand for: counts, choices, places among cuts, clipped columns, links."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rulekit.graph.nodes import Column, Logistic
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.nodes import Arithmetic, Number
from rulekit_exporters.python.inspection.values import (
    Cell,
    Count,
    Known,
    Label,
    Listing,
    Place,
    Rounded,
    Sum,
    UnreadableError,
    Value,
    boolean,
    chosen,
    membership,
    real,
    step,
)


@dataclass(slots=True)
class Module:
    """What the functions of one module share.

    constants: of the module, by name; guards: statements that bring a cell to what the rules compare, as dumps, with
    the column; functions: those that may be called; names: all that the module defines or imports; spelled: see
    `comparison`; texts: filled with the texts that a category's conditions may tell apart otherwise than the schema.
    """

    graph: RuleGraph
    constants: Mapping[str, object]
    guards: Mapping[str, str]
    functions: Mapping[str, ast.FunctionDef]
    names: Collection[str]
    spelled: dict[tuple[str, float], float]
    texts: dict[str, set[str]] = field(default_factory=dict)


def unwrapped(value: Value) -> Value:
    """A product stands for itself where it is no term of a running sum."""
    if isinstance(value, Sum) and value.bias == 0.0 and len(value.terms) == 1:
        weight, node = value.terms[0]
        return node if weight == 1.0 else Arithmetic("*", Number(weight), node)
    return value


def floats(values: Any) -> list[float]:
    if not isinstance(values, tuple | list) or not all(isinstance(v, int | float) for v in values):
        raise UnreadableError("a table of something else than numbers")
    return [float(value) for value in values]


def _summed(module: Module, listing: Value) -> Value:
    if not isinstance(listing, Listing):
        raise UnreadableError("a sum of something that is not listed")
    return Count(tuple(map(boolean, listing.items)))


def _counted(module: Module, _: Value, listing: Value) -> Value:
    return _summed(module, listing)


def _where(module: Module, condition: Value, then: Value, otherwise: Value) -> Value:
    return chosen(boolean(condition), then, otherwise, module.spelled)


def _full(module: Module, _: Value, value: Value) -> Value:
    return value


def _zeros(module: Module, _: Value) -> Value:
    return Known(0.0)


def _among(module: Module, _: Value, cell: Value, members: Value) -> Value:
    if not isinstance(cell, Cell) or not cell.clean or not isinstance(members, Known):
        raise UnreadableError("a membership of something that is no category")
    if not isinstance(members.value, frozenset):
        raise UnreadableError("a membership in something that is no set")
    return membership(cell.feature, members.value, module.texts)


def _place(module: Module, cuts: Value, cell: Value) -> Value:
    if not isinstance(cell, Cell) or not cell.clean or not isinstance(cuts, Known):
        raise UnreadableError("a place among cuts of something that is no cell")
    return Place(cell.feature, tuple(floats(cuts.value)))


def _stepped(module: Module, _: Value, cell: Value, cuts: Value, values: Value, missing: Value) -> Value:
    place = _place(module, cuts, cell)
    if not isinstance(place, Place) or not isinstance(values, Known) or not isinstance(missing, Known):
        raise UnreadableError("a step function of something that is not known")
    found = Place(place.feature, place.cuts, tuple(floats(values.value)))
    return step(found, floats((missing.value,))[0], module.spelled)


def _rounded(module: Module, cell: Value) -> Value:
    if not isinstance(cell, Cell) or not cell.clean:
        raise UnreadableError("something that is no cell is rounded")
    return Rounded(cell.feature)


def _rounded_column(module: Module, _: Value, cell: Value) -> Value:
    return _rounded(module, cell)


def _clipped(module: Module, value: Value, missing: Value, low: Value, high: Value, grid: Value) -> Value:
    bounds = [item.value for item in (missing, low, high, grid) if isinstance(item, Known)]
    feature = value.feature if isinstance(value, Rounded | Cell) else None
    if feature is None or len(bounds) < 4 or (isinstance(value, Cell) and not value.clean):
        raise UnreadableError("something else than a cell is clipped")
    if (feature.precision == "float32") != isinstance(value, Rounded):
        raise UnreadableError(f"column {feature.name!r} enters a sum in another precision than its own")
    a, b, c, d = floats(bounds)
    return Column(feature.name, a, b, c, d)


def _clipped_column(module: Module, _: Value, *values: Value) -> Value:
    return _clipped(module, *values)


def _logistic(module: Module, value: Value) -> Value:
    return Logistic(real(unwrapped(value)))


def _logistic_column(module: Module, _: Value, value: Value) -> Value:
    return _logistic(module, value)


def _one_hot(module: Module, value: Value, _: Value) -> Value:
    return value


def _normalised(module: Module, listing: Value, _: Value) -> Value:
    return listing


def _index_of(module: Module, value: Value) -> Value:
    return value.index if isinstance(value, Label) else value


CALLS: dict[str, Callable[..., Value]] = {
    "sum": _summed,
    "count": _counted,
    "np.where": _where,
    "np.full": _full,
    "np.zeros": _zeros,
    "among": _among,
    "bisect_left": _place,
    "stepped": _stepped,
    "float32": _rounded,
    "float32_column": _rounded_column,
    "clipped": _clipped,
    "clipped_column": _clipped_column,
    "logistic": _logistic,
    "logistic_column": _logistic_column,
    "one_hot": _one_hot,
    "normalised": _normalised,
    "CLASSES.index": _index_of,
}
