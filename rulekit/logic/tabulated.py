"""Array that hang on few columns and truth values, with the number of every combination worked out by IEEE 754.

A grid has an axis for each column or truth value; cells of a column that no number tells apart are one place on it.
A grid that was `combined` is canonical: no axis could be left out and no two places are alike. So what is computed step
by step, and what is looked up in a table that holds the results of these steps, are the same grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.logic.exact_numbers import CellSum, add, number, span, table, truth
from rulekit.logic.forms import FALSE, TRUE, Forms

MOST_COMBINATIONS = 1 << 12

# 0 and a column with the place of each of its cells, or 1 and an edge with (0, 1): where it does not and does hold.
Axis = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """values [places of each axis]: doubles or truth values; axes in ascending order."""

    axes: tuple[Axis, ...]
    values: Array

    @property
    def key(self) -> tuple[Any, ...]:
        return self.axes, self.values.tobytes()


def grid_of(value: CellSum) -> Grid | None:
    """The doubles that a sum without atoms takes; None where its combinations are too many."""
    tables = [(axis, values.places) for axis, values in value.tables]
    if prod(len(distinct) for _, (_, distinct) in tables) << len(value.edges) > MOST_COMBINATIONS:
        return None
    axes: list[Axis] = [(0, axis, places) for axis, (places, _) in tables]
    axes += [(1, edge, (0, 1)) for edge, _ in value.edges]
    terms = [distinct for _, (_, distinct) in tables] + [(Fraction(0), weight) for _, weight in value.edges]
    known = span(value, {})
    kind: Any = np.float64 if known is not None and known.fits() else object  # doubles where no sum of them rounds
    total = np.array(value.constant, dtype=object).astype(kind)
    for place, term in enumerate(terms):
        shape = [1] * len(terms)
        shape[place] = len(term)
        total = total + np.array(term, dtype=object).astype(kind).reshape(shape)
    return Grid(tuple(axes), np.asarray(total, dtype=np.float64))


def grid_of_truth(forms: Forms, edge: int) -> Grid:
    """Where an edge that is no constant holds."""
    literal = forms.mask(edge)
    if literal is None:
        return Grid(((1, edge & ~1, (0, 1)),), np.array([bool(edge & 1), not edge & 1]))
    axis, mask = literal
    held = [bool(mask >> cell & 1) for cell in range(forms.full[axis].bit_length())]
    return Grid(((0, axis, tuple(int(one != held[0]) for one in held)),), np.array([held[0], not held[0]]))


def combined(operation: Callable[..., Array], *operands: Grid | None) -> Grid | None:
    """An operation on the numbers of each combination; None where these are too many or some result is not finite."""
    grids = [grid for grid in operands if grid is not None]
    if len(grids) < len(operands):
        return None
    axes: dict[tuple[int, int], tuple[int, ...]] = {}
    for kind, index, places in (axis for grid in grids for axis in grid.axes):
        known = axes.get((kind, index))
        axes[kind, index] = places if known is None or known == places else _refined(known, places)
    order = sorted(axes)
    sizes = [max(axes[key]) + 1 for key in order]
    if prod(sizes) > MOST_COMBINATIONS:
        return None
    spread = []
    for grid in grids:
        values = grid.values
        shape = [1] * len(order)
        for i, (kind, index, places) in enumerate(grid.axes):
            at = dict(zip(axes[kind, index], places, strict=True))
            values = values.take([at[place] for place in range(len(at))], axis=i)
            shape[order.index((kind, index))] = len(at)
        spread.append(values.reshape(shape))
    with np.errstate(all="ignore"):
        found = np.broadcast_to(operation(*spread), sizes)
    if found.dtype != np.bool_:
        found = found + 0.0  # one zero
        if not np.isfinite(found).all():
            return None
    return _canonical([(*key, axes[key]) for key in order], found)


def _refined(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Places that tell apart what either does, numbered as they first occur."""
    known: dict[tuple[int, int], int] = {}
    return tuple(known.setdefault(pair, len(known)) for pair in zip(one, other, strict=True))


def _canonical(axes: list[Axis], values: Array) -> Grid:
    kept: list[Axis] = []
    for kind, index, places in axes:
        i = len(kept)
        known: dict[bytes, int] = {}
        rows = np.moveaxis(values, i, 0)
        merged = [known.setdefault(row.tobytes(), len(known)) for row in rows]
        if len(known) == 1:
            values = rows[0]
            continue
        if len(known) < len(merged):
            values = values.take([merged.index(place) for place in range(len(known))], axis=i)
        kept.append((kind, index, tuple(merged[place] for place in places)))
    return Grid(tuple(kept), np.ascontiguousarray(values))


def sum_of_grid(grid: Grid) -> CellSum | None:
    """The numbers of a grid as an exact sum of tables and truth values; None where they are none."""
    base = Fraction(grid.values.flat[0].item())
    total = number(base)
    for i, (kind, index, places) in enumerate(grid.axes):
        line = np.moveaxis(grid.values, i, 0).reshape(grid.values.shape[i], -1)[:, 0]
        steps = [Fraction(value) - base for value in line.tolist()]
        total = add(total, truth(index), steps[1]) if kind else add(total, table(index, [steps[p] for p in places]))
    if len(grid.axes) < 2:
        return total
    known = span(total, {})
    if known is None or not known.fits():
        return None
    apart = combined(np.not_equal, grid, grid_of(total))
    return None if apart is None or apart.values.any() else total


def logic_of_grid(forms: Forms, grid: Grid) -> int:
    """The edge of where a grid of truth values is true."""
    known: dict[tuple[int, bytes], int] = {}

    def edge_of(depth: int, values: Array) -> int:
        if values.all() or not values.any():
            return TRUE if values.all() else FALSE
        key = depth, values.tobytes()
        if key not in known:
            branches = [
                (edge, edge_of(depth + 1, rest))
                for edge, rest in zip(_edges(forms, grid.axes[depth]), values, strict=True)
            ]
            known[key] = forms.branch(branches)
        return known[key]

    return edge_of(0, grid.values)


def _edges(forms: Forms, axis: Axis) -> list[int]:
    """For each place of an axis the edge of being there."""
    kind, index, places = axis
    if kind:
        return [index ^ 1, index]
    masks = [0] * (max(places) + 1)
    for cell, place in enumerate(places):
        masks[place] |= 1 << cell
    return [forms.literal(index, mask) for mask in masks]
