"""rulekit train: learn a rule model from a table."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from rulekit_cli import options
from rulekit_cli.console import aligned, log, notes, result, result_json, width

if TYPE_CHECKING:
    from rulekit.work.training import TrainingRequest, TrainingResult


@options.reads_text
def train(
    data: options.Data,
    target: options.Target,
    output: options.ModelOutput,
    learner: options.Learner = "rules",
    positive: options.Positive = None,
    label_separator: options.LabelSeparator = None,
    report: options.Reported = None,
    param: options.Param = None,
    smallest: options.Smallest = False,
    size: options.Size = None,
    no_baselines: options.NoBaselines = False,
    curves: options.Curves = None,
    start: options.Start = None,
    freeze: options.Freeze = None,
    overrides: options.Overrides = None,
    date: options.Date = None,
    columns: options.Columns = options.DETECTED,
    test: options.Test = None,
    holdout: options.Holdout = None,
    held_rows: options.HeldRows = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    time_limit: options.TimeLimit = None,
    memory: options.Memory = None,
    no_simplify: options.NoSimplify = False,
    seed: options.Seed = 0,
    json_: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a rule model and write it as JSON.

    Ctrl-C and --time-limit keep the best model so far, marked as such.

    \b
    Examples:
      rulekit train loans.csv --target default --holdout 0.25 --holdout-out held.csv -o model.json
      rulekit train adult.csv --target income --positive ">50K" --type zip=categorical --missing "?" -o income.json
      rulekit train pumps.csv --target failed --time date --holdout 0.25 -o model.json
      rulekit train big.parquet --target y --memory 500MB -o model.json
      rulekit train news.csv --target topics --label-separator ";" -o topics
      rulekit train loans.csv --target default --smallest --curve curve.png -o model.json
      rulekit train loans.csv --target default --start rules.txt --freeze all -o grown.json
      rulekit train big.parquet --target y --param max_rules=4 --param stopping=none --time-limit 60 -o model.json
    """
    given: dict[str, Any] = locals()  # the options by name, as TrainingRequest and ReadingOptions name them
    from rulekit.work.learning import parse_parameters
    from rulekit.work.training import TrainingRequest
    from rulekit.work.training import train as learn
    from rulekit_cli.label_models import train_each_label
    from rulekit_cli.progress import bounded, shown_progress

    given |= {
        "reading": options.reading(given),
        "parameters": {**parse_parameters(learner, param or []), **options.declared(columns, report)},
        "simplified": not no_simplify,
        "baselines": not (no_baselines or quiet),
        "curves": tuple(curves or ()),
    }
    request = TrainingRequest(**{item.name: given[item.name] for item in fields(TrainingRequest)})
    if label_separator is not None and positive is None:
        train_each_label(request, json=json_, quiet=quiet)
        return
    with shown_progress(quiet, time_limit) as progress, bounded(time_limit, progress) as told:
        result = learn(request, told)
    shown_report(request, result, json=json_, quiet=quiet)


def shown_report(request: TrainingRequest, trained: TrainingResult, *, json: bool, quiet: bool) -> None:
    """Size and figures beside those of the majority class, for a person or for a machine."""
    from rulekit.audit.ladder_lines import ladder_lines

    figures, size, model = trained.figures, trained.size, trained.model
    if not quiet:
        log(f"{request.learner}   {trained.chosen}   {trained.seconds:.1f} s")
        notes(trained.notes)
    if json:
        result_json(
            {
                **_ladder_json(trained),
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
    cells += [f"{f1:.2f}", "-" if figures.auc is None else f"{figures.auc:.3f}"]
    header = ["", "rules", "literals", "accuracy", "F1" if two else "macro F1", "AUC"]
    for line in aligned([header, cells, ["majority class", "-", "-", f"{figures.majority:.3f}        "]]):
        result(line)
    by_weight = ", by their weight" if request.reading.weight is not None else ""
    result(f"measured on {trained.measured_on}{by_weight}", "  ")
    if trained.cost is not None:
        result(f"cost of errors: {trained.cost[0]:.4f} a row, {trained.cost[1]:.4f} without a model")
    if not quiet and model.ladder is not None:
        for line in ladder_lines(model.ladder, trained.baselines, width()):
            result(line)
    if not quiet:
        for way in trained.ways_out:
            log(f"note: {way}")
        log(f"wrote {request.output}   next: rulekit show {request.output}")


def _ladder_json(trained: TrainingResult) -> dict[str, Any]:
    """The rows of the ladder and the baselines as JSON values."""
    ladder, compared = trained.model.ladder, trained.baselines
    found: dict[str, Any] = {}
    if ladder is not None:
        names = ("size", "rules", "literals", "error", "standard_error", "macro_f1")
        rows = [{name: getattr(rung, name) for name in names} for rung in ladder.rungs]
        found["ladder"] = {"chosen": ladder.chosen, "smallest": ladder.smallest, "why": ladder.why, "rows": rows}
    if compared is not None:
        found["baselines"] = {**asdict(compared), "models": [asdict(model) for model in compared.models]}
    return found
