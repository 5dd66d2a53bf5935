"""What a learner is given: rows as a Table, checked as scikit-learn does, labels, weights and groups; and the classes.

Rows may be arrays, lists, frames, mappings or Tables. The classes have an order in a rule graph (the positive one of
two stands last, ranks from low to high), what a row of each counts, and what is asked of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.graph.rule_graph import ClassLabel
from rulekit.learners.contract import Kind
from rulekit.learners.data.binning import MemoryCodes
from rulekit.learners.data.folds import InOrder, equal_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.histograms import class_totals, quantise_by_class, share_equal
from rulekit.tables.equal_rows import RowSums, row_sums
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable, parse_cost
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table, absent


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows of positive weight: table, class index [n], weight [n]; the classes in sorted order.

    groups: the group [n] of each row, or its time, or None. prices [K]: what an error on a row of each class costs.
    target: the name of the label, "" where it has none. taught: a teacher gave the labels.
    """

    table: Table
    classes: tuple[ClassLabel, ...]
    labels: Array
    weights: Floats
    groups: Array | InOrder | None
    prices: Floats
    target: str = ""
    taught: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.labels)

    def totals(self) -> Floats:
        """The weight [K] of each class."""
        return class_totals(self.weights, self.labels, len(self.classes))

    def problem(self, order: Sequence[int], factors: Floats) -> Problem:
        """The rows as a problem without columns; labels are places in an order of the classes; factors [K]: of each."""
        weights, unit = quantise_by_class(self.weights, self.labels, factors)
        labels = self.labels
        if list(order) != list(range(len(order))):
            labels = np.argsort(order).astype(labels.dtype)[labels]
        return Problem((), MemoryCodes(()), labels, share_equal(weights), unit)

    def row_sums(self) -> RowSums:
        """What tells the rows apart from others."""
        return row_sums(self.labelled(""))

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


def occurring(classes: Array, occurs: Array) -> tuple[tuple[ClassLabel, ...], Ints]:
    """The classes that occur, sorted, and the rank of each; raises InputError where there is one only."""
    found, rank = np.unique(classes[occurs], return_inverse=True)
    if len(found) < 2:
        raise InputError(
            f"the label has only one class, {found[0]!s}", where="y", fix="a classifier needs rows of two classes"
        )
    return tuple(found.tolist()), rank


def tell_left_out(classes: Array, rows: Ints, used: Ints) -> None:
    """Warn of classes whose rows all weigh 0, which are left out with them; used [K]: of the rows [K] the others."""
    if (gone := (rows > 0) & (used == 0)).any():
        shown = ", ".join(map(repr, classes[gone].tolist()))
        warnings.warn(f"all rows of {shown} have weight 0; no row is decided so", stacklevel=6)


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
    kinds = set(map(type, y.tolist())) if y.dtype.kind == "O" else set()
    if (row := _first_missing(y)) is not None:
        what = f"Input y contains NaN: the label of row {row} is missing"
        raise InputError(what, where="y", fix="drop the rows without a label")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError("Input y contains infinity", where="y")
    check_consistent_length(np.empty((n_rows, 0)), y)
    words = {"text" if issubclass(kind, str) else kind.__name__ for kind in kinds}
    if "text" in words and len(words) > 1:
        raise InputError(f"the labels mix text with {sorted(words - {'text'})[0]}", where="y", fix="use one type")
    if y.dtype.kind in "Mm":
        raise InputError("the labels are dates or times", where="y", fix="give them as text")
    if len(kinds) == 1 and isinstance(y[0], int | float | np.number | np.bool_):
        y = np.asarray(y.tolist())
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
    if (row := _first_missing(groups)) is not None:
        raise InputError(f"the group of row {row} is missing", where="groups", fix="fill it in")


def _first_missing(cells: Array) -> int | None:
    """The first cell that is missing; pandas' NA is neither equal nor unequal to anything."""
    if cells.dtype.kind == "f":
        return int(np.argmax(np.isnan(cells))) if np.isnan(cells).any() else None
    values = cells.tolist() if cells.dtype.kind == "O" else []
    if set(map(type, values)) <= {str, int, bool}:
        return None
    gone = (cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell) for cell in values)
    return next((row for row, is_gone in enumerate(gone) if is_gone), None)


# Classes -------------------------------------------------------------------------------------------------------------


