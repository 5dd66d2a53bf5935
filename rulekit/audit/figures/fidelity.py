"""How far a model agrees with the teacher that labelled its rows, and what of it the model file keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.audit.figures.metrics import class_indices
from rulekit.audit.figures.rates import Grouping, exact_bounds
from rulekit.graph.files.safe_files import count, mapping
from rulekit.graph.language.figures import bounded_share, rows_text
from rulekit.graph.language.words import name, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.tables.labels import LabelledTable

MOST_LINES, MOST_LETTERS = 20, 1_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """On how many of the rows of a class or a group a model decides as its teacher; of: which, "" for all rows."""

    of: str
    rows: int
    same: int

    @property
    def share(self) -> tuple[float, float, float]:
        """The share, and the ends of its exact interval of 95 %."""
        part = self.same / self.rows
        low, high = exact_bounds(part, self.rows)
        return part, float(low), float(high)

    @property
    def text(self) -> str:
        return f"{bounded_share(*self.share)} of {rows_text(self.rows)}"


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How far a model agrees with its teacher on some rows.

    on: which rows. parts: all rows, then by class of the teacher, then by group. right: how many rows have a label of
    their own, and on how many of them the model and the teacher are right; None without. apart: where they differ.
    """

    on: str
    parts: tuple[Agreement, ...]
    right: tuple[int, int, int] | None = None
    apart: str = ""

    @classmethod
    def of(cls, graph: RuleGraph, rows: LabelledTable, on: str, groups: Sequence[Grouping] = ()) -> Fidelity:
        """Of rows that the teacher labelled."""
        y, decided = class_indices(graph, rows), graph.decide(rows.table)
        same = decided == y
        parts = [Agreement("", len(y), int(same.sum()))]
        parts += _by([quoted(label) for label in graph.classes], y, same)
        for group in groups:
            parts += _by([f"{name(group.column)} {each}" for each in group.names], group.codes, same)
        right = None
        if rows.truth is not None:
            places = [*(graph.classes.index(label) for label in rows.classes), -1]
            truth = np.array(places)[rows.truth]
            right = (len(y), int((decided == truth).sum()), int((y == truth).sum()))
        return cls(on, tuple(parts), right)

    def as_dict(self) -> dict[str, Any]:
        """JSON values: counts, from which a reader computes shares and intervals."""
        parts = [{"of": each.of, "rows": each.rows, "same": each.same} for each in self.parts]
        return {"on": self.on, "parts": parts, "right": self.right and list(self.right), "apart": self.apart}

    def lines(self) -> Iterator[str]:
        """The agreement in sentences."""
        first, *others = self.parts
        yield f"agrees with the teacher on {first.text} {self.on}"
        if others:
            yield f"  {', '.join(f'{each.of} {each.text}' for each in others)}"
        if self.right is not None:
            n, *right = self.right
            rules, teacher = (bounded_share(*Agreement("", n, k).share) for k in right)
            yield f"  right by the true label: the rules {rules}, the teacher {teacher}"
        if self.apart:
            yield f"  they differ most where {self.apart}"


def _by(names: Sequence[str], codes: Ints, same: Bools) -> list[Agreement]:
    rows, right = np.bincount(codes, minlength=len(names)), np.bincount(codes[same], minlength=len(names))
    return [Agreement(each, int(n), int(k)) for each, n, k in zip(names, rows, right, strict=True) if n]


def kept_fidelity(graph: RuleGraph) -> tuple[str, ...]:
    """What the provenance says of the teacher of this very model, in sentences; a file may have brought any note."""
    note = mapping(graph.provenance.get("fidelity"))
    lines = note.get("lines")
    if note.get("model") != graph.digest or not isinstance(lines, list):
        return ()
    asked = f", and of {made:,} made rows" if (made := count(note.get("asked"))) else ""
    teacher = str(note.get("teacher"))[:MOST_LETTERS]
    first = f"The rules were learned from what {teacher} says of the training rows{asked}."
    return tuple(printable(str(line).strip()[:MOST_LETTERS]) for line in (first, *lines[:MOST_LINES]))
