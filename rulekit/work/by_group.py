"""The rows of a file in groups, by columns that the model knows and by others of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.groups import Grouping, Parity, grouping_of, parity
from rulekit.audit.figures.metrics import class_indices
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, require_column
from rulekit.tables.kinds.inference import infer_columns
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import OF_TEXT_FILES, ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Table


def known_columns(graph: RuleGraph, by: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns that the model has in its schema."""
    return tuple(name for name in by if name in graph.schema)


def groupings(
    graph: RuleGraph, rows: LabelledTable, by: Sequence[str], data: Path, reading: ReadingOptions
) -> tuple[Grouping, ...]:
    """The groups of the rows by each of the columns, which `rows` holds where the model knows them.

    Raises InputError for a column that neither has, for a text, and where rows were left out for want of a label, so
    that another column of the file does not say which.
    """
    further = [name for name in dict.fromkeys(by) if name not in graph.schema]
    table = _further(data, reading, further, len(rows)) if further else None
    found = []
    for name in dict.fromkeys(by):
        of: tuple[Feature, Table] = (
            (graph.schema[name], rows.table)
            if table is None or name in graph.schema
            else (table.features[table.names.index(name)], table)
        )
        found.append(grouping_of(of[0], of[1].array(name)))
    return tuple(found)


def _further(data: Path, reading: ReadingOptions, names: Sequence[str], n_rows: int) -> Table:
    """Columns of the file that the model does not know, as their cells say what they are."""
    options = ReadingOptions(
        **{name: getattr(reading, name) for name in OF_TEXT_FILES},
        missing=() if isinstance(reading.missing, dict) else reading.missing,
        types={name: kind for name, kind in reading.types.items() if name in names},
    )
    raw = read_columns(data, options, columns=names)
    for name in names:
        require_column(name, raw.known_names, raw.source)
    if raw.n_rows != n_rows:
        raise InputError(
            f"{raw.n_rows - n_rows} rows have no label, so it is not known which rows of {names[0]} are meant",
            where=data.name,
            fix="leave the rows without a label out of the file",
        )
    return infer_columns(raw, options)


def parities(graph: RuleGraph, rows: LabelledTable, groups: Sequence[Grouping]) -> tuple[Parity, ...]:
    """The figures of every grouping for the positive class, or of more classes for each."""
    y, decided = class_indices(graph, rows), decide(graph, rows.table)
    return tuple(
        parity(grouping, graph.classes[k], y == k, decided == k, rows.weight)
        for grouping in groups
        for k in asked_classes(graph)
    )


def asked_classes(graph: RuleGraph) -> npt.NDArray[np.int64]:
    """The classes that are asked about by themselves: of two the positive one, else all."""
    return np.array([1]) if len(graph.classes) == 2 else np.arange(len(graph.classes))
