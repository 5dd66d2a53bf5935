"""Overrides: rules of a person that win over those that were learned, with who answers for them, since when and why.

`rulekit.graph.override_layers` makes them a part of what decides.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rulekit.errors import GraphError
from rulekit.graph.nodes import Family, Node

MAX_OVERRIDES = 256
MAX_TEXT = 4_000
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Override:
    """A rule of a person: where the Boolean condition holds, the class is decided.

    id: its name in the model, such as o1. author, reason: any text. date: the ISO date from which the author answers
    for it; expires: the last ISO date on which it is meant to decide, None for no end. A model decides alike whenever
    it runs: what has expired is said, and decides until it is removed.

    Raises GraphError for what is none of these.
    """

    id: str
    class_index: int
    condition: Node
    author: str
    date: str
    reason: str
    expires: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise GraphError(f"{self.id!r} is no id of an override", fix="a letter, then letters, digits, - and _")
        where = f"override {self.id}"
        for what in ("author", "reason"):
            text = getattr(self, what)
            if not isinstance(text, str) or not text.strip():
                raise GraphError(f"it has no {what}", where=where, fix="say who answers for it, and why")
            if len(text) > MAX_TEXT:
                raise GraphError(f"the {what} is longer than {MAX_TEXT} characters", where=where, fix="say it shortly")
        for date in (self.date, self.expires):
            if date is not None and not is_date(date):
                raise GraphError(f"{date!r} is no date", where=where, fix="write one as in 2026-11-25")
        if self.expires is not None and self.expires < self.date:
            raise GraphError(f"it expires on {self.expires}, before its date {self.date}", where=where)
        if self.condition.family is not Family.BOOLEAN:
            raise GraphError("its condition is not Boolean", where=where)

    def expired(self, day: str) -> bool:
        """Whether it was meant to end before an ISO date."""
        return self.expires is not None and self.expires < day


def relabelled(overrides: Iterable[Override], old: Sequence[object], new: Sequence[object]) -> tuple[Override, ...]:
    """The overrides of a model with old classes for one with new ones; raises GraphError for a class that it lacks."""
    places = {repr(label): k for k, label in enumerate(new)}
    found = []
    for override in overrides:
        label = old[override.class_index]
        if repr(label) not in places:
            raise GraphError(f"it decides {label!r}, which is no class here", where=f"override {override.id}")
        found.append(replace(override, class_index=places[repr(label)]))
    return tuple(found)


def is_date(text: object) -> bool:
    """Whether a text is an ISO date of the calendar, such as 2026-11-25."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_overrides(overrides: Sequence[Override], n_classes: int) -> None:
    """Raise GraphError where overrides are too many, share an id or speak for a class that there is not."""
    if len(overrides) > MAX_OVERRIDES:
        raise GraphError(f"{len(overrides)} overrides are more than the {MAX_OVERRIDES} that a model holds")
    ids = [override.id for override in overrides]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise GraphError(f"two overrides are called {twice}", fix="give each its own id")
    for override in overrides:
        if not 0 <= override.class_index < n_classes:
            raise GraphError(f"class {override.class_index}, which {override.id} decides, is not one of {n_classes}")
