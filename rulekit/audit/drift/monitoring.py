"""Rows in memory beside those that trained a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.drift.comparing import compare
from rulekit.audit.drift.findings import Drift
from rulekit.audit.drift.new_levels import new_levels
from rulekit.errors import InputError
from rulekit.tables.kinds.classes import class_key
from rulekit.tables.kinds.encoding import encode_columns
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


def monitor_data(graph: RuleGraph, data: Any, y: Any = None) -> Drift:
    """How rows, whatever `RuleGraph.table` reads, with labels y [n] or None, differ from those of training.

    Raises InputError where the model does not say what trained it, or a label is none of its classes.
    """
    if isinstance(data, Table):  # new levels have no names any more
        table, new = graph.table(data), None
    else:
        raw = raw_table(data)
        table = encode_columns(raw, graph.schema, graph.used_features)
        new = new_levels(raw, table, graph.schema, graph.used_features)
    drift = compare(graph, table, y=None if y is None else _indices(graph, y, table.n_rows), new=new)
    if drift is None:
        raise InputError("the model does not say what trained it", fix="count its statistics on the training rows")
    return drift


def _indices(graph: RuleGraph, y: Any, n_rows: int) -> npt.NDArray[np.int64]:
    place = {class_key(label): k for k, label in enumerate(graph.classes)}
    cells = np.asarray(y).tolist()
    strange = next((cell for cell in cells if class_key(cell) not in place), None)
    if strange is not None or len(cells) != n_rows:
        what = f"{len(cells)} labels for {n_rows} rows" if strange is None else f"{strange!r} is no class of the model"
        raise InputError(what, where="y", fix=f"classes are {', '.join(map(repr, graph.classes[:8]))}")
    return np.array([place[class_key(cell)] for cell in cells], dtype=np.int64)
