"""Random tables of all kinds of columns, and random trees over them."""

import numpy as np

from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.schema import Feature
from rulekit.tables.table import Table


def booleans(rng, n_rows, n_columns):
    arrays = rng.integers(0, 2, (n_columns, n_rows)).astype(np.float32)
    return Table(tuple(Feature(f"b{i}", "boolean") for i in range(n_columns)), tuple(arrays), n_rows)


def mixed(rng, n):
    """A table of up to 12 columns, some with missing cells, one at least with numbers of few values."""
    features, arrays = [], []

    def add(feature, array, missing=np.nan):
        if rng.random() < 0.5:
            array[rng.random(n) < 0.1] = missing
        features.append(feature)
        arrays.append(array)

    for i in range(rng.integers(0, 5)):
        add(Feature(f"b{i}", "boolean"), rng.integers(0, 2, n).astype(np.float32))
    for i in range(rng.integers(0, 3)):
        levels = tuple("abcde"[: rng.integers(2, 6)])
        kind = Feature(f"c{i}", "categorical", levels, ordered=bool(rng.random() < 0.3))
        add(kind, rng.integers(2, 2 + len(levels), n).astype(np.int32), 0)
    values = (
        lambda: rng.integers(0, 5, n),
        lambda: rng.integers(0, 80, n),
        lambda: rng.normal(size=n) * 10.0 ** rng.integers(-3, 6),
        lambda: np.round(rng.normal(37, 1, n), 1),
    )
    for i, place in enumerate([0, *rng.integers(0, 4, rng.integers(0, 4))]):
        precision = "float64" if rng.random() < 0.5 else "float32"
        add(Feature(f"x{i}", precision=precision), values[place]().astype(precision))
    return Table(tuple(features), tuple(arrays), n)


def problem_of(table):
    weights = np.ones(table.n_rows, dtype=np.int64)
    return Problem(*bin_table(table, weights, None), np.zeros(table.n_rows, dtype=np.int64), weights, 1.0)


def matrix_of(inputs, codes, n_rows):
    """The inputs of rows [n, d] as they are."""
    columns = [item.values[codes[item.column]] for item in inputs.items]
    return np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0))


def shape_of(rng, size):
    left, right = [NONE] * size, [NONE] * size
    for unit in range(1, size):
        free = [(side, k) for k in range(unit) for side in (left, right) if side[k] == NONE]
        side, parent = free[rng.integers(len(free))]
        side[parent] = unit
    return Shape.of(left, right)


def tree_over(rng, inputs, size=3):
    """A tree whose weights are real, or small whole numbers so that many rows lie on its planes."""
    n = len(inputs)
    live = rng.random((size, n)) < rng.choice([0.3, 0.7, 1.0])
    if rng.random() < 0.5:
        weights = rng.integers(-3, 4, (size, n)) * live * 1.0
        middle = np.where(inputs.are_numbers, np.rint(inputs.means), 0.0)
        return LTUTree(shape_of(rng, size), weights, -weights @ middle - rng.integers(-1, 3, size))
    weights = rng.normal(size=(size, n)) * live
    biases = rng.normal(size=size) * np.sqrt(1.0 + (weights**2).sum(axis=1)) / 2
    return LTUTree(shape_of(rng, size), *inputs.unscaled(weights, biases))


def elsewhere(rng, table):
    """As many rows with the same columns and any cells: missing ones, levels never seen, numbers out of range."""
    arrays = []
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            arrays.append(rng.integers(0, 2 + len(feature.levels), table.n_rows).astype(array.dtype))
        else:
            found = rng.integers(0, 2, table.n_rows).astype(array.dtype)
            if feature.kind == "numeric":
                found = (rng.permutation(array) * rng.choice([-2.0, 0.97, 1.0, 30.0], table.n_rows)).astype(array.dtype)
            found[rng.random(table.n_rows) < 0.2] = np.nan
            arrays.append(found)
    return Table(table.features, tuple(arrays), table.n_rows)
