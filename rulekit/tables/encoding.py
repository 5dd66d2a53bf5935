"""Encoding: any table under a schema that a model already has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.cells import boolean_values, numeric_values
from rulekit.tables.columns import Codes, Column, NumberColumn, RawTable, canonical_key, factorize, place
from rulekit.tables.declarations import suggestion
from rulekit.tables.sources import raw_table
from rulekit.tables.table import Array, Table, encoded_dtype


def encode(data: Any, schema: Schema, used: Collection[str] | None = None) -> Table:
    """The rows of `data` under `schema`, whatever `rulekit.tables.infer` reads.

    Columns are matched by name in any order, extra ones ignored; an array [n, d] is matched by place and must have
    all d columns. used: the columns that the model reads (default: all); the others need not be there and come
    back as all missing. Raises InputError naming column, row and value for a missing column, a cell that is no
    number, or an unseen level of a feature whose `unseen` is "error".
    """
    if isinstance(data, Table) and data.features == schema.features:
        return data if data.interactions == schema.interactions else replace(data, interactions=schema.interactions)
    return encode_columns(raw_table(data), schema, used)


def encode_columns(raw: RawTable, schema: Schema, used: Collection[str] | None = None) -> Table:
    """Raw columns under a schema; see `encode`."""
    if raw.positional and len(raw.columns) != len(schema):
        raise InputError(
            f"X has {len(raw.columns)} features, but the model is expecting {len(schema)} features as input",
            where=raw.source or "table",
            fix="give the columns of the training table in their order",
        )
    by_name = {column.name: column for column in raw.columns}
    arrays = []
    for j, feature in enumerate(schema):
        if used is not None and feature.name not in used:
            arrays.append(_all_missing(feature, raw.n_rows))
            continue
        column = raw.columns[j] if raw.positional else by_name.get(feature.name)
        if column is None:
            raise InputError(
                f"no column {feature.name!r}",
                where=raw.source or "table",
                fix=suggestion(feature.name, raw.known_names),
            )
        arrays.append(encode_column(column, feature, raw.source))
    return Table(schema.features, tuple(arrays), raw.n_rows, raw.source, raw.notes, interactions=schema.interactions)


def encode_column(column: Column, feature: Feature, source: str = "") -> Array:
    """One raw column as the encoded array of a feature; raises InputError naming row, column and value."""
    if feature.kind == "categorical":
        return _codes(column, feature, source)
    read = boolean_values if feature.kind == "boolean" else numeric_values
    with np.errstate(over="ignore"):
        return (read(column, feature, source) + 0.0).astype(encoded_dtype(feature))  # minus zero is zero


def _all_missing(feature: Feature, n_rows: int) -> Array:
    """A read-only column of missing cells that takes no memory."""
    missing = MISSING_CODE if feature.kind == "categorical" else np.nan
    return np.broadcast_to(np.array(missing, dtype=encoded_dtype(feature)), (n_rows,))


def _codes(column: Column, feature: Feature, source: str) -> Codes:
    code_of = {level: code for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE)}
    if isinstance(column, NumberColumn) and column.values.dtype.kind == "b":
        # another reader may have taken the levels 0 and 1 for Booleans
        for boolean, digit in (("true", "1"), ("false", "0")):
            code_of.setdefault(boolean, code_of.get(digit, UNSEEN_CODE))
    keys, index = factorize(column, feature.missing_tokens)
    found = [code_of.get(key) or code_of.get(canonical_key(key), UNSEEN_CODE) for key in keys]
    if UNSEEN_CODE in found and feature.unseen != "unseen":
        if feature.unseen == "error":
            _refuse_unseen(column, keys, index, found, source)
        found = [MISSING_CODE if code == UNSEEN_CODE else code for code in found]
    lookup = np.array([*found, MISSING_CODE], dtype=np.int32)
    return np.asarray(lookup[index], dtype=np.int32)


def _refuse_unseen(column: Column, keys: list[str], index: Codes, found: list[int], source: str) -> None:
    unseen = np.array([*(code == UNSEEN_CODE for code in found), False])[index]
    if unseen.any():
        row = int(np.argmax(unseen))
        raise InputError(
            f"level {keys[index[row]]!r} was not in the training data",
            where=place(source, row, column.name),
            fix="mend the cell, or train with unseen levels allowed",
        )
