"""What a report is about: a model, the rows that it is measured on, what its author says, and what is found of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.audit.checks.checking import Checked, check_model
from rulekit.audit.figures.metrics import class_indices
from rulekit.audit.figures.rates import Grouping, Parity, effective_rows, exact_bounds, parities
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.safe_files import count
from rulekit.graph.language.figures import RuleFigures, finite, rule_figures
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, fired, rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.shown.rule_rows import marks_of
from rulekit.shown.sections import Section, sections
from rulekit.shown.statistics import rule_statistics
from rulekit.shown.table_figures import effective_rows_of, tables_of
from rulekit.tables.equal_rows import Overlap, data_hash
from rulekit.tables.labels import LabelledTable

SEARCHING = 0.6  # of a limit of time; the rest is for the sections


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
    name, "" where all weigh the same. groups: the groupings by which figures are asked for. All arrays have a row each.
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
        """None where each is 1."""
        weight = self.rows.weight
        return None if weight is None or bool(np.all(weight == 1.0)) else weight

    @cached_property
    def mass(self) -> Floats:
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def effective_n(self) -> float:
        """How many rows of equal weight say as much."""
        return effective_rows(self.weight, len(self))

    @cached_property
    def y(self) -> Ints:
        return class_indices(self.graph, self.rows).astype(np.int64)

    @cached_property
    def decided(self) -> Ints:
        return decide(self.graph, self.rows.table)

    @cached_property
    def chances(self) -> Floats:
        return probabilities(self.graph, self.rows.table)

    @cached_property
    def fired(self) -> Bools:
        return fired(self.graph, self.rows.table)

    @cached_property
    def digest(self) -> str:
        return data_hash(self.rows)


@dataclass(frozen=True, eq=False)
class Subject:
    """All that the sections of a report are made from.

    rows: None where no rows were given. verifications, attachments: what `rulekit verify --report` and other commands
    wrote, as JSON values by the name of their file; artifacts of attachments are stability, comparison, drift.
    verified: the names of those verifications that were made for this report; the others are what a file says.
    version: of rulekit. What is not proved by the deadline is open.
    """

    graph: RuleGraph
    said: Said = Said()
    rows: MeasuredRows | None = None
    verifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attachments: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    verified: frozenset[str] = frozenset()
    version: str = ""
    deadline: Deadline = NO_LIMIT

    @cached_property
    def checked(self) -> Checked:
        """The promises of the model and what is found of all its rules."""
        left = self.deadline
        found = check_model(self.graph, deadline=left if left.seconds is None else left.within(SEARCHING * left.left))
        left.tell("the sections", 0.0)
        return found

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
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

    @cached_property
    def parities(self) -> tuple[Parity, ...]:
        rows = self.rows
        return () if rows is None else parities(rows.groups, self.graph.classes, rows.y, rows.decided, rows.weight)

    @cached_property
    def entries(self) -> list[dict[str, Any]]:
        """The rules in their order as JSON values, each with the class that it speaks for and its figures by table.

        covered of of_rows: on how many rows the rule holds; effective_n: how many of equal weight say as much;
        coverage: their share; precision: the share of its class among them, with the exact interval of 95 %; lift:
        precision by the base rate, whose interval takes the base rate for known. None where no row is covered.
        """
        graph, tables = self.measured, tables_of(self.measured)
        effective = {name: effective_rows_of(block) for name, block in tables.items()}
        figures, marks = rule_figures(graph), marks_of(graph)
        texts = {(row.class_index, row.id): row.text for part in self.parts for row in part.rows}
        return [
            {
                "id": rule.id,
                "label": graph.classes[rule.class_index],
                "text": texts.get((rule.class_index, rule.id), rule.id),
                "points": rule.weight if rule.connective == "sum" else None,
                "literals": rule.literals,
                "marks": marks.get(rule.id, ()),
                "figures": [
                    _figures(figure, tables[figure.table], effective[figure.table].get((rule.id, figure.n)))
                    for figure in figures.get((rule.class_index, rule.id), ())
                ],
            }
            for rule in self.rules
        ]


def _figures(figure: RuleFigures, block: Mapping[str, Any], known: float | None) -> dict[str, Any]:
    share, base = figure.share, figure.base_rate
    effective = float(figure.n if known is None or known > figure.n else known)
    low, high = (None, None) if share is None else (finite(float(end)) for end in exact_bounds(share, effective))
    lifts = [None if value is None or not base else value / base for value in (share, low, high)]
    of_rows = count(block.get("rows"))
    found = {"table": figure.table, "covered": figure.n, "of_rows": of_rows, "effective_n": effective}
    found |= {"coverage": figure.coverage, "precision": share, "precision_low": low, "precision_high": high}
    return found | {"base_rate": base} | dict(zip(("lift", "lift_low", "lift_high"), lifts, strict=True))
