"""rulekit describe, try, train, resize and demo: from a table to a model, and to another size of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rulekit.errors import InputError
from rulekit.names import label_text, printable, wrapped
from rulekit_cli.console import aligned, bounded, guarded, log, notes, result, result_json, shown_progress, width
from rulekit_cli.options import PROMISES, command

if TYPE_CHECKING:
    from rulekit.audit.figures.curves import LabelFigures
    from rulekit.work.describing import ColumnDescription
    from rulekit.work.evaluating import LabelEvaluation
    from rulekit.work.resampling import Trial, Tried
    from rulekit.work.training import TrainingRequest, TrainingResult

MOST_COLUMNS = 40
LONGEST_NAME = 24


@command(
    "data types_out everything.columns types_file ignore types units roles unseen missing precision text_file json"
)
def describe(data: Path, reading: Any, everything: bool, json: bool, types_out: Path | None = None) -> None:
    """Describe every column of a table.

    Its kind, how many different values it has, how many cells are missing, its range or its levels with the rows of
    each, and what it looks like: ordered, dates, an id, constant, many levels. These guesses are only said.

    --types-out writes a file of types with one line a column. Edit it, and give it to train, describe or evaluate with
    --types.

    \b
    Examples:
      rulekit describe loans.csv
      rulekit describe loans.csv --types-out types.toml
      rulekit train loans.csv --target default --types types.toml -o model.json
    """
    from rulekit.work.describing import describe as look

    found = look(data, reading, types_out)
    n_rows = found.summary.n_rows
    if json:
        result_json({"rows": n_rows, "columns": [column.as_dict(n_rows) for column in found.columns]})
    else:
        notes(found.notes)
        result(found.summary.headline(), hanging="  ")
        all_ = everything or len(found.columns) <= MOST_COLUMNS + 1
        shown = found.columns if all_ else found.columns[:MOST_COLUMNS]
        result(*_columns_table(shown, n_rows, all_levels=everything))
        if len(shown) < len(found.columns):
            result(f"and {len(found.columns) - len(shown):,} more columns; --all shows them")
    if types_out is not None:
        log(f"wrote {types_out}   next: edit it, then rulekit train {data} --types {types_out} --target COL")


def _columns_table(columns: tuple[ColumnDescription, ...], n_rows: int, *, all_levels: bool) -> list[str]:
    """One line a column, and more below it where its values or what it looks like do not fit."""
    names = [column.feature.name for column in columns]
    cells = [
        ["" if len(name) > LONGEST_NAME else name, column.kind, str(column.n_values), _share(column.missing, n_rows)]
        for name, column in zip(names, columns, strict=True)
    ]
    head, *lines = aligned([["column", "kind", "values", "missing"], *cells], left=2)
    margin = len(head) + 2
    found = [f"{head}  what it holds"]
    for name, line, column in zip(names, lines, columns, strict=True):
        texts = wrapped(column.values(all_levels), width() - margin)
        texts += [] if column.hint is None else wrapped(str(column.hint), width() - margin)
        found += [name] if len(name) > LONGEST_NAME else []
        found += [f"{line:{margin}}{texts[0] if texts else ''}", *(" " * margin + text for text in texts[1:])]
    return found


def _share(missing: int, n_rows: int) -> str:
    if not missing:
        return "-"
    return f"{100 * missing / n_rows:.1f} %" if missing >= n_rows / 1000 else "< .1 %"


_OWN = {"learners", "folds", "time_limit", "json", "quiet"}
_COLUMNS = {
    **{"error": ("error %", 1), "log_loss": ("log loss", 3), "auc": ("AUC", 3), "macro_f1": ("macro F1", 2)},
    **{"rules": ("rules", 1), "literals": ("literals", 1), "columns": ("columns", 1)},
    **{"stability": ("stability", 2), "seconds": ("seconds", 1)},
}
_FEWEST = 4  # columns that are shown however narrow the terminal is


def promised(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given options that are parameters of a learner; raises InputError for what is no direction."""
    for name, way in (given.get("monotone") or {}).items():
        if way not in ("increasing", "decreasing"):
            raise InputError(f"{way!r} is no direction", where=f"--monotone {name}", fix="increasing or decreasing")
    return {name: given[name] for name in PROMISES if given.get(name)}