def prices_of(learner: str, cost: Any, classes: tuple[ClassLabel, ...], order: Sequence[int]) -> Floats:
    """What an error on a row of each class [K] costs, the classes sorted; order: their indices in the graph's order.

    cost: None; "FP:FN" or such a pair, of a false positive and of a false negative of two classes; a mapping of class
    to the cost of an error on its rows (1 where it is left out); a matrix [K, K] of the sorted classes, with the true
    class by row and the decided one by column. Raises InputError for what is none of these, and for a matrix in which
    the cost of an error depends on which wrong class is decided: no weight of rows says that.
    """
    prices = np.ones(len(classes))
    if cost is None:
        return prices
    if isinstance(cost, Mapping):
        for label, price in cost.items():
            prices[class_index(learner, classes, label, "cost")] = price
    elif isinstance(cost, str) or np.ndim(cost) == 1:
        prices[list(order)] = parse_cost(cost if isinstance(cost, str) else tuple(cost), len(classes)) or (1.0, 1.0)
    else:
        prices = _of_matrix(learner, np.asarray(cost, dtype=np.float64), len(classes))
    if not (prices > 0).all():
        raise InputError("a cost of 0 for an error", where=learner, fix="give each class a cost above 0")
    return prices


def _of_matrix(learner: str, matrix: Floats, k: int) -> Floats:
    """The one cost of the errors on each true class [k]."""
    if matrix.shape != (k, k):
        raise InputError(f"a matrix of costs of shape {matrix.shape} for {k} classes", where=learner, fix="one a class")
    if matrix.diagonal().any():
        raise InputError("a right decision has a cost", where=learner, fix="zeros on the diagonal")
    wrong = matrix[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    if (wrong != wrong[:, :1]).any():
        raise InputError(
            "the cost of an error depends on which wrong class is decided",
            where=learner,
            fix="give each true class one cost",
        )
    return np.asarray(wrong[:, 0])


def class_order(
    learner: str,
    classes: tuple[ClassLabel, ...],
    rows: Array,
    positive: Any,
    ordered: Sequence[Any] | None,
    default: Any,
) -> list[int]:
    """Indices of the classes in the graph's order; raises InputError where a parameter names none or contradicts.

    rows [K]: the weight of each class. Of two classes the positive one is `positive`, else the rarer, and where both
    have the same weight the second in sorted order.
    """
    if default is not None:
        class_index(learner, classes, default, "default")
        if len(classes) == 2 or ordered is not None:
            raise InputError("default is for more than two classes without an order", where=learner, fix="leave it out")
    if ordered is not None:
        ranks = _ranks(learner, classes, ordered, positive)
        return [class_index(learner, classes, label, "ordered") for label in ranks]
    if len(classes) == 2:
        rarer = 0 if rows[0] < rows[1] else 1
        free = positive is None or _encoded(learner, classes, positive)
        at = rarer if free else class_index(learner, classes, positive, "positive")
        return [1 - at, at]
    if positive is not None:
        class_index(learner, classes, positive, "positive")
        raise InputError("positive is for two classes", where=learner, fix=f"there are {len(classes)}")
    return list(range(len(classes)))


def _encoded(learner: str, classes: tuple[ClassLabel, ...], positive: Any) -> bool:
    """Whether the labels have become 0 and 1 on the way here, as some of scikit-learn's wrappers encode them.

    Which of them was meant is lost then, but no decision of a wrapper depends on it.
    """
    if list(map(repr, classes)) != ["0", "1"] or not isinstance(positive, str) or positive in ("0", "1"):
        return False
    warnings.warn(f"{learner}: the labels are 0 and 1, and positive={positive!r} is not used", stacklevel=5)
    return True


def class_index(learner: str, classes: tuple[ClassLabel, ...], label: Any, what: str) -> int:
    """The index of a class that the parameter `what` names; raises InputError where it is none."""
    if label not in classes:
        known = ", ".join(map(str, classes))
        raise InputError(f"{what} names {label!r}, which is no class", where=learner, fix=f"one of {known}")
    return classes.index(label)


def _ranks(learner: str, classes: tuple[ClassLabel, ...], ordered: Sequence[Any], positive: Any) -> list[Any]:
    ranks = [label for label in ordered if label in classes]
    left = [label for label in classes if label not in ranks]
    if left:
        raise InputError(f"ordered leaves out the class {left[0]!r}", where=learner, fix="list all")
    twice = [label for i, label in enumerate(ranks) if label in ranks[:i]]
    if twice:
        raise InputError(f"ordered names the class {twice[0]!r} twice", where=learner, fix="name each once")
    if positive is not None and positive != ranks[-1]:
        raise InputError(
            f"positive is {positive!r}, but {ranks[-1]!r} is the highest in ordered",
            where=learner,
            fix="leave out one of them",
        )
    return ranks


_LEAST_ODDS = 1e-300


def class_factors(learner: str, class_weight: Any, data: TrainingData, prices: Floats) -> Floats:
    """What a row of each class [K] counts: its weight by the parameter times its price; raises InputError for a class
    that there is not.

    prices [K]: by a parameter, where those of the data are all 1.
    """
    if np.any(prices != 1.0) and np.any(data.prices != 1.0):
        raise InputError("the table has costs of its own", where=f"{learner}, cost", fix="give one of them")
    prices = prices * data.prices
    if class_weight is None:
        return prices
    if isinstance(class_weight, str):
        totals = data.totals()
        return np.asarray(prices * totals.sum() / (len(totals) * totals))
    unknown = [label for label in class_weight if label not in data.classes]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is no class", where=learner)
    return np.asarray(prices * [float(class_weight.get(label, 1.0)) for label in data.classes])


def odds_of(kind: Kind, factors: Floats, totals: Floats) -> tuple[float, ...]:
    """By question the odds of yes among the rows as they are over those in training, where classes count differently.

    factors, totals [K]: what a row of each class counts, and how many rows it has, in the graph's order. With two
    classes this is how a change of the prior changes a posterior (C. Elkan, The Foundations of Cost-Sensitive Learning,
    2001, theorem 2); with more it takes what the rest counts on average.
    """
    k = np.arange(len(factors))
    positive = [k == 1] if kind == "two" else [k >= j for j in k[1:]] if kind == "ranked" else [k == j for j in k]
    ratios = (_mean(factors, totals, ~yes) / _mean(factors, totals, yes) for yes in positive)
    return tuple(min(max(ratio, _LEAST_ODDS), 1.0 / _LEAST_ODDS) for ratio in ratios)


def _mean(factors: Floats, totals: Floats, among: Bools) -> float:
    """What a row of some classes counts on average, to six digits."""
    equal = bool((factors[among] == factors[among][0]).all())
    mean = (
        factors[among][0]
        if equal
        else np.average(factors[among], weights=np.maximum(totals[among], np.finfo(np.float64).tiny))
    )
    return float(f"{mean:.6g}")


def questions_of(classes: tuple[Any, ...], kind: Kind) -> list[tuple[Any, Bools]]:
    """What each question is to tell from the rest: (label, which classes [K]).

    Of two classes the second; of ranked ones, for each but the lowest, whether the label is at least it.
    """
    k = np.arange(len(classes))
    if kind == "several":
        return [(label, k == j) for j, label in enumerate(classes)]
    return [(classes[j], k >= j) for j in k[1:].tolist()]


def refuse_columns(learner: Any, data: TrainingData, ranked: bool = False) -> None:
    """Raises InputError for columns, missing values, classes and constraints that a learner cannot take; names them."""
    name, can = learner.estimator_name(), learner.abilities
    if len(data.classes) > 2 and ("ranked" if ranked else "several") not in can:
        fix = "say that the classes are ranks (--ordered)" if "ranked" in can else "take another learner"
        raise InputError(f"{name} learns two classes, there are {len(data.classes)}", where="y", fix=fix)
    for feature, array in zip(data.table.features, data.table.arrays, strict=True):
        where = f"column {feature.name!r}"
        if feature.monotone != 0 and "monotone" not in can:
            fix = "drop the declaration or the column"
            raise InputError(f"{name} cannot promise a monotone column", where=where, fix=fix)
        if feature.monotone != 0 and len(data.classes) > 2 and not ranked:
            fix = "say that the classes are ranks (--ordered), or drop the declaration"
            raise InputError(f"{len(data.classes)} classes without an order do not rise or fall", where=where, fix=fix)
        if feature.role != "use":
            continue
        if feature.kind == "categorical" and "categories" not in can:
            raise InputError(f"{name} takes no categories", where=where, fix="leave the column out")
        if "missing" not in can and absent(array).any():
            raise InputError(f"{name} takes no missing values", where=where, fix="fill them in")
    constraints, fix = data.table.constraints, "drop the declaration"
    stated = (("together", constraints.together, "interactions"), ("apart", constraints.apart, "apart"))
    for what, groups, ability in stated:
        if groups and ability not in can:
            # Two clauses that are too weak alone may decide together, so a rule of theirs would mix their columns.
            where = f"{what} {', '.join(map(repr, groups[0]))}"
            raise InputError(f"{name} cannot promise which columns stand in one rule", where=where, fix=fix)
    if constraints.missing_never_helps and "missing_never_helps" not in can:
        raise InputError(f"{name} cannot promise that a missing value never helps", where="table", fix=fix)
