"""What a change of a row must respect: columns that stay as they are, and columns that only rise or only fall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema, require_column

Direction = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which changes of a row count.

    immutable: columns that must not change. directions: by column whether it may only go up or down; up is from false
    to true, and to a higher level of an ordered category. A missing value may become any other one.
    """

    immutable: frozenset[str] = frozenset()
    directions: Mapping[str, Direction] = field(default_factory=dict)

    def check(self, schema: Schema) -> None:
        """Raises InputError for a column that there is not, for one without an order, and for another direction."""
        for name in (*sorted(self.immutable), *self.directions):
            require_column(name, schema.names, "the model")
        for name, direction in self.directions.items():
            where = f"column {name!r}"
            if direction not in ("up", "down"):
                raise InputError(f"no direction {direction!r}", where=where, fix="write up or down")
            if not has_order(schema[name]):
                kind = "a text" if schema[name].kind == "text" else "a category without ranks"
                fix = "name a column of numbers, dates, truth values or ordered levels, or make it immutable"
                raise InputError(f"{kind} goes neither up nor down", where=where, fix=fix)


def has_order(feature: Feature) -> bool:
    """Whether values of a column lie above each other."""
    return feature.kind in ("numeric", "boolean") or (feature.kind == "categorical" and feature.ordered)


ANY = Wishes()
