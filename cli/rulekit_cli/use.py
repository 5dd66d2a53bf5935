"""rulekit predict, evaluate, monitor, export and verify: a model at work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    shown_search,
    width,
    write,
)
from rulekit_cli.options import command

if TYPE_CHECKING:
    from rulekit.work.evaluating import Evaluation


@command("model.any data output.scores explain keep escape_formulas catalogue adverse most text_file json")
def predict(model: Path, data: Path, json: bool, output: Path | None = None, **asked: Any) -> None:
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
    from rulekit.work.monitoring import notice
    from rulekit.work.scoring import score

    scores = score(model, data, output=output, **asked)
    notes(scores.notes)
    notes(notice(scores.drift, model, data))
    if json:
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


@command(
    "model.folder data target.own weight time.shown missing_target missing.label types_file.labels text_file "
    "curves.thresholds by teacher.beside teacher_column teacher_cut teacher_classes json"
)
def evaluate(
    model: Path,
    data: Path,
    reading: Any,
    json: bool,
    curves: Sequence[Path] = (),
    by: Sequence[str] = (),
    **teacher: Any,
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
      rulekit evaluate model.json test.csv --teacher forest.onnx
    """
    from rulekit.work.evaluating import evaluate
    from rulekit.work.monitoring import notice
    from rulekit.work.taught import evaluate_beside

    if curves or model.is_dir():
        if by or reading.time or teacher:
            asked = "--by" if by else "--time" if reading.time else "--teacher"
            raise InputError(f"{asked} measures one model", fix="leave out --curve, and name a model file")
        from rulekit.work.evaluating import evaluate_labels
        from rulekit_cli.learn import evaluate_each_label

        evaluate_each_label(evaluate_labels(model, data, reading, curves), json=json)
        return
    found = evaluate_beside(model, data, reading, by, **teacher) if teacher else evaluate(model, data, reading, by)
    if json:
        size = {"rules": found.size.rules, "literals": found.size.literals, "digest": found.digest}
        groups = {"groups": [asdict(each) for each in found.groups]} if by else {}
        groups |= {"time": [asdict(each) for each in found.blocks]} if reading.time else {}
        trained = {"training_rows": found.overlap and asdict(found.overlap)}
        drift = {"drift": found.drift and found.drift.as_dict()}
        taught = {"fidelity": [each.as_dict() for each in found.fidelity]} if teacher else {}
        result_json({**found.figures.as_dict(), **size, **trained, **drift, **groups, **taught})
        return
    notes((*found.notes, *notice(found.drift, model, data)))
    result(*_evaluated(found))


def _evaluated(found: Evaluation) -> list[str]:
    """Figures by class, of all rows, by time, and a table for each grouping."""
    from rulekit.audit.figures.rates import group_lines

    figures = found.figures
    of_class = [
        [label_text(c.label), f"{c.support:.12g}", f"{c.predicted:.12g}", *(f"{x:.3f}" for x in rates)]
        for c, rates in ((c, (c.precision, c.recall, c.f1)) for c in figures.classes)
    ]
    header = ["class", "weight" if found.weighted else "rows", "predicted", "precision", "recall", "F1"]
    lines = aligned([header, *of_class])
    if found.weighted:
        lines.append(f"{figures.rows} rows with weights: all figures are of their weight")
    said = f"accuracy {figures.accuracy:.3f} ± {figures.accuracy_error:.3f} (majority class {figures.majority:.3f})"
    area = "-" if figures.auc is None else f"{figures.auc:.3f}"
    others = f"macro F1 {figures.macro_f1:.3f}", f"AUC {area}", f"log loss {figures.log_loss:.3f}", str(found.size)
    lines += joined([said, *others])
    if found.blocks:
        body = [
            [each.first, each.last, str(each.rows), f"{100 * each.error:.1f} ± {100 * each.standard_error:.1f}"]
            for each in found.blocks
        ]
        lines += ["", *aligned([["from", "to", "rows", "error %"], *body])]
    lines += [part for each in found.fidelity for line in each.lines() for part in wrapped(line, width(), "    ")]
    return [*lines, *(line for each in found.groups for line in ("", *group_lines(each, width())))]


@command("model data.today fail_on counts output.drift target.own weight text_file json")
def monitor(json: bool, **asked: Any) -> None:
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
    from rulekit.audit.drift.findings import WORD, column_rows, drift_lines, rule_rows
    from rulekit.work.monitoring import monitor

    found = monitor(**asked)
    if json:
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


