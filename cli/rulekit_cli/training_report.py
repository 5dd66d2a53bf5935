"""What `rulekit train` prints of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rulekit_cli.console import aligned, log, result, result_json

if TYPE_CHECKING:
    from rulekit.work.training import TrainingRequest, TrainingResult


def report(request: TrainingRequest, trained: TrainingResult, *, json: bool, quiet: bool) -> None:
    """Size and figures beside those of the majority class, for a person or for a machine."""
    figures, size, model = trained.figures, trained.size, trained.model
    if not quiet:
        log(f"{request.learner}   {trained.chosen}   {trained.seconds:.1f} s")
        for note in trained.notes:
            log(f"note: {note}")
    if json:
        result_json(
            {
                "model": str(request.output),
                "measured_on": trained.measured_on,
                **figures.as_dict(),
                "rules": size.rules,
                "literals": size.literals,
                "units": model.provenance.get("units"),
                "stopped": model.provenance.get("stopped"),
                "digest": model.digest,
            }
        )
        return
    two = len(model.classes) == 2
    f1 = figures.classes[1].f1 if two else figures.macro_f1
    name = "" if request.output is None else request.output.name
    cells = [name, str(size.rules), str(size.literals), f"{figures.accuracy:.3f} ± {figures.accuracy_error:.3f}"]
    cells += [f"{f1:.2f}", "-" if figures.auc is None else f"{figures.auc:.3f}", f"({trained.measured_on})"]
    header = ["", "rules", "literals", "accuracy", "F1" if two else "macro F1", "AUC", ""]
    for line in aligned([header, cells, ["majority class", "-", "-", f"{figures.majority:.3f}        "]]):
        result(line)
    if trained.cost is not None:
        result(f"cost of errors: {trained.cost[0]:.4f} a row, {trained.cost[1]:.4f} without a model")
    if not quiet:
        log(f"wrote {request.output}   next: rulekit show {request.output}")
