"""rulekit evaluate: how well a model does on labelled rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError
from rulekit.names import label_text
from rulekit_cli import options
from rulekit_cli.console import aligned, joined, notes, result, result_json, width

if TYPE_CHECKING:
    from rulekit.work.evaluating import Evaluation


@options.reads_text
def evaluate(
    model: options.ModelOrFolder,
    data: options.Data,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    time: options.TimeShown = None,
    missing_target: options.MissingTarget = "error",
    missing: options.MissingLabel = None,
    types_file: options.LabelTypes = None,
    text_file: options.TextFile = options.DETECTED,
    curves: options.ThresholdCurves = None,
    by: options.By = None,
    json_: options.Json = False,
) -> None:
    """Measure a model on labelled rows, or the models of a folder, one a label, together.

    Counts, precision, recall and F1 by class; of one model accuracy, AUC, log loss, rules, literals; of a folder the
    macro and the micro average, and where precision equals recall.

    \b
    Examples:
      rulekit evaluate model.json test.csv
      rulekit evaluate topics test.csv --curve curve.png
      rulekit evaluate model.json test.csv --by sex --by age
      rulekit evaluate model.json later.csv --time date
    """
    given = locals()
    from rulekit.work.evaluating import evaluate as measure
    from rulekit.work.monitoring import notice

    if curves or model.is_dir():
        if by or time:
            asked = "--by" if by else "--time"
            raise InputError(f"{asked} measures one model", fix="leave out --curve, and name a model file")
        _several(model, data, curves or [], given)
        return
    found = measure(model, data, options.reading(given), by or ())
    if json_:
        size = {"rules": found.size.rules, "literals": found.size.literals, "digest": found.digest}
        groups = {"groups": [asdict(each) for each in found.groups]} if by else {}
        groups |= {"time": [asdict(each) for each in found.blocks]} if time else {}
        trained = {"training_rows": found.overlap and asdict(found.overlap)}
        drift = {"drift": found.drift and found.drift.as_dict()}
        result_json({**found.figures.as_dict(), **size, **trained, **drift, **groups})
        return
    said = notice(found.drift, model, data)
    notes((*found.notes, *filter(None, [said])))
    for line in (*_per_class(found), *_totals(found), *_by_time(found), *_by_group(found)):
        result(line)


def _several(model: Path, data: Path, curves: list[Path], given: dict[str, Any]) -> None:
    """Figures of the models of a folder, or of one with its curve."""
    from rulekit.work.label_models import evaluate_labels
    from rulekit_cli.label_models import evaluate_each_label

    evaluate_each_label(evaluate_labels(model, data, options.reading(given), curves), json=given["json_"])


def _per_class(found: Evaluation) -> list[str]:
    """One line per class: support, predicted, precision, recall, F1."""
    header = ["class", *(["weight", "predicted"] if found.weighted else ["rows", "predicted"])]
    header += ["precision", "recall", "F1"]
    body = [
        [
            label_text(c.label),
            f"{c.support:.12g}",
            f"{c.predicted:.12g}",
            f"{c.precision:.3f}",
            f"{c.recall:.3f}",
            f"{c.f1:.3f}",
        ]
        for c in found.figures.classes
    ]
    return aligned([header, *body])


def _by_time(found: Evaluation) -> list[str]:
    """The error of each block of time, the earliest first."""
    if not found.blocks:
        return []
    body = [
        [each.first, each.last, str(each.rows), f"{100 * each.error:.1f} ± {100 * each.standard_error:.1f}"]
        for each in found.blocks
    ]
    return ["", *aligned([["from", "to", "rows", "error %"], *body])]


def _by_group(found: Evaluation) -> list[str]:
    """A table for each grouping: rates of each group, and how far they are from those of the reference."""
    from rulekit.audit.figures.groups import group_lines

    return [line for each in found.groups for line in ("", *group_lines(each, width()))]


def _totals(found: Evaluation) -> list[str]:
    """Accuracy with its standard error, F1, AUC, log loss, size."""
    figures = found.figures
    of_weight = [f"{figures.rows} rows with weights: all figures are of their weight"] if found.weighted else []
    area = "-" if figures.auc is None else f"{figures.auc:.3f}"
    return of_weight + joined(
        [
            f"accuracy {figures.accuracy:.3f} ± {figures.accuracy_error:.3f} (majority class {figures.majority:.3f})",
            f"macro F1 {figures.macro_f1:.3f}",
            f"AUC {area}",
            f"log loss {figures.log_loss:.3f}",
            str(found.size),
        ]
    )
