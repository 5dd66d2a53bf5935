"""rulekit compare: two models told apart, or proved equal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import red, result, result_json, width, write
from rulekit_cli.failures import CHECK_FAILED
from rulekit_cli.progress import shown_search

_INDENT = 13
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
    from rulekit.audit.differences.results import difference_lines
    from rulekit.shown.lines import wrapped
    from rulekit.work.comparing import ComparisonRequest
    from rulekit.work.comparing import compare as compared_files

    request = ComparisonRequest(first, second, data, tuple(by or ()), options.reading(given))
    with shown_search(time_limit) as deadline:
        compared = compared_files(request, deadline)
    if json_:
        result_json(compared.as_dict())
    else:
        for word, text in difference_lines(compared, all_):
            lines = wrapped(f"{word:{_INDENT}}{text}", width(), " " * (_INDENT + 4))
            write(red(lines[0][: len(word)], sys.stdout) if word in _LOUD else lines[0][: len(word)])
            result(lines[0][len(word) :])
            for line in lines[1:]:
                result(line)
    if not compared.equal:
        raise typer.Exit(CHECK_FAILED)
