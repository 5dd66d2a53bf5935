"""How often two models differ on the rows of a table: by what they decide, and by group of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.audit.checks.findings import Example, given, row_as_json
from rulekit.audit.differences.joint import Joint
from rulekit.audit.differences.ways import Region, Way
from rulekit.audit.figures.rates import grouping_of
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language import words
from rulekit.graph.language.words import amount
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import ClassLabel
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.table import Table, absent

_FEW_LEVELS, _MOST_SAID = 4, 5


@dataclass(frozen=True, slots=True)
class Flip:
    """A way in which two models differ: what each decides, a row that shows it, and where.

    rows: of the table, None without one; data_row: the number of the first, from 1, 0 where a row was made; cells: how
    many, where all were run. complete: whether the regions are all there is. among: where there are none, what the
    rows of the table that flip have in common, in words.
    """

    before: ClassLabel
    after: ClassLabel
    rows: int | None = None
    data_row: int = 0
    cells: int | None = None
    witness: Example | None = None
    regions: tuple[Region, ...] = ()
    complete: bool = False
    among: str = ""

    def as_dict(self, n_rows: int | None) -> dict[str, Any]:
        way, row = {"before": self.before, "after": self.after}, None
        if self.witness is not None:
            row = {"row": row_as_json(self.witness.row), **way, "data_row": self.data_row or None}
            row = given({**row, "new_levels": list(self.witness.new)})
        return {
            **way,
            **given({"rows": self.rows, "cells": self.cells}),
            "witness": row,
            "where": [region.as_dict(n_rows) for region in self.regions],
            "where_is_complete": self.complete,
            "among": self.among,
        }


@dataclass(frozen=True, slots=True, eq=False)
class GroupFlips:
    """n rows, of which so many are decided otherwise: `before`, `after` and `rows` of each way.

    decided: by model the share of the rows that it decides for each of the joint classes.
    """

    column: str
    group: str
    n: int
    changed: int
    flips: tuple[dict[str, Any], ...]
    decided: dict[str, list[float]]


@dataclass(frozen=True, slots=True, eq=False)
class RowFlips:
    """What the models decide for the rows of a table: flips in all, and by group. table: the rows, as `joint` reads."""

    joint: Joint
    source: str
    table: Table
    labels: tuple[Ints, Ints]
    groups: tuple[GroupFlips, ...] = ()

    @property
    def n(self) -> int:
        return self.table.n_rows

    @property
    def changed(self) -> int:
        return int((self.labels[0] != self.labels[1]).sum())

    def ways(self, among: Bools | None = None) -> dict[Way, tuple[int, int]]:
        """By way how many rows flip so, and the number of the first; the most frequent first. among: these rows [n]."""
        k = len(self.joint.classes)
        differ = np.flatnonzero((self.labels[0] != self.labels[1]) & (True if among is None else among))
        numbers = self.labels[0][differ] * k + self.labels[1][differ]
        ways, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {divmod(int(ways[j]), k): (int(counts[j]), int(differ[first[j]]) + 1) for j in order}

    def in_common(self, way: Way) -> str:
        """Ranges and levels of the rows that flip one way, of those columns that decide where they are rarest."""
        rows = np.flatnonzero((self.labels[0] == way[0]) & (self.labels[1] == way[1]))
        deciding = readers(self.joint.roots) if len(rows) else ()
        found = (_narrower(self.table, name, rows) for name in self.joint.columns if name in deciding)
        return ", ".join(text for _, text in sorted(filter(None, found))[:_MOST_SAID])


def _narrower(table: Table, name: str, rows: Ints) -> tuple[float, str] | None:
    """The range or the level of some rows of a column, where it is narrower than that of all; "" where not."""
    feature, all_ = table.features[table.names.index(name)], np.asarray(table.array(name))
    own = all_[rows]
    if feature.kind == "text" or absent(own).any():
        return None
    if feature.kind == "categorical":
        levels = [feature.levels[code - FIRST_LEVEL_CODE] for code in np.unique(own).tolist() if code != UNSEEN_CODE]
        few = 0 < len(levels) < len(feature.levels) and len(levels) <= _FEW_LEVELS
        share = float(np.isin(all_, np.unique(own)).mean())
        return (share, f"{words.name(name)} in {words.names(levels)}") if few else None
    low, high = float(own.min()), float(own.max())
    share = float(((all_ >= low) & (all_ <= high)).mean())
    if share == 1.0:
        return None
    if feature.kind == "boolean":
        return share, f"{words.name(name)} {'true' if low else 'false'}"
    ends = [amount(end, feature) for end in (low, high)]
    return share, f"{words.name(name)} = {ends[0]}" if low == high else f"{words.name(name)} {ends[0]} to {ends[1]}"


def row_flips(joint: Joint, raw: RawTable, by: Sequence[str] = ()) -> RowFlips:
    """Run both models, as they are, on the rows of a table; by: columns of groups, which no model needs to read.

    Raises InputError where a model cannot read the rows, or a column of groups is not there or is a text.
    """
    own = (decide(graph, encode(raw, graph.schema, graph.used_features)) for graph in joint.models)
    first, second = (np.array(of, dtype=np.int64)[decided] for of, decided in zip(joint.places, own, strict=True))
    table = encode(raw, joint.schema, joint.columns)
    rows = RowFlips(joint, raw.source or "the rows", table, (first, second))
    return replace(rows, groups=tuple(group for column in by for group in _groups(rows, raw, column)))


def _groups(rows: RowFlips, raw: RawTable, column: str) -> Iterator[GroupFlips]:
    require_column(column, raw.known_names, raw.source)
    table = infer(raw.without(set(raw.names) - {column}))
    grouping = grouping_of(table.features[0], table.arrays[0])
    for k, name in enumerate(grouping.names):
        among = grouping.codes == k
        n, ways, classes = int(among.sum()), rows.ways(among), rows.joint.classes
        shares = (np.bincount(own[among], minlength=len(rows.joint.classes)) / n for own in rows.labels)
        decided = {model: share.tolist() for model, share in zip("AB", shares, strict=True)}
        said = tuple({"before": classes[a], "after": classes[b], "rows": many} for (a, b), (many, _) in ways.items())
        yield GroupFlips(column, name, n, sum(many for many, _ in ways.values()), said, decided)
