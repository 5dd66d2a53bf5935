"""How well a model of each size does: what a path of sizes says of one of its models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A candidate: the class it speaks for, its place on the path from 1, its units, and how well it does.

    objective: J on the training rows; training_error, held_out_error, standard_error (over folds), smoothed: rates
    (None without cross-validation); chosen: whether the model has this size.
    """

    label: Any
    size: int
    units: int
    objective: float
    training_error: float
    held_out_error: float | None
    standard_error: float | None
    smoothed: float | None
    chosen: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
