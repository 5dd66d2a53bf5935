"""Where a model comes from: learner, parameters, data and versions; no clock, host, thread or block figure."""

from __future__ import annotations

from typing import Any

import numpy as np

import rulekit
from rulekit.learners.inputs import TrainingData
from rulekit.tables.data_hash import data_hash


def provenance_of(estimator: Any, data: TrainingData, units: list[int], stopped: str) -> dict[str, Any]:
    """The provenance of a fitted model as JSON values."""
    parameters = {name: _json(value) for name, value in estimator.get_params(deep=False).items() if name != "callback"}
    return {
        "learner": type(estimator).__name__,
        "parameters": parameters,
        "units": units,
        "rows": data.table.n_rows,
        "data": data_hash(data.labelled(estimator.target)),
        "versions": {"rulekit": rulekit.__version__, "numpy": np.__version__},
        **({"stopped": stopped} if stopped else {}),
    }


def _json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return repr(type(value).__name__)
