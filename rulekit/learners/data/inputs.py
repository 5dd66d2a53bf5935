"""What a learner is given, as a Table: arrays, lists, frames, mappings or Tables, checked as scikit-learn does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.errors import InputError
from rulekit.graph.rule_graph import ClassLabel
from rulekit.learners.data.folds import InOrder, equal_rows
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows of positive weight: table, class index [n], weight [n]; the classes in sorted order.

    groups: the group [n] of each row, or its time, or None. prices [K]: what an error on a row of each class costs.
    target: the name of the label, "" where it has none.
    """

    table: Table
    classes: tuple[ClassLabel, ...]
    labels: Array
    weights: Floats
    groups: Array | InOrder | None
    prices: Floats
    target: str = ""

    def labelled(self, target: str) -> LabelledTable:
        """The same rows as a labelled table; groups by number, no weights where all are 1."""
        same = self.weights.strides == (0,)
        weights = None if np.all((self.weights[:1] if same else self.weights) == 1.0) else self.weights
        time, groups = None, None
        if isinstance(self.groups, InOrder):
            time = self.groups.moment.astype(np.float64)
        elif self.groups is not None:
            groups = equal_rows(self.groups)
        cost = None if np.all(self.prices == 1.0) else (float(self.prices[0]), float(self.prices[1]))
        return LabelledTable(self.table, self.labels, self.classes, weights, groups, cost, target, time=time)


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as something that `infer` and `encode` read; sets or checks n_features_in_ and feature_names_in_.

    Raises ValueError or TypeError in scikit-learn's words where the shape, the type or the columns are wrong.
    """
    if isinstance(X, Table):
        if reset:
            estimator.sparse_rows_ = False
            estimator.n_features_in_ = len(X.features)
            estimator.feature_names_in_ = np.array(X.names, dtype=object)
        return X
    from scipy.sparse import csr_array, issparse
    from sklearn.utils.validation import validate_data

    if isinstance(X, dict) or (isinstance(X, list) and X and isinstance(X[0], dict)):
        if reset:
            return check_rows(estimator, infer(X), reset=True)
        return X if hasattr(estimator, "feature_names_in_") else _by_place(X, warn=True)
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        _refuse_equal_names(list(X.column_names if hasattr(X, "column_names") else X.columns))
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X if reset or hasattr(estimator, "feature_names_in_") else _by_place(X)
    if reset:
        estimator.sparse_rows_ = issparse(X)
    if issparse(X) or estimator.sparse_rows_:  # one column of words, of which values that are not 0 are present
        return csr_array(validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric"))
    values = X if hasattr(X, "dtype") else _array_of(X)
    kind = getattr(getattr(values, "dtype", None), "kind", "f")
    checked = validate_data(
        estimator,
        values.astype(object) if kind in "US" else values,
        reset=reset,
        dtype=None if kind in "OUSMm" else "numeric",
        ensure_all_finite=False,
    )
    if checked.dtype == object:
        _refuse_strange_cells(checked)
    return checked


def _by_place(X: Any, warn: bool = False) -> RawTable:
    """Named columns for an estimator that was fitted without names: they count by their place, as in scikit-learn."""
    if warn:
        warnings.warn("X has feature names, but the estimator was fitted without feature names", stacklevel=2)
    return replace(raw_table(X), positional=True)


def _array_of(rows: Any) -> Any:
    try:
        array = np.asarray(rows)
    except ValueError:
        return rows  # ragged: scikit-learn's own message
    # numpy would turn True into "True" beside text, so mixed cells are kept apart.
    return np.asarray(rows, dtype=object) if array.dtype.kind in "US" else array


def _refuse_equal_names(names: list[Any]) -> None:
    if len(set(names)) < len(names):
        name = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two columns are called {name!r}", where="X", fix="rename one")


class CellTypeError(InputError, TypeError):
    """A cell that is a list, a set or a mapping; scikit-learn's checks ask for a TypeError."""


