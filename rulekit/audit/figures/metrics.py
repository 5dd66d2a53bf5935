"""Figures of merit of a model on labelled rows, in memory or on disk, and those that the model file keeps.

The latter stand with the baselines in the provenance, which a file may have brought, so that what is no such note is
taken for none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.dates import moment_text
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files import json_values
from rulekit.graph.language.words import amount
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.variants import macro_f1
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
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "accuracy_standard_error": self.accuracy_error,
            "majority_class_accuracy": self.majority,
            "per_class": [
                {
                    "label": c.label,
                    "support": c.support,
                    "predicted": c.predicted,
                    "precision": c.precision,
                    "recall": c.recall,
                    "f1": c.f1,
                }
                for c in self.classes
            ],
            "macro_f1": self.macro_f1,
            "auc": self.auc,
            "log_loss": self.log_loss,
            "confusion": [list(row) for row in self.confusion],
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
    indices, k = np.arange(len(classes)), len(classes)
    y, predicted = y.astype(np.int64), predicted.astype(np.int64)
    confusion = np.bincount(k * y + predicted, weight, k * k).astype(np.float64).reshape(k, k)
    right, support, chosen = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = right / np.maximum(chosen, _TINY), right / np.maximum(support, _TINY)
    f1 = 2.0 * right / np.maximum(support + chosen, _TINY)
    total = confusion.sum()
    accuracy = float(right.sum() / total)
    given = np.clip(probabilities[np.arange(len(y)), y], 1e-15, 1.0)
    squares = squares if squares is not None or weight is None else float((weight**2).sum())
    effective = len(y) if weight is None else float(weight.sum() ** 2 / squares)
    return Figures(
        rows=len(y) if rows is None else rows,
        accuracy=accuracy,
        accuracy_error=math.sqrt(accuracy * (1 - accuracy) / effective),
        majority=float(support.max() / total),
        classes=tuple(
            ClassFigures(classes[k], support[k], chosen[k], float(precision[k]), float(recall[k]), float(f1[k]))
            for k in indices
        ),
        macro_f1=float(macro_f1(right, chosen, support)),
        auc=_area(y, probabilities, weight),
        log_loss=_log_loss(given, weight),
        confusion=tuple(tuple(float(v) for v in row) for row in confusion),
    )


def _log_loss(given: Floats, weight: Floats | None) -> float:
    """The weighted mean of -log p, summed exactly: the same for rows in blocks and in any order."""
    losses = -np.log(given)
    if weight is None:
        return math.fsum(losses.tolist()) / len(losses)
    return math.fsum((losses * weight).tolist()) / math.fsum(weight.tolist())


def _area(y: Ints, probabilities: Floats, weight: Floats | None) -> float | None:
    """Area under the receiver operating characteristic; classes that do not occur are left out of the mean."""
    mass = np.bincount(y, weights=weight, minlength=probabilities.shape[1])
    present = [k for k, share in enumerate(mass > 0) if share and np.count_nonzero(mass) > 1]
    if not present:
        return None
    if probabilities.shape[1] == 2:
        present = [1]
    mass_of_rows = np.ones(len(y)) if weight is None else weight
    return float(np.mean([area_under_curve(y == k, probabilities[:, k], mass_of_rows) for k in present]))


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
        answers, weights = _merged(np.concatenate([answers, found]), np.concatenate([weights, weight]))
        squares += float((weight**2).sum())
        start = stop
    true, decided = answers[:, 0].astype(np.int64), answers[:, 1].astype(np.int64)
    return figures(true, decided, answers[:, 2:], graph.classes, weights, rows=len(y), squares=squares)


def _merged(answers: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Distinct rows of answers [n, 2 + K] and the sums of their weights."""
    order = np.lexsort(answers.T)
    answers = answers[order]
    first = np.flatnonzero(np.concatenate([[True], np.any(answers[1:] != answers[:-1], axis=1)]))
    return answers[first], np.add.reduceat(weights[order], first)


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


T = TypeVar("T")


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
    notes: dict[str, Any] = {"measured": {"model": model.digest, "on": measured_on, **figures.as_dict()}}
    if weighted:
        notes["measured"]["weighted"] = True
    if training is not None:
        notes["measured"]["training"] = training.confusion
    if baselines is not None and baselines.models:
        notes["baselines"] = {
            "rows": baselines.rows,
            "of_rows": baselines.of_rows,
            "models": [asdict(model) for model in baselines.models],
            "left_out": list(baselines.left_out),
        }
    return model.with_(provenance={**model.provenance, **notes})


def kept_figures(graph: RuleGraph) -> KeptFigures | None:
    """The figures of this very model; None where its provenance has none, or those of another size."""
    note = graph.provenance.get("measured")
    if not isinstance(note, Mapping) or note.get("model") != graph.digest:
        return None
    try:
        own = _figures({**note, "confusion": note["training"]}, graph).confusion if "training" in note else None
        return KeptFigures(_figures(note, graph), _text(note["on"]), own, note.get("weighted") is True)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def kept_baselines(graph: RuleGraph) -> Baselines | None:
    """The baselines that were measured in training; None where the provenance has none."""
    note = graph.provenance.get("baselines")
    try:
        models = tuple(
            Baseline(
                _text(each["name"]),
                _share(each["error"]),
                None if each["standard_error"] is None else _share(each["standard_error"]),
                _share(each["macro_f1"]),
                _count(each["folds"]),
            )
            for each in _items(note["models"])  # type: ignore[index]
        )
        left_out = tuple(map(_text, _items(note["left_out"])))  # type: ignore[index]
        return Baselines(models, _count(note["rows"]), _count(note["of_rows"]), left_out)  # type: ignore[index]
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def _figures(note: Mapping[str, Any], graph: RuleGraph) -> Figures:
    k = len(graph.classes)
    confusion = tuple(tuple(map(_weight, _items(row))) for row in _items(note["confusion"]))
    per_class = _items(note["per_class"])
    if len(confusion) != k or any(len(row) != k for row in confusion) or len(per_class) != k:
        raise ValueError("other classes")
    classes = tuple(
        ClassFigures(
            label,
            *(_weight(each[name]) for name in ("support", "predicted")),
            *(_share(each[name]) for name in ("precision", "recall", "f1")),
        )
        for label, each in zip(graph.classes, per_class, strict=True)
    )
    area = note["auc"]
    return Figures(
        rows=_count(note["rows"]),
        accuracy=_share(note["accuracy"]),
        accuracy_error=_weight(note["accuracy_standard_error"]),
        majority=_share(note["majority_class_accuracy"]),
        classes=classes,
        macro_f1=_share(note["macro_f1"]),
        auc=None if area is None else _share(area),
        log_loss=_weight(note["log_loss"]),
        confusion=confusion,
    )


def _items(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _known(value: T | None) -> T:
    if value is None:
        raise ValueError
    return value


def _count(value: Any) -> int:
    return _known(json_values.count(value))


def _weight(value: Any) -> float:
    weight = _known(json_values.number(value))
    return _known(weight if weight >= 0 else None)


def _share(value: Any) -> float:
    return _known(json_values.share(value))
