"""rulekit reasons: start a catalogue of reasons, or lint one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, result, result_json
from rulekit_cli.failures import CHECK_FAILED
from rulekit_cli.progress import shown_search

_INDENT = 8


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
        for word, text in found.lines():
            result(f"{word:{_INDENT}}{text}", " " * (_INDENT + 2))
    if not found.ok:
        raise typer.Exit(CHECK_FAILED)
