"""rulekit explain: why rows are decided as they are, in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, result, write_json
from rulekit_cli.progress import shown_search


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
    for line in found.lines():
        result(line, "    ")


def _number(text: str) -> Any:
    if not text.isdecimal():
        raise InputError(f"{text!r} is no number of a row", where="--row", fix="write 1 for the first row")
    return int(text)
