"""Where a model comes from: learner, parameters, data and versions; no clock, host, thread or block figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import rulekit
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.tables.labels import data_hash

_NOT_THE_MODEL = ("callback", "n_threads", "memory")


def provenance_of(
    learner: str, parameters: Mapping[str, Any], data: TrainingData, target: str, stopped: str
) -> dict[str, Any]:
    """The provenance of a fitted model as JSON values; parameters: as they were used, nothing is "auto"."""
    return {
        "learner": learner,
        "parameters": {name: _json(parameters[name]) for name in sorted(parameters) if name not in _NOT_THE_MODEL},
        "units": [],
        "rows": data.table.n_rows,
        "data": data_hash(data.labelled(target)),
        "versions": {"rulekit": rulekit.__version__, "numpy": np.__version__},
        **({"stopped": stopped} if stopped else {}),
    }


def _json(value: Any) -> Any:
    if isinstance(value, RuleGraph):
        return value.digest
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return repr(type(value).__name__)