@command("log model.replayed output.others examples json")
def replay(json: bool, output: Path | None = None, **asked: Any) -> None:
    """Decide recorded decisions again under another model: which of them change, and by which rules.

    A line of the log is one decision: id, time, model, digest, row (cells by column), masked (columns whose cells were
    not recorded), label, rules (ids of those that fired). Where the other model reads a column that is masked, or not
    there, the decision is counted as not replayed, by column.

    \b
    Examples:
      rulekit replay decisions.jsonl --model new.json
      rulekit replay decisions.jsonl.gz --model new.json -o others.csv --json
    """
    from rulekit.work.replaying import replay

    found = replay(output=output, **asked)
    if json:
        result_json(found.as_dict())
    else:
        result_words(found.lines(), 14)
    if output is not None:
        log(f"wrote {output}: {found.others} rows")


def _export(model: Path, to: str, output: Path, **chosen: Any) -> None:
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
    from rulekit.work.models import export

    artifact = export(model, output, to, chosen)
    notes(artifact.warnings)
    size = len(artifact.main)
    said = f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB"
    log(f"{output}   {said}{', ' + artifact.summary if artifact.summary else ''}")


export = command("model to output.artifact")(_export)


def export_to(target: str) -> Callable[..., None]:
    """The command with the options of a target; raises InputError for one that is not installed."""
    from rulekit.work.models import options_of_target

    return command("model to output.artifact", map(options.flag_of, options_of_target(target)))(_export)


_USAGE = "rulekit verify MODEL ARTIFACT, or rulekit verify ARTIFACT --against REPORT"


@command(
    "files data.compared rows seed.rows report.parity against text_file require.proof key run_untrusted "
    "time_limit.search json"
)
def verify(
    files: Sequence[Path],
    time_limit: float,
    json: bool,
    against: Path | None = None,
    require: str = "",
    reading: Any = None,
    **asked: Any,
) -> None:
    """Prove that an artifact decides like its model.

    rulekit reads what the artifact computes without running it, and compares it with the model as a formula or on every
    reachable cell. Then it runs the artifact on rows at every threshold and level, and on the given data. If the
    artifact contains anything that the exporter does not write, rulekit runs it only with --run-untrusted.

    With --against, rulekit repeats the verification of a report on this machine, without the model: same file, same
    graph inside, same rows, same decisions. It does not run a file that the report does not name.

    Exit status 1 if they differ (rulekit shows a row), if nothing was run, or if --require is not met.

    \b
    Examples:
      rulekit verify model.json model.onnx --data loans.csv --report parity.json
      rulekit verify model.onnx --against parity.json
    """
    from rulekit.work.models import repeat
    from rulekit.work.models import verify as compare

    if len(files) > 2:
        raise InputError(f"{len(files)} files are given", fix=_USAGE)
    if against is not None:
        made = next((name for name in ("data", "rows", "seed", "report") if name in asked), None)
        if made is not None:
            raise InputError(f"--{made} does not go with --against", fix="the report says which rows were made")
        if len(files) == 2:
            raise InputError("--against takes the artifact alone, which carries its model", fix=_USAGE)
        with shown_search(time_limit) as deadline:
            outcome: Any = repeat(files[0], against, **asked, deadline=deadline)
    else:
        if len(files) == 1:
            raise InputError("a model is needed, or the report of an earlier verification", fix=_USAGE)
        with shown_search(time_limit) as deadline:
            outcome = compare(*files, **asked, reading=reading, deadline=deadline)
        if "report" in asked:
            log(f"wrote {asked['report']}")
    _print(outcome, "verified" if against is None else "repeated", require, json)


def _print(outcome: Any, word: str, require: str, json: bool) -> None:
    """The outcome as JSON, or a word and lines that stand below each other; status 1 where not all is well."""
    met = outcome.meets(require)
    if not met:
        word = "NOT PROVED" if outcome.ok else outcome.failure
    if json:
        write(outcome.to_json().rstrip() + "\n")
    else:
        head = f"{word:9}  "
        lines = [part for line in str(outcome).split("\n") for part in wrapped(line, width() - len(head), "  ")]
        write(head if met else red(head, sys.stdout))
        result(lines[0], *(" " * len(head) + line for line in lines[1:]))
    if not met:
        raise typer.Exit(CHECK_FAILED)
