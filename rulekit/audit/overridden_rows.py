"""Which override decides a row, and what the model beneath says of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes, probabilities
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table


def firing_overrides(graph: RuleGraph, table: Table) -> Bools:
    """Which overrides hold on each row [n, overrides]."""
    values = evaluate_nodes(list(dict.fromkeys(each.condition for each in graph.overrides)), table)
    empty = np.empty((table.n_rows, 0), dtype=bool)
    return np.column_stack([values[each.condition] for each in graph.overrides]) if graph.overrides else empty


def deciding_overrides(graph: RuleGraph, table: Table) -> Ints:
    """The place of the first override that holds on each row [n], -1 where none does."""
    holds = firing_overrides(graph, table)
    return np.where(holds.any(axis=1), holds.argmax(axis=1), -1) if graph.overrides else np.full(table.n_rows, -1)


def settled_chances(graph: RuleGraph, table: Table) -> Floats:
    """By row [n] the probability of the second of two classes beneath the overrides; 1 or 0 where one of them decides.

    So no threshold of the probability changes what is decided there.
    """
    chances = probabilities(graph.underlying, table)[:, 1]
    classes = np.array([override.class_index for override in graph.overrides], dtype=np.float64)
    places = deciding_overrides(graph, table)
    held = places >= 0
    chances[held] = classes[places[held]]
    return chances


def override_view(override: Override) -> dict[str, Any]:
    """Who answers for an override, since when, until when and why, as JSON values."""
    return {
        "author": override.author,
        "date": override.date,
        "expires": override.expires,
        "reason": override.reason,
    }