@command(
    "context data target learners folds time_limit.all positive label_separator columns missing_target text_file "
    "seed json quiet"
)
def try_(
    context: typer.Context, data: Path, reading: Any, time_limit: float, json: bool, quiet: bool, **given: Any
) -> None:
    """Compare all learners on the same folds of a table: error, size, time, and whether rules come back.

    It trains each learner on each fold, and measures it on the rows left out. Ctrl-C and --time-limit keep what is
    done. Nothing is written, and no learner is chosen for you.

    \b
    Examples:
      rulekit try loans.csv --target default
      rulekit try loans.csv --target default --learners cnll,additive --folds 10 --time-limit 60
    """
    from rulekit.work.resampling import BASELINES, trial
    from rulekit.work.training import TrainingRequest

    request = TrainingRequest(data, reading, parameters=promised(given), time_limit=time_limit, seed=given["seed"])
    with shown_progress(quiet, time_limit) as progress:
        tried = trial(request, given.get("learners", ()), given["folds"], progress, bounded)
    measured = [line for line in tried.lines if line.folds and line.name not in BASELINES]
    name = max(measured, key=lambda line: line.default).name
    words = ["rulekit", "train", str(data), *_spelled(context), "--learner", name, "-o", "model.json"]
    if json:
        result_json({**asdict(tried), "train": words})
        return
    result(*_trial_table(tried))
    result(*_below(tried), hanging="  ")
    if not quiet:
        log(f"to take a line, train its learner on all rows; for {name}:")
        print(printable(shlex.join(words)), file=sys.stderr)


def _spelled(context: typer.Context) -> Iterator[str]:
    """The options that were given, but for those of this command alone, as words of a command line."""
    for option in context.command.params:
        name, source = str(option.name), context.get_parameter_source(str(option.name))
        if option.param_type_name == "option" and name not in _OWN and source and source.name == "COMMANDLINE":
            value = context.params[name]
            for each in value if isinstance(value, list) else [value]:
                yield from [option.opts[0]] if each is True else [option.opts[0], str(each)]


def _trial_table(tried: Trial) -> list[str]:
    """A line for each learner and baseline that was measured; figures that have no room are left out."""
    lines = [line for line in tried.lines if line.folds]
    shown = [name for name in _COLUMNS if any(name in line.figures for line in lines)]
    while True:
        cells = [[line.name + " *" * line.default, *(_cell(line, name) for name in shown)] for line in lines]
        table = aligned([["", *(_COLUMNS[name][0] for name in shown)], *cells])
        if max(map(len, table)) <= width() or len(shown) < _FEWEST:
            return table
        shown.remove("literals" if "literals" in shown else shown[-1])


def _cell(line: Tried, name: str) -> str:
    value, deviation = line.figures.get(name), line.figures.get("standard_error")
    if value is None or name != "error":
        return "-" if value is None else f"{value:.{_COLUMNS[name][1]}f}"
    return f"{100 * value:.1f}" + (" " * 4 if deviation is None else f"±{100 * deviation:.1f}")


def _below(tried: Trial) -> Iterator[str]:
    """What could not be measured, or not in full; then what the columns mean."""
    yield from tried.notes
    for line in tried.lines:
        said = [line.why] * bool(line.why)
        said += [f"measured on {line.folds} of {tried.folds} folds"] * (0 < line.folds < tried.folds)
        said += [f"cut short by the time in {line.cut} of its trainings; --time-limit gives more"] * bool(line.cut)
        if said:
            yield f"{line.name}: {'; '.join(said)}"
    if tried.stopped:
        yield f"stopped early ({tried.stopped}): what was done is shown"
    yield f"error: of {tried.rows:,} rows, each held out in one of {tried.folds} folds, with its standard error"
    yield "rules, literals, columns: means of the models; stability: the share of rules that two of them have in common"
    if any(line.default for line in tried.lines):
        yield "* rulekit train takes this learner where none is named"


