"""Figures of merit of a model on labelled rows, in memory or on disk, and those that the model file keeps.

The latter stand with the baselines in the provenance, which a file may have brought, so that what is no such note is
taken for none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import UNIT, Array, Bools, ExactWeights, Floats, Ints, ends_of, exponent_of, rounded
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.dates import moment_text
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.safe_files import count, number, share
from rulekit.graph.language.words import amount
from rulekit.graph.model_parts import macro_f1
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import PART, Table

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


@dataclass(frozen=True, slots=True, eq=False)
class AnswerSums:
    """What a model answers on some rows, as sums: those of parts of the rows are put `together` exactly, in any order.

    exponent: see `exponent_of`. confusion [K * K] and squares, of the weights divided by 2^exponent, in units of
    2^-1074; loss likewise: each row's is rounded to a multiple of 2^-32, times its divided weight. chances: of the
    second of two classes, of each of more, its different probabilities [m], ascending, and whole numbers [2, m] for the
    weights of the rows of other classes and of this one. From 2^24 rows on, probabilities are rounded to 2^-20.
    """

    exponent: int | None
    rows: int
    confusion: list[int]
    squares: int
    loss: int
    chances: tuple[tuple[Floats, Ints], ...]

    def __add__(self, other: AnswerSums) -> AnswerSums:
        return _together([self, other])


_EXACT_CHANCES = 1 << 24  # rows; of more the different probabilities may be too many
_LOSSES, _CHANCES = 2.0**32, 2.0**20
_WAITING = 1 << 20


def part_answers(
    graph: RuleGraph, table: Table, y: Ints, weight: Floats | None, exponent: int | None, n_rows: int
) -> AnswerSums:
    """What a model answers on a part of n_rows, with class indices y [n]; exponent: of all weights."""
    blocks = ((decide(graph, block), probabilities(graph, block)) for block in table.blocks(graph.used_features))
    return _answers(blocks, y, len(graph.classes), weight, exponent, n_rows)


def _answers(
    blocks: Iterable[tuple[Ints, Floats]], y: Ints, k: int, weight: Floats | None, exponent: int | None, n_rows: int
) -> AnswerSums:
    def each() -> Iterator[AnswerSums]:
        start, bits = 0, 61 - n_rows.bit_length()  # so that sums of whole numbers stay below 2^62
        yield AnswerSums(exponent, 0, [0] * (k * k), 0, 0, ())
        for decided, chances in blocks:
            true, n = y[start : start + len(decided)].astype(np.int64), len(decided)
            given = None if weight is None or exponent is None else weight[start : start + n]
            share = np.ones(n) if given is None or exponent is None else np.ldexp(given, -exponent)
            mass = np.rint(np.ldexp(share, 0 if given is None else bits)).astype(np.int64)
            losses = np.rint(-np.log(np.clip(chances[np.arange(n), true], 1e-15, 1.0)) * _LOSSES) / _LOSSES
            if n_rows >= _EXACT_CHANCES:
                chances = np.rint(chances * _CHANCES) / _CHANCES
            squares = ExactWeights(None if given is None else share**2, n).total()
            loss = ExactWeights(losses * share, n).total()
            asked = range(1 if k == 2 else 0, k)
            pairs = ((chances[:, c], np.stack([mass * (true != c), mass * (true == c)])) for c in asked)
            confusion = ExactWeights(given, n).by(k * true + decided.astype(np.int64), k * k)
            yield AnswerSums(exponent, n, confusion, squares, loss, tuple(_by_chance(*pair) for pair in pairs))
            start += n

    return together(each())


def _by_chance(chances: Floats, masses: Ints) -> tuple[Floats, Ints]:
    """The different ones of probabilities [n], ascending, and the sums of their masses [2, n]."""
    order = np.argsort(chances)
    ascending = chances[order]
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(order)), dtype=bool), ascending[1:] != ascending[:-1]]))
    # each by itself, which takes a tenth of the time
    sums = [np.add.reduceat(own[order], first) if len(first) else own for own in masses]
    return ascending[first], np.stack(sums)


def together(parts: Iterable[AnswerSums]) -> AnswerSums:
    """Add up the answers of one part or more."""
    held, most, waiting = list[AnswerSums](), 0, 0
    for part in parts:
        held.append(part)
        waiting += sum(len(values) for values, _ in part.chances)
        if waiting > max(_WAITING, most):
            held, waiting = [_together(held)], 0
            most = sum(len(values) for values, _ in held[0].chances)
    return _together(held)


def _together(parts: list[AnswerSums]) -> AnswerSums:
    rows, squares, loss = (sum(getattr(each, name) for each in parts) for name in ("rows", "squares", "loss"))
    confusion = [sum(cells) for cells in zip(*(each.confusion for each in parts), strict=True)]
    chances = list[tuple[Floats, Ints]]()
    for own in zip(*(each.chances for each in parts if each.chances), strict=True):
        values, masses = zip(*own, strict=True)
        chances.append(_by_chance(np.concatenate(values), np.concatenate(masses, axis=1)))
    return AnswerSums(parts[0].exponent, rows, confusion, squares, loss, tuple(chances))


def figures_of(answers: AnswerSums, classes: tuple[ClassLabel, ...]) -> Figures:
    """The figures that the answers on all rows make."""
    scale, total = Fraction(2) ** (answers.exponent or 0), sum(answers.confusion)
    confusion = np.array([*map(rounded, answers.confusion)]).reshape(len(classes), len(classes))
    right, support, chosen = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = right / np.maximum(chosen, _TINY), right / np.maximum(support, _TINY)
    f1 = 2.0 * right / np.maximum(support + chosen, _TINY)
    accuracy = float(right.sum() / confusion.sum())
    effective = float((Fraction(total, UNIT) / scale) ** 2 / Fraction(answers.squares, UNIT))
    # a class that does not occur, or is alone, has no area
    masses = (own.astype(np.float64) for _, own in answers.chances)
    areas = [_area(*own) for own in masses if own.any(axis=1).all()]
    return Figures(
        rows=answers.rows,
        accuracy=accuracy,
        accuracy_error=math.sqrt(accuracy * (1 - accuracy) / effective),
        majority=float(support.max() / confusion.sum()),
        classes=tuple(
            map(ClassFigures, classes, *(each.tolist() for each in (support, chosen, precision, recall, f1)))
        ),
        macro_f1=float(macro_f1(right, chosen, support)),
        auc=float(np.mean(areas)) if areas else None,
        log_loss=float(Fraction(answers.loss, total) * scale),
        confusion=tuple(map(tuple, confusion.tolist())),
    )


def figures(
    y: Ints, predicted: Ints, probabilities: Floats, classes: tuple[ClassLabel, ...], weight: Floats | None = None
) -> Figures:
    """Figures of predicted class indices [n] and probabilities [n, K] against the true indices y [n]."""
    exponent = None if weight is None else exponent_of(*ends_of(weight))
    blocks = ((predicted[k : k + PART], probabilities[k : k + PART]) for k in range(0, len(y), PART))
    return figures_of(_answers(blocks, y, len(classes), weight, exponent, len(y)), classes)


def area_under_curve(yes: Bools, score: Array, weight: Array) -> float:
    """The share of the pairs of a row of yes and another one, by their weights [n], that the score [n] has in order.

    A tie counts half (J. Hanley and B. McNeil, The Meaning and Use of the Area under a ROC Curve, 1982).
    """
    _, tie = np.unique(score, return_inverse=True)
    others, own = (np.bincount(tie, np.where(rows, weight, 0.0)) for rows in (~yes, yes))
    return _area(others, own)


def _area(others: Array, own: Array) -> float:
    """The area by the weights [m] of the rows of each score, ascending: of others and of those of yes."""
    above = own.sum() - np.cumsum(own)
    return float((others * (above + own / 2.0)).sum() / (own.sum() * others.sum()))


def class_indices(graph: RuleGraph, rows: LabelledTable) -> Array:
    """Labels [n] as indices into the classes of the model."""
    order = {label: k for k, label in enumerate(graph.classes)}
    return np.array([order[label] for label in rows.classes], dtype=rows.y.dtype)[rows.y]


def measured(graph: RuleGraph, rows: LabelledTable) -> Figures:
    """Figures of the model on labelled rows."""
    exponent = None if rows.weight is None else exponent_of(*ends_of(rows.weight))
    y = class_indices(graph, rows)
    return figures_of(part_answers(graph, rows.table, y, rows.weight, exponent, len(y)), graph.classes)


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
