"""The commands show, explain, reasons, check, compare, stability, sample, bounds and report: a model is questioned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from rulekit.errors import InputError
from rulekit.names import wrapped
from rulekit_cli.console import (
    CHECK_FAILED,
    log,
    notes,
    red,
    result,
    result_json,
    result_words,
    shown_progress,
    shown_search,
    width,
    write,
    write_json,
)
from rulekit_cli.options import command


@command("model format everything.levels")
def show(model: Path, format: str, everything: bool) -> None:
    """Show the rules of a model.

    rulekit reads the file as data and never runs it.

    \b
    Examples:
      rulekit show model.json
      rulekit show model.onnx --format table
    """
    from rulekit.work.models import show

    shown = show(model, format, width(), everything=everything)
    if shown.stopped:
        log(f"note: training was stopped early ({shown.stopped}); this was the best model so far")
    notes(shown.fading)
    write(shown.text.removesuffix("\n") + "\n", exact=format not in ("rules", "table"))


@command(
    "model data rows.explained ids immutable directions to.wanted catalogue adverse most output.explained text_file "
    "time_limit.search json"
)
def explain(json: bool, time_limit: float, output: Path | None = None, **asked: Any) -> None:
    """Explain why the model made its decisions, and what would change them.

    The sentences name the values of the row. They give the rules that hold, or the points and their total. If no rule
    holds, they give the nearest rules and their unmet conditions. The last sentence is the counterfactual: the smallest
    change of the row that changes the decision, and whether rulekit proved that no smaller change exists. With a
    catalogue (rulekit reasons), `explain` also gives the reasons for an adverse decision.

    \b
    Examples:
      rulekit explain model.json new.csv --row 17
      rulekit explain model.json new.csv --id customer=4711 --immutable age --direction income=up
      rulekit explain model.json new.csv --catalogue reasons.toml --json -o explained.json
    """
    from rulekit.work.scoring import explain

    with shown_search(time_limit) as deadline:
        found = explain(**asked, as_json=json, output=output, deadline=deadline)
    if output is not None:
        many = len(found.rows)
        log(f"wrote {output}: {many} row{'s' * (many != 1)}")
    elif json:
        write_json(found.as_json())
    else:
        result(*found.lines(), hanging="    ")


@command("model data.lint catalogue output.catalogue adverse text_file time_limit.search json")
def reasons(
    model: Path,
    json: bool,
    time_limit: float,
    catalogue: Path | None = None,
    output: Path | None = None,
    adverse: Sequence[str] = (),
    **rows: Any,
) -> None:
    """Start a catalogue of reasons for adverse decisions, or lint one from both sides.

    The lint proves, for every row that there can be, that each adverse decision has a reason that applies, and that
    each column of a reason can count; or it shows a row, or names the reason. It also names unknown columns and codes
    that stand twice.

    Exit status 1 where something is found.

    \b
    Examples:
      rulekit reasons model.json -o reasons.toml
      rulekit reasons model.json --catalogue reasons.toml
      rulekit reasons model.json loans.csv --catalogue reasons.toml --adverse yes
    """
    from rulekit.work.scoring import lint_catalogue, start_catalogue

    if (output is None) == (catalogue is None):
        fix = "-o FILE starts one, --catalogue FILE lints one"
        raise InputError("say what to do with a catalogue", where="rulekit reasons", fix=fix)
    with shown_search(time_limit) as deadline:
        if output is not None:
            begun = start_catalogue(model, output, adverse, deadline)
        if catalogue is not None:
            found = lint_catalogue(model, catalogue, adverse=adverse, deadline=deadline, **rows)
    if output is not None:
        if deadline.over:
            log(f"note: {deadline.reason}; a column that may never count has a reason too")
        many = len(begun.reasons)
        log(f"wrote {output}: {many} reason{'s' * (many != 1)}; word each for your readers")
        return
    _checked(found, found.lines, 8, json)


@command("model.optional everything.pairs sentence graph time_limit.search json")
def check(
    everything: bool,
    time_limit: float,
    json: bool,
    model: Path | None = None,
    sentence: str | None = None,
    graph: Sequence[str] = (),
) -> None:
    """Prove the promises of a model, and find rules without effect or in conflict with others.

    You declare promises in training (--monotone, --forbid, --require, --missing-never-helps) or in the rule text.
    `check` proves each promise for every possible row, or shows a row that breaks it, or prints that the answer is
    open. It also finds rules that are never true, that change no decision, that hold together with a rule of another
    class, or that a missing or new value satisfies. A finding about many rules takes one line; --all and --json list
    each rule.

    The exit status is 1 if the model breaks a promise.

    --sentence prints the limit of the truth of a sentence on random structures, as their number of objects grows and
    the probabilities of their atoms are fixed: 0, 1, or, with constants, a sentence about the constants.

    \b
    Examples:
      rulekit check model.json
      rulekit check model.json --all
      rulekit check rules.txt --json
      rulekit check --sentence "exists x, y, z: E(x, y) and E(y, z) and E(z, x)" --graph E
    """
    from rulekit.audit.checks.checking import check_lines
    from rulekit.work.models import check, tendency

    if (model is None) == (sentence is None) or (graph and sentence is None):
        raise InputError("give a model, or a sentence with --sentence", where="rulekit check", fix="give one of them")
    if model is None:
        found = tendency(sentence or "", graph)
        if json:
            result_json(found.as_dict())
        else:
            result(found.text, hanging="  ")
        return
    with shown_search(time_limit) as deadline:
        checked = check(model, deadline)
    _checked(checked, lambda: check_lines(checked, everything), 12, json)


def _checked(found: Any, lines: Callable[[], Iterable[tuple[str, str]]], margin: int, json: bool) -> None:
    """Print what a check found, as JSON or in lines; status 1 where not all is well."""
    if json:
        result_json(found.as_dict())
    else:
        result_words(lines(), margin)
    if not found.ok:
        raise typer.Exit(CHECK_FAILED)


_INDENT = 13
_LOUD = ("DIFFERENT", "NOT PROVED", "FAULT")


@command("first second data.both by.flips everything.regions text_file time_limit.search json")
def compare(json: bool, time_limit: float, everything: bool, **asked: Any) -> None:
    """Tell two models apart: proved equal, or where they decide otherwise, with rows that show it.

    Says which rules were added, removed, tightened, loosened or moved, and what else is declared otherwise; for each
    way in which decisions differ the conditions on which they do, how many rows that are, and a row on which both were
    run. Of an artifact the rules that it carries are compared, and it is verified that it decides as they do.

    Exit status 0 where they are proved to decide every row alike, 1 where they differ or that is not proved.

    \b
    Examples:
      rulekit compare old.json new.json --data loans.csv --by region
      rulekit compare model.json model.onnx
      rulekit compare model.json rules.txt --json
    """
    from rulekit.audit.differences.compared import difference_lines
    from rulekit.work.models import compare

    with shown_search(time_limit) as deadline:
        compared = compare(**asked, deadline=deadline)
    if json:
        result_json(compared.as_dict())
    else:
        for word, text in difference_lines(compared, everything):
            lines = wrapped(f"{word:{_INDENT}}{text}", width(), " " * (_INDENT + 4))
            write(red(lines[0][: len(word)], sys.stdout) if word in _LOUD else lines[0][: len(word)])
            result(lines[0][len(word) :], *lines[1:])
    if not compared.equal:
        raise typer.Exit(CHECK_FAILED)


# How far a model can be trusted ---------------------------------------------------------------------------------------


@command(
    "model data resamples seed time_limit.models output.figures everything.again weight group time cost missing_target "
    "text_file json quiet"
)
def stability(json: bool, quiet: bool, everything: bool, output: Path | None = None, **asked: Any) -> None:
    """Learn a model again from halves of its table: which rules come back, and how often labels agree.

    The table is parted into two halves, again and again, and the learner of the model, with its parameters, learns from
    each. A rule comes back where a rule for the same class reads the same columns and its conditions differ on at most
    5 % of the rows each. Ctrl-C and --time-limit keep what is done.

    \b
    Examples:
      rulekit stability model.json loans.csv
      rulekit stability model.json loans.csv --resamples 50 -o stability.json
    """
    from rulekit.audit.stability import stability_lines
    from rulekit.work.resampling import stability

    with shown_progress(quiet, asked.get("time_limit")) as progress:
        stable = stability(**asked, output=output, progress=progress)
    if json:
        result_json(stable)
    else:
        result_words(stability_lines(stable, everything), 12, indented=10)
    if output is not None and not quiet:
        log(f"wrote {output}")


@command(
    "model data label steps param.walk seed time_limit.steps take output.taken picture weight missing_target text_file "
    "json quiet"
)
def sample(json: bool, quiet: bool, **asked: Any) -> None:
    """Find which other rule sets explain the rows as well as the model does, and how probable each is.

    Random walks over rule sets visit each as often as the rows make it probable. Ctrl-C and --time-limit keep the steps
    that are done. The same seed and steps give the same numbers.

    \b
    Examples:
      rulekit sample model.json loans.csv
      rulekit sample model.json loans.csv --take 2 -o other.json
    """
    from rulekit.work.sampling import sample

    with shown_progress(quiet, asked.get("time_limit")) as progress:
        found = sample(**asked, progress=progress)
    if json:
        result_json(asdict(found))
    else:
        for line in found.lines():
            result(line, hanging=" " * (11 if " %" in line[:9] else 4))
    for name in ("output", "picture"):
        if name in asked:
            log(f"wrote {asked[name]}")


@command("model data.bound trained delta epsilon target.own weight missing_target missing.label text_file json")
def bounds(json: bool, **asked: Any) -> None:
    """Bound the error of a model on further rows, by held-out rows, or by its training rows and its length.

    Each bound says what it assumes, and where it does not hold or says nothing. Without DATA it takes what training
    measured.

    \b
    Examples:
      rulekit bounds model.json
      rulekit bounds model.json test.csv --delta 0.01
    """
    from rulekit.audit.guarantees import bound_lines
    from rulekit.work.evaluating import error_bounds

    found = error_bounds(**asked)
    if json:
        result_json(asdict(found))
        return
    for line in bound_lines(found):
        result(line, hanging="      " if line.startswith("    ") else "    ")


@command(
    "model data.report outputs title purpose author.report date.report by verifications artifacts stability comparison "
    "drift target.own weight missing_target missing.label types_file.labels text_file time_limit.search"
)
def report(time_limit: float, outputs: tuple[Path, ...] = (Path("report.html"),), **asked: Any) -> None:
    """Write one file about a model: its rules with their figures, proofs, groups, history and limits.

    The HTML file needs nothing beside it, sends nothing, prints, and scores a row. The same content is written as JSON
    with all digits, and as a Markdown model card. Rows that did not train the model measure it best; columns with the
    role audit, and those of --by, are measured by group.

    \b
    Examples:
      rulekit report model.json test.csv -o report.html
      rulekit report model.json test.csv --by sex --artifact model.onnx -o report.html -o report.json
      rulekit report model.json test.csv --title "Loans" --author "R. Roe" --date 2025-03-01 -o report.html
    """
    from rulekit.work.reporting import report

    with shown_search(time_limit) as deadline:
        found = report(**asked, outputs=outputs, deadline=deadline)
    notes(found.notes)
    for limit in found.document.section("summary").data["to_know"]:
        log(f"to know: {limit}")
    result(f"wrote {', '.join(map(str, outputs))}")
