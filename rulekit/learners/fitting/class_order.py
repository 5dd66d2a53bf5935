"""The order in which a learner lists the classes: the positive one of two last, ranks from low to high."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.rule_graph import ClassLabel

_WHERE = "CNLLClassifier"


def class_order(
    classes: tuple[ClassLabel, ...], positive: Any, ordered: Sequence[Any] | None, default: Any
) -> list[int]:
    """Indices of the classes in the order of listing; raises InputError where a parameter names none or contradicts."""
    if default is not None:
        class_index(classes, default, "default")
        if len(classes) == 2 or ordered is not None:
            raise InputError("default is for more than two classes without an order", where=_WHERE, fix="leave it out")
    if ordered is not None:
        return [class_index(classes, label, "ordered") for label in _ranks(classes, ordered, positive)]
    if positive is None:
        return list(range(len(classes)))
    at = class_index(classes, positive, "positive")
    if len(classes) > 2:
        raise InputError("positive is for two classes", where=_WHERE, fix=f"there are {len(classes)}")
    return [1 - at, at]


def class_index(classes: tuple[ClassLabel, ...], label: Any, what: str) -> int:
    """The index of a class that the parameter `what` names; raises InputError where it is none."""
    if label not in classes:
        known = ", ".join(map(str, classes))
        raise InputError(f"{what} names {label!r}, which is no class", where=_WHERE, fix=f"one of {known}")
    return classes.index(label)


def _ranks(classes: tuple[ClassLabel, ...], ordered: Sequence[Any], positive: Any) -> list[Any]:
    """The classes that occur, as they are ordered."""
    ranks = [label for label in ordered if label in classes]
    left = [label for label in classes if label not in ranks]
    if left:
        raise InputError(f"ordered leaves out the class {left[0]!r}", where=_WHERE, fix="list all")
    twice = [label for i, label in enumerate(ranks) if label in ranks[:i]]
    if twice:
        raise InputError(f"ordered names the class {twice[0]!r} twice", where=_WHERE, fix="name each once")
    if positive is not None and positive != ranks[-1]:
        raise InputError(
            f"positive is {positive!r}, but {ranks[-1]!r} is the highest in ordered",
            where=_WHERE,
            fix="leave out one of them",
        )
    return ranks
