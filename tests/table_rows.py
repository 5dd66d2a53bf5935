"""Rows of an encoded table as a person would write them, and columns as a file of rows with labels."""

from __future__ import annotations

import tempfile
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table


def row_of(table: Table, i: int) -> dict[str, float | str | None]:
    """Row i as a mapping from column names to numbers (NaN: missing), levels (None: missing) or a level never seen."""
    row: dict[str, float | str | None] = {}
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            code = int(array[i])
            row[feature.name] = (None, "a level never seen")[code] if code < 2 else feature.levels[code - 2]
        else:
            row[feature.name] = float(array[i])
    return row


def cells_of(table: Table) -> dict[str, list[Any]]:
    """By column the numbers, truth values (0, 1) or levels of an encoded table; None is missing, "?" never seen."""
    found: dict[str, list[Any]] = {}
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            found[feature.name] = [(None, "?", *feature.levels)[code] for code in array]
        else:
            found[feature.name] = [None if number != number else number for number in array.tolist()]
    return found


def split_labels(columns: Any, options: ReadingOptions) -> LabelledTable:
    """Columns, as a mapping or a frame of polars, written to a Parquet file, which keeps their types, and read."""
    with tempfile.TemporaryDirectory() as folder:
        pl.DataFrame(columns).write_parquet(path := Path(folder) / "t.parquet")
        return read_labelled(path, options)


def pieces(n: int, count: int, rng: np.random.Generator) -> list[slice]:
    """Consecutive parts of n rows in any order; of three and more one is empty, and one has a single row."""
    few = [0, 1] if count > 2 else []
    cuts = [0, *few, *np.sort(rng.integers(min(1, n), n + 1, count - 1 - len(few))).tolist(), n]
    found = list(starmap(slice, pairwise(cuts)))
    return [found[k] for k in rng.permutation(count)]


def part_of(rows: LabelledTable, own: slice) -> LabelledTable:
    """Consecutive rows."""
    return rows.take(np.arange(own.start, own.stop))
