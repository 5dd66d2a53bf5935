"""rulekit try: every learner on the same folds of a table, in one table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulekit.audit.lines import wrapped
from rulekit.names import printable
from rulekit_cli import options
from rulekit_cli.console import aligned, log, result, result_json, width

if TYPE_CHECKING:
    from rulekit.work.trying import Trial, Tried

_OWN = {"learners", "folds", "time_limit", "json_", "quiet"}
_SECONDS = 180.0
_COLUMNS = {
    **{"cost": ("cost", 3), "error": ("error %", 1), "log_loss": ("log loss", 3), "auc": ("AUC", 3)},
    **{"macro_f1": ("F1", 2), "rules": ("rules", 1), "literals": ("literals", 1), "columns": ("columns", 1)},
    **{"stability": ("stability", 2), "seconds": ("seconds", 1)},
}
_FEWEST = 4  # columns that are shown however narrow the terminal is


@options.reads_text
def try_(
    data: options.Data,
    target: options.Target,
    learners: Annotated[
        options.Texts, typer.Option("--learners", metavar="A,B", help="Try these alone; else all that are installed.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Folds, the same for all learners.")] = 5,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0, metavar="SECONDS", help="For all learners together.")
    ] = _SECONDS,
    positive: options.Positive = None,
    label_separator: options.LabelSeparator = None,
    ignore: options.Ignore = None,
    types_file: options.TypesFile = None,
    types: options.Types = None,
    units: options.Units = None,
    roles: options.Roles = None,
    unseen: options.Unseen = None,
    missing: options.Missing = None,
    ordered: options.Ordered = None,
    monotone: options.Monotone = None,
    forbid: options.Forbid = None,
    require: options.Promised = None,
    missing_never_helps: options.NeverHelps = False,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    cost: options.Cost = None,
    missing_target: options.MissingTarget = "error",
    precision: options.Precision = None,
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
    given: dict[str, Any] = locals()
    from rulekit.work.trying import BASELINES, TryingRequest, trial
    from rulekit_cli.progress import bounded, shown_progress

    names, promised = tuple(options.several(learners)), options.constraints(given)
    request = TryingRequest(data, options.reading(given), names, promised, folds, seed, time_limit)
    with shown_progress(quiet, time_limit) as progress:
        tried = trial(request, progress, bounded)
    name = max(
        (line for line in tried.lines if line.name not in BASELINES and line.folds), key=lambda line: line.default
    ).name
    words = ["rulekit", "train", str(data), *options.spelled(try_, given, _OWN), "--learner", name, "-o", "model.json"]
    if json_:
        result_json({**asdict(tried), "train": words})
        return
    for line in (*_table(tried), *(part for text in _below(tried) for part in wrapped(text, width(), "  "))):
        result(line)
    if not quiet:
        log(f"to take a line, train its learner on all rows; for {name}:")
        print(printable(shlex.join(words)), file=sys.stderr)


def _table(tried: Trial) -> list[str]:
    """A line for each learner and baseline that was measured; figures that have no room are left out."""
    lines = [line for line in tried.lines if line.folds]
    shown = [name for name in _COLUMNS if any(name in line.figures for line in lines)]
    while True:
        head = ["", *(_COLUMNS[name][0] for name in shown)]
        marked = (line.name + " *" * line.default + " =" * line.as_good for line in lines)
        cells = [[name, *(_cell(line, what) for what in shown)] for name, line in zip(marked, lines, strict=True)]
        for gap in (2, 1):
            table = aligned([head, *cells], gap=gap)
            if max(map(len, table)) <= width() or len(shown) < _FEWEST:
                return table
        shown.remove(next(name for name in ("columns", "literals", *reversed(shown)) if name in shown))


def _cell(line: Tried, name: str) -> str:
    value, deviation = line.figures.get(name), line.figures.get("standard_error")
    if value is None or name != "error":
        return "-" if value is None else f"{value:.{_COLUMNS[name][1]}f}"
    return f"{100 * value:.1f}" + (" " * 6 if deviation is None else f" ± {100 * deviation:.1f}")


def _below(tried: Trial) -> Iterator[str]:
    """What could not be measured, or not in full; then what the columns and the marks mean."""
    yield from (f"{line.name}: {line.why}" for line in tried.lines if line.why)
    fewer = [f"{line.name} {line.folds}" for line in tried.lines if 0 < line.folds < tried.folds]
    if fewer:
        yield f"measured on fewer than {tried.folds} folds: {', '.join(fewer)}"
    cut = [f"{line.name} {line.cut} of {line.folds}" for line in tried.lines if line.cut]
    if cut:
        yield f"trainings that the time cut short: {', '.join(cut)}; --time-limit gives more"
    if tried.stopped:
        yield f"stopped early ({tried.stopped}): what was done is shown"
    yield f"error: of {tried.rows:,} rows, each held out in one of {tried.folds} folds, with its standard error"
    if any("macro_f1" in line.figures for line in tried.lines):
        yield "F1: macro F1, the mean of the F1 scores of all classes; 1 is best"
    yield "rules, literals, columns: the mean of the models; seconds: of one training"
    yield "stability: the share of rules that two models of different folds have in common; 1 is all"
    yield "most frequent: always that class; one condition: the best cut of one column"
    if any(line.as_good for line in tried.lines):
        yield "= the error is within one standard error of the first line's, on the same folds"
    if any(line.default for line in tried.lines):
        yield "* rulekit train takes this learner where none is named"
