"""rulekit show, explain, reasons, check and compare: what a model says, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import (
    CHECK_FAILED,
    log,
    notes,
    red,
    result,
    result_json,
    result_words,
    width,
    write,
    write_json,
)
from rulekit_cli.progress import shown_search


def show(
    model: options.Model,
    format_: Annotated[
        str, typer.Option("--format", metavar="HOW", help="rules (for people), table, csv or c50; language; json.")
    ] = "rules",
    all_: Annotated[
        bool, typer.Option("--all", help="Rules with every level, and the conditions behind probabilities.")
    ] = False,
) -> None:
    """Show the rules of a model.

    The file is read as data and never run.

    \b
    Examples:
      rulekit show model.json
      rulekit show model.onnx --format table
    """
    from rulekit.work.models import show

    shown = show(model, format_, width(), everything=all_)
    if shown.stopped:
        log(f"note: training was stopped early ({shown.stopped}); this was the best model so far")
    notes(shown.fading)
    write(shown.text.removesuffix("\n") + "\n", exact=format_ not in ("rules", "table"))


@options.reads_text
def explain(
    model: options.Model,
    data: options.Data,
    rows: Annotated[
        list[str] | None, typer.Option("--row", metavar="N", help="This row; 1 is the first below the header. Or 1,7.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COL=VALUE", help="The rows with this value, of an id for example."),
    ] = None,
    immutable: Annotated[
        list[str] | None, typer.Option("--immutable", metavar="COL", help="This column must stay as it is. Or age,sex.")
    ] = None,
    directions: Annotated[
        list[str] | None, typer.Option("--direction", metavar="COL=up|down", help="This column may only rise, or fall.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="CLASS", help="The class that is wanted; else any other.")
    ] = None,
    catalogue: options.Catalogue = None,
    adverse: options.Adverse = None,
    most: options.MostReasons = 4,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write all of it there; JSON with --json.")
    ] = None,
    text_file: options.TextFile = options.DETECTED,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Say why rows are decided as they are, and what would turn the decision.

    In sentences, with the values of the row: the rules that hold, or the points and their total; of a decision for
    which no rule holds the nearest rules and the conditions in the way; the smallest change of the row that turns the
    decision, and whether it is proved to be the smallest. With a catalogue (rulekit reasons) also the reasons to give.

    \b
    Examples:
      rulekit explain model.json new.csv --row 17
      rulekit explain model.json new.csv --id customer=4711 --immutable age --direction income=up
      rulekit explain model.json new.csv --catalogue reasons.toml --json -o explained.json
    """
    given = locals()
    from rulekit.work.explaining import ExplanationRequest
    from rulekit.work.explaining import explain as explained

    wanted = ExplanationRequest(
        model,
        data,
        [_number(text) for text in options.several(rows)],
        options.pairs(ids, "--id"),
        options.several(immutable),
        cast("dict[str, Any]", options.pairs(directions, "--direction", "COL=up or COL=down")),
        to,
        catalogue,
        options.several(adverse),
        most,
        json_,
        output,
        options.reading(given),
    )
    with shown_search(time_limit) as deadline:
        found = explained(wanted, deadline)
    if output is not None:
        many = len(found.rows)
        log(f"wrote {output}: {many} row{'s' * (many != 1)}")
        return
    if json_:
        write_json(found.as_json())
        return
    result(*found.lines(), hanging="    ")


def _number(text: str) -> Any:
    if not text.isdecimal():
        raise InputError(f"{text!r} is no number of a row", where="--row", fix="write 1 for the first row")
    return int(text)


