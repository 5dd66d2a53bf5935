"""What is explained of rows on which overrides hold: who answers for them, and what the model beneath says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.overridden_rows import firing_overrides, override_view
from rulekit.graph.language.text import print_node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table


def add_overrides(graph: RuleGraph, table: Table, rows: list[dict[str, Any]], beneath: npt.NDArray[np.int64]) -> None:
    """Put the overrides that hold before the `rules` of each row; beneath [n]: the classes without them."""
    views = [
        {
            "id": override.id,
            "class": graph.classes[override.class_index],
            "text": print_node(override.condition, graph.schema),
            "override": override_view(override),
        }
        for override in graph.overrides
    ]
    for row, holds, label in zip(rows, firing_overrides(graph, table), beneath.tolist(), strict=True):
        if holds.any():
            row["beneath"] = graph.classes[label]
            row["rules"] = [*(dict(views[j]) for j in np.flatnonzero(holds)), *row["rules"]]
