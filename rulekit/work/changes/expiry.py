"""What has expired: said, and never a part of what is decided."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from rulekit.graph.overrides import Override


def today() -> str:
    """The ISO date of the clock, in UTC; no decision depends on it."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def expired_notes(overrides: Sequence[Override], day: str | None = None) -> tuple[str, ...]:
    """A line for each override that was meant to end before a day, by default today; it goes on to decide."""
    now = day or today()
    return tuple(
        f"override {each.id} expired on {each.expires} and still decides; rulekit override --remove {each.id} ends it"
        for each in overrides
        if each.expired(now)
    )
