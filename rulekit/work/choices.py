"""What a target or a learner lets its user choose, as it declares it: from this, flags and help are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

_SPELLED_ALIKE = (
    *("cost", "forbid", "freeze", "memory", "missing", "missing_never_helps", "missing_target", "monotone", "ordered"),
    *("positive", "report", "require", "size", "start", "target", "time", "time_limit", "unseen"),
)
OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in _SPELLED_ALIKE},
    **{"groups": "--group", "precision": "--width", "random_state": "--seed", "roles": "--role"},
    **{"sample_weight": "--weight", "types": "--type", "units": "--unit", "callback": "", "verbose": ""},
}
"""By parameter of an estimator or of its fit the option of the command that sets it; "" where none does."""


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """One option: its name, its default (a truth value, an integer or text), one line of help, the values if few."""

    name: str
    default: Any
    help: str
    allowed: Sequence[Any] = ()


def choices_of_target(name: str) -> tuple[DeclaredOption, ...]:
    """The options of an export target; raises InputError for one that is not installed."""
    from rulekit.targets import find_target

    return tuple(
        DeclaredOption(item.name, item.default, item.metadata["help"], item.metadata.get("allowed", ()))
        for item in fields(find_target(name).options)
    )
