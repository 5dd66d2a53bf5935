"""What a training measured, as the model file keeps it: figures of the model, and the baselines beside it.

Both stand in the provenance, which a file may have brought, so that what is no such note is taken for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.audit.figures.metrics import ClassFigures, Figures
from rulekit.graph.files import json_values
from rulekit.graph.rule_graph import RuleGraph

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
