"""Label columns whose cells hold several labels: how often each occurs, and the column that asks for one of them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import numpy as np

from rulekit.errors import InputError
from rulekit.schema import require_column
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import Codes, Column, LevelColumn, canonical_key, column_place, factorize
from rulekit.tables.reading import read_columns


def labels_of_cell(cell: str, separator: str) -> frozenset[str]:
    """The labels of a cell, without the spaces around them, as classes are named."""
    return frozenset(canonical_key(part) for part in map(str.strip, cell.split(separator)) if part)


def without_label(label: str) -> str:
    """The class of the rows that have not this label."""
    return f"not {label}"


def one_label(column: Column, label: str, separator: str, tokens: tuple[str, ...] = ()) -> LevelColumn:
    """Whether the cells [n] hold one label, as a column of two levels; a cell without any value holds none."""
    keys, codes = factorize(column, tokens)
    held = np.array([label in labels_of_cell(key, separator) for key in keys] + [False])
    found: Codes = held[codes].astype(np.int32)
    return LevelColumn(column.name, found, (without_label(label), label), first_row=column.first_row)


def label_counts(path: str | os.PathLike[str], options: ReadingOptions) -> dict[str, int]:
    """How many rows of a file have each label, the most frequent first.

    Raises InputError where the file has no such column, or no row has a label.
    """
    target, separator = options.target, options.label_separator
    if target is None or separator is None:
        raise InputError("no column of several labels is named", where=os.fspath(path), fix="name it as the target")
    raw = read_columns(path, replace(options, target=target), columns=(target,), keep_text=(target,))
    require_column(target, raw.known_names, raw.source, "target column")
    keys, codes = factorize(raw.columns[0], options.missing_tokens(raw.known_names).get(target, ()))
    rows = Counter[str]()
    for key, count in zip(keys, np.bincount(codes + 1, minlength=len(keys) + 1)[1:].tolist(), strict=True):
        rows.update(dict.fromkeys(labels_of_cell(key, separator), count))
    if not rows:
        raise InputError("no row has a label", where=column_place(raw.source, target), fix="name another target")
    return dict(sorted(rows.items(), key=lambda item: (-item[1], item[0])))