@command(
    "data.trained target.taught output learner positive label_separator teacher teacher_column teacher_cut "
    "teacher_classes ask asked_rows report param smallest size baselines curves start freeze overrides date.kept "
    "columns test holdout held_rows missing_target text_file time_limit memory engine simplified seed json quiet"
)
def train(
    reading: Any,
    baselines: bool,
    json: bool,
    quiet: bool,
    param: Sequence[str] = (),
    engine: str | None = None,
    **given: Any,
) -> None:
    """Learn a rule model and write it as JSON.

    After Ctrl-C or at --time-limit, rulekit keeps the best model so far and marks it as stopped early.

    \b
    Examples:
      rulekit train loans.csv --target default --holdout 0.25 --holdout-out held.csv -o model.json
      rulekit train adult.csv --target income --positive ">50K" --type zip=categorical --missing "?" -o income.json
      rulekit train pumps.csv --target failed --time date --holdout 0.25 -o model.json
      rulekit train big.parquet --target y --memory 500MB -o model.json
      rulekit train folder --target y --engine dask -o model.json
      rulekit train news.csv --target topics --label-separator ";" -o topics
      rulekit train loans.csv --target default --smallest --curve curve.png -o model.json
      rulekit train loans.csv --target default --start rules.txt --freeze all -o grown.json
      rulekit train loans.csv --target default --teacher forest.onnx --ask 5000 --holdout 0.25 -o model.json
      rulekit train big.parquet --target y --param max_rules=4 --param stopping=none --time-limit 60 -o model.json
    """
    from rulekit.work.learning import parse_parameters
    from rulekit.work.training import TrainingRequest
    from rulekit.work.training import train as learn

    parameters = {**parse_parameters(given["learner"], param), **promised(given)}
    others = {name: value for name, value in given.items() if name not in PROMISES}
    request = TrainingRequest(reading=reading, parameters=parameters, baselines=baselines and not quiet, **others)
    if engine is not None:
        from rulekit.distributed.training import train as learn_on

        learn = partial(learn_on, engine)
    elif reading.label_separator is not None and reading.positive is None:
        _train_each_label(request, json=json, quiet=quiet)
        return
    limit = request.time_limit
    with shown_progress(quiet, limit) as progress, bounded(limit, progress) as told:
        trained = learn(request, told)
    _show_trained(request, trained, json=json, quiet=quiet)


def _show_trained(request: TrainingRequest, trained: TrainingResult, *, json: bool, quiet: bool) -> None:
    """Size and figures beside those of the majority class, for a person or for a machine."""
    from rulekit.audit.training_lines import ladder_lines

    figures, size, model = trained.figures, trained.size, trained.model
    if not quiet:
        log(f"{request.learner}   {trained.chosen}   {trained.seconds:.1f} s")
        notes(trained.notes)
    if json:
        said = {**_ladder_json(trained), "model": str(request.output), "measured_on": trained.measured_on}
        said |= {**figures.as_dict(), "rules": size.rules, "literals": size.literals}
        said |= {name: model.provenance.get(name) for name in ("units", "stopped")}
        said |= {"fidelity": [each.as_dict() for each in trained.fidelity]} if trained.fidelity else {}
        result_json({**said, "digest": model.digest})
        return
    two = len(model.classes) == 2
    f1 = figures.classes[1].f1 if two else figures.macro_f1
    name = "" if request.output is None else request.output.name
    cells = [name, str(size.rules), str(size.literals), f"{figures.accuracy:.3f} ± {figures.accuracy_error:.3f}"]
    cells += [f"{f1:.2f}", "-" if figures.auc is None else f"{figures.auc:.3f}"]
    header = ["", "rules", "literals", "accuracy", "F1" if two else "macro F1", "AUC"]
    result(*aligned([header, cells, ["majority class", "-", "-", f"{figures.majority:.3f}        "]]))
    _say_measured(request, trained)
    result(*(line for each in trained.fidelity for line in each.lines()), hanging="    ")
    if trained.cost is not None:
        result(f"cost of errors: {trained.cost[0]:.4f} a row, {trained.cost[1]:.4f} without a model")
    if quiet:
        return
    if model.ladder is not None:
        result(*ladder_lines(model.ladder, trained.baselines, width()))
    notes(trained.ways_out)
    log(f"wrote {request.output}   next: rulekit show {request.output}")


def _say_measured(request: TrainingRequest, trained: TrainingResult) -> None:
    by_weight = ", by their weight" if request.reading.weight is not None else ""
    result(f"measured on {trained.measured_on}{by_weight}", hanging="  ")


def _ladder_json(trained: TrainingResult) -> dict[str, Any]:
    ladder, compared = trained.model.ladder, trained.baselines
    found: dict[str, Any] = {}
    if ladder is not None:
        names = ("size", "rules", "literals", "error", "standard_error", "macro_f1")
        rows = [{name: getattr(rung, name) for name in names} for rung in ladder.rungs]
        found["ladder"] = {"chosen": ladder.chosen, "smallest": ladder.smallest, "why": ladder.why, "rows": rows}
    if compared is not None:
        found["baselines"] = {**asdict(compared), "models": [asdict(model) for model in compared.models]}
    return found