def _refuse_strange_cells(cells: Array) -> None:
    strange = {type(cell) for cell in cells.ravel().tolist() if isinstance(cell, dict | list | tuple | set)}
    if strange:
        raise CellTypeError(
            f"argument must be a string or a number, not {strange.pop().__name__!r}",
            where="X",
            fix="give texts or numbers",
        )


def classes_of(y: Array) -> tuple[Array, Array]:
    """The distinct labels in sorted order, and which of them each row has."""
    if not _is_text(y):
        return np.unique(y, return_inverse=True)
    cells = y.tolist()
    found = sorted(set(cells))
    number = {label: k for k, label in enumerate(found)}
    return np.array(found, dtype=object), np.fromiter(map(number.__getitem__, cells), dtype=np.int64, count=len(cells))


def _is_text(y: Array) -> bool:
    return y.dtype.kind == "O" and set(map(type, y.tolist())) == {str}


def label_name(y: Any) -> str:
    """The name of a Series (pandas, polars) of labels, or "" where there is none."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else ""


def checked_labels(y: Any, n_rows: int) -> Array:
    """Labels [n] in their natural type; raises ValueError (InputError where it is ours) for what is no label."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, column_or_1d

    y = column_or_1d(np.asarray(y), warn=True)
    _refuse_missing(y)
    check_consistent_length(np.empty((n_rows, 0)), y)
    _refuse_mixed(y)
    y = _of_natural_type(y)
    if not _is_text(y):
        check_classification_targets(y)
    return np.asarray(y)


def checked_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Weights [n] >= 0 of rows, from one number or one for each; raises InputError for anything else."""
    try:
        weights = np.asarray(sample_weight)
        weights = weights.astype(np.float64, casting="unsafe" if weights.dtype.kind in "OUS" else "same_kind")
    except (TypeError, ValueError, OverflowError):
        raise InputError("a weight is no number", where="sample_weight") from None
    weights = np.full(n_rows, weights) if weights.ndim == 0 else weights
    if weights.shape != (n_rows,):
        raise InputError(f"weights of shape {weights.shape} for {n_rows} rows", where="sample_weight")
    if not np.isfinite(weights).all():
        raise InputError("a weight is missing or infinite", where="sample_weight")
    if np.any(weights < 0):
        raise InputError("a weight is negative", where="sample_weight", fix="give weights of 0 or more")
    return weights


def refuse_missing_groups(groups: Array) -> None:
    """Raises InputError for a row without a group."""
    if groups.dtype.kind not in "Of":
        return
    row = next((i for i, cell in enumerate(groups.tolist()) if _is_missing(cell)), None)
    if row is not None:
        raise InputError(f"the group of row {row} is missing", where="groups", fix="fill it in")


def _refuse_mixed(y: Array) -> None:
    if y.dtype.kind != "O":
        return
    kinds = {"text" if issubclass(kind, str) else kind.__name__ for kind in set(map(type, y.tolist()))}
    if "text" in kinds and len(kinds) > 1:
        raise InputError(f"the labels mix text with {sorted(kinds - {'text'})[0]}", where="y", fix="use one type")


def _of_natural_type(y: Array) -> Array:
    """Cells of one plain type as an array of it; raises InputError for dates."""
    if y.dtype.kind in "Mm":
        raise InputError("the labels are dates or times", where="y", fix="give them as text")
    one_type = y.dtype.kind == "O" and len(set(map(type, y.tolist()))) == 1
    return np.asarray(y.tolist()) if one_type and isinstance(y[0], int | float | np.number | np.bool_) else y


def _is_missing(cell: Any) -> bool:
    # pandas' NA is neither equal nor unequal to anything.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _refuse_missing(y: Array) -> None:
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if y.dtype.kind == "O" and not set(map(type, y.tolist())) <= {str, int, bool}:
        missing = np.array([_is_missing(cell) for cell in y.tolist()])
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"Input y contains NaN: the label of row {row} is missing", where="y", fix="drop the rows without a label"
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError("Input y contains infinity", where="y")
