"""What a reader compares a model with: well-known models on the same rows and the same folds.

The most frequent class, the best single condition (R. Holte, Very Simple Classification Rules Perform Well on Most
Commonly Used Datasets, 1993), logistic regression, a tree of depth 4, and gradient boosting as what could be reached
without rules. Many rows are sampled, and each model has its share of the time: folds that it does not reach are left
out, and that is said. scikit-learn is imported when they are asked for.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.graph.model_parts import RARE, macro_f1
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets

MOST_FREQUENT, SINGLE_CONDITION, _LOGISTIC = "most frequent class", "best single condition", "logistic regression"
_CELLS = 1 << 19
_LEAST_ROWS = 2_000
_MOST_LEVELS = 32
_MOST_WORDS = 200
_MOST_COLUMNS = 512
_TREES = 40


@dataclass(frozen=True, slots=True)
class Baseline:
    """A model and its cross-validated error rate, with the standard error over the folds (None of a single one).

    macro_f1: the mean of the F1 scores of all classes. folds: how many the time allowed.
    """

    name: str
    error: float
    standard_error: float | None
    macro_f1: float
    folds: int


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines in their order; rows: how many they were measured on, of how many; left_out: for want of time.

    rare: the label that has less than a tenth of the weight; None where there is none.
    """

    models: tuple[Baseline, ...]
    rows: int
    of_rows: int
    left_out: tuple[str, ...] = ()
    rare: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What the baselines are measured on: numbers [n, d], which columns are levels of categories [d], and of each row
    [n] the index of its class, its weight and its fold.
    """

    numbers: Array
    levels: Array
    y: Array
    weight: Array
    fold: Array


Found = tuple[tuple[Baseline, ...], tuple[str, ...]]
"""The baselines that were measured, and those that there was no time for."""


def sample_of(table: Table, y: Array, weight: Array, fold: Array) -> Sample:
    """At most so many rows that all models are quick; only columns of the role `use` count."""
    table = table.select(tuple(feature.name for feature in table.features if feature.role == "use"))
    n_rows, width = len(y), sum(map(_width, table.features))
    most = max(_LEAST_ROWS, _CELLS // max(1, min(width, _MOST_COLUMNS)))
    if n_rows > most:
        rows = (np.arange(most, dtype=np.int64) * n_rows) // most
        table, y, weight, fold = table.take(rows), y[rows], weight[rows], fold[rows]
    return Sample(*_columns(table), y, weight, fold)


def reported(found: Found, sample: Sample, y: Array, weight: Array, classes: Sequence[Any]) -> Baselines:
    """What was measured on a sample of rows with class indices y [n] and weights [n]."""
    totals = np.bincount(y, weight)
    rarest = int(np.argmin(np.where(totals > 0, totals, np.inf)))
    rare = classes[rarest] if totals[rarest] < RARE * totals.sum() else None
    return Baselines(found[0], len(sample.y), len(y), found[1], rare)


def measured_here(sample: Sample, seconds: float) -> Found:
    """Measure the baselines in so many seconds; that is kept to between two fits, each of which is short."""
    from threadpoolctl import threadpool_limits

    until = time.monotonic() + seconds
    rows = sample.y, sample.weight, sample.fold
    found, left_out = [_measured(MOST_FREQUENT, most_frequent, sample.numbers, *rows, np.inf)], []
    with threadpool_limits(1):  # threads that wait for each other take longer than one, where others work too
        for (name, fit), still in zip(_models(), (4, 3, 2, 1), strict=True):
            inputs = sample.numbers if name != _LOGISTIC else _standardised(sample.numbers, sample.levels)
            share = (until - time.monotonic()) / still
            found.append(_measured(name, fit, inputs, *rows, share) if share > 0 else None)
            left_out += [name] * (found[-1] is None)
    return tuple(each for each in found if each is not None), tuple(left_out)


Fit = Callable[[Array, Array, Array], Callable[[Array], Array]]
"""From rows, classes and weights to what gives rows their classes [n], or weights of the classes [n, K]."""


def _measured(name: str, fit: Fit, X: Array, y: Array, weight: Array, fold: Array, seconds: float) -> Baseline | None:
    """A model on as many folds as the time allows, at least one; None where a fold has one class only."""
    begun, wrong, weights = time.monotonic(), list[float](), list[float]()
    n_classes = int(y.max()) + 1
    confusion = np.zeros(n_classes * n_classes)  # true, decided
    for done, k in enumerate(np.unique(fold), start=1):
        held = fold == k
        if held.all() or len(np.unique(y[~held])) < 2:
            continue
        found = fit(X[~held], y[~held], weight[~held])(X[held])
        decided = found if found.ndim == 1 else found.argmax(axis=1)
        wrong.append(float(weight[held][decided != y[held]].sum()))
        weights.append(float(weight[held].sum()))
        confusion += np.bincount(n_classes * y[held].astype(np.int64) + decided, weight[held], len(confusion))
        spent = time.monotonic() - begun
        if spent + spent / done > seconds:
            break
    if not wrong or not sum(weights):
        return None
    rates = np.array(wrong) / np.maximum(weights, 1e-300)
    deviation = float(rates.std(ddof=1) / np.sqrt(len(rates))) if len(rates) > 1 else None
    by_class = confusion.reshape(n_classes, n_classes)
    f1 = float(macro_f1(by_class.diagonal(), by_class.sum(axis=0), by_class.sum(axis=1)))
    return Baseline(name, sum(wrong) / sum(weights), deviation, f1, len(rates))


def most_frequent(X: Array, y: Array, weight: Array) -> Callable[[Array], Array]:
    """What says of rows the weights [n, K] of the classes in training."""
    mass = np.bincount(y, weight)
    return lambda rows: np.tile(mass, (len(rows), 1))


def _models() -> Iterator[tuple[str, Fit]]:
    yield SINGLE_CONDITION, one_condition
    from sklearn.tree import DecisionTreeClassifier

    yield "tree of depth 4", partial(_fitted, DecisionTreeClassifier(max_depth=4, random_state=0))
    from sklearn.linear_model import LogisticRegression

    yield _LOGISTIC, partial(_fitted, LogisticRegression(max_iter=100))
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosting

    yield "gradient boosting", partial(_fitted, Boosting(max_iter=_TREES, early_stopping=False, random_state=0))


def _fitted(model: Any, X: Array, y: Array, weight: Array) -> Callable[[Array], Array]:
    """A model of scikit-learn; a column without values, which boosting cannot bin, is 0 on every row."""
    empty = np.isnan(X).all(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged: it is a baseline, and has its number of steps
        model.fit(np.where(empty, 0.0, X), y, weight)
    return lambda rows: np.asarray(model.predict(np.where(empty, 0.0, rows)))


def one_condition(X: Array, y: Array, weight: Array) -> Callable[[Array], Array]:
    """The cut of one column with the least error, missing cells above it: the weights [n, K] of the classes there."""
    mass = np.zeros((len(y), int(y.max()) + 1))
    mass[np.arange(len(y)), y] = weight
    total = mass.sum(axis=0)
    best, column, cut, sides = float(total.max()), 0, np.inf, (total, total)
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        values, below = X[order, j], np.cumsum(mass[order], axis=0)[:-1]
        ends = np.flatnonzero(values[:-1] < np.where(np.isnan(values[1:]), np.inf, values[1:]))
        if len(ends):
            right = below[ends].max(axis=1) + (total - below[ends]).max(axis=1)
            at = ends[int(right.argmax())]
            if right.max() > best:
                best, column, cut = float(right.max()), j, float(values[at])
                sides = below[at], total - below[at]
    return lambda rows: np.where((rows[:, column] <= cut)[:, None], *sides)


# Columns -----------------------------------------------------------------------------------------------------------


def _width(feature: Feature) -> int:
    if feature.kind == "text":
        return min(len(feature.levels), _MOST_WORDS)
    return min(len(feature.levels), _MOST_LEVELS) + 1 if feature.kind == "categorical" and not feature.ordered else 1


def _columns(table: Table) -> tuple[Array, Array]:
    """Numbers [n, d], NaN where missing, and which columns [d] are the most frequent levels or words, one for each.

    Ordered categories are their ranks. At most 512 columns are taken.
    """
    columns, is_level = list[Array](), list[bool]()
    for feature, array in zip(table.features, table.arrays, strict=True):
        if isinstance(array, TokenSets):
            frequent = np.argsort(-array.rows_with(), kind="stable")[:_MOST_WORDS]
            columns += [array.contains((word,)).astype(np.float32) for word in frequent.tolist()]
            is_level += [True] * len(frequent)
        elif feature.kind != "categorical":
            columns.append(np.clip(np.asarray(array, dtype=np.float32), -1e30, 1e30))
            is_level.append(False)
        elif feature.ordered:
            columns.append(np.where(array < FIRST_LEVEL_CODE, np.nan, array).astype(np.float32))
            is_level.append(False)
        else:
            counts = np.bincount(array, minlength=FIRST_LEVEL_CODE + len(feature.levels))
            frequent = np.argsort(-counts, kind="stable")[: _MOST_LEVELS + 1]
            columns += [(array == code).astype(np.float32) for code in frequent[counts[frequent] > 0]]
            is_level += [True] * (len(columns) - len(is_level))
    columns, is_level = columns[:_MOST_COLUMNS], is_level[:_MOST_COLUMNS]
    numbers = np.stack(columns, axis=1) if columns else np.zeros((table.n_rows, 1), dtype=np.float32)
    return numbers, np.array(is_level or [False])


def _standardised(numbers: Array, levels: Array) -> Array:
    """Numbers by their mean and deviation, at most ten of it, with a column more for each that has missing cells."""
    missing = np.isnan(numbers)
    gaps = missing.any(axis=0)
    mean = np.nan_to_num(np.nanmean(np.where(missing.all(axis=0), 0.0, numbers), axis=0, dtype=np.float64))
    filled = np.where(missing, mean, numbers).astype(np.float64)
    deviation = np.where(levels, 1.0, filled.std(axis=0))
    scaled = np.clip((filled - np.where(levels, 0.0, mean)) / np.where(deviation > 0, deviation, 1.0), -10.0, 10.0)
    return np.hstack([scaled, missing[:, gaps]])


Measure = Callable[[Sample, float], Callable[..., Found]]
"""Begins to measure the baselines on a sample in so many seconds; what is returned waits for them until a deadline."""

_CHILD = "from rulekit.audit.figures.baselines import answer; answer()"
_ARRAYS = tuple(item.name for item in fields(Sample))


@contextlib.contextmanager
def measured_beside() -> Iterator[Measure]:
    """A process that is ready to measure soon, and is ended with the block."""
    try:
        # A session of its own: Ctrl-C ends the learning, and what was learned so far is still compared.
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield lambda sample, seconds: lambda deadline=NO_LIMIT: measured_here(sample, min(seconds, deadline.left))
        return
    with contextlib.suppress(OSError), process:  # which closes its pipes and waits for it
        try:
            yield partial(_asked, process)
        finally:
            process.kill()


def _asked(process: subprocess.Popen[bytes], sample: Sample, seconds: float) -> Callable[..., Found]:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, seconds=seconds, **{name: getattr(sample, name) for name in _ARRAYS})
    # By a thread, since the process reads once it has imported what it needs.
    answered = ThreadPoolExecutor(1).submit(process.communicate, file.getvalue())

    def wait(deadline: Deadline = NO_LIMIT) -> Found:
        try:
            found, _ = answered.result(None if deadline.seconds is None else deadline.left)
            models, left_out = json.loads(found)
            return tuple(Baseline(**model) for model in models), tuple(left_out)
        except (OSError, ValueError, TypeError):  # where it ended early, or is late
            return measured_here(sample, min(seconds, deadline.left))

    return wait


def answer() -> None:
    """What the process does."""
    for module in ("sklearn.tree", "sklearn.linear_model", "sklearn.ensemble"):
        import_module(module)
    # Where the caller has ended there is nothing to be read, and nothing is done.
    if content := sys.stdin.buffer.read():
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            sample = Sample(*(arrays[name] for name in _ARRAYS))
            models, left_out = measured_here(sample, float(arrays["seconds"]))
        sys.stdout.write(json.dumps([[asdict(model) for model in models], left_out]))
