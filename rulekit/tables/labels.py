"""Labels: the target, weight and group columns taken out of a table, and the classes that a model decides between."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.declarations import Declarations, Missing, require_column
from rulekit.tables.kinds.classes import Label, choose_classes, class_key, label_values
from rulekit.tables.kinds.conversion import numeric_values
from rulekit.tables.kinds.encoding import encode_columns
from rulekit.tables.kinds.inference import infer, infer_columns
from rulekit.tables.raw.columns import Column, Mask, RawTable, column_place, factorize, place, take_column
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Array, Table


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table of features beside what is to be learned.

    y: int64 [n], index into `classes` (natural types; of two, the second is the positive one). weight: float64 [n],
    finite and not negative, or None. group: int64 [n], rows of one group belong in one fold, or None. cost: price of
    a false positive and of a false negative, or None. target: the name of the label column.
    """

    table: Table
    y: npt.NDArray[np.int64]
    classes: tuple[Label, ...]
    weight: npt.NDArray[np.float64] | None = None
    group: npt.NDArray[np.int64] | None = None
    cost: tuple[float, float] | None = None
    target: str = "target"
    ordered: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.table.n_rows

    @property
    def schema(self) -> Schema:
        """The schema of a model that is trained on this table."""
        return Schema(self.table.features, self.target, self.ordered)

    def training_weight(self) -> npt.NDArray[np.float64] | None:
        """Weights times costs [n] (positive rows cost a false negative, others a false positive), or None."""
        if self.cost is None:
            return self.weight
        price = np.where(self.y == 1, self.cost[1], self.cost[0])
        return price if self.weight is None else price * self.weight

    def take(self, rows: Array) -> LabelledTable:
        """The rows of an index array or Boolean mask."""
        return replace(
            self,
            table=self.table.take(rows),
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            group=None if self.group is None else self.group[rows],
        )


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Which columns are label, weight and group, and how the classes are named; see `split_labels`."""

    target: str
    positive: Label | None = None
    missing_target: str = "error"
    weight: str | None = None
    group: str | None = None
    ordered: Sequence[Label] = ()
    cost: str | tuple[float, float] | None = None

    def check(self) -> None:
        """Raises InputError for what cannot be asked for."""
        if self.missing_target not in ("error", "drop"):
            raise InputError(f"missing_target is {self.missing_target!r}", fix="error or drop")

    def columns(self) -> frozenset[str]:
        """The columns that are no features."""
        return frozenset(name for name in (self.target, self.weight, self.group) if name is not None)


def read_labelled(
    path: str | os.PathLike[str],
    target: str,
    *,
    positive: Label | None = None,
    missing_target: str = "error",
    weight: str | None = None,
    group: str | None = None,
    ordered: Sequence[Label] = (),
    cost: str | tuple[float, float] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Missing = (),
    ignore: Sequence[str] = (),
    precision: Mapping[str, str] | None = None,
    unseen: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> LabelledTable:
    """A labelled table from a file: `read_table` and `split_labels` in one; raises InputError as they do."""
    declared = Declarations(types or {}, missing, ignore, precision or {}, unseen or {}, units or {}, roles or {})
    kept = {target, *declared.categories(), *([group] if group else [])}
    raw = read_columns(
        path,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        keep_text=kept,
        without=declared.dropped() - {target, weight, group},
    )
    return _split(raw, LabelOptions(target, positive, missing_target, weight, group, ordered, cost), declared)


def split_labels(
    data: Any,
    target: str,
    *,
    positive: Label | None = None,
    missing_target: str = "error",
    weight: str | None = None,
    group: str | None = None,
    ordered: Sequence[Label] = (),
    cost: str | tuple[float, float] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Missing = (),
    ignore: Sequence[str] = (),
    precision: Mapping[str, str] | None = None,
    unseen: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
) -> LabelledTable:
    """Take label, weight and group columns out of anything that `infer` reads.

    target: the label column: text, numbers or Booleans. positive: the class that rules describe; by default the
    rarer of two, which a note says. missing_target: "error" refuses rows without a label by number, "drop" leaves
    them out and a note counts them. ordered: the classes from low to high. cost: "FP:FN" or a pair of positive
    numbers. Raises InputError for a wrong column name, a single class, a weight that is negative, missing or sums to
    nothing, a row without a group.
    """
    declared = Declarations(types or {}, missing, ignore, precision or {}, unseen or {}, units or {}, roles or {})
    options = LabelOptions(target, positive, missing_target, weight, group, ordered, cost)
    return _split(raw_table(data), options, declared, data if isinstance(data, Table) else None)


def read_for_model(
    path: str | os.PathLike[str],
    schema: Schema,
    classes: Sequence[Label],
    *,
    used: Collection[str] | None = None,
    target: str | None = None,
    missing_target: str = "error",
    missing: Missing = (),
    weight: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> LabelledTable:
    """A file encoded for a model, with its labels as indices into the model's classes.

    target: the label column if it is not `schema.target`. Raises InputError for a label that is no class.
    """
    name = target or schema.target
    wanted = {name, *(schema.names if used is None else used), *([weight] if weight else [])}
    codes = [feature.name for feature in schema if feature.kind == "categorical"]
    raw = read_columns(
        path, delimiter=delimiter, decimal=decimal, encoding=encoding, columns=wanted, keep_text=[name, *codes]
    )
    return label_for_model(raw, schema, classes, used=used, target=name, missing_target=missing_target,
                           missing=missing, weight=weight)  # fmt: skip


def label_for_model(
    data: Any,
    schema: Schema,
    classes: Sequence[Label],
    *,
    used: Collection[str] | None = None,
    target: str | None = None,
    missing_target: str = "error",
    missing: Missing = (),
    weight: str | None = None,
) -> LabelledTable:
    """As `read_for_model`, for data in memory."""
    raw = raw_table(data)
    options = LabelOptions(target or schema.target, missing_target=missing_target, weight=weight)
    for name in options.columns():
        require_column(name, raw.known_names, raw.source)
    tokens = Declarations(missing=missing).tokens(options.target, raw.names)
    raw, notes, _ = _drop_unlabelled(raw, options, tokens)
    keys, codes = factorize(_column(raw, options.target), tokens)
    index_of = {class_key(label): i for i, label in enumerate(classes)}
    found = [index_of.get(class_key(key), -1) for key in keys]
    if -1 in found:
        strange = np.array(found)[codes] == -1
        row = int(np.argmax(strange))
        raise InputError(
            f"label {keys[int(codes[row])]!r} is no class of the model",
            where=place(raw.source, row, options.target),
            fix=f"classes are {', '.join(map(repr, classes[:8]))}",
        )
    y = np.array(found, dtype=np.int64)[codes]
    table = encode_columns(replace(raw, columns=tuple(c for c in raw.columns if c.name in schema)), schema, used)
    return LabelledTable(
        table,
        y,
        tuple(classes),
        _weights(raw, options, tokens),
        None,
        None,
        options.target,
        schema.ordered_classes,
        notes,
    )


def _split(raw: RawTable, options: LabelOptions, declared: Declarations, typed: Table | None = None) -> LabelledTable:
    """Labels out of raw columns; `typed` is the table that they come from, if its features are known already."""
    check_request(options, declared, raw.known_names, raw.source)
    tokens = declared.tokens(options.target, raw.names)
    raw, dropped, kept = _drop_unlabelled(raw, options, tokens)
    as_text = options.target in declared.categories()
    values, codes, told = label_values(_column(raw, options.target), tokens, as_text, raw.source)
    y, classes, chosen = choose_classes(values, codes, options.positive, options.ordered, raw.source, options.target)
    cost = parse_cost(options.cost, len(classes))
    weight = _weights(raw, options, declared.tokens(options.weight or "", raw.names))
    group = _groups(raw, options)
    gone = options.columns()
    rest = declared_features(declared, gone, raw.names)
    features = raw.without(gone)
    if not features.columns:
        raise InputError("no column is left beside the target", where=raw.source or "table", fix="give features")
    if typed is None:
        table = infer_columns(features, rest)
    else:
        typed = typed.select(features.names)
        table = infer(typed if kept is None else typed.take(kept), **rest.options())
    notes = (*dropped, *told, *chosen)
    return LabelledTable(table, y, classes, weight, group, cost, options.target, bool(options.ordered), notes)


def check_request(options: LabelOptions, declared: Declarations, names: Sequence[str], source: str) -> None:
    """Raises InputError where options or declarations name no column, or ask for what makes no sense."""
    for name, what in (
        (options.target, "target column"),
        (options.weight, "weight column"),
        (options.group, "group column"),
    ):
        if name is not None:
            require_column(name, names, source, what)
    declared.check(names, source)
    _refuse_confusion(options, declared, source)


def _refuse_confusion(options: LabelOptions, declared: Declarations, source: str) -> None:
    """Declarations about the target that would do nothing, or give the answer away."""
    where = column_place(source, options.target)
    for name, what in ((options.weight, "weight"), (options.group, "group")):
        if name == options.target:
            raise InputError(f"the target is the {what} column too", where=where, fix="name another column")
    if options.target in declared.dropped():
        raise InputError("the target cannot be ignored", where=where, fix="name another target")
    for what, said in (("unit", declared.units), ("role", declared.roles)):
        for name in options.columns() & set(said):
            raise InputError(f"the {what} of a column that is no feature", where=column_place(source, name))
    kind = declared.types.get(options.target, "categorical")
    if kind != "categorical":
        raise InputError(
            f"a target is not declared {kind}",
            where=where,
            fix="declare it categorical to keep its labels as text; --ordered says that classes are ranks",
        )


def declared_features(declared: Declarations, gone: frozenset[str], names: Sequence[str]) -> Declarations:
    """What is declared of the columns that are features; names: of all columns."""
    return replace(
        declared,
        types={name: kind for name, kind in declared.types.items() if name not in gone},
        ignore=[name for name in declared.ignore if name not in gone],
        missing=_without(declared.missing, gone, names),
    )


def _without(missing: Missing, gone: frozenset[str], names: Sequence[str]) -> Missing:
    """The missing tokens of the features alone."""
    if isinstance(missing, Mapping):
        return {name: tokens for name, tokens in missing.items() if name not in gone}
    alone = Declarations(missing=missing)
    return {name: alone.tokens(name, names) for name in names if name not in gone}


def _column(raw: RawTable, name: str) -> Column:
    return next(column for column in raw.columns if column.name == name)


def _drop_unlabelled(
    raw: RawTable, options: LabelOptions, tokens: tuple[str, ...]
) -> tuple[RawTable, tuple[str, ...], Mask | None]:
    """The rows with a label, notes, and the mask of those rows if some were dropped."""
    options.check()
    _, codes = factorize(_column(raw, options.target), tokens)
    rows = np.flatnonzero(codes < 0)
    if not len(rows):
        return raw, (), None
    note = unlabelled_note(rows[:6], len(rows), raw.n_rows, options, raw.source)
    kept = codes >= 0
    columns = tuple(take_column(column, kept) for column in raw.columns)
    return replace(raw, columns=columns, n_rows=raw.n_rows - len(rows)), (note,), kept


def unlabelled_note(first: Array, count: int, n_rows: int, options: LabelOptions, source: str) -> str:
    """One line on the rows that are dropped for want of a label, or InputError where they must not be.

    first: the numbers of the first ones (from 0, at most six); count: how many there are.
    """
    where = column_place(source, options.target)
    if count == n_rows:
        raise InputError("no row has a label", where=where, fix="name another target")
    if options.missing_target == "error":
        shown = ", ".join(str(row + 1) for row in first[:5]) + (", ..." if count > 5 else "")
        raise InputError(
            f"the label is missing in {count} of {n_rows} rows (data row {shown})",
            where=where,
            fix="fill it in, or drop these rows with --missing-target drop",
        )
    return f"{count} of {n_rows} rows were dropped, since their label is missing"


def _weights(raw: RawTable, options: LabelOptions, tokens: tuple[str, ...]) -> npt.NDArray[np.float64] | None:
    if options.weight is None:
        return None
    feature = Feature(options.weight, missing_tokens=tokens)
    weight = numeric_values(_column(raw, options.weight), feature, raw.source)
    return check_weight(weight, column_place(raw.source, options.weight))


def check_weight(weight: npt.NDArray[np.float64], where: str = "weight") -> npt.NDArray[np.float64]:
    """The weights [n] if all are finite and none negative, and their sum positive; else raises InputError."""
    bad = ~(np.isfinite(weight) & (weight >= 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"weight {weight[row]} in data row {row + 1}", where=where, fix="weights are finite and not negative"
        )
    if not weight.sum() > 0.0:
        raise InputError("all weights are zero", where=where, fix="give some row a weight")
    return weight


def _groups(raw: RawTable, options: LabelOptions) -> npt.NDArray[np.int64] | None:
    if options.group is None:
        return None
    _, codes = factorize(_column(raw, options.group))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError("the row has no group", where=place(raw.source, row, options.group), fix="fill it in")
    return codes.astype(np.int64)


def parse_cost(cost: str | tuple[float, float] | None, n_classes: int = 2) -> tuple[float, float] | None:
    """The costs of a false positive and a false negative from "FP:FN"; raises InputError where they are no costs."""
    if cost is None:
        return None
    if n_classes != 2:
        raise InputError(f"costs with {n_classes} classes", fix="costs need two classes")
    try:
        false_positive, false_negative = map(float, cost.split(":") if isinstance(cost, str) else cost)
    except ValueError:
        raise InputError(f"cost {cost!r}", fix="write FP:FN, for example 1:5") from None
    if not (0.0 < false_positive < np.inf and 0.0 < false_negative < np.inf):
        raise InputError(f"cost {cost!r}", fix="both are positive numbers, for example 1:5")
    return false_positive, false_negative
