"""rulekit predict, evaluate, monitor, export and verify: a model at work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulekit.errors import InputError
from rulekit.names import label_text, wrapped
from rulekit_cli import options
from rulekit_cli.console import (
    CHECK_FAILED,
    aligned,
    joined,
    log,
    notes,
    red,
    result,
    result_json,
    result_words,
    width,
    write,
)
from rulekit_cli.progress import shown_search

if TYPE_CHECKING:
    from rulekit.work.comparing import Comparison
    from rulekit.work.evaluating import Evaluation


@options.reads_text
def predict(
    model: Annotated[Path, typer.Argument(help="A model (.json), or an artifact, which then does the scoring.")],
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV to write; standard output without it.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also which rules and conditions did it.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COL", help="Copy this column of DATA, an id for example.")
    ] = None,
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="Put ' before text that a spreadsheet would run as a formula.")
    ] = False,
    catalogue: options.Catalogue = None,
    adverse: options.Adverse = None,
    most: options.MostReasons = 4,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Predict labels and probabilities.

    One row of output for every row: the label, the probability of each class and, if asked, the rules that fired. Rules
    that are enough only together stand as r1+r2; where probabilities decide, the conditions that counted follow. Of a
    score card the total follows, the points that make it, the largest first, and the nearest change of the row that
    turns the decision. With a catalogue (rulekit reasons), the column `reasons` has the codes of the reasons
    for each adverse decision, the most important first.

    Extra columns are ignored and order is free; a missing column or an unparsable number is an error. Text is written
    as it is: where the result is opened in a spreadsheet, --escape-formulas keeps cells such as =cmd() from running.

    \b
    Examples:
      rulekit predict model.json new.csv -o predictions.csv --explain
      rulekit predict model.json new.csv --explain --json
    """
    given = locals()
    from rulekit.work.monitoring import notice
    from rulekit.work.scoring import ScoringRequest, score

    reading, classes = options.reading(given), options.several(adverse)
    scores = score(
        ScoringRequest(model, data, output, keep or [], explain, escape_formulas, reading, catalogue, classes, most)
    )
    notes(scores.notes)
    notes(filter(None, [notice(scores.drift, model, data)]))
    if json_:
        result_json(scores.as_rows())
        if output is None:
            return
    if output is None:
        write(scores.csv().decode())
    else:
        log(f"wrote {output}: {scores.n_rows} rows")
    for meaning in scores.meanings:
        for line in wrapped(str(meaning), width(), " " * (len(meaning.id) + 2)):
            log(line)
    if scores.test:
        log(f"{scores.test}; a change that turns the decision has the fewest columns, then the least distance")
    if any(meaning.nested for meaning in scores.meanings):
        log("their conditions count by strengths, which rulekit show prints")


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
        from rulekit.work.label_models import evaluate_labels
        from rulekit_cli.learn import evaluate_each_label

        evaluate_each_label(evaluate_labels(model, data, options.reading(given), curves or ()), json=json_)
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
    notes((*found.notes, *filter(None, [notice(found.drift, model, data)])))
    result(*_per_class(found), *_totals(found), *_by_time(found), *_by_group(found))


def _per_class(found: Evaluation) -> list[str]:
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
    if not found.blocks:
        return []
    body = [
        [each.first, each.last, str(each.rows), f"{100 * each.error:.1f} ± {100 * each.standard_error:.1f}"]
        for each in found.blocks
    ]
    return ["", *aligned([["from", "to", "rows", "error %"], *body])]


def _by_group(found: Evaluation) -> list[str]:
    """A table for each grouping: rates of each group, and how far they are from those of the reference."""
    from rulekit.audit.figures.rates import group_lines

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


