"""The training rows, in memory or on disk; the model is the same.

What may come: rows and labels in memory, which are one block; blocks of rows that are gone through once, or rows in
memory together with a memory budget, whose columns go to disk; a LabelledTable, where its columns are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.errors import Cancelled, InputError
from rulekit.graph.rule_graph import ClassLabel, class_array
from rulekit.learners.contract import refuse_unable
from rulekit.learners.data import inputs
from rulekit.learners.data.folds import InOrder
from rulekit.learners.data.inputs import TrainingData, check_rows
from rulekit.learners.data.parted import PartedData, PartedRows
from rulekit.learners.parameters import ReadingSettings
from rulekit.learners.sums_of_rows.histograms import moderate
from rulekit.schema import Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import ColumnBuilder, assembled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import (
    GROUP_BYTES,
    ROW_BYTES,
    WEIGHT_BYTES,
    Budget,
    EncodedColumn,
    HeldColumn,
    Store,
    Table,
    arrays_of,
    parse_memory,
)

READING = tuple(item.name for item in fields(ReadingSettings))
Callback = Callable[[Mapping[str, Any]], object] | None


@dataclass(frozen=True, slots=True)
class KnownRows:
    """What is known of rows before they come: all classes, sorted, and the schema, unless they are the first.

    A class may have none of the rows.
    """

    classes: tuple[ClassLabel, ...]
    schema: Schema | None = None


def training_data(
    estimator: Any,
    settings: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    known: KnownRows | None = None,
) -> TrainingData:
    """The rows that count; raises ValueError (InputError where it is ours) for anything that cannot be learned from.

    estimator: whose rows they are, which notes their columns; settings: its parameters.
    """
    if time is not None and (groups is not None or y is None):
        raise InputError("time goes with X and y, and without groups", where="time", fix="leave one out")
    if y is not None:
        store = Store(_budget(settings), in_memory=settings.memory is None)
        return _Gathering(estimator, settings, store, known, time).of([(X, y, sample_weight, groups)])
    if isinstance(X, PartedRows):
        refuse_in_parts(type(estimator), settings)
        return PartedData.of_parts(X)
    if isinstance(X, LabelledTable) and known is None:
        return _of_labelled(estimator, settings, X)
    if _are_blocks(X) and known is None:
        return _Gathering(estimator, settings, Store(_budget(settings))).of(X)
    raise ValueError(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None.")


_NOT_IN_PARTS = ("start", "require", "points", "memory")


def refuse_in_parts(learner: Any, settings: Any) -> None:
    """Raises InputError for what no learner does with rows that are elsewhere."""
    refuse_unable(learner, {"engine": True})
    for name in _NOT_IN_PARTS:
        if getattr(settings, name, None):
            raise InputError(
                "this needs all rows in one process", where=name, fix="leave it out, or leave out the engine"
            )


def reporter(callback: Callback, stage: str) -> Callable[..., None] | None:
    """What tells a callback how many rows or columns are done, and stops where it cancels."""
    if callback is None:
        return None

    def report(done: int, total: int | None = None) -> None:
        if callback({"stage": stage, "done": done, "total": total}):
            raise Cancelled(f"{stage} the rows")

    return report


def _reading(settings: Any) -> dict[str, Any]:
    return {name: value for name in READING if (value := getattr(settings, name)) is not None}


def _refuse_typed(settings: Any) -> None:
    for name, value in _reading(settings).items():
        if value:
            raise InputError("the columns of a Table are typed already", where=name, fix="give it to the reader")


def _are_blocks(X: Any) -> bool:
    if isinstance(X, Mapping | str | bytes | Table) or hasattr(X, "shape") or hasattr(X, "columns"):
        return False
    if hasattr(X, "__next__"):
        return True
    if isinstance(X, Sequence):
        return bool(X) and all(isinstance(block, tuple) and len(block) >= 2 for block in X)
    return isinstance(X, Iterable)


def _budget(settings: Any) -> Budget | None:
    return None if settings.memory is None else Budget(parse_memory(settings.memory))


def _require_memory(settings: Any, n_rows: int, weighted: bool, grouped: bool) -> None:
    budget, bytes_a_row = _budget(settings), ROW_BYTES
    if budget is None:
        return
    if weighted or settings.class_weight is not None:
        bytes_a_row += WEIGHT_BYTES
    if grouped and getattr(settings, "stopping", "none") == "cv":
        bytes_a_row += GROUP_BYTES
    budget.require_rows(n_rows, "memory", bytes_a_row)


def _of_labelled(estimator: Any, settings: Any, rows: LabelledTable) -> TrainingData:
    """The rows of a labelled table, with the costs of errors, if it has any."""
    _refuse_typed(settings)
    check_rows(estimator, rows.table, reset=True)
    _require_memory(settings, len(rows), rows.weight is not None or rows.cost is not None, rows.group is not None)
    prices = np.ones(len(rows.classes)) if rows.cost is None else np.array(rows.cost)
    groups = rows.group if rows.time is None else InOrder.of(rows.time, len(rows))
    counting = _counting(rows.table, class_array(rows.classes), rows.y, rows.weight, groups, prices)
    return replace(counting, target=rows.target, taught=rows.taught)


def _counting(
    table: Table,
    classes: Array,
    y: Array,
    weights: Floats | None,
    groups: Array | InOrder | None,
    prices: Array,
    all_classes: bool = False,
) -> TrainingData:
    """The rows of positive weight; classes: the labels that y [n] numbers; prices [K]: of an error on each.

    all_classes: those stay, too, that have no row.
    """
    if weights is None:
        weights = np.broadcast_to(np.ones(1), (len(y),))
    else:
        weights = moderate(weights)
        used = weights > 0
        if not used.any():
            raise InputError("the weights are all zero", where="sample_weight", fix="give some row a weight above 0")
        if not used.all():
            inputs.tell_left_out(
                classes, np.bincount(y, minlength=len(classes)), np.bincount(y[used], minlength=len(classes))
            )
            table, y, weights = table.take(used), y[used], weights[used]
            groups = None if groups is None else groups[used]
    occurs = np.array([all_classes or bool((y == k).any()) for k in range(len(classes))])
    found, rank = inputs.occurring(classes, occurs)
    lookup = np.zeros(len(classes), dtype=np.min_scalar_type(len(found) - 1))
    lookup[occurs] = rank
    # classes that are in order already have the labels that there are: a byte less for each row
    labels = y if np.array_equal(lookup, np.arange(len(lookup))) and y.dtype == lookup.dtype else lookup[y]
    return TrainingData(table, found, labels, weights, groups, prices[occurs][np.argsort(rank)])


class _Gathering:
    """Blocks of rows on their way to where the columns are kept."""

    def __init__(
        self, estimator: Any, settings: Any, store: Store, known: KnownRows | None = None, time: Any = None
    ) -> None:
        self.time = time
        self.estimator, self.settings, self.known = estimator, settings, known
        self.options = ReadingOptions(**_reading(settings))
        self.store = store
        self.target = ""
        self.names: tuple[str, ...] = ()
        self.source, self.notes = "", tuple[str, ...]()
        self.builders: dict[str, ColumnBuilder] = {}
        self.typed: Table | None = None
        self.columns: list[EncodedColumn] = []
        self.n_rows = 0
        self.labels = self.store.writer(np.int32)
        self.number_of: dict[Any, int] = {label: k for k, label in enumerate(known.classes if known else ())}
        self.kinds: list[Array] = []
        self.weights: EncodedColumn | None = None
        self.groups: EncodedColumn | None = None
        self.group_numbers: dict[Any, int] = {}
        self.groups_sorted = True

    def of(self, blocks: Iterable[Any]) -> TrainingData:
        """The training rows of all blocks; raises InputError naming the block that does not fit the others."""
        report = None if self.store.in_memory else reporter(self.settings.callback, "reading")
        for number, block in enumerate(blocks, 1):
            if not isinstance(block, tuple) or not 2 <= len(block) <= 4:
                raise InputError(
                    f"block {number} is {type(block).__name__}", where="X", fix="give (X, y) or (X, y, weight) blocks"
                )
            X, y, weight, groups = (*block, None, None)[:4]
            self.target = self.target or inputs.label_name(y)
            n_rows = self._add_rows(X)
            self._add_labels(y, n_rows)
            self._add_weights(weight, n_rows)
            self._add_groups(groups, n_rows)
            self.n_rows += n_rows
            if report is not None:
                report(self.n_rows)
        if self.n_rows == 0:
            none = "there is no row" if self.store.in_memory else "no block has a row"
            raise InputError(f"0 sample(s): {none}", where="X", fix="give at least one row")
        _require_memory(self.settings, self.n_rows, self.weights is not None, self.groups is not None)
        label_type = np.min_scalar_type(max(0, len(self.number_of) - 1))
        y = np.concatenate([part.astype(label_type) for part in self.labels.parts()])
        weights = None if self.weights is None else self.weights.read()
        prices, table = np.ones(len(self.number_of)), self._table()
        found = _counting(table, self._classes(), y, weights, self._groups(), prices, self.known is not None)
        return replace(found, target=self.target)

    # Features ------------------------------------------------------------------------------------------------------

    def _add_rows(self, X: Any) -> int:
        if self.known is not None and self.known.schema is not None:
            self.typed = encode(check_rows(self.estimator, X, reset=False), self.known.schema)
            self.names = self.typed.names
            return self.typed.n_rows
        first = not self.names
        if isinstance(X, Table) and (first or self.typed is not None):
            return self._add_encoded(X)
        raw = raw_table(X if isinstance(X, RawTable) else _checked(self.estimator, X, first))
        if first:
            if not raw.columns:
                raise InputError("0 feature(s) while a minimum of 1 is required", where="X", fix="give columns")
            self._begin(raw)
        columns = {column.name: column for column in raw.columns if column.name not in self.options.dropped()}
        if set(columns) != set(self.names) or self.typed is not None:
            odd = sorted(set(columns) ^ set(self.names))[:1] or ["a Table"]
            raise InputError(f"the blocks differ in column {odd[0]!r}", where="X", fix="give every block all columns")
        for name in self.names:
            self.builders[name].add(columns[name])
        return raw.n_rows

    def _begin(self, raw: RawTable) -> None:
        self.options.check(raw.names, raw.source)
        dropped, declared = self.options.dropped(), self.options.features(raw.names)
        if dropped and raw.positional:
            fix = "leave it out of X, or give it the role forbidden"
            raise InputError("the columns of an array are known by their places", where=min(dropped), fix=fix)
        self.names = tuple(name for name in raw.names if name not in dropped)
        self.source, self.notes = raw.source, raw.notes
        self.builders = {
            name: ColumnBuilder(declared[name], self.options, raw.source, self.store) for name in self.names
        }
        if not self.names:
            raise InputError("no column is left", where="types", fix="ignore fewer columns")

    def _add_encoded(self, table: Table) -> int:
        """A block that is encoded already; all must be so, under the same features."""
        if self.typed is None:
            _refuse_typed(self.settings)
            check_rows(self.estimator, table, reset=True)
            self.typed, self.names = table, table.names
            if self.store.in_memory:  # the only block
                return table.n_rows
            self.columns = [
                HeldColumn(array.dtype) if feature.kind == "text" else self.store.writer(array.dtype)
                for feature, array in zip(table.features, table.arrays, strict=True)
            ]
        elif table.features != self.typed.features:
            raise InputError("the blocks are tables of different features", where="X", fix="give them one schema")
        for writer, array in zip(self.columns, table.arrays, strict=True):
            writer.add(array)
        return table.n_rows

    def _table(self) -> Table:
        if self.typed is not None:
            if not self.columns:
                return self.typed
            return replace(self.typed, arrays=arrays_of(self.columns), n_rows=self.n_rows)
        decided = [self.builders[name].encoded() for name in self.names]
        return assembled(decided, self.n_rows, self.source, self.notes)

    # Labels, weights, groups ---------------------------------------------------------------------------------------

    def _add_labels(self, y: Any, n_rows: int) -> None:
        values = inputs.checked_labels(y, n_rows)
        distinct, where = inputs.classes_of(values)
        if self.kinds and (distinct.dtype.kind in "OUS") != (self.kinds[0].dtype.kind in "OUS"):
            raise InputError("the labels mix text with numbers", where="y", fix="use one type")
        self.kinds.append(distinct)
        unknown = next((label for label in distinct.tolist() if label not in self.number_of), None)
        if self.known is not None and unknown is not None:
            known = ", ".join(map(str, self.known.classes))
            raise InputError(f"the label {unknown!r} is none of the classes", where="y", fix=f"one of {known}")
        numbers = [self.number_of.setdefault(label, len(self.number_of)) for label in distinct.tolist()]
        self.labels.add(np.array(numbers, dtype=np.int32)[where.reshape(-1)])

    def _classes(self) -> Array:
        """The labels by number, in the type that all blocks together have."""
        if self.known is not None:
            return class_array(self.known.classes)
        together = np.unique(np.concatenate(self.kinds))
        place = {label: i for i, label in enumerate(together.tolist())}
        return together[[place[label] for label in self.number_of]]

    def _add_weights(self, weight: Any, n_rows: int) -> None:
        if weight is None and self.weights is None:
            return
        if self.weights is None:
            self.weights = self.store.writer(np.float64)
            self.weights.add(np.ones(self.n_rows))
        self.weights.add(np.ones(n_rows) if weight is None else inputs.checked_weights(weight, n_rows))

    def _add_groups(self, groups: Any, n_rows: int) -> None:
        if (groups is None) != (self.groups is None) and self.n_rows:
            raise InputError("only some blocks have groups", where="groups", fix="give all blocks groups")
        if groups is None:
            return
        if self.groups is None:
            self.groups = self.store.writer(np.int64)
        keys = np.asarray(groups)
        if keys.shape != (n_rows,):
            raise InputError(f"groups of shape {keys.shape} for {n_rows} rows", where="groups")
        inputs.refuse_missing_groups(keys)
        self.groups_sorted = self.groups_sorted and keys.dtype.kind not in "Of"
        distinct, where = (keys, slice(None)) if keys.dtype.kind in "Of" else np.unique(keys, return_inverse=True)
        numbers = [self.group_numbers.setdefault(key, len(self.group_numbers)) for key in distinct.tolist()]
        self.groups.add(np.array(numbers, dtype=np.int64)[where])

    def _groups(self) -> Array | InOrder | None:
        if self.time is not None:
            return InOrder.of(self.time, self.n_rows)
        if self.groups is None:
            return None
        numbers = self.groups.read()
        if not self.groups_sorted:
            return numbers
        rank = np.empty(len(self.group_numbers), dtype=np.int64)
        rank[[self.group_numbers[key] for key in sorted(self.group_numbers)]] = np.arange(len(rank))
        return np.asarray(rank[numbers])


def _checked(estimator: Any, X: Any, first: bool) -> Any:
    """One block, checked as the whole would be; columns of a mapping are known by its names alone."""
    if isinstance(X, dict) or (isinstance(X, list) and X and isinstance(X[0], dict)):
        raw = raw_table(X)
        if first:
            estimator.n_features_in_ = len(raw.names)
            estimator.feature_names_in_ = np.array(raw.names, dtype=object)
        return raw
    return check_rows(estimator, X, reset=first)
