"""How often two models differ on the rows of a table: by what they decide, and by group of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.audit.differences.joint import Joint
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language import words
from rulekit.graph.language.words import amount
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import ClassLabel
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.raw.columns import NumberColumn, RawTable, factorize
from rulekit.tables.table import Table, absent

MOST_GROUPS = 50
_QUARTERS = 12
"""Numbers of more values are grouped by quarters of the rows."""

_FEW_LEVELS, _MOST_SAID = 4, 5


@dataclass(frozen=True, slots=True)
class Flip:
    """Rows that the first model decides one way and the second another. first_row: from 1."""

    before: ClassLabel
    after: ClassLabel
    n: int
    first_row: int = 0


@dataclass(frozen=True, slots=True)
class GroupFlips:
    """The flips among the rows of one group; decided: the share of its rows that each model decides for each class."""

    column: str
    group: str
    n: int
    flips: tuple[Flip, ...]
    decided: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def changed(self) -> int:
        return sum(flip.n for flip in self.flips)

    def as_dict(self) -> dict[str, Any]:
        flips = [{"before": flip.before, "after": flip.after, "rows": flip.n} for flip in self.flips]
        decided = dict(zip("AB", map(list, self.decided), strict=True))
        return {
            "column": self.column,
            "group": self.group,
            "n": self.n,
            "changed": self.changed,
            "flips": flips,
            "decided": decided,
        }


@dataclass(frozen=True, slots=True, eq=False)
class RowFlips:
    """What the models decide for the rows of a table. joint: the rows over the joint schema; labels: joint classes."""

    source: str
    n: int
    labels: tuple[Ints, Ints]
    flips: tuple[Flip, ...]
    groups: tuple[GroupFlips, ...]
    joint: Table

    @property
    def changed(self) -> int:
        return sum(flip.n for flip in self.flips)

    def in_common(self, joint: Joint, way: tuple[ClassLabel, ClassLabel]) -> str:
        """Ranges and levels of the rows that flip one way, of those columns that decide where they are rarest."""
        k = [joint.classes.index(label) for label in way]
        rows = np.flatnonzero((self.labels[0] == k[0]) & (self.labels[1] == k[1]))
        if not len(rows):
            return ""
        deciding = readers([root for graph in joint.over for root in graph.decision.roots])
        found = (_narrower(self.joint, name, rows) for name in joint.columns if name in deciding)
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

    Raises InputError where a model cannot read the rows, or a column of groups is not there or has too many values.
    """
    own = (decide(graph, encode(raw, graph.schema, graph.used_features)) for graph in joint.models)
    first, second = (np.array(of, dtype=np.int64)[decided] for of, decided in zip(joint.places, own, strict=True))
    labels = first, second
    over = encode(raw, joint.schema, joint.columns)
    everyone = np.ones(raw.n_rows, dtype=bool)
    groups = [group for column in by for group in _groups(joint, raw, column, labels)]
    flips = _flips(joint, labels, everyone)
    return RowFlips(raw.source or "the rows", raw.n_rows, labels, flips, tuple(groups), over)


def _flips(joint: Joint, labels: tuple[Ints, Ints], among: npt.NDArray[np.bool_]) -> tuple[Flip, ...]:
    """The flips among some rows, the most frequent first."""
    k = len(joint.classes)
    number = np.where(among & (labels[0] != labels[1]), labels[0] * k + labels[1], -1)
    ways, first, counts = np.unique(number, return_index=True, return_counts=True)
    flips = [
        Flip(joint.classes[way // k], joint.classes[way % k], n, row + 1)
        for way, row, n in zip(ways.tolist(), first.tolist(), counts.tolist(), strict=True)
        if way >= 0
    ]
    return tuple(sorted(flips, key=lambda flip: -flip.n))


def _groups(joint: Joint, raw: RawTable, column: str, labels: tuple[Ints, Ints]) -> list[GroupFlips]:
    names, codes = _grouped(raw, column)
    found = []
    for code, group in enumerate(names):
        among = codes == code
        if n := int(among.sum()):
            first, second = (np.bincount(own[among], minlength=len(joint.classes)) / n for own in labels)
            decided = tuple(first.tolist()), tuple(second.tolist())
            found.append(GroupFlips(column, group, n, _flips(joint, labels, among), decided))
    return found


def _grouped(raw: RawTable, column: str) -> tuple[list[str], Ints]:
    """The groups of a column, and that of each row [n]: values, of many numbers quarters of the rows, and missing."""
    require_column(column, raw.known_names, raw.source)
    own = next((one for one in raw.columns if one.name == column), None)
    if own is None:
        raise InputError(f"the column {column!r} was not read", where="--by")
    keys, index = factorize(own)
    codes = np.array(index, dtype=np.int64)
    if isinstance(own, NumberColumn) and len(keys) > _QUARTERS and own.values.dtype.kind == "f":
        values = np.asarray(own.doubles(), dtype=np.float64)
        known = values[~np.isnan(values)]
        cuts = np.unique(np.quantile(known, (0.25, 0.5, 0.75), method="inverted_cdf"))
        bounds = [f"{cut:g}" for cut in cuts]
        keys = [f"up to {bounds[0]}", *(f"{a} to {b}" for a, b in pairwise(bounds)), f"above {bounds[-1]}"]
        codes = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="left"))
    if len(keys) > MOST_GROUPS:
        fix = f"group by a column of at most {MOST_GROUPS} values"
        raise InputError(f"{len(keys)} different values", where=f"--by {column}", fix=fix)
    order = list(range(len(keys)))
    if not isinstance(own, NumberColumn):
        order.sort(key=lambda code: keys[code])
    place = np.empty(len(keys) + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(len(keys)), len(keys)
    return [*(keys[code] for code in order), "(missing)"], place[codes]
