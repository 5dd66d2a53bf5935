"""Figures of merit of a model on labelled rows, in memory or on disk, and those that the model file keeps.

The latter stand with the baselines in the provenance, which a file may have brought, so that what is no such note is
taken for none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.dates import moment_text
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.safe_files import count, number, share
from rulekit.graph.language.words import amount
from rulekit.graph.model_parts import macro_f1
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import StoredArrays

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Counts and rates of one class; a rate without a denominator is 0."""

    label: ClassLabel
    support: float
    predicted: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What `rulekit evaluate` reports: weighted counts, rates in [0, 1], log loss in nats.

    accuracy_error is the standard error sqrt(p (1 - p) / n), with (sum w)^2 / sum w^2 rows where rows have weights.
    auc is None where only one class occurs; of several classes it is the mean over classes against the rest.
    """

    rows: int
    accuracy: float
    accuracy_error: float
    majority: float
    classes: tuple[ClassFigures, ...]
    macro_f1: float
    auc: float | None
    log_loss: float
    confusion: tuple[tuple[float, ...], ...]

    def cost_per_row(self, cost: tuple[float, float]) -> float:
        """The mean cost of the errors of a two-class model; cost: of a false positive and of a false negative."""
        (_, false_positive), (false_negative, _) = self.confusion
        return (cost[0] * false_positive + cost[1] * false_negative) / sum(map(sum, self.confusion))

    def cost_of_one_answer(self, cost: tuple[float, float]) -> float:
        """The mean cost of one constant answer, the cheaper of the two."""
        negatives, positives = map(sum, self.confusion)
        return min(cost[0] * negatives, cost[1] * positives) / (negatives + positives)

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        found = {_IN_JSON.get(name, name): value for name, value in asdict(self).items()}
        return found | {"per_class": list(found["per_class"]), "confusion": list(map(list, self.confusion))}


_IN_JSON: Mapping[Any, str] = {
    "accuracy_error": "accuracy_standard_error",
    "majority": "majority_class_accuracy",
    "classes": "per_class",
}


def figures(
    y: Ints,
    predicted: Ints,
    probabilities: Floats,
    classes: tuple[ClassLabel, ...],
    weight: Floats | None = None,
    *,
    rows: int | None = None,
    squares: float | None = None,
) -> Figures:
    """Figures of predicted class indices [n] and probabilities [n, K] against the true indices y [n].

    Where equal rows were put together under the sum of their weights: rows, how many there were, and squares, the sum
    of their squared weights.
    """
    k, mass = len(classes), np.ones(len(y)) if weight is None else weight
    y, predicted = y.astype(np.int64), predicted.astype(np.int64)
    confusion = np.bincount(k * y + predicted, mass, k * k).astype(np.float64).reshape(k, k)
    right, support, chosen = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = right / np.maximum(chosen, _TINY), right / np.maximum(support, _TINY)
    f1 = 2.0 * right / np.maximum(support + chosen, _TINY)
    total = confusion.sum()
    accuracy = float(right.sum() / total)
    losses = -np.log(np.clip(probabilities[np.arange(len(y)), y], 1e-15, 1.0))
    effective = float(mass.sum() ** 2 / (float((mass**2).sum()) if squares is None else squares))
    return Figures(
        rows=len(y) if rows is None else rows,
        accuracy=accuracy,
        accuracy_error=math.sqrt(accuracy * (1 - accuracy) / effective),
        majority=float(support.max() / total),
        classes=tuple(
            map(ClassFigures, classes, *(each.tolist() for each in (support, chosen, precision, recall, f1)))
        ),
        macro_f1=float(macro_f1(right, chosen, support)),
        auc=_area(y, probabilities, mass, support),
        # summed exactly: the same for rows in blocks and in any order
        log_loss=math.fsum((losses * mass).tolist()) / math.fsum(mass.tolist()),
        confusion=tuple(map(tuple, confusion.tolist())),
    )


def _area(y: Ints, probabilities: Floats, mass: Floats, support: Floats) -> float | None:
    """Area under the receiver operating characteristic; classes that do not occur are left out of the mean."""
    present = np.flatnonzero(support > 0).tolist()
    if len(present) < 2:
        return None
    asked = present if len(support) > 2 else [1]
    return float(np.mean([area_under_curve(y == k, probabilities[:, k], mass) for k in asked]))


def area_under_curve(yes: Bools, score: Array, weight: Array) -> float:
    """The share of the pairs of a row of yes and another one, by their weights [n], that the score [n] has in order.

    A tie counts half (J. Hanley and B. McNeil, The Meaning and Use of the Area under a ROC Curve, 1982).
    """
    _, tie = np.unique(score, return_inverse=True)
    mass = [np.bincount(tie, np.where(rows, weight, 0.0)) for rows in (yes, ~yes)]
    above = mass[0].sum() - np.cumsum(mass[0])
    return float((mass[1] * (above + mass[0] / 2.0)).sum() / (mass[0].sum() * mass[1].sum()))


def class_indices(graph: RuleGraph, rows: LabelledTable) -> Array:
    """Labels [n] as indices into the classes of the model."""
    order = {label: k for k, label in enumerate(graph.classes)}
    return np.array([order[label] for label in rows.classes], dtype=rows.y.dtype)[rows.y]


def measured(graph: RuleGraph, rows: LabelledTable) -> Figures:
    """Figures of the model on labelled rows; of rows on disk, those with the same answer are put together first."""
    y = class_indices(graph, rows)
    if not isinstance(rows.table.arrays, StoredArrays):
        return figures(y, decide(graph, rows.table), probabilities(graph, rows.table), graph.classes, rows.weight)
    answers = np.zeros((0, 2 + len(graph.classes)))
    weights, squares, start = np.zeros(0), 0.0, 0
    for block in rows.table.blocks(graph.used_features):
        stop = start + block.n_rows
        weight = np.ones(block.n_rows) if rows.weight is None else rows.weight[start:stop]
        found = np.column_stack([y[start:stop], decide(graph, block), probabilities(graph, block)])
        # distinct answers and the sums of their weights
        answers, weights = np.concatenate([answers, found]), np.concatenate([weights, weight])
        order = np.lexsort(answers.T)
        answers = answers[order]
        first = np.flatnonzero(np.concatenate([[True], np.any(answers[1:] != answers[:-1], axis=1)]))
        answers, weights = answers[first], np.add.reduceat(weights[order], first)
        squares += float((weight**2).sum())
        start = stop
    true, decided = answers[:, 0].astype(np.int64), answers[:, 1].astype(np.int64)
    return figures(true, decided, answers[:, 2:], graph.classes, weights, rows=len(y), squares=squares)


BLOCKS = 5


@dataclass(frozen=True, slots=True)
class TimeBlock:
    """The rows from one moment to another, as texts; error: the share of their weight, with its standard error."""

    first: str
    last: str
    rows: int
    error: float
    standard_error: float


def time_blocks(graph: RuleGraph, rows: LabelledTable, blocks: int = BLOCKS) -> tuple[TimeBlock, ...]:
    """The blocks of labelled rows that have a time, the earliest first; rows of one moment share a block."""
    assert rows.time is not None
    wrong = decide(graph, rows.table) != class_indices(graph, rows)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    moments, moment = np.unique(rows.time, return_inverse=True)
    counts = np.bincount(moment)
    place = (np.cumsum(counts) - counts / 2.0) / len(rows) * blocks
    block = np.minimum(place.astype(np.int64), blocks - 1)
    found = []
    for k in np.unique(block):
        own, times = block[moment] == k, moments[block == k]
        mass = float(weight[own].sum())
        error = float(weight[own & wrong].sum()) / mass if mass else 0.0
        effective = mass**2 / float((weight[own] ** 2).sum()) if mass else 1.0
        deviation = math.sqrt(error * (1.0 - error) / effective)
        first, last = (_moment(float(t), rows.time_shown) for t in (times[0], times[-1]))
        found.append(TimeBlock(first, last, int(own.sum()), error, deviation))
    return tuple(found)


def _moment(time: float, display: str) -> str:
    if display in ("date", "datetime"):
        return moment_text(time, display) or moment_text(float(round(time)), display)
    return amount(time, None)


# What a training measured ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """Figures of a model, on which rows, of weights or not, and where these were others the confusion of training."""

    figures: Figures
    measured_on: str
    training: tuple[tuple[float, ...], ...] | None = None
    weighted: bool = False


def with_kept_figures(
    model: RuleGraph,
    figures: Figures,
    measured_on: str,
    baselines: Baselines | None = None,
    training: Figures | None = None,
    weighted: bool = False,
) -> RuleGraph:
    """The model with what its training measured in its provenance; the digest says of which size the figures are."""
    measured = {"model": model.digest, "on": measured_on, **figures.as_dict()}
    measured |= {"weighted": True} if weighted else {}
    measured |= {} if training is None else {"training": training.confusion}
    notes: dict[str, Any] = {"measured": measured}
    if baselines is not None and baselines.models:
        names = ("rows", "of_rows", "models", "left_out")
        notes["baselines"] = {name: asdict(baselines)[name] for name in names}
    return model.with_(provenance={**model.provenance, **notes})


def kept_figures(graph: RuleGraph) -> KeptFigures | None:
    """The figures of this very model; None where its provenance has none, or those of another size."""
    note = graph.provenance.get("measured")
    if not isinstance(note, Mapping) or note.get("model") != graph.digest:
        return None
    try:
        own = _figures({**note, "confusion": note["training"]}, graph).confusion if "training" in note else None
        measured_on = _read({"on": _text}, note)["on"]
        return KeptFigures(_figures(note, graph), measured_on, own, note.get("weighted") is True)
    except _NO_NOTE:
        return None


def kept_baselines(graph: RuleGraph) -> Baselines | None:
    """The baselines that were measured in training; None where the provenance has none."""
    note: Any = graph.provenance.get("baselines")
    try:
        models = tuple(Baseline(**_read(_OF_BASELINE, each, "standard_error")) for each in note["models"])
        counts = _read(dict.fromkeys(("rows", "of_rows"), count), note)
        left_out = tuple(map(str, note["left_out"]))
        return Baselines(models, **counts, left_out=left_out)
    except _NO_NOTE:
        return None


def _figures(note: Mapping[str, Any], graph: RuleGraph) -> Figures:
    confusion: Any = tuple(tuple(map(_weight, row)) for row in note["confusion"])
    if [len(row) for row in confusion] != [len(graph.classes)] * len(graph.classes) or None in sum(confusion, ()):
        raise ValueError("other classes")
    each_class = zip(graph.classes, note["per_class"], strict=True)
    classes = tuple(ClassFigures(label, **_read(_OF_CLASS, each)) for label, each in each_class)
    return Figures(classes=classes, confusion=confusion, **_read(_OF_FIGURES, note, "auc"))


def _read(readers: Mapping[Any, Callable[[Any], Any]], note: Any, optional: str = "") -> dict[Any, Any]:
    """Values of a note by name; raises ValueError for one that its reader makes nothing of, but a None that may be."""
    values = {name: note[_IN_JSON.get(name, name)] for name in readers}
    found = {name: reader(values[name]) for name, reader in readers.items()}
    if any(value is None and not (name == optional and values[name] is None) for name, value in found.items()):
        raise ValueError
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _weight(value: Any) -> float | None:
    weight = number(value)
    return weight if weight is not None and weight >= 0 else None


_NO_NOTE = (KeyError, OverflowError, TypeError, ValueError)
_SHARES = dict.fromkeys(("accuracy", "majority", "macro_f1", "auc"), share)
_OF_FIGURES = {"rows": count, "accuracy_error": _weight, "log_loss": _weight, **_SHARES}
_RATES = dict.fromkeys(("precision", "recall", "f1"), share)
_OF_CLASS = {"support": _weight, "predicted": _weight, **_RATES}
_ERRORS = dict.fromkeys(("error", "standard_error", "macro_f1"), share)
_OF_BASELINE = {"name": _text, "folds": count, **_ERRORS}
