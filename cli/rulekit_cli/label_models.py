"""What `rulekit train` and `rulekit evaluate` print of the models of several labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rulekit.audit.figures.curves import LabelFigures, LabelRates, macro_average, micro_average
from rulekit.names import label_text
from rulekit_cli.console import aligned, log, notes, result, result_json

if TYPE_CHECKING:
    from rulekit.work.label_models import LabelEvaluation
    from rulekit.work.training import TrainingRequest, TrainingResult


def train_each_label(request: TrainingRequest, *, json: bool, quiet: bool) -> None:
    """Train a model for each label of a column, and print a line of each."""
    from rulekit.work.label_models import train_labels
    from rulekit_cli.progress import shown_progress

    started = list[str]()

    def begun(label: str, models: int) -> None:
        started.append(label)
        if not quiet:
            log(f"{label_text(label)}   model {len(started)} of {models}")

    with shown_progress(True, request.time_limit) as progress:
        found = train_labels(request, progress, begun)
    if json:
        result_json(
            {
                label: {**trained.figures.as_dict(), **asdict(trained.size), "digest": trained.model.digest}
                for label, trained in found.trained.items()
            }
        )
        return
    figures = [_figures_of(label, trained) for label, trained in found.trained.items()]
    sizes = [[str(trained.size.rules), str(trained.size.literals)] for trained in found.trained.values()]
    for line in _table(figures, sizes):
        result(line)
    measured_on = next(iter(found.trained.values())).measured_on
    measured_on += ", by their weight" if request.reading.weight is not None else ""
    result(f"measured on {measured_on}", "  ")
    if not quiet:
        notes(found.notes)
        log(f"wrote {request.output}   next: rulekit evaluate {request.output} test.csv --curve curve.png")


def _figures_of(label: str, trained: TrainingResult) -> LabelFigures:
    positive = trained.figures.classes[1]
    right = trained.figures.confusion[1][1]
    return LabelFigures(label, positive.support, positive.predicted, right, trained.figures.accuracy)


def evaluate_each_label(found: LabelEvaluation, *, json: bool) -> None:
    """Print a line of each label, the averages, and where precision equals recall."""
    if json:
        result_json(found.as_dict())
        return
    notes(found.notes)
    for line in _table(found.figures):
        result(line)
    point = found.curve.break_even
    result(f"precision and recall break even at {point.rate:.3f}, each label given above {point.threshold:.3f}")


def _table(figures: Sequence[LabelFigures], sizes: Sequence[Sequence[str]] = ()) -> list[str]:
    """A line of each label and of the averages; sizes: rules and literals of each model."""
    header = ["label", *(["rules", "literals"] if sizes else []), "rows", "predicted", "precision", "recall", "F1"]
    body = [
        [
            label_text(each.label),
            *(sizes[k] if sizes else ()),
            f"{each.support:.12g}",
            f"{each.predicted:.12g}",
            *_cells(each.rates),
        ]
        for k, each in enumerate(figures)
    ]
    blank = ["-"] * (len(header) - 4)
    averages = [["macro average", *blank, *_cells(macro_average(figures))]]
    averages += [["micro average", *blank, *_cells(micro_average(figures))]]
    return aligned([header, *body, *averages])


def _cells(rates: LabelRates) -> list[str]:
    return [f"{rates.precision:.3f}", f"{rates.recall:.3f}", f"{rates.f1:.3f}"]
