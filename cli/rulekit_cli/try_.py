"""rulekit try: every learner on the same folds of a table, in one table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit.names import printable
from rulekit.shown.lines import wrapped
from rulekit_cli import options
from rulekit_cli.console import aligned, log, result, result_json, width

if TYPE_CHECKING:
    from rulekit.work.trying import Trial, Tried

_OWN = {"learners", "folds", "time_limit", "json_", "quiet"}
_COLUMNS = {
    **{"error": ("error %", 1), "log_loss": ("log loss", 3), "auc": ("AUC", 3), "macro_f1": ("macro F1", 2)},
    **{"rules": ("rules", 1), "literals": ("literals", 1), "columns": ("columns", 1)},
    **{"stability": ("stability", 2), "seconds": ("seconds", 1)},
}
_FEWEST = 4  # columns that are shown however narrow the terminal is


@options.reads_text
def try_(
    context: typer.Context,
    data: options.Data,
    target: options.Target,
    learners: Annotated[options.Texts, typer.Option("--learners", metavar="A,B", help="These, not all.")] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Folds, the same for all learners.")] = 5,
    time_limit: Annotated[float, typer.Option("--time-limit", min=0, metavar="SECONDS", help="In all.")] = 180.0,
    positive: options.Positive = None,
    label_separator: options.LabelSeparator = None,
    columns: options.Columns = options.DETECTED,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    seed: options.Seed = 0,
    json_: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare all learners on the same folds of a table: error, size, time, and whether rules come back.

    It trains each learner on each fold, and measures it on the rows left out. Ctrl-C and --time-limit keep what is
    done. Nothing is written, and no learner is chosen for you.

    \b
    Examples:
      rulekit try loans.csv --target default
      rulekit try loans.csv --target default --learners cnll,additive --folds 10 --time-limit 60
    """
    given = locals()
    from rulekit.work.training import TrainingRequest
    from rulekit.work.trying import BASELINES, trial
    from rulekit_cli.progress import bounded, shown_progress

    promised = options.declared(columns)
    request = TrainingRequest(data, options.reading(given), parameters=promised, time_limit=time_limit, seed=seed)
    with shown_progress(quiet, time_limit) as progress:
        tried = trial(request, options.several(learners), folds, progress, bounded)
    measured = [line for line in tried.lines if line.folds and line.name not in BASELINES]
    name = max(measured, key=lambda line: line.default).name
    words = ["rulekit", "train", str(data), *_spelled(context), "--learner", name, "-o", "model.json"]
    if json_:
        result_json({**asdict(tried), "train": words})
        return
    for line in (*_table(tried), *(part for text in _below(tried) for part in wrapped(text, width(), "  "))):
        result(line)
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


def _table(tried: Trial) -> list[str]:
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
