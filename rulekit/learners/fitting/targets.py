"""The questions that a learner is asked, and the columns that it must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.learners.contract import Kind
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.schema import MISSING_CODE

if TYPE_CHECKING:
    from rulekit.learners.base import RuleClassifier


def questions_of(labels: npt.NDArray[Any], classes: tuple[Any, ...], kind: Kind) -> list[tuple[Any, npt.NDArray[Any]]]:
    """What each question is to tell from the rest: (label, 0 or 1 [n]).

    Of two classes the second; of ranked ones, for each but the lowest, whether the label is at least it.
    """
    if len(classes) == 2:
        return [(classes[1], labels)]
    if kind == "ranked":
        return [(classes[k], (labels >= k).astype(labels.dtype)) for k in range(1, len(classes))]
    return [(classes[k], (labels == k).astype(labels.dtype)) for k in range(len(classes))]


def refuse_columns(learner: type[RuleClassifier], data: TrainingData) -> None:
    """Raises InputError for columns, missing values and classes that a learner cannot take, and names them."""
    name, can = learner.__name__, learner.abilities
    if len(data.classes) > 2 and "several" not in can:
        raise InputError(f"{name} learns two classes, there are {len(data.classes)}", where="y")
    for feature, array in zip(data.table.features, data.table.arrays, strict=True):
        where = f"column {feature.name!r}"
        if feature.monotone != 0 and "monotone" not in can:
            fix = "drop the declaration or the column"
            raise InputError(f"{name} cannot promise a monotone column", where=where, fix=fix)
        if feature.role != "use":
            continue
        if feature.kind == "categorical" and "categories" not in can:
            raise InputError(f"{name} takes no categories", where=where, fix="leave the column out")
        if "missing" not in can:
            gaps = np.isnan(array) if array.dtype.kind == "f" else array == MISSING_CODE
            if gaps.any():
                raise InputError(f"{name} takes no missing values", where=where, fix="fill them in")
    if data.table.interactions and "interactions" not in can:
        # Two clauses that are too weak alone may decide together, so a rule of theirs would mix their columns.
        group = ", ".join(map(repr, data.table.interactions[0]))
        raise InputError(
            f"{name} cannot promise which columns stand in one rule",
            where=f"interactions, group {group}",
            fix="drop the declaration",
        )