def _train_each_label(request: TrainingRequest, *, json: bool, quiet: bool) -> None:
    """Train a model for each label of a column, and print a line of each."""
    from rulekit.audit.figures.curves import LabelFigures
    from rulekit.work.each_label import train_labels

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
    figures, sizes = [], []
    for label, trained in found.trained.items():
        own, positive = trained.figures, trained.figures.classes[1]
        right = own.confusion[1][1]
        figures.append(LabelFigures(label, positive.support, positive.predicted, right, own.accuracy))
        sizes.append([str(trained.size.rules), str(trained.size.literals)])
    result(*_label_table(figures, sizes))
    _say_measured(request, next(iter(found.trained.values())))
    if not quiet:
        notes(found.notes)
        log(f"wrote {request.output}   next: rulekit evaluate {request.output} test.csv --curve curve.png")


def evaluate_each_label(found: LabelEvaluation, *, json: bool) -> None:
    """Print a line of each label, the averages, and where precision equals recall."""
    if json:
        result_json(found.as_dict())
        return
    notes(found.notes)
    result(*_label_table(found.figures))
    point = found.curve.break_even
    result("precision and recall break even at {rate:.3f}, each label given above {threshold:.3f}".format(**point))


def _label_table(figures: Sequence[LabelFigures], sizes: Sequence[Sequence[str]] = ()) -> list[str]:
    """A line of each label and of the averages; sizes: rules and literals of each model."""
    from rulekit.audit.figures.curves import macro_average, micro_average

    def rates(of: dict[str, float]) -> list[str]:
        return [f"{rate:.3f}" for rate in of.values()]

    header = ["label", *(["rules", "literals"] if sizes else []), "rows", "predicted", "precision", "recall", "F1"]
    body = [
        [label_text(each.label), *size, f"{each.support:.12g}", f"{each.predicted:.12g}", *rates(each.rates)]
        for each, size in zip(figures, sizes or [()] * len(figures), strict=True)
    ]
    blank = ["-"] * (len(header) - 4)
    for name, average in (("macro average", macro_average), ("micro average", micro_average)):
        body.append([name, *blank, *rates(average(figures))])
    return aligned([header, *body])


@command("model rules.most size.row smallest.row output.optional")
def resize(model: Path, smallest: bool, output: Path | None = None, **asked: int) -> None:
    """Take another size from the ladder that training left in the model file.

    \b
    Examples:
      rulekit resize model.json --rules 3 -o small.json
      rulekit resize model.json --size 5
      rulekit resize model.json --smallest -o small.json
    """
    from rulekit.audit.training_lines import ladder_lines
    from rulekit.work.models import resize

    other = resize(model, smallest=smallest, output=output, **asked)
    if other.model.ladder is not None:
        result(*ladder_lines(other.model.ladder, None, width()))
    if output is not None:
        log(f"wrote {output}: {other.size}")


_STEPS = """
train loans.csv --target default --holdout 0.25 -o model.json
show model.json
export model.json --to onnx -o model.onnx
export model.json --to python -o model.py
export model.json --to text -o rules.txt
predict model.onnx loans.csv -o predictions.csv
evaluate model.json loans.csv
verify model.json model.onnx --data loans.csv --report parity.json
verify model.json model.py --data loans.csv
verify model.json rules.txt --data loans.csv
"""


@command("context folder")
def demo(context: typer.Context, folder: Path | None = None) -> None:
    """Run the whole chain on a bundled sample.

    Train, show, export, predict, evaluate and verify, on a table of loans.
    """
    import os
    import shutil
    import tempfile
    from contextlib import ExitStack
    from functools import partial
    from importlib.resources import files

    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rulekit-demo-")))
        folder.mkdir(parents=True, exist_ok=True)
        with (files("rulekit_cli") / "loans.csv").open("rb") as source, (folder / "loans.csv").open("wb") as copy:
            shutil.copyfileobj(source, copy)
        stack.callback(os.chdir, Path.cwd())
        os.chdir(folder)
        command = context.find_root().command
        for step in _STEPS.split("\n")[1:-1]:
            print(f"\n$ rulekit {step}", flush=True)
            status = guarded(partial(command, shlex.split(step), "rulekit", standalone_mode=False), debug=False)
            sys.stdout.flush()
            if status:
                raise typer.Exit(status)
    print("\nThe same steps work on your own table: see rulekit train --help.")
