"""The order of the classes in a rule graph: the positive one of two last, ranks from low to high."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.graph.rule_graph import ClassLabel


def class_order(
    learner: str,
    classes: tuple[ClassLabel, ...],
    rows: npt.NDArray[Any],
    positive: Any,
    ordered: Sequence[Any] | None,
    default: Any,
) -> list[int]:
    """Indices of the classes in the graph's order; raises InputError where a parameter names none or contradicts.

    rows [K]: the weight of each class. Of two classes the positive one is `positive`, else the rarer, and where both
    have the same weight the second in sorted order.
    """
    if default is not None:
        class_index(learner, classes, default, "default")
        if len(classes) == 2 or ordered is not None:
            raise InputError("default is for more than two classes without an order", where=learner, fix="leave it out")
    if ordered is not None:
        ranks = _ranks(learner, classes, ordered, positive)
        return [class_index(learner, classes, label, "ordered") for label in ranks]
    if len(classes) == 2:
        rarer = 0 if rows[0] < rows[1] else 1
        free = positive is None or _encoded(learner, classes, positive)
        at = rarer if free else class_index(learner, classes, positive, "positive")
        return [1 - at, at]
    if positive is not None:
        class_index(learner, classes, positive, "positive")
        raise InputError("positive is for two classes", where=learner, fix=f"there are {len(classes)}")
    return list(range(len(classes)))


def _encoded(learner: str, classes: tuple[ClassLabel, ...], positive: Any) -> bool:
    """Whether the labels have become 0 and 1 on the way here, as some of scikit-learn's wrappers encode them.

    Which of them was meant is lost then, but no decision of a wrapper depends on it.
    """
    if list(map(repr, classes)) != ["0", "1"] or not isinstance(positive, str) or positive in ("0", "1"):
        return False
    warnings.warn(f"{learner}: the labels are 0 and 1, and positive={positive!r} is not used", stacklevel=5)
    return True


def class_index(learner: str, classes: tuple[ClassLabel, ...], label: Any, what: str) -> int:
    """The index of a class that the parameter `what` names; raises InputError where it is none."""
    if label not in classes:
        known = ", ".join(map(str, classes))
        raise InputError(f"{what} names {label!r}, which is no class", where=learner, fix=f"one of {known}")
    return classes.index(label)


def _ranks(learner: str, classes: tuple[ClassLabel, ...], ordered: Sequence[Any], positive: Any) -> list[Any]:
    """The classes that occur, as they are ordered."""
    ranks = [label for label in ordered if label in classes]
    left = [label for label in classes if label not in ranks]
    if left:
        raise InputError(f"ordered leaves out the class {left[0]!r}", where=learner, fix="list all")
    twice = [label for i, label in enumerate(ranks) if label in ranks[:i]]
    if twice:
        raise InputError(f"ordered names the class {twice[0]!r} twice", where=learner, fix="name each once")
    if positive is not None and positive != ranks[-1]:
        raise InputError(
            f"positive is {positive!r}, but {ranks[-1]!r} is the highest in ordered",
            where=learner,
            fix="leave out one of them",
        )
    return ranks
