"""A figure that was asked for beside what was measured, and the table of such figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.shared.sections import markdown


class Asked(NamedTuple):
    """What is asked of what, the figure, what was measured in words, and whether that meets it (None: not measured)."""

    what: str
    required: str
    measured: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, str, str, str]:
        """The row of the table."""
        verdict = {None: "not measured", True: "met", False: "NOT met"}[self.met]
        return self.what, self.required, self.measured or "-", verdict


def at_least(value: float, limit: float) -> bool:
    """Whether a figure reaches its limit; equal to nine digits is equal, so the order of a sum decides nothing."""
    return round(value - limit, 9) >= 0


def asked_lines(asked: Sequence[Asked]) -> list[str]:
    """The table as lines of Markdown."""
    return [
        "**What was asked**",
        "",
        *markdown(("what", "required", "measured", "verdict"), [a.cells() for a in asked]),
    ]
