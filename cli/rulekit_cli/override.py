"""rulekit override: rules of a person that win over those of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, notes, result, result_json

if TYPE_CHECKING:
    from rulekit.work.changes.overrides import Written

_MOST_ROWS = 6


Rules = Annotated[list[str] | None, typer.Argument(metavar="RULE", help='Each such as "amount > 9000 -> yes".')]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write (.json).")]
Author = Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who answers for it.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]
Date = Annotated[
    str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="From when; never taken from the clock.")
]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="YYYY-MM-DD", help="The last day on which it is meant to decide.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its name; o1, o2, ... by default.")]
First = Annotated[bool, typer.Option("--first", help="Let it win over all existing overrides.")]
Source = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Overrides of a TOML file, each signed there.")
]
Remove = Annotated[
    list[str] | None, typer.Option("--remove", metavar="ID", help="Take this override off; signed likewise.")
]
List = Annotated[bool, typer.Option("--list", help="List the overrides of the model, and change nothing.")]
Rows = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="Rows, with labels or without: which labels change.")
]


@options.reads_text
def override(
    model: options.Model,
    rules: Rules = None,
    output: Output = None,
    author: Author = None,
    reason: Reason = None,
    date: Date = None,
    expires: Expires = None,
    id_: Id = None,
    first: First = False,
    source: Source = None,
    remove: Remove = None,
    list_: List = False,
    data: Rows = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Let a rule of a person win over those of the model, signed and dated.

    Wherever its condition holds, its class is decided; elsewhere the model decides as before. Both are proved. Of
    several overrides the first that holds wins. It stays when the model is simplified, resized, refitted or trained
    anew with --start, and is shown wherever the rules are.

    \b
    Examples:
      rulekit override model.json "amount > 9000 -> yes" --author "A. Jones" --date 2026-11-25 \\
        --expires 2037-06-30 --reason "large loans are seen by a person" --data rows.csv -o model2.json
      rulekit override model.json --from overrides.toml -o model2.json
      rulekit override model2.json --list
      rulekit override model2.json --remove o1 --author "A. Jones" --date 2037-07-01 --reason "over" -o model3.json
    """
    given = locals()
    if list_:
        _list(model, json_)
        return
    from rulekit.work.changes.overrides import OverrideRequest
    from rulekit.work.changes.overrides import override as put

    if output is None:
        raise InputError("where is the model to be written?", fix="give -o MODEL2.json")
    _refuse_unsigned(rules or [], remove or [], given)
    done = put(
        OverrideRequest(
            model,
            _asked(rules or [], source, given),
            tuple(remove or ()),
            author or "",
            date or "",
            reason or "",
            first,
            data,
            output,
            options.reading(given),
        )
    )
    notes(done.notes)
    if json_:
        result_json(done.as_dict())
        return
    for line in done.lines(_MOST_ROWS):
        result(line, "  ")
    log(f"wrote {output}: {done.size}, digest {done.model.digest[:12]}")


def _refuse_unsigned(rules: list[str], remove: list[str], given: dict[str, Any]) -> None:
    if not rules and not remove:
        return
    for name in ("author", "date", "reason"):
        if not given[name]:
            fix = f"give --{name}" + (" YYYY-MM-DD; it is never taken from the clock" if name == "date" else "")
            raise InputError(f"an override has {'an' if name == 'author' else 'a'} {name}", fix=fix)


def _asked(rules: list[str], source: Path | None, given: dict[str, Any]) -> tuple[Written, ...]:
    from rulekit.work.changes.overrides import Written, read_written

    if given["id_"] and len(rules) != 1:
        raise InputError("--id names one rule", fix="give one rule, or leave it out")
    signed = [given["author"], given["date"], given["reason"], given["expires"], given["id_"] or ""]
    own = [Written(rule, *signed) for rule in rules]
    return (*own, *(() if source is None else read_written(source)))


def _list(model: Path, json: bool) -> None:
    from rulekit.work.changes.overrides import listed_overrides, overrides_of

    graph = overrides_of(model)
    found = listed_overrides(graph)
    if json:
        result_json(found)
        return
    if not found:
        result("the model has no override")
    from rulekit.shown.sections import signature

    for override, each in zip(graph.overrides, found, strict=True):
        expired = "   EXPIRED" if each["expired"] else ""
        texts = f"{override.id}  {each['condition']} -> {each['class']}{expired}", f"    {signature(override)}"
        for text in texts:
            result(text, "    ")
