"""rulekit resize: another size of a trained model, without data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, result, width


def resize(
    model: options.Model,
    rules: Annotated[
        int | None, typer.Option("--rules", min=0, metavar="N", help="The largest row with at most N rules a class.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=0, metavar="N", help="The row of size N.")] = None,
    smallest: Annotated[
        bool, typer.Option("--smallest", help="The smallest row within one standard error of the best.")
    ] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write (.json).")] = None,
) -> None:
    """Take another size from the ladder that training left in the model file.

    \b
    Examples:
      rulekit resize model.json --rules 3 -o small.json
      rulekit resize model.json --size 5
      rulekit resize model.json --smallest -o small.json
    """
    from rulekit.audit.ladder_lines import ladder_lines
    from rulekit.work.models import resize

    other = resize(model, rules=rules, size=size, smallest=smallest, output=output)
    if other.model.ladder is not None:
        for line in ladder_lines(other.model.ladder, None, width()):
            result(line)
    if output is not None:
        log(f"wrote {output}: {other.size}")
