"""What long work says of itself while it runs: events, for a callback that shows or logs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rulekit.audit.table_summary import TableSummary


@dataclass(frozen=True, slots=True)
class Reading:
    """The share of the file that was read, from 0 to 1; only said of files that are read in blocks."""

    share: float


@dataclass(frozen=True, slots=True)
class Read:
    """The table was read: what was noticed, and what it holds."""

    notes: tuple[str, ...]
    summary: TableSummary


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that was not quite as asked for."""

    note: str


@dataclass(frozen=True, slots=True)
class Learning:
    """A step of a learner, as the learner itself reports it."""

    learner: str
    step: Mapping[str, Any]


Event = Reading | Read | Noticed | Learning
Progress = Callable[[Event], object]


def unseen(event: Event) -> None:
    """The callback that shows nothing."""
