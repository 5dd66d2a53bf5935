"""What the parameters that are "auto" stand for: the paper's own settings for its algorithms, the best for ours.

For "tree" the settings were chosen by cross-validation inside the training data of 23 tables (docs/cnll.md, "The
default"). A ridge scaled by the noise also allows a second growth with a third of it, where few rows leave many errors
(rulekit.learners.cnll.search.growth).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_PAPER = {
    "objective": "error+brier",
    "ridge": 0.0,
    "ridge_scale": "none",
    "refit": 0,
    "backfit": 0,
    "max_bins": 255,
    "min_rows": 1.0,
}
_TREE = {
    "objective": "brier",
    "ridge": 12.0,
    "ridge_scale": "noise",
    "refit": 1,
    "backfit": 3,
    "max_bins": 64,
    "min_rows": None,
}
_OF_ALGORITHM: Mapping[str, Mapping[str, Any]] = MappingProxyType({"I": _PAPER, "II": _PAPER, "tree": _TREE})

AUTOMATIC = tuple(_PAPER)


def resolved(parameters: Mapping[str, Any], rows: float) -> dict[str, Any]:
    """The parameters that may be "auto" with their values, for data of so many rows (weight).

    A ridge that is given is a plain number of rows, unless ridge_scale says otherwise.
    """
    given = {name: parameters[name] for name in AUTOMATIC}
    found = dict(_OF_ALGORITHM[parameters["algorithm"]])
    if given["ridge"] != "auto":
        found["ridge_scale"] = "none"
    found |= {name: value for name, value in given.items() if value != "auto"}
    if found["min_rows"] is None:
        found["min_rows"] = max(1.0, min(5.0, rows / 40.0))
    return found