@options.reads_text
def reasons(
    model: options.Model,
    data: Annotated[
        Path | None, typer.Argument(help="A table: how often each reason is given, and rows without one.")
    ] = None,
    catalogue: options.Catalogue = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a catalogue to start from (.toml).")
    ] = None,
    adverse: options.Adverse = None,
    text_file: options.TextFile = options.DETECTED,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
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
    given = locals()
    from rulekit.work.reason_catalogues import lint_catalogue, start_catalogue

    if (output is None) == (catalogue is None):
        fix = "-o FILE starts one, --catalogue FILE lints one"
        raise InputError("say what to do with a catalogue", where="rulekit reasons", fix=fix)
    if output is not None:
        with shown_search(time_limit) as deadline:
            begun = start_catalogue(model, output, options.several(adverse), deadline)
        if deadline.over:
            log(f"note: {deadline.reason}; a column that may never count has a reason too")
        many = len(begun.reasons)
        log(f"wrote {output}: {many} reason{'s' * (many != 1)}; word each for your readers")
        return
    assert catalogue is not None
    with shown_search(time_limit) as deadline:
        found = lint_catalogue(model, catalogue, data, options.several(adverse), options.reading(given), deadline)
    if json_:
        result_json(found.as_dict())
    else:
        result_words(found.lines(), 8)
    if not found.ok:
        raise typer.Exit(CHECK_FAILED)


def check(
    model: Annotated[Path | None, typer.Argument(help=options.MODEL_HELP)] = None,
    all_: Annotated[bool, typer.Option("--all", help="Each rule and each pair of rules by itself.")] = False,
    sentence: Annotated[
        str | None, typer.Option("--sentence", metavar="TEXT", help="In place of a model: where this sentence tends.")
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option("--graph", metavar="R", help="Of the sentence: R is symmetric, never from an object to itself."),
    ] = None,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Prove what a model promises, and find rules that do nothing or meet others.

    Promises are declared in training (--monotone, --forbid, --require, --missing-never-helps) or in the rule text. Each
    is proved for every possible row, or broken by a row that is shown, or said to be open. The same holds for rules:
    which are never true, which change no decision, which meet a rule of another class, and which a missing or new value
    can satisfy. A finding about many rules takes one line; --all and --json list each rule.

    Exit status 1 where a promise is broken.

    --sentence says where the truth of a sentence tends on random structures as they get more objects, for every fixed
    probability of their atoms: to 0, to 1, or with constants to a sentence about these.

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
        found = tendency(sentence or "", graph or ())
        if json_:
            result_json(found.as_dict())
        else:
            result(found.text, hanging="  ")
        return
    with shown_search(time_limit) as deadline:
        checked = check(model, deadline)
    if json_:
        result_json(checked.as_dict())
    else:
        result_words(check_lines(checked, all_), 12)
    if not checked.ok:
        raise typer.Exit(CHECK_FAILED)


_COMPARE_INDENT = 13
_LOUD = ("DIFFERENT", "NOT PROVED", "FAULT")


@options.reads_text
def compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A model file (.json), rule text or artifact: the old one.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="The new one.")],
    data: Annotated[Path | None, typer.Option("--data", help="A table: both decide its rows.")] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COL", help="Count by the values of COL of the table, which no model need read."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every region, rule and parameter.")] = False,
    text_file: options.TextFile = options.DETECTED,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
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
    given = locals()
    from rulekit.audit.differences.compared import difference_lines
    from rulekit.names import wrapped
    from rulekit.work.comparing import ComparisonRequest
    from rulekit.work.comparing import compare as compared_files

    request = ComparisonRequest(first, second, data, tuple(by or ()), options.reading(given))
    with shown_search(time_limit) as deadline:
        compared = compared_files(request, deadline)
    if json_:
        result_json(compared.as_dict())
    else:
        for word, text in difference_lines(compared, all_):
            lines = wrapped(f"{word:{_COMPARE_INDENT}}{text}", width(), " " * (_COMPARE_INDENT + 4))
            write(red(lines[0][: len(word)], sys.stdout) if word in _LOUD else lines[0][: len(word)])
            result(lines[0][len(word) :], *lines[1:])
    if not compared.equal:
        raise typer.Exit(CHECK_FAILED)