@options.reads_text
def monitor(
    model: options.Model,
    data: Annotated[Path, typer.Argument(help="A CSV (also .gz), Parquet or JSON-lines file; with --counts, counts.")],
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Exit status 1 if: any, columns, rules, classes, psi=0.25 (one is above); several with commas.",
        ),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="DATA holds counts of rules that an SQL or Python export made.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the result as JSON there.")
    ] = None,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Compare rows with those that trained the model.

    For each column: values that are missing, new, out of range or distributed otherwise, and the name of the change
    where it has one. For each rule: the share of rows on which it holds. For each class: how often the model decides
    it, and how often it is the label. Of tables like that of training, rulekit reports a change in 1 %.

    Exit status 0, unless --fail-on names something that is so.

    \b
    Examples:
      rulekit monitor model.json today.csv
      rulekit monitor model.json today.csv --fail-on any --json
      rulekit monitor model.json counts.csv --counts
    """
    given = locals()
    from rulekit.audit.drift.findings import WORD, column_rows, drift_lines, rule_rows
    from rulekit.work.monitoring import MonitoringRequest, monitor

    found = monitor(MonitoringRequest(model, data, counts, fail_on, output, options.reading(given)))
    if json_:
        result_json(found.as_dict())
    else:
        notes(found.notes)
        result_words(drift_lines(found.drift), WORD)
        for rows in (column_rows(found.drift), rule_rows(found.drift)):
            if len(rows) > 1:
                result("", *aligned(rows, 2 if rows[0][0] == "rule" else 1))
        if found.failed:
            log(f"failed: {', '.join(found.failed)}")
    if found.failed:
        raise typer.Exit(CHECK_FAILED)


def export(
    model: options.Model,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="javascript, onnx, python, sql, text, or one installed.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
) -> None:
    """Export a model to ONNX, Python, SQL, rule text or another target.

    Each target has options of its own, which rulekit export --to TARGET --help lists. A target that cannot express the
    model refuses it and writes nothing. This command does not run the artifact; rulekit verify proves that it decides
    as the model does.

    \b
    Examples:
      rulekit export model.json --to onnx -o model.onnx
      rulekit export model.json --to text -o rules.txt
      rulekit export model.json --to python -o model.py
      rulekit export model.json --to sql --table loans -o model.sql
    """
    _run({"model": model, "to": to, "output": output}, {})


def export_to(target: str) -> Callable[..., None]:
    """The command with the options of a target; raises InputError for one that is not installed."""
    from rulekit.work.choices import choices_of_target
    from rulekit_cli.options import with_flags

    return with_flags(export, choices_of_target(target), _run)


def _run(given: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    from rulekit.work.models import export

    artifact = export(given["model"], given["output"], given["to"], chosen)
    notes(artifact.warnings)
    size = len(artifact.main)
    said = f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB"
    log(f"{given['output']}   {said}{', ' + artifact.summary if artifact.summary else ''}")


_USAGE = "rulekit verify MODEL ARTIFACT, or rulekit verify ARTIFACT --against REPORT"


@options.reads_text
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[MODEL] ARTIFACT", help="The model file and the exported file; --against: the latter."),
    ],
    data: options.Compared = None,
    rows: options.Rows = None,
    seed: options.RowSeed = None,
    report: options.Report = None,
    against: options.Against = None,
    text_file: options.TextFile = options.DETECTED,
    require: options.Required = None,
    key: options.Key = None,
    run_untrusted: options.Untrusted = False,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Prove that an artifact decides like its model.

    What the artifact computes is read from it without running it, and compared as a formula or on every reachable cell;
    it is run on rows aimed at every threshold and level, and on given data. An artifact that is not built of what the
    exporter writes alone is read and not run, unless --run-untrusted says so.

    With --against the verification of a report is repeated on this machine, without the model: same file, same graph
    inside, same rows, same decisions. A file that is not that of the report is not run.

    Exit status 1 where they differ, with a row that shows it, where nothing was run, and where --require is not met.

    \b
    Examples:
      rulekit verify model.json model.onnx --data loans.csv --report parity.json
      rulekit verify model.onnx --against parity.json
    """
    given = locals()
    from rulekit.work.comparing import ROWS, SEED, VerificationRequest, repeat
    from rulekit.work.comparing import verify as compare

    if len(files) > 2:
        raise InputError(f"{len(files)} files are given", fix=_USAGE)
    if against is not None:
        _check_alone(files, {f"--{name}": given[name] for name in ("data", "rows", "seed", "report")})
        with shown_search(time_limit) as deadline:
            repeated = repeat(files[0], against, key, run_untrusted, deadline)
        _print(repeated, "repeated", require, json_)
        return
    if len(files) == 1:
        raise InputError("a model is needed, or the report of an earlier verification", fix=_USAGE)
    made, reading = ROWS if rows is None else rows, options.reading(given)
    request = VerificationRequest(files[0], files[1], data, made, seed or SEED, report, reading, key, run_untrusted)
    with shown_search(time_limit) as deadline:
        outcome = compare(request, deadline)
    if report is not None:
        log(f"wrote {report}")
    _print(outcome, "verified", require, json_)


def _check_alone(files: list[Path], made: Mapping[str, object]) -> None:
    """Raises InputError for what does not go with --against."""
    given = [name for name, value in made.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} does not go with --against", fix="the report says which rows were made")
    if len(files) == 2:
        raise InputError("--against takes the artifact alone, which carries its model", fix=_USAGE)


def _print(outcome: Comparison, word: str, require: options.Require | None, json_: bool) -> None:
    """The outcome as JSON, or a word and lines that stand below each other; status 1 where not all is well."""
    met = outcome.meets(require.value if require else "")
    if not met:
        word = "NOT PROVED" if outcome.ok else outcome.failure
    if json_:
        write(outcome.to_json().rstrip() + "\n")
    else:
        head = f"{word:9}  "
        lines = [part for line in str(outcome).split("\n") for part in wrapped(line, width() - len(head), "  ")]
        write(head if met else red(head, sys.stdout))
        result(lines[0], *(" " * len(head) + line for line in lines[1:]))
    if not met:
        raise typer.Exit(CHECK_FAILED)
