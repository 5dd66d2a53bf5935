"""rulekit simplify: the same decisions with fewer literals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, result


def simplify(
    model: options.Model,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write (.json).")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say which law changed what.")] = False,
) -> None:
    """Simplify a model without changing any decision.

    \b
    Example:
      rulekit simplify model.json -o smaller.json --explain
    """
    from rulekit.work.models import simplify

    if output is None and not explain:
        raise InputError("nothing to do", fix="give -o FILE, --explain or both")
    simplified = simplify(model, output)
    for change in simplified.changes if explain else ():
        result(f"{change.law}: {change.before}  ->  {change.after}")
    before, after = simplified.before, simplified.after
    log(f"rules {before.rules} -> {after.rules}, literals {before.literals} -> {after.literals}")
    if output is not None:
        log(f"wrote {output}")
