"""What a report is about: a model, the rows that it is measured on, and what its author says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.audit.figures.groups import Grouping
from rulekit.audit.figures.intervals import effective_rows
from rulekit.audit.figures.metrics import class_indices
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, fired, rules_of
from rulekit.shown.sections import Section, sections
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.labels import LabelledTable, data_hash
from rulekit.tables.row_hashes import Overlap


@dataclass(frozen=True, slots=True)
class Said:
    """What the author of a report says; what is "" was not said. The date is never taken from a clock."""

    title: str = ""
    purpose: str = ""
    author: str = ""
    date: str = ""


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Labelled rows that a model is measured on, and what it says of them.

    name: of their file. overlap: how many of them equal training rows, None where that is not known. weight column: its
    name, "" where all weigh the same. groups: the groupings by which figures are asked for.
    """

    graph: RuleGraph
    rows: LabelledTable
    name: str
    overlap: Overlap | None = None
    weight_column: str = ""
    groups: tuple[Grouping, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> Floats | None:
        """The weights of the rows [n]; None where each is 1."""
        weight = self.rows.weight
        return None if weight is None or bool(np.all(weight == 1.0)) else weight

    @cached_property
    def mass(self) -> Floats:
        """The weights of the rows [n]."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def effective_n(self) -> float:
        """How many rows of equal weight say as much."""
        return effective_rows(self.weight, len(self))

    @cached_property
    def y(self) -> Ints:
        """The class index of each row [n]."""
        return class_indices(self.graph, self.rows).astype(np.int64)

    @cached_property
    def decided(self) -> Ints:
        """The class index that the model decides [n]."""
        return decide(self.graph, self.rows.table)

    @cached_property
    def chances(self) -> Floats:
        """The probabilities that the model reports [n, K]."""
        return probabilities(self.graph, self.rows.table)

    @cached_property
    def fired(self) -> Bools:
        """Which rules hold [n, rules]."""
        return fired(self.graph, self.rows.table)

    @cached_property
    def digest(self) -> str:
        """The digest of the rows and their labels, as that of a training table is made."""
        return data_hash(self.rows)

    @property
    def flatter(self) -> bool:
        """Whether some of the rows are known to equal training rows."""
        return self.overlap is not None and bool(self.overlap.seen)


@dataclass(frozen=True, eq=False)
class Subject:
    """All that the sections of a report are made from.

    rows: None where no rows were given. verifications, attachments: what `rulekit verify --report` and other commands
    wrote, as JSON values by the name of their file; artifacts of attachments are stability, comparison, drift.
    verified: the names of those verifications that were made for this report; the others are what a file says.
    """

    graph: RuleGraph
    said: Said = Said()
    rows: MeasuredRows | None = None
    verifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attachments: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    verified: frozenset[str] = frozenset()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the model."""
        return rules_of(self.graph)

    @cached_property
    def parts(self) -> list[Section]:
        """The rules of the measured model as people read them, laid out once for all sections."""
        return list(sections(self.measured, full=True))

    @cached_property
    def measured(self) -> RuleGraph:
        """The model with statistics of the rows that were given beside those that it has.

        Rows that were held out, and are given once more, are not counted twice.
        """
        graph, rows = self.graph, self.rows
        if rows is None:
            return graph
        found = rule_statistics(graph, rows.rows.table, rows.y, rows.weight)
        held = graph.statistics.get("held_out")
        if isinstance(held, Mapping) and all(held.get(what) == found[what] for what in ("rows", "rules", "classes")):
            return graph
        return graph.with_(statistics={**graph.statistics, self.name_of_rows: found})

    @property
    def name_of_rows(self) -> str:
        """The name of the rows that were given among the statistics of the model."""
        assert self.rows is not None
        taken = self.rows.name in ("train", *self.graph.statistics)
        return f"file {self.rows.name}" if taken else self.rows.name

    @property
    def binary(self) -> bool:
        """Whether there are two classes, of which the second is the positive one."""
        return len(self.graph.classes) == 2
