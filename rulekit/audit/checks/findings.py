"""What is found about rules, and what could not be decided of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.audit.checks.checked_rows import Example
from rulekit.graph.rule_graph import ClassLabel

FindingKind = Literal["unreachable", "shadowed", "gap", "overlap", "contradiction", "missing", "size"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about rules that is proved, or shown by rows; rules: their ids; column: of a missing or new value.

    classes: of an overlap those of the two rules, where an order decides the one that wins first; ordered: whether one
    does.
    """

    kind: FindingKind
    text: str
    rules: tuple[str, ...] = ()
    rows: tuple[Example, ...] = ()
    column: str = ""
    classes: tuple[ClassLabel, ...] = ()
    ordered: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "kind": self.kind,
            "text": self.text,
            "rules": list(self.rules),
            **({"column": self.column} if self.column else {}),
            **({"classes": list(self.classes), "order_decides": self.ordered} if self.classes else {}),
            **({"rows": [row.as_dict() for row in self.rows]} if self.rows else {}),
        }


@dataclass(frozen=True, slots=True)
class Open:
    """What could not be decided, as a question or as what was not looked at, and why.

    many: whether it stands for all that a limit of time left out.
    """

    kind: FindingKind
    question: str
    reason: str = ""
    many: bool = False

    @property
    def text(self) -> str:
        return f"{self.question}: {self.reason}" if self.reason else self.question
