"""rulekit import: a model from its rule text or from an artifact that carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, notes, result, result_json


@options.reads_text
def import_model(
    source: Annotated[
        Path, typer.Argument(help="A rule text (.txt, .rules), an edited .json, or an artifact that carries its rules.")
    ],
    output: options.ModelOutput,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="MODEL", help="The model (.json) whose rules were edited.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="Labelled rows, with --base: what changes on them.")
    ] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who edited, for the record.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Make a model from edited rules or an artifact.

    With --base and --data, statistics and the probabilities of edited conditions are computed from the rows, the rows
    whose label changes are listed with the rule that did it, the rest is proved to be decided as before, and the edit
    is recorded in the provenance.

    \b
    Examples:
      rulekit import rules.txt -o model.json
      rulekit import edited.txt --base model.json --data rows.csv --author "A. Auditor" --reason "policy 7" -o new.json
    """
    given = locals()
    if base is None or data is None:
        _imported(source, output, base or data)
        return
    from rulekit.work.changes.editing import edit

    done = edit(source, base, data, output, author=author or "", reason=reason or "", reading=options.reading(given))
    if json_:
        result_json(done.as_dict())
        return
    notes(done.notes)
    for line in done.lines(_MOST_ROWS):
        result(line)
    log(f"wrote {output}: {done.size}, digest {done.model.digest[:12]}")


_MOST_ROWS = 6


def _imported(source: Path, output: Path, lone: Path | None) -> None:
    from rulekit.work.models import import_model

    if lone is not None:
        raise InputError("an edit is described by its base and by rows", fix="give both, --base and --data")
    imported = import_model(source, output)
    if imported.disagrees:
        log("note: on some rows the label and the probability point different ways; edit `report` with `decide`")
    for line in imported.inexact:
        log(f"note: {line}")
    log(f"wrote {output}: {imported.size}, digest {imported.model.digest[:12]}")
